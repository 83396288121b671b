/* SPDX-License-Identifier: Apache-2.0
 * RFC 4180, strictly: a cell is quoted whole or has no quote, rows end with LF or CRLF. Cells point into the source, so
 * that reading copies nothing. */
#include "core/data/text/csv.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

size_t rp_text_copy(char *out, const rp_text *text)
{
    size_t n = 0;

    if (!text->escaped) {
        memcpy(out, text->at, text->length);
        out[text->length] = '\0';
        return text->length;
    }
    for (size_t i = 0; i < text->length; i++) {
        out[n++] = text->at[i];
        i += text->at[i] == '"'; /* the second of two */
    }
    out[n] = '\0';
    return n;
}

/* The byte behind the next line feed. */
static size_t line_behind(const rp_csv *csv, size_t at)
{
    const unsigned char *end = memchr(csv->in + at, '\n', csv->end - at);

    return end != NULL ? (size_t)(end - csv->in) + 1 : csv->end;
}

bool rp_csv_more(rp_csv *csv)
{
    while (csv->comment != 0 && csv->at < csv->end && csv->in[csv->at] == (unsigned char)csv->comment)
        csv->at = line_behind(csv, csv->at);
    return csv->at < csv->end;
}

/* Bytes of a byte order mark in front, which belongs to no line. */
static size_t mark_length(const unsigned char *in, size_t size)
{
    static const unsigned char mark[3] = {0xEF, 0xBB, 0xBF};

    return size >= sizeof mark && memcmp(in, mark, sizeof mark) == 0 ? sizeof mark : 0;
}

rp_status rp_csv_open(rp_csv *csv, const void *bytes, size_t size, const rp_recipe *recipe, const char *where,
                      rp_error *err)
{
    *csv = (rp_csv){.in = bytes,
                    .end = size,
                    .where = where,
                    .err = err,
                    .strip = recipe->data.reading.strip,
                    .delimiter = recipe->data.delimiter,
                    .comment = recipe->data.reading.comment};
    if (size >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
        return rp_fail(err, RP_EDATA,
                       "%s: begins with the mark of UTF-16: in a recipe data: {encoding: utf-16} reads it", where);
    csv->at = mark_length(bytes, size);
    for (int64_t i = 0; i < recipe->data.reading.skip_lines; i++) {
        if (csv->at == csv->end)
            return rp_fail(err, RP_EDATA, "%s: expected more than the %lld lines of data.skip_lines, found %lld", where,
                           (long long)recipe->data.reading.skip_lines, (long long)i);
        csv->at = line_behind(csv, csv->at);
    }
    csv->stop[(unsigned char)csv->delimiter] = true;
    csv->stop['\n'] = csv->stop['\r'] = csv->stop['"'] = csv->stop['\0'] = true;
    csv->cell = rp_reallocarray(NULL, RP_COLUMNS_MAX + 1, sizeof *csv->cell);
    return csv->cell != NULL ? RP_OK : rp_no_memory(err);
}

rp_status rp_csv_part(rp_csv *part, const rp_csv *of, size_t begin, size_t end, rp_error *err)
{
    *part = *of;
    part->at = begin;
    part->end = end;
    part->err = err;
    part->cell = rp_reallocarray(NULL, RP_COLUMNS_MAX + 1, sizeof *part->cell);
    return part->cell != NULL ? RP_OK : rp_no_memory(err);
}

void rp_csv_close(rp_csv *csv)
{
    rp_free(csv->cell);
    csv->cell = NULL;
}

size_t rp_csv_count(const unsigned char *in, size_t size, unsigned char byte)
{
    size_t n = 0, i = 0;

    for (; i + 240 <= size; i += 240) { /* sums of bytes, which no 240 ones overflow */
        unsigned char some = 0;

        for (size_t k = 0; k < 240; k++)
            some = (unsigned char)(some + (in[i + k] == byte));
        n += some;
    }
    for (; i < size; i++)
        n += in[i] == byte;
    return n;
}

size_t rp_csv_line(const rp_csv *csv, size_t at)
{
    return 1 + rp_csv_count(csv->in, at, '\n');
}

size_t rp_csv_bad_text(const rp_csv *csv, size_t begin, size_t end)
{
    for (size_t at = begin; at < end;) {
        uint64_t eight;
        size_t length;

        if (end - at >= sizeof eight) {
            memcpy(&eight, csv->in + at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        length = rp_utf8(csv->in + at, csv->in + end);
        if (length == 0)
            return at;
        at += length;
    }
    return end;
}

/* What a file that is no text seems to be, by its first bytes. */
static const char *name_kind(const rp_csv *csv)
{
    static const struct {
        const char *bytes, *words;
    } kinds[] = {{"PK\x03\x04", "a spreadsheet (.xlsx, .ods) or a zip archive: save the sheet as CSV, or unpack it"},
                 {"\xD0\xCF\x11\xE0", "an old spreadsheet (.xls): save the sheet as CSV"},
                 {"\xFD"
                  "7zXZ",
                  "a file packed by xz: unpack it, or pack it by gzip or zstd"},
                 {"BZh", "a file packed by bzip2: unpack it, or pack it by gzip or zstd"},
                 {"PAR1", "a Parquet file: write it as CSV"},
                 {"ARROW1", "an Arrow file: write it as CSV"},
                 {"SQLite format 3", "a SQLite database: write its table as CSV"},
                 {"%PDF", "a PDF document"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i].bytes);

        if (csv->end >= n && memcmp(csv->in, kinds[i].bytes, n) == 0)
            return kinds[i].words;
    }
    return NULL;
}

rp_status rp_csv_fail_text(const rp_csv *csv, size_t at)
{
    const char *kind = name_kind(csv);

    if (kind != NULL)
        return rp_fail(csv->err, RP_EDATA, "%s: expected text, found what looks like %s", csv->where, kind);
    return rp_fail(
        csv->err, RP_EDATA,
        "%s:%zu: expected UTF-8, found byte 0x%02x; set data.encoding: %s, or convert the file, e.g. with iconv",
        csv->where, rp_csv_line(csv, at), csv->in[at],
        at == 0 && csv->in[0] >= 0xFE ? "utf-16" : "latin-1 or windows-1252");
}

/* ---- a row ---- */

/* The line of an error that somebody reads; to count the lines in front of every line that is only looked at would take
 * the square of the table's. */
static size_t line_told(const rp_csv *csv, size_t at)
{
    return csv->quiet ? 0 : rp_csv_line(csv, at);
}

static rp_status fail(const rp_csv *csv, size_t at, size_t cell, const char *what)
{
    return rp_fail(csv->err, RP_EDATA, "%s:%zu: cell %zu: %s", csv->where, line_told(csv, at), cell + 1, what);
}

static rp_status fail_nul(const rp_csv *csv, size_t at)
{
    const char *kind = name_kind(csv);

    if (kind != NULL)
        return rp_fail(csv->err, RP_EDATA, "%s: expected text, found what looks like %s", csv->where, kind);
    return rp_fail(csv->err, RP_EDATA, "%s:%zu: expected text, found a NUL byte; is this a CSV file?", csv->where,
                   line_told(csv, at));
}

/* Bytes of the line end at `at`: LF, CRLF, or 0. */
static size_t line_end(const rp_csv *csv, size_t at)
{
    if (at < csv->end && csv->in[at] == '\n')
        return 1;
    return at + 1 < csv->end && csv->in[at] == '\r' && csv->in[at + 1] == '\n' ? 2 : 0;
}

static bool cell_ends(const rp_csv *csv, size_t at)
{
    return at == csv->end || csv->in[at] == (unsigned char)csv->delimiter || line_end(csv, at) > 0;
}

/* Bytes of a space, a tab or a no-break space (U+00A0) that the text begins or ends with, else 0. */
static size_t space_at(const rp_text *text, bool front)
{
    const char *end = text->at + text->length;
    char one = text->length == 0 ? 'x' : front ? text->at[0] : end[-1];

    if (one == ' ' || one == '\t')
        return 1;
    return text->length > 1 && memcmp(front ? text->at : end - 2, "\xC2\xA0", 2) == 0 ? 2 : 0;
}

static void strip(rp_text *text)
{
    size_t n;

    while ((n = space_at(text, false)) > 0)
        text->length -= n;
    while ((n = space_at(text, true)) > 0) {
        text->at += n;
        text->length -= n;
    }
}

/* Where spaces belong to no cell, they may stand around its quotes as well. */
static size_t skip_spaces(const rp_csv *csv, size_t at)
{
    rp_text rest;
    size_t n;

    if (!csv->strip)
        return at;
    rest = (rp_text){(const char *)csv->in + at, csv->end - at, false};
    while (rest.length > 0 && *rest.at != csv->delimiter && (n = space_at(&rest, true)) > 0) {
        rest.at += n;
        rest.length -= n;
    }
    return (size_t)(rest.at - (const char *)csv->in);
}

/* at is behind the opening quote. Doubled quotes stay so. */
static rp_status read_quoted(rp_csv *csv, size_t at, rp_text *out)
{
    const size_t opened = at - 1, index = csv->cells;
    size_t doubled = 0;

    *out = (rp_text){.at = (const char *)csv->in + at};
    for (;;) {
        const unsigned char *quote = memchr(csv->in + at, '"', csv->end - at);
        const size_t stop = quote != NULL ? (size_t)(quote - csv->in) : csv->end;
        const unsigned char *nul = memchr(csv->in + at, '\0', stop - at);

        if (nul != NULL)
            return fail_nul(csv, (size_t)(nul - csv->in));
        at = stop;
        if (quote == NULL)
            return fail(csv, opened, index, "a quote is opened and never closed");
        if (at + 1 == csv->end || csv->in[at + 1] != '"')
            break;
        doubled++;
        at += 2;
    }
    out->length = (size_t)((const char *)csv->in + at - out->at);
    out->escaped = doubled > 0;
    csv->at = skip_spaces(csv, at + 1);
    if (!cell_ends(csv, csv->at))
        return fail(csv, csv->at, index,
                    "expected a delimiter or the line's end behind a closing quote, found more text; write a quote "
                    "inside a quoted cell twice");
    if (out->length - doubled > RP_CELL_MAX)
        return rp_fail(csv->err, RP_EDATA,
                       "%s:%zu: cell %zu: a cell of %zu bytes, expected at most %d; is a quote missing?", csv->where,
                       line_told(csv, csv->at), index + 1, out->length - doubled, RP_CELL_MAX);
    return RP_OK;
}

static rp_status read_plain(rp_csv *csv, rp_text *out)
{
    size_t at = csv->at;

    while (at < csv->end && !csv->stop[csv->in[at]])
        at++;
    *out = (rp_text){(const char *)csv->in + csv->at, at - csv->at, false};
    csv->at = at;
    if (out->length > RP_CELL_MAX)
        return rp_fail(csv->err, RP_EDATA,
                       "%s:%zu: cell %zu: a cell of %zu bytes, expected at most %d; is a quote missing?", csv->where,
                       line_told(csv, at), csv->cells + 1, out->length, RP_CELL_MAX);
    if (cell_ends(csv, at))
        return RP_OK;
    if (csv->in[at] == '\0')
        return fail_nul(csv, at);
    return fail(csv, at, csv->cells,
                csv->in[at] == '"' ? "a quote inside an unquoted cell; quote the whole cell and write the quote twice"
                                   : "a carriage return that ends no line; use LF or CRLF line ends");
}

static rp_status read_cell(rp_csv *csv, rp_text *out)
{
    const size_t begin = skip_spaces(csv, csv->at);
    rp_status status;

    if (begin < csv->end && csv->in[begin] == '"')
        status = read_quoted(csv, begin + 1, out);
    else
        status = read_plain(csv, out);
    if (csv->strip)
        strip(out);
    return status;
}

rp_status rp_csv_row(rp_csv *csv)
{
    size_t begin = csv->at;

    for (csv->cells = 0;;) {
        rp_status status = read_cell(csv, &csv->cell[csv->cells]);

        if (status != RP_OK)
            return status;
        if (++csv->cells > RP_COLUMNS_MAX)
            return rp_fail(csv->err, RP_EDATA, "%s:%zu: more than %d columns", csv->where, line_told(csv, begin),
                           RP_COLUMNS_MAX);
        if (csv->at == csv->end || csv->in[csv->at] != (unsigned char)csv->delimiter)
            break;
        csv->at++;
    }
    csv->at += line_end(csv, csv->at);
    return RP_OK;
}

/* ---- chunks ---- */

/* The byte behind the first line end at or behind `at` that is not inside quotes; odd: whether `at` is. */
static size_t next_row(const rp_csv *csv, size_t at, bool odd)
{
    for (; at < csv->end; at++) {
        odd ^= csv->in[at] == '"';
        if (csv->in[at] == '\n' && !odd)
            return at + 1;
    }
    return csv->end;
}

/* Comments may hold any quotes: from a row's beginning at `from`, the first row that begins at or behind `at`. */
static size_t next_row_from(const rp_csv *csv, size_t from, size_t at)
{
    while (from < at)
        from = csv->in[from] == (unsigned char)csv->comment ? line_behind(csv, from) : next_row(csv, from, false);
    return from;
}

size_t rp_csv_cut(const rp_csv *csv, size_t target, size_t *cut, size_t most)
{
    size_t n = 0, at = csv->at, counted = csv->at, quotes = 0;

    cut[0] = at;
    while (at < csv->end && n < most) {
        size_t to = csv->end - at > target && n + 1 < most ? at + target : csv->end;

        quotes += rp_csv_count(csv->in + counted, to - counted, '"');
        counted = to;
        if (csv->comment != 0)
            at = next_row_from(csv, at, to);
        else
            at = to < csv->end ? next_row(csv, to, quotes % 2 == 1) : to;
        cut[++n] = at;
        quotes += rp_csv_count(csv->in + counted, at - counted, '"');
        counted = at;
    }
    return n;
}

/* ---- lines that are passed over ---- */

static bool looks_like_row(rp_csv *part, size_t begin, size_t end, size_t cells)
{
    part->at = begin;
    part->end = end;
    return begin < end && rp_csv_row(part) == RP_OK && part->cells == cells && part->at == end;
}

rp_status rp_csv_hidden(size_t *out, const rp_csv *csv, int64_t skipped, size_t cells, rp_error *err)
{
    rp_error ignored = {0};
    rp_csv part;
    size_t at = mark_length(csv->in, csv->end), next;
    rp_status status = rp_csv_part(&part, csv, 0, 0, err);

    *out = 0;
    if (status != RP_OK || cells < 2) {
        rp_csv_close(&part);
        return status;
    }
    part.err = &ignored;
    part.quiet = true;
    for (; skipped > 0 && at < csv->end; skipped--, at = next) {
        next = line_behind(csv, at);
        *out += looks_like_row(&part, at, next, cells);
    }
    for (; csv->comment != 0 && at < csv->end; at = next) {
        const bool comment = csv->in[at] == (unsigned char)csv->comment;

        next = comment ? line_behind(csv, at) : next_row(csv, at, false);
        *out += comment && looks_like_row(&part, at + 1, next, cells);
    }
    rp_csv_close(&part);
    return RP_OK;
}

static bool may_be_row(const rp_csv *csv, size_t begin, size_t end, size_t cells)
{
    return rp_csv_count(csv->in + begin, end - begin, (unsigned char)csv->delimiter) + 1 >= cells;
}

/* Of the lines of one row those that begin within a cell; the last of them as far as its first quote. */
static size_t lines_within(const rp_csv *csv, size_t begin, size_t end, size_t cells)
{
    size_t out = 0;

    for (size_t at = line_behind(csv, begin), next; at < end; at = next) {
        const unsigned char *quote;

        next = line_behind(csv, at);
        quote = next >= end ? memchr(csv->in + at, '"', end - at) : NULL;
        out += may_be_row(csv, at, quote != NULL ? (size_t)(quote - csv->in) : next, cells);
    }
    return out;
}

size_t rp_csv_maybe_rows(const rp_csv *csv, int64_t skipped, size_t cells)
{
    const size_t half = cells < 4 ? 2 : (cells + 1) / 2;
    size_t at = mark_length(csv->in, csv->end), next, out = 0;

    if (cells < 2)
        return 0;
    for (; skipped > 0 && at < csv->end; skipped--, at = next) {
        next = line_behind(csv, at);
        out += may_be_row(csv, at, next, half);
    }
    for (; at < csv->end; at = next) {
        const bool comment = csv->comment != 0 && csv->in[at] == (unsigned char)csv->comment;

        next = comment ? line_behind(csv, at) : next_row(csv, at, false);
        out += comment ? may_be_row(csv, at, next, half) : lines_within(csv, at, next, half);
    }
    return out;
}
