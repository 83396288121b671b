/* SPDX-License-Identifier: Apache-2.0
 * Columns of which nothing, or not all, reaches the model: flags that bins or caps make constant, numbers so small that
 * their squares, or they themselves, are 0, categories that are pooled. */
#include "core/data/learnt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "determinism/decimal.h"

enum { POOLED_NAMED = 8 };

typedef struct teller {
    const rp_cells *cells;
    const size_t *source;
    const int64_t *train_row;
    size_t train_rows;
    double *number; /* [train_rows] */
} teller;

/* A flag that is 0 in most rows has no tenth above 0, and no 99th percentile where it is rarer: nothing stays of it. */
static rp_status tell_flat(const teller *t, const rp_schema_column *c, size_t col)
{
    const bool capped = c->capped && c->cap[0] == c->cap[1], binned = c->binned && c->edges == 0;
    const rp_warning warning = {.kind = RP_WARN_FLAT, .column = col, .cell = NULL};
    char label[RP_LABEL_SIZE];

    if (!(capped || binned))
        return RP_OK;
    return rp_warnings_add(t->cells->warnings, &warning, t->cells->err,
                           "%s: with the recipe's %s it has one value and tells nothing, since most training rows "
                           "have its %s; %s",
                           rp_column_label(label, sizeof label, t->cells->table, col), capped ? "cap" : "bins",
                           capped ? "lowest or highest" : "lowest",
                           capped ? "leave data.columns.cap out"
                                  : "data.columns: bins as edges ([1] of a flag), "
                                    "or categorical, divide it");
}

/* The first training row with another number than those before it, a missing one being none; SIZE_MAX: there is no. */
static size_t first_other(const teller *t, size_t col)
{
    size_t one = SIZE_MAX;

    rp_table_numbers_of(t->cells->table, col, t->train_row, t->train_rows, t->number);
    for (size_t i = 0; i < t->train_rows; i++) {
        if (t->number[i] != t->number[i])
            continue;
        if (one == SIZE_MAX)
            one = i;
        else if (t->number[i] != t->number[one])
            return (size_t)t->train_row[i];
    }
    return SIZE_MAX;
}

/* Whether the feature is 0 in binary32 wherever it is not missing. */
static bool vanishes(const teller *t)
{
    for (size_t i = 0; i < t->train_rows; i++)
        if (t->number[i] == t->number[i] && (float)t->number[i] != 0)
            return false;
    return true;
}

/* What was learnt as the column's deviation; NaN where none is. */
static double deviation_of(const rp_schema *schema, size_t i)
{
    const rp_json *column = rp_json_array_get(rp_json_object_get(schema->json, "columns"), i);
    const char *text = rp_json_string_value(rp_json_object_get(column, "deviation"));
    double deviation;

    return text != NULL && rp_parse_f64(&deviation, text, strlen(text)) ? deviation : (double)NAN;
}

/* A square below the normal numbers has few digits or none, so the deviation has; as binary32 the number itself is 0.
 */
static rp_status tell_faint(const teller *t, const rp_schema_column *c, double deviation, size_t col)
{
    const bool squares = deviation < 0x1p-490;
    const bool narrow = !c->standardize && !t->cells->recipe->train.exact && fabs(c->mean) < 0x1p-126;
    rp_warning warning = {.kind = RP_WARN_FAINT, .column = col};
    char label[RP_LABEL_SIZE], cell[RP_QUOTED_SIZE];
    size_t row;

    if (c->binned || c->offset != RP_OFFSET_NONE || (c->capped && c->cap[0] == c->cap[1]) || !(squares || narrow))
        return RP_OK;
    row = first_other(t, col);
    if (row == SIZE_MAX || (narrow && !vanishes(t)))
        return RP_OK;
    warning.line = rp_table_line(t->cells->table, row);
    warning.cell = rp_cell_quoted(cell, sizeof cell, t->cells->table, row, col);
    return rp_warnings_add(t->cells->warnings, &warning, t->cells->err,
                           "%s, line %zu: \"%s\" differs from the numbers before by too little: %s; give the column in "
                           "another unit, or data.columns: ignore leaves it out",
                           rp_column_label(label, sizeof label, t->cells->table, col), warning.line, warning.cell,
                           narrow           ? "in binary32 all of them are 0, and so is the feature"
                           : deviation == 0 ? "the deviation is 0 in binary64, and so is the feature in every row"
                                            : "the squares of such numbers, and so the deviation, have few digits");
}

/* ---- pooled categories ---- */

typedef struct rare {
    const rp_word *word;
    size_t rows;
} rare;

static int compare_rare(const void *a, const void *b)
{
    const rare *x = a, *y = b;

    return x->rows != y->rows ? (x->rows < y->rows ? 1 : -1) : strcmp(x->word->at, y->word->at);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The words of training rows that are no category of their own, the most frequent first; *met: of how many words. */
static size_t find_rare(const teller *t, const rp_schema_column *c, size_t col, uint32_t *code, rare *out, size_t *met)
{
    const rp_dictionary *words = &t->cells->table->column[col].words;
    size_t n = 0;

    *met = 0;
    for (size_t i = 0; i < words->count; i++)
        out[i] = (rare){&words->word[i], 0};
    rp_table_codes_of(t->cells->table, col, t->train_row, t->train_rows, code);
    for (size_t i = 0; i < t->train_rows; i++)
        if (code[i] != (uint32_t)RP_NO_CODE)
            out[code[i]].rows++;
    for (size_t i = 0; i < words->count; i++) {
        *met += out[i].rows > 0;
        if (out[i].rows > 0 && (c->categories == 0 || bsearch(&out[i].word->at, c->category, c->categories,
                                                              sizeof *c->category, compare_texts) == NULL))
            out[n++] = out[i];
    }
    qsort(out, n, sizeof *out, compare_rare);
    return n;
}

/* Texts of few rows may name persons, so that no more of them are told than say what kind of texts they are. */
static rp_status add_pooled(const teller *t, size_t col, const rare *list, size_t n, size_t met)
{
    const rp_warning warning = {.kind = RP_WARN_POOLED, .column = col, .count = n};
    char label[RP_LABEL_SIZE], names[POOLED_NAMED * 64] = "", quoted[40];
    size_t rows = 0, used = 0;

    for (size_t i = 0; i < n; i++)
        rows += list[i].rows;
    for (size_t i = 0; i < n && i < POOLED_NAMED; i++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\" (%zu)", i > 0 ? ", " : "",
                             rp_printable(quoted, sizeof quoted, list[i].word->at, list[i].word->length), list[i].rows);
    return rp_warnings_add(t->cells->warnings, &warning, t->cells->err,
                           "%s: %zu of %zu categories of the training rows, %zu of %zu rows, are rare and pooled: %s%s",
                           rp_column_label(label, sizeof label, t->cells->table, col), n, met, rows, t->train_rows,
                           names, n > POOLED_NAMED ? ", .." : "");
}

static rp_status tell_pooled(const teller *t, const rp_schema_column *c, size_t col)
{
    const size_t words = t->cells->table->column[col].words.count;
    rare *list;
    uint32_t *code;
    rp_status status = RP_OK;
    size_t n, met;

    if (!c->other || words == 0)
        return RP_OK;
    list = rp_reallocarray(NULL, words, sizeof *list);
    code = rp_reallocarray(NULL, t->train_rows, sizeof *code);
    n = list != NULL && code != NULL ? find_rare(t, c, col, code, list, &met) : 0;
    if (list == NULL || code == NULL)
        status = rp_no_memory(t->cells->err);
    else if (n > 0)
        status = add_pooled(t, col, list, n, met);
    rp_free(list);
    rp_free(code);
    return status;
}

rp_status rp_learnt_tell(const rp_cells *cells, const rp_schema *schema, const size_t *source, const int64_t *train_row,
                         size_t train_rows)
{
    teller t = {cells, source, train_row, train_rows, rp_reallocarray(NULL, train_rows, sizeof(double))};
    rp_status status = t.number != NULL ? RP_OK : rp_no_memory(cells->err);

    for (size_t i = 0; i < schema->n_columns && status == RP_OK; i++) {
        if (schema->columns[i].kind == RP_COL_CATEGORICAL)
            status = tell_pooled(&t, &schema->columns[i], source[i]);
        if (schema->columns[i].kind != RP_COL_NUMERIC)
            continue;
        status = tell_flat(&t, &schema->columns[i], source[i]);
        if (status == RP_OK)
            status = tell_faint(&t, &schema->columns[i], deviation_of(schema, i), source[i]);
    }
    rp_free(t.number);
    return status;
}
