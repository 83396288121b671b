/* SPDX-License-Identifier: Apache-2.0
 * What a column's cells seem to be beside what they were read as: numbers or dates among texts, identifiers among
 * numbers. Likely mistakes are errors that name the key, less likely ones warnings. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/data/text/dress.h"
#include "core/data/schema.h"

enum { WARNED_CELL = 256 };

static rp_status fail(const rp_cells *cells, size_t col, const rp_tally *s, const char *what, const char *advice)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: %s, found \"%s\"; %s", cells->where,
                   rp_table_line(cells->table, s->first), rp_column_label(label, sizeof label, cells->table, col), what,
                   rp_cell_quoted(quoted, sizeof quoted, cells->table, s->first, col), advice);
}

static rp_status warn(const rp_cells *cells, size_t col, const rp_tally *s, rp_warning_kind kind, const char *text)
{
    char cell[WARNED_CELL], label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];
    rp_warning warning = {.kind = kind, .column = col, .count = s->count, .cell = cell};

    if (s->count == 0 || cells->warnings == NULL)
        return RP_OK;
    warning.line = rp_table_line(cells->table, s->first);
    rp_table_text(cells->table, s->first, col, cell, sizeof cell);
    return rp_warnings_add(cells->warnings, &warning, cells->err, "%s, line %zu: \"%s\" %s",
                           rp_column_label(label, sizeof label, cells->table, col), warning.line,
                           rp_cell_quoted(quoted, sizeof quoted, cells->table, s->first, col), text);
}

/* ---- texts ---- */

/* Whether the text without the spaces around it is a word for a missing value. */
static bool spaced_missing(const rp_cells *cells, const char *text)
{
    size_t skip = strspn(text, " \t"), length = strlen(text + skip);
    char bare[64];

    while (length > 0 && (text[skip + length - 1] == ' ' || text[skip + length - 1] == '\t'))
        length--;
    if (length >= sizeof bare)
        return false;
    memcpy(bare, text + skip, length);
    bare[length] = '\0';
    return rp_text_missing(cells->recipe, bare);
}

typedef struct texts_seen {
    size_t all;
    rp_tally number, unit, date, spaced;
    rp_dress_seen dress;
} texts_seen;

static void count(rp_tally *s, size_t row, size_t cells)
{
    if (s->count == 0 || row < s->first)
        s->first = row;
    s->count += cells;
}

/* So many cells of a text that is not missing, the first of them in row. */
static void see_text(const rp_cells *cells, const char *text, size_t row, size_t n, texts_seen *seen)
{
    rp_dress dress;
    double number;
    int places;

    if (rp_cell_classify(&cells->recipe->data.reading, text, strlen(text), &number, &places, &dress) != RP_CELL_TEXT)
        return;
    seen->all += n;
    if (spaced_missing(cells, text)) {
        count(&seen->spaced, row, n);
        return;
    }
    switch (rp_dress_look(text, &seen->dress)) {
    case RP_LOOK_NUMBER:
        count(&seen->number, row, n);
        break;
    case RP_LOOK_UNIT:
        count(&seen->unit, row, n);
        break;
    case RP_LOOK_DATE:
        count(&seen->date, row, n);
        break;
    case RP_LOOK_TEXT:
        break;
    }
}

static rp_status warn_texts(const rp_cells *cells, size_t col, const texts_seen *seen)
{
    rp_status status =
        warn(cells, col, &seen->number, RP_WARN_DRESSED,
             "looks like a number among texts, and is a category; data.columns: {..: categorical} settles it");

    if (status == RP_OK)
        status = warn(cells, col, &seen->date, RP_WARN_DRESSED,
                      "looks like a date among texts, and is a category; data.columns: {..: categorical} settles it");
    if (status == RP_OK && 2 * seen->unit.count >= seen->all)
        status = warn(
            cells, col, &seen->unit, RP_WARN_UNIT,
            "is a number with a word behind it, and a category: if it is a quantity, data.suffix takes the word off");
    return status == RP_OK ? warn(cells, col, &cells->table->column[col].sort[RP_SORT_WORD], RP_WARN_MISSING_WORD,
                                  "is taken for a missing value: if it is a category, list the words for missing "
                                  "values without it under data.missing")
                           : status;
}

/* Whether all of the column's texts are dates of the format. */
static bool all_dates(const rp_column *column, const char *format)
{
    rp_moment moment;

    for (size_t i = 0; i < column->words.count; i++)
        if (!rp_date_read(format, 69, column->words.word[i].at, column->words.word[i].length, &moment))
            return false;
    return column->words.count > 0;
}

/* The key that reads the column, with the format, where all its texts have one of the common ones. */
static char *advise_date(char *out, size_t size, const rp_cells *cells, size_t col)
{
    static const char *const formats[] = {"%m/%d/%Y",
                                          "%d/%m/%Y",
                                          "%d.%m.%Y",
                                          "%d-%m-%Y",
                                          "%m-%d-%Y",
                                          "%Y/%m/%d",
                                          "%Y.%m.%d",
                                          "%m/%d/%y",
                                          "%d/%m/%y",
                                          "%d.%m.%y",
                                          "%b %d %Y",
                                          "%b-%d-%Y",
                                          "%b %d, %Y",
                                          "%B %d, %Y",
                                          "%B %d %Y",
                                          "%d %b %Y",
                                          "%d %B %Y",
                                          "%d-%b-%Y",
                                          "%d-%b-%y",
                                          "%b %Y",
                                          "%b-%Y",
                                          "%b-%y",
                                          "%Y-%m",
                                          "%Y/%m",
                                          "%m/%Y",
                                          "%m/%d/%Y %H:%M",
                                          "%d/%m/%Y %H:%M",
                                          "%m/%d/%Y %H:%M:%S",
                                          "%d/%m/%Y %H:%M:%S",
                                          "%Y/%m/%d %H:%M:%S",
                                          "%Y/%m/%d %H:%M",
                                          "%d.%m.%Y %H:%M",
                                          "%d.%m.%Y %H:%M:%S"};
    const rp_table *table = cells->table;
    const char *found[2] = {NULL, NULL}, *shown = "..";
    char name[64], format[120] = "";
    const bool iso = all_dates(&table->column[col], "iso");

    if (table->names != NULL)
        shown = rp_printable(name, sizeof name, table->names[col], strlen(table->names[col]));
    for (size_t i = 0; !iso && i < sizeof formats / sizeof *formats && found[1] == NULL; i++)
        if (all_dates(&table->column[col], formats[i]))
            found[found[0] != NULL] = formats[i];
    if (!iso && found[0] == NULL) {
        snprintf(
            out, size,
            "data.columns: {\"%s\": {kind: date, format: ..}} reads it where each cell is one date of a format, {..: "
            "ignore} leaves it out, {..: categorical} takes it as text",
            shown);
        return out;
    }
    if (!iso)
        snprintf(format, sizeof format, ", format: \"%s\"%s%s%s", found[0], found[1] != NULL ? " or \"" : "",
                 found[1] != NULL ? found[1] : "", found[1] != NULL ? "\"" : "");
    snprintf(out, size,
             "data.columns: {\"%s\": {kind: date%s}} reads it, {..: ignore} leaves it out, {..: categorical} takes it "
             "as text",
             shown, format);
    return out;
}

rp_status rp_inspect_texts(const rp_cells *cells, size_t col)
{
    const rp_column *column = &cells->table->column[col];
    const rp_word *word = column->words.word;
    texts_seen seen = {0};
    char keys[RP_DRESS_KEYS], advice[RP_DRESS_KEYS + 200];

    for (size_t i = 0; i < column->words.count; i++)
        see_text(cells, word[i].at, word[i].first, word[i].count, &seen);
    if (2 * seen.number.count >= seen.all && seen.number.count > 0) {
        snprintf(advice, sizeof advice, "to read it as one: %s; to keep it as text: data.columns: {..: categorical}",
                 rp_dress_keys(keys, sizeof keys, &seen.dress));
        return fail(cells, col, &seen.number, "a text that looks like a number", advice);
    }
    /* the table of an archive was taken for what it is by whoever made it */
    if (2 * seen.date.count >= seen.all && seen.date.count > 0 && !cells->recipe->resolved)
        return fail(cells, col, &seen.date, "a date, which would be a category of its own",
                    advise_date(advice, sizeof advice, cells, col));
    if (seen.spaced.count > 0)
        return fail(cells, col, &seen.spaced, "a word for a missing value with spaces around it",
                    "data.strip: true takes spaces off, data.columns: {..: categorical} keeps it as text");
    return warn_texts(cells, col, &seen);
}

/* ---- numbers ---- */

static const char *affix(const rp_texts *texts, unsigned char number)
{
    return number > 0 ? texts->text[number - 1] : "";
}

rp_status rp_inspect_numbers(const rp_cells *cells, size_t col)
{
    const rp_reading *rules = &cells->recipe->data.reading;
    const rp_column *column = &cells->table->column[col];
    const rp_tally *sort = column->sort;
    char what[160];
    rp_status status;

    if (sort[RP_SORT_OTHERWISE].count > 0) {
        snprintf(what, sizeof what, "expected numbers with one prefix and suffix, as \"%s\" and \"%s\" before",
                 affix(&rules->prefix, column->dress.prefix), affix(&rules->suffix, column->dress.suffix));
        return fail(cells, col, &sort[RP_SORT_OTHERWISE], what,
                    "these are two units: convert one of them, or data.columns: {..: ignore}");
    }
    status = warn(cells, col, &sort[RP_SORT_ZEROS], RP_WARN_LEADING_ZEROS,
                  "is read as a number, without its leading zeros: if it is a code, data.columns: {..: categorical}");
    if (status == RP_OK && sort[RP_SORT_DRESSED].count > 0)
        status = warn(cells, col, &sort[RP_SORT_BARE], RP_WARN_BARE,
                      "has not the prefix or suffix that other numbers of the column have");
    return status;
}
