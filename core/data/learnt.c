/* SPDX-License-Identifier: Apache-2.0
 * Columns of which nothing, or not every digit, reaches the model: flags that bins or caps make constant, numbers so
 * small that their squares, or they themselves, are 0. */
#include "core/data/learnt.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/decimal.h"

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

rp_status rp_learnt_tell(const rp_cells *cells, const rp_schema *schema, const size_t *source, const int64_t *train_row,
                         size_t train_rows)
{
    teller t = {cells, source, train_row, train_rows, rp_reallocarray(NULL, train_rows, sizeof(double))};
    rp_status status = t.number != NULL ? RP_OK : rp_no_memory(cells->err);

    for (size_t i = 0; i < schema->n_columns && status == RP_OK; i++) {
        if (schema->columns[i].kind != RP_COL_NUMERIC)
            continue;
        status = tell_flat(&t, &schema->columns[i], source[i]);
        if (status == RP_OK)
            status = tell_faint(&t, &schema->columns[i], deviation_of(schema, i), source[i]);
    }
    rp_free(t.number);
    return status;
}
