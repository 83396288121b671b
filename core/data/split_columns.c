/* SPDX-License-Identifier: Apache-2.0
 * Splits that a column decides (CONTRACT 9.4): groups that stay together, time, or the part that a cell names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/schema.h"
#include "determinism/philox.h"

static const uint32_t split_stream = 0x53504C54u; /* as core/data/split.c */

static rp_status fail_cell(const rp_cells *cells, const char *key, size_t row, size_t col, const char *expected)
{
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE];

    return rp_fail(cells->err, RP_EDATA, "%s:%zu: key %s: %s: expected %s, found \"%s\"", cells->where,
                   rp_table_line(cells->table, row), key, rp_column_label(label, sizeof label, cells->table, col),
                   expected, rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col));
}

/* The column, in which no cell may be missing. */
static rp_status whole_column(const rp_cells *cells, const rp_column_ref *ref, const char *key, size_t *col)
{
    const rp_tally *missing;
    rp_status status = rp_column_find(cells, ref, key, col);

    if (status != RP_OK)
        return status;
    missing = &cells->table->column[*col].sort[RP_SORT_MISSING];
    return missing->count == 0 ? RP_OK : fail_cell(cells, key, missing->first, *col, "a value");
}

/* ---- a part by its name ---- */

static int part_named(const rp_word *word)
{
    static const struct {
        const char *name;
        rp_row_part part;
    } names[] = {{"train", RP_TRAINS}, {"validation", RP_VALIDATES}, {"valid", RP_VALIDATES}, {"test", RP_TESTS}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (word->length == strlen(names[i].name) && memcmp(word->at, names[i].name, word->length) == 0)
            return names[i].part;
    return -1;
}

rp_status rp_split_column(const rp_cells *cells, unsigned char *part)
{
    const rp_dictionary *words;
    uint32_t code[RP_BLOCK];
    size_t col, rows = cells->table->rows;
    rp_status status = whole_column(cells, &cells->recipe->data.split, "data.split", &col);

    if (status != RP_OK)
        return status;
    words = &cells->table->column[col].words;
    for (size_t i = 0; i < words->count; i++)
        if (part_named(&words->word[i]) < 0)
            return fail_cell(cells, "data.split", words->word[i].first, col, "train, validation or test");
    for (size_t first = 0; first < rows; first += RP_BLOCK) {
        size_t n = rows - first < RP_BLOCK ? rows - first : RP_BLOCK;

        rp_table_codes(cells->table, col, first, n, code);
        for (size_t i = 0; i < n; i++)
            part[first + i] = (unsigned char)part_named(&words->word[code[i]]);
    }
    return RP_OK;
}

/* ---- groups ---- */

/* A part for each group, in the order of the permutation: tested while there is room, then to the fold that has the
 * fewest rows. */
static void deal_groups(const rp_recipe *recipe, const rp_dictionary *words, size_t rows, const int64_t *order,
                        size_t *size, unsigned char *of)
{
    const size_t wanted = (size_t)(recipe->data.test * (double)rows), folds = (size_t)recipe->data.folds;
    size_t tested = 0;

    for (size_t i = 0; i < words->count; i++) {
        const size_t g = (size_t)order[i];
        size_t least = 0;

        if (tested < wanted) {
            of[g] = RP_TESTS;
            tested += words->word[g].count;
            continue;
        }
        for (size_t f = 1; f < folds; f++)
            if (size[f] < size[least])
                least = f;
        of[g] = least == (size_t)recipe->data.fold ? RP_VALIDATES : RP_TRAINS;
        size[least] += words->word[g].count;
    }
}

static rp_status check_folds(const rp_cells *cells, const size_t *size, size_t groups)
{
    for (int64_t f = 0; f < cells->recipe->data.folds; f++)
        if (size[f] == 0)
            return rp_fail(cells->err, RP_EARG,
                           "%s: key data.folds: expected at most as many folds as groups that are not tested, found "
                           "%lld folds for %zu groups in all",
                           cells->where, (long long)cells->recipe->data.folds, groups);
    return RP_OK;
}

rp_status rp_split_groups(const rp_cells *cells, unsigned char *part)
{
    const rp_recipe *recipe = cells->recipe;
    const rp_dictionary *words;
    uint32_t code[RP_BLOCK];
    size_t col, rows = cells->table->rows, *size;
    unsigned char *of;
    int64_t *order;
    rp_status status = whole_column(cells, &recipe->data.group, "data.group", &col);

    if (status != RP_OK)
        return status;
    words = &cells->table->column[col].words;
    size = rp_calloc((size_t)recipe->data.folds, sizeof *size);
    of = rp_calloc(words->count, 1);
    order = rp_reallocarray(NULL, words->count, sizeof *order);
    status = size != NULL && of != NULL && order != NULL ? RP_OK : rp_no_memory(cells->err);
    if (status == RP_OK) {
        rp_permutation(order, words->count, recipe->seed, 0, split_stream);
        deal_groups(recipe, words, rows, order, size, of);
        status = check_folds(cells, size, words->count);
    }
    for (size_t first = 0; first < rows && status == RP_OK; first += RP_BLOCK) {
        size_t n = rows - first < RP_BLOCK ? rows - first : RP_BLOCK;

        rp_table_codes(cells->table, col, first, n, code);
        for (size_t i = 0; i < n; i++)
            part[first + i] = of[code[i]];
    }
    rp_free(size);
    rp_free(of);
    rp_free(order);
    return status;
}

/* ---- time ---- */

typedef struct moment {
    double number;
    const rp_word *word; /* NULL: a number */
    size_t row;
} moment;

static int compare_times(const moment *x, const moment *y)
{
    size_t n;
    int order;

    if (x->word == NULL)
        return (x->number > y->number) - (x->number < y->number);
    n = x->word->length < y->word->length ? x->word->length : y->word->length;
    order = memcmp(x->word->at, y->word->at, n);
    return order != 0 ? order : (x->word->length > y->word->length) - (x->word->length < y->word->length);
}

static int compare_moments(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    int order = compare_times(x, y);

    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* 2024-03-31, and whatever stands behind: its bytes are in the order of time. */
static bool begins_with_date(const rp_word *word)
{
    static const char form[] = "dddd-dd-dd";

    for (size_t i = 0; i < sizeof form - 1; i++)
        if (i >= word->length || (form[i] == 'd' ? word->at[i] < '0' || word->at[i] > '9' : word->at[i] != form[i]))
            return false;
    return true;
}

static rp_status read_times(const rp_cells *cells, size_t col, moment *out)
{
    const rp_column *column = &cells->table->column[col];
    const char *expected = "a number in every row, or a date as 2024-03-31 in every row";
    double number[RP_BLOCK];
    uint32_t code[RP_BLOCK];

    for (size_t i = 0; column->texts && i < column->words.count; i++)
        if (!begins_with_date(&column->words.word[i]))
            return fail_cell(cells, "data.time", column->words.word[i].first, col, expected);
    if (!column->texts && column->sort[RP_SORT_TEXT].count > 0)
        return fail_cell(cells, "data.time", column->sort[RP_SORT_TEXT].first, col, expected);
    if (!column->texts && column->sort[RP_SORT_NOT_FINITE].count > 0)
        return fail_cell(cells, "data.time", column->sort[RP_SORT_NOT_FINITE].first, col, expected);
    for (size_t first = 0; first < cells->table->rows; first += RP_BLOCK) {
        size_t left = cells->table->rows - first, n = left < RP_BLOCK ? left : RP_BLOCK;

        if (column->texts)
            rp_table_codes(cells->table, col, first, n, code);
        else
            rp_table_numbers(cells->table, col, first, n, number);
        for (size_t i = 0; i < n; i++)
            out[first + i] =
                (moment){column->texts ? 0 : number[i], column->texts ? &column->words.word[code[i]] : NULL, first + i};
    }
    return RP_OK;
}

/* The first place of the time that stands at `place`: equal times stay together, in the later part. */
static size_t begin_of(const moment *sorted, size_t place)
{
    while (place > 0 && compare_times(&sorted[place - 1], &sorted[place]) == 0)
        place--;
    return place;
}

/* A part that is more than half again of what was asked for. */
static rp_status warn_share(const rp_cells *cells, size_t col, const char *name, size_t wanted, size_t found)
{
    const rp_warning warning = {.kind = RP_WARN_SPLIT, .column = col, .count = found};

    if (cells->warnings == NULL || 2 * found <= 3 * wanted)
        return RP_OK;
    return rp_warnings_add(cells->warnings, &warning, cells->err,
                           "the %s part has %zu of %zu rows, %zu were asked for: rows of one time stay together, and "
                           "there are few times; data.split says it row by row",
                           name, found, cells->table->rows, wanted);
}

/* Which times the parts begin with: end is rows where nothing tests. */
static rp_status tell_cut(const rp_cells *cells, size_t col, const moment *sorted, size_t begin, size_t end)
{
    const rp_table *table = cells->table;
    const rp_warning warning = {.kind = RP_WARN_CUT, .column = col, .line = rp_table_line(table, sorted[begin].row)};
    char label[RP_LABEL_SIZE], last[RP_QUOTED_SIZE], first[RP_QUOTED_SIZE], cell[RP_QUOTED_SIZE], tests[120] = "";

    if (cells->warnings == NULL)
        return RP_OK;
    if (end < table->rows)
        snprintf(tests, sizeof tests, ", %zu test rows from \"%s\" on", table->rows - end,
                 rp_cell_quoted(cell, sizeof cell, table, sorted[end].row, col));
    return rp_warnings_add(cells->warnings, &warning, cells->err,
                           "%s: %zu training rows to \"%s\", %zu validation rows from \"%s\" on%s",
                           rp_column_label(label, sizeof label, table, col), begin,
                           rp_cell_quoted(last, sizeof last, table, sorted[begin - 1].row, col), end - begin,
                           rp_cell_quoted(first, sizeof first, table, sorted[begin].row, col), tests);
}

rp_status rp_split_time(const rp_cells *cells, unsigned char *part)
{
    const rp_recipe *recipe = cells->recipe;
    size_t col, rows = cells->table->rows, tested, end, begin;
    moment *sorted;
    rp_status status = whole_column(cells, &recipe->data.time, "data.time", &col);

    if (status != RP_OK)
        return status;
    sorted = rp_reallocarray(NULL, rows, sizeof *sorted);
    if (sorted == NULL)
        return rp_no_memory(cells->err);
    status = read_times(cells, col, sorted);
    if (status == RP_OK) {
        qsort(sorted, rows, sizeof *sorted, compare_moments);
        tested = (size_t)(recipe->data.test * (double)rows);
        end = tested > 0 ? begin_of(sorted, rows - tested) : rows;
        begin = end / (size_t)recipe->data.folds > 0 ? begin_of(sorted, end - end / (size_t)recipe->data.folds) : end;
        for (size_t i = begin; i < rows; i++)
            part[sorted[i].row] = i < end ? RP_VALIDATES : RP_TESTS;
        if (begin == 0 || begin == end)
            status = rp_fail(cells->err, RP_EDATA,
                             "%s: key data.time: too few different times for a part to train on and one to validate",
                             cells->where);
        if (status == RP_OK)
            status = warn_share(cells, col, "validation", end / (size_t)recipe->data.folds, end - begin);
        if (status == RP_OK && tested > 0)
            status = warn_share(cells, col, "test", tested, rows - end);
        if (status == RP_OK)
            status = tell_cut(cells, col, sorted, begin, end);
    }
    rp_free(sorted);
    return status;
}
