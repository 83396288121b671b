/* SPDX-License-Identifier: Apache-2.0
 * CSV bytes to a table of cells (RFC 4180, CONTRACT 9.1). Cells are unescaped in place in one copy of the text: a
 * cell is never longer than its source, and the delimiter or line end behind it leaves room for its NUL. */
#include "core/data/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { COLUMNS_MAX = 4096, CELL_MAX = 65535 };
static const size_t cells_max = (size_t)1 << 31;

typedef struct csv {
    const unsigned char *in;
    size_t size, at, line;
    char delimiter;
    bool strip;
    char *out; /* the next free byte of the table's text */
    const char *where;
    rp_error *err;
    /* What has been read: cells of all rows, the header's included. */
    const char **cell;
    size_t cells, cells_capacity;
    size_t *row_line;
    size_t rows, rows_capacity, cols;
} csv;

/* Bytes of the valid UTF-8 sequence at s (RFC 3629: shortest form, no surrogates, at most U+10FFFF), or 0. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;

    if (length == 0 || length > left)
        return 0;
    if (s[0] == 0xE0)
        low = 0xA0;
    if (s[0] == 0xED)
        high = 0x9F;
    if (s[0] == 0xF0)
        low = 0x90;
    if (s[0] == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < length; i++) {
        if (s[i] < low || s[i] > high)
            return 0;
        low = 0x80;
        high = 0xBF;
    }
    return length;
}

static rp_status check_text(const csv *in)
{
    size_t line = 1;

    for (size_t at = 0; at < in->size;) {
        size_t length = utf8_length(in->in + at, in->size - at);

        if (in->in[at] == '\0')
            return rp_fail(in->err, RP_EDATA, "%s:%zu: expected text, found a NUL byte; is this a CSV file?", in->where,
                           line);
        if (length == 0)
            return rp_fail(in->err, RP_EDATA,
                           "%s:%zu: expected UTF-8, found byte 0x%02x; convert the file, e.g. with "
                           "iconv",
                           in->where, line, in->in[at]);
        line += in->in[at] == '\n';
        at += length;
    }
    return RP_OK;
}

/* Bytes of the line end at the cursor: LF, CRLF, or 0. */
static size_t line_end(const csv *in)
{
    if (in->at < in->size && in->in[in->at] == '\n')
        return 1;
    if (in->at + 1 < in->size && in->in[in->at] == '\r' && in->in[in->at + 1] == '\n')
        return 2;
    return 0;
}

static bool cell_ends(const csv *in)
{
    return in->at == in->size || in->in[in->at] == (unsigned char)in->delimiter || line_end(in) > 0;
}

/* The position of the cell being read, for errors: 1-based. */
static size_t column_number(const csv *in)
{
    size_t before = in->cells - (in->rows > 0 ? in->rows * in->cols : 0);

    return before + 1;
}

static rp_status read_quoted(csv *in)
{
    size_t opened = in->line;

    for (in->at++;; in->at++) {
        if (in->at == in->size)
            return rp_fail(in->err, RP_EDATA, "%s:%zu: cell %zu: a quote is opened and never closed", in->where, opened,
                           column_number(in));
        if (in->in[in->at] == '"') {
            if (in->at + 1 == in->size || in->in[in->at + 1] != '"')
                break;
            in->at++;
        }
        in->line += in->in[in->at] == '\n';
        *in->out++ = (char)in->in[in->at];
    }
    in->at++;
    if (!cell_ends(in))
        return rp_fail(in->err, RP_EDATA,
                       "%s:%zu: cell %zu: expected a delimiter or the line's end behind a closing "
                       "quote, found more text; write a quote inside a quoted cell twice",
                       in->where, in->line, column_number(in));
    return RP_OK;
}

static rp_status read_plain(csv *in)
{
    for (; !cell_ends(in); in->at++) {
        unsigned char c = in->in[in->at];

        if (c == '"')
            return rp_fail(in->err, RP_EDATA,
                           "%s:%zu: cell %zu: a quote inside an unquoted cell; quote the whole "
                           "cell and write the quote twice",
                           in->where, in->line, column_number(in));
        if (c == '\r')
            return rp_fail(in->err, RP_EDATA,
                           "%s:%zu: cell %zu: a carriage return that ends no line; use LF or CRLF "
                           "line ends",
                           in->where, in->line, column_number(in));
        *in->out++ = (char)c;
    }
    return RP_OK;
}

static rp_status add_cell(csv *in, const char *text)
{
    if (in->cells == cells_max)
        return rp_fail(in->err, RP_EDATA, "%s: more than 2^31 cells", in->where);
    if (in->cells == in->cells_capacity) {
        size_t capacity = in->cells_capacity == 0 ? 256 : 2 * in->cells_capacity;
        const char **cell = rp_reallocarray(in->cell, capacity, sizeof *cell);

        if (cell == NULL)
            return rp_no_memory(in->err);
        in->cell = cell;
        in->cells_capacity = capacity;
    }
    in->cell[in->cells++] = text;
    return RP_OK;
}

/* Bytes of a space, a tab or a no-break space (U+00A0) at the beginning or the end of the text, else 0. */
static size_t space_at(const char *text, size_t length, bool front)
{
    const char *one = front ? text : text + length - 1, *two = front ? text : text + length - 2;

    if (length > 0 && (*one == ' ' || *one == '\t'))
        return 1;
    return length > 1 && (unsigned char)two[0] == 0xC2 && (unsigned char)two[1] == 0xA0 ? 2 : 0;
}

/* Takes the spaces off what has just been written. Returns where the cell begins. */
static char *strip_cell(csv *in, char *text)
{
    size_t length = (size_t)(in->out - text), n;

    while ((n = space_at(text, length, false)) > 0)
        length -= n;
    in->out = text + length;
    while ((n = space_at(text, length, true)) > 0) {
        text += n;
        length -= n;
    }
    return text;
}

static rp_status read_cell(csv *in)
{
    char *text = in->out;
    size_t length;
    rp_status status = in->at < in->size && in->in[in->at] == '"' ? read_quoted(in) : read_plain(in);

    if (status != RP_OK)
        return status;
    if (in->strip)
        text = strip_cell(in, text);
    length = (size_t)(in->out - text);
    *in->out++ = '\0';
    if (length > CELL_MAX)
        return rp_fail(in->err, RP_EDATA,
                       "%s:%zu: cell %zu: a cell of %zu bytes, expected at most %d; is a quote "
                       "missing?",
                       in->where, in->line, column_number(in), length, CELL_MAX);
    return add_cell(in, text);
}

static rp_status add_row(csv *in, size_t line, size_t cells)
{
    if (cells != in->cols)
        return rp_fail(in->err, RP_EDATA,
                       "%s:%zu: expected %zu cells as in the first line, found %zu; check delimiters "
                       "and quotes",
                       in->where, line, in->cols, cells);
    if (in->rows == in->rows_capacity) {
        size_t capacity = in->rows_capacity == 0 ? 64 : 2 * in->rows_capacity;
        size_t *row_line = rp_reallocarray(in->row_line, capacity, sizeof *row_line);

        if (row_line == NULL)
            return rp_no_memory(in->err);
        in->row_line = row_line;
        in->rows_capacity = capacity;
    }
    in->row_line[in->rows++] = line;
    return RP_OK;
}

static rp_status read_row(csv *in)
{
    size_t line = in->line, first = in->cells;

    for (;;) {
        rp_status status = read_cell(in);

        if (status != RP_OK)
            return status;
        if (in->cells - first > COLUMNS_MAX)
            return rp_fail(in->err, RP_EDATA, "%s:%zu: more than %d columns", in->where, line, COLUMNS_MAX);
        if (in->at == in->size || line_end(in) > 0)
            break;
        in->at++;
    }
    if (in->at < in->size) {
        in->at += line_end(in);
        in->line++;
    }
    if (in->rows == 0)
        in->cols = in->cells - first;
    return add_row(in, line, in->cells - first);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rp_status check_names(const csv *in)
{
    const char **sorted = rp_reallocarray(NULL, in->cols, sizeof *sorted);
    rp_status status = RP_OK;
    char quoted[80];

    if (sorted == NULL)
        return rp_no_memory(in->err);
    memcpy(sorted, in->cell, in->cols * sizeof *sorted);
    qsort(sorted, in->cols, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < in->cols && status == RP_OK; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = rp_fail(in->err, RP_EDATA,
                             "%s:1: the header names \"%s\" twice; rename one column, or is "
                             "\"header: false\" missing in the recipe?",
                             in->where, rp_printable(quoted, sizeof quoted, sorted[i], strlen(sorted[i])));
    rp_free(sorted);
    return status;
}

static rp_status read_rows(csv *in, bool header)
{
    rp_status status = RP_OK;

    while (status == RP_OK && in->at < in->size)
        status = read_row(in);
    if (status == RP_OK && in->rows == 0)
        status = rp_fail(in->err, RP_EDATA, "%s: the file is empty; expected rows of cells", in->where);
    else if (status == RP_OK && header && in->rows == 1)
        status = rp_fail(in->err, RP_EDATA, "%s: only a header line, expected rows below it", in->where);
    if (status == RP_OK && header)
        status = check_names(in);
    return status;
}

/* Moves what was read into the table; the first row becomes the names. */
static rp_status take(rp_table *table, csv *in, bool header)
{
    table->cols = in->cols;
    table->rows = in->rows - header;
    table->cell = in->cell;
    table->line = in->row_line;
    in->cell = NULL;
    in->row_line = NULL;
    if (!header)
        return RP_OK;
    table->names = rp_reallocarray(NULL, table->cols, sizeof *table->names);
    if (table->names == NULL)
        return rp_no_memory(in->err);
    memcpy(table->names, table->cell, table->cols * sizeof *table->names);
    memmove(table->cell, table->cell + table->cols, table->rows * table->cols * sizeof *table->cell);
    memmove(table->line, table->line + 1, table->rows * sizeof *table->line);
    return RP_OK;
}

rp_status rp_table_parse(rp_table **out, const void *bytes, size_t size, const rp_recipe *recipe, const char *where,
                         rp_error *err)
{
    static const unsigned char mark[3] = {0xEF, 0xBB, 0xBF};
    csv in = {.in = bytes,
              .size = size,
              .line = 1,
              .delimiter = recipe->data.delimiter,
              .strip = recipe->data.reading.strip,
              .where = where,
              .err = err};
    const bool header = recipe->data.header;
    rp_table *table;
    rp_status status;

    *out = NULL;
    if (size >= sizeof mark && memcmp(bytes, mark, sizeof mark) == 0)
        in.at = sizeof mark;
    status = check_text(&in);
    if (status != RP_OK)
        return status;
    table = rp_calloc(1, sizeof *table);
    if (table != NULL)
        table->text = in.out = rp_malloc(size + 1);
    if (table == NULL || table->text == NULL)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = read_rows(&in, header);
    if (status == RP_OK)
        status = take(table, &in, header);
    rp_free(in.cell);
    rp_free(in.row_line);
    if (status != RP_OK) {
        rp_table_free(table);
        return status;
    }
    *out = table;
    return RP_OK;
}

void rp_table_free(rp_table *table)
{
    if (table == NULL)
        return;
    rp_free(table->names);
    rp_free(table->cell);
    rp_free(table->line);
    rp_free(table->text);
    rp_free(table);
}
