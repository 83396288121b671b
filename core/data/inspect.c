/* SPDX-License-Identifier: Apache-2.0
 * What a column's cells seem to be beside what they were read as: numbers or dates among texts, identifiers among
 * numbers. Likely mistakes are errors that name the key, less likely ones warnings. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/data/dress.h"
#include "core/data/schema.h"

static const char *cell_at(const rp_cells *cells, size_t row, size_t col)
{
    return cells->table->cell[row * cells->table->cols + col];
}

/* Cells of one sort: how many, and the first one's row. */
typedef struct sort {
    size_t count, row;
} sort;

static void count(sort *s, size_t row)
{
    if (s->count++ == 0)
        s->row = row;
}

static rp_status fail(const rp_cells *cells, size_t col, const sort *s, const char *what, const char *advice)
{
    const char *text = cell_at(cells, s->row, col);
    char label[RP_LABEL_SIZE], quoted[64];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: %s, found \"%s\"; %s", cells->where, cells->table->line[s->row],
                   rp_column_label(label, sizeof label, cells->table, col), what,
                   rp_printable(quoted, sizeof quoted, text, strlen(text)), advice);
}

static rp_status warn(const rp_cells *cells, size_t col, const sort *s, rp_warning_kind kind, const char *text)
{
    const rp_warning warning = {.kind = kind,
                                .column = col,
                                .line = cells->table->line[s->row],
                                .count = s->count,
                                .cell = (char *)cell_at(cells, s->row, col)};

    if (s->count == 0 || cells->warnings == NULL)
        return RP_OK;
    return rp_warnings_add(cells->warnings, &warning, cells->err, "%s", text);
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
    return rp_cell_missing(cells->recipe, bare);
}

/* Words that are names as often as they mean nothing. */
static bool doubtful_word(const char *text)
{
    return strcmp(text, "None") == 0 || strcmp(text, "NULL") == 0 || strcmp(text, "null") == 0;
}

typedef struct texts_seen {
    size_t all;
    sort number, unit, date, spaced, word;
    rp_dress_seen dress;
} texts_seen;

static void see_text(const rp_cells *cells, size_t row, const char *text, texts_seen *seen)
{
    double number;

    if (rp_cell_missing(cells->recipe, text)) {
        if (doubtful_word(text))
            count(&seen->word, row);
        return;
    }
    if (rp_cell_classify(&cells->recipe->data.reading, text, &number, NULL) != RP_CELL_TEXT)
        return;
    seen->all++;
    if (spaced_missing(cells, text)) {
        count(&seen->spaced, row);
        return;
    }
    switch (rp_dress_look(text, &seen->dress)) {
    case RP_LOOK_NUMBER:
        count(&seen->number, row);
        break;
    case RP_LOOK_UNIT:
        count(&seen->unit, row);
        break;
    case RP_LOOK_DATE:
        count(&seen->date, row);
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
        status =
            warn(cells, col, &seen->unit, RP_WARN_UNIT,
                 "a number with a word behind it is a category: if it is a quantity, data.suffix takes the word off");
    return status == RP_OK ? warn(cells, col, &seen->word, RP_WARN_MISSING_WORD,
                                  "is taken for a missing value: if it is a category, list the words for missing "
                                  "values without it under data.missing")
                           : status;
}

rp_status rp_inspect_texts(const rp_cells *cells, size_t col)
{
    texts_seen seen = {0};
    char keys[RP_DRESS_KEYS], advice[RP_DRESS_KEYS + 160];

    for (size_t row = 0; row < cells->table->rows; row++)
        see_text(cells, row, cell_at(cells, row, col), &seen);
    if (2 * seen.number.count >= seen.all && seen.number.count > 0) {
        snprintf(advice, sizeof advice, "to read it as one: %s; to keep it as text: data.columns: {..: categorical}",
                 rp_dress_keys(keys, sizeof keys, &seen.dress));
        return fail(cells, col, &seen.number, "a text that looks like a number", advice);
    }
    if (2 * seen.date.count >= seen.all && seen.date.count > 0)
        return fail(cells, col, &seen.date, "a date, which would be a category of its own",
                    "data.columns: {..: ignore} leaves it out, {..: categorical} takes it as text");
    if (seen.spaced.count > 0)
        return fail(cells, col, &seen.spaced, "a word for a missing value with spaces around it",
                    "data.strip: true takes spaces off, data.columns: {..: categorical} keeps it as text");
    return warn_texts(cells, col, &seen);
}

/* ---- numbers ---- */

/* 00012: digits alone, and more than one. */
static bool leads_with_zero(const char *text)
{
    return text[0] == '0' && text[1] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static const char *affix(const rp_texts *texts, unsigned char number)
{
    return number > 0 ? texts->text[number - 1] : "";
}

/* Two units in one column; the first row of each dress is kept. */
static rp_status fail_dress(const rp_cells *cells, size_t col, const sort *s, rp_dress first)
{
    const rp_reading *r = &cells->recipe->data.reading;
    char what[160];

    snprintf(what, sizeof what, "expected numbers with one prefix and suffix, as \"%s\" and \"%s\" before",
             affix(&r->prefix, first.prefix), affix(&r->suffix, first.suffix));
    return fail(cells, col, s, what, "these are two units: convert one of them, or data.columns: {..: ignore}");
}

rp_status rp_inspect_numbers(const rp_cells *cells, size_t col)
{
    const rp_reading *rules = &cells->recipe->data.reading;
    bool affixes = rules->prefix.count + rules->suffix.count > 0;
    sort zeros = {0}, bare = {0}, dressed = {0};
    rp_dress first = {0, 0};
    rp_status status;

    for (size_t row = 0; row < cells->table->rows; row++) {
        const char *text = cell_at(cells, row, col);
        rp_dress dress = {0, 0};
        double number;

        if (leads_with_zero(text) && !rp_cell_missing(cells->recipe, text))
            count(&zeros, row);
        if (!affixes || rp_cell_missing(cells->recipe, text))
            continue;
        (void)rp_cell_classify(rules, text, &number, &dress);
        if (dress.prefix + dress.suffix == 0) {
            count(&bare, row);
            continue;
        }
        if (dressed.count == 0)
            first = dress;
        if (dress.prefix != first.prefix || dress.suffix != first.suffix)
            return fail_dress(cells, col, &(sort){1, row}, first);
        count(&dressed, row);
    }
    status = warn(cells, col, &zeros, RP_WARN_LEADING_ZEROS,
                  "is read as a number, without its leading zeros: if it is a code, data.columns: {..: categorical}");
    if (status == RP_OK && dressed.count > 0)
        status =
            warn(cells, col, &bare, RP_WARN_BARE, "has not the prefix or suffix that other numbers of the column have");
    return status;
}
