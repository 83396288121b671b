/* SPDX-License-Identifier: Apache-2.0
 * Column kinds: which columns the recipe means, and what an undeclared column is (CONTRACT 9.2). */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"

static const char *cell_at(const rp_table *table, size_t row, size_t col)
{
    return table->cell[row * table->cols + col];
}

/* "a", "b", and 3 more */
static const char *list_names(char *out, size_t size, const rp_table *table)
{
    char quoted[40];
    size_t used = 0, i = 0;

    for (; i < table->cols && i < 8; i++)
        used += (size_t)snprintf(out + used, size - used, "%s\"%s\"", i ? ", " : "",
                                 rp_printable(quoted, sizeof quoted, table->names[i], strlen(table->names[i])));
    if (i < table->cols)
        (void)snprintf(out + used, size - used, " and %zu more", table->cols - i);
    return out;
}

/* Where all names stand in one, another character may divide the cells. */
static const char *advise_delimiter(const rp_table *table)
{
    return table->cols == 1 && strpbrk(table->names[0], ",;\t|") ? " alone: is data.delimiter the file's?" : "";
}

rp_status rp_column_find(const rp_cells *cells, const rp_column_ref *ref, const char *key, size_t *out)
{
    const rp_table *table = cells->table;
    char quoted[64], advice[400];
    const char *nearest;

    if (ref->name == NULL) {
        *out = (size_t)ref->index;
        if (*out < table->cols)
            return RP_OK;
        return rp_fail(cells->err, RP_EARG,
                       "%s: key %s: expected a column index below %zu, found %zu; the first column "
                       "is 0",
                       cells->where, key, table->cols, *out);
    }
    for (size_t i = 0; i < table->cols; i++)
        if (strcmp(table->names[i], ref->name) == 0) {
            *out = i;
            return RP_OK;
        }
    nearest = rp_nearest(ref->name, table->names, table->cols);
    rp_printable(quoted, sizeof quoted, ref->name, strlen(ref->name));
    if (nearest != NULL)
        return rp_fail(cells->err, RP_EARG,
                       "%s: key %s: expected a name of the header line, found \"%s\"; did you mean \"%s\"?",
                       cells->where, key, quoted, rp_printable(advice, sizeof advice, nearest, strlen(nearest)));
    return rp_fail(cells->err, RP_EARG, "%s: key %s: expected a name of the header line, found \"%s\"; it has %s%s",
                   cells->where, key, quoted, list_names(advice, sizeof advice, table), advise_delimiter(table));
}

/* Rows of each class of cell, and the first of each, in an undeclared column. */
typedef struct census {
    size_t count[3], first[3];
} census;

static census count_cells(const rp_cells *cells, size_t col)
{
    census found = {{0}, {0}};

    for (size_t row = 0; row < cells->table->rows; row++) {
        const char *text = cell_at(cells->table, row, col);
        double number;
        rp_cell_class class;

        if (rp_cell_missing(cells->recipe, text))
            continue;
        class = rp_cell_classify(&cells->recipe->data.reading, text, &number, NULL);
        if (found.count[class]++ == 0)
            found.first[class] = row;
    }
    return found;
}

/* Numbers and text in one undeclared column are a typing error as often as a code list: the user must say which. */
static rp_status fail_mixed(const rp_cells *cells, size_t col, const census *found)
{
    bool odd_text = found->count[RP_CELL_NUMBER] >= found->count[RP_CELL_TEXT];
    size_t row = found->first[odd_text ? RP_CELL_TEXT : RP_CELL_NUMBER];
    const char *text = cell_at(cells->table, row, col);
    char label[RP_LABEL_SIZE], quoted[64];
    rp_status status = rp_inspect_texts(cells, col); /* texts that look like numbers have an error of their own */

    if (status != RP_OK)
        return status;
    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: %s: expected %s as in most rows, found \"%s\"; correct the cell, "
                   "list it under data.missing, or declare the column under data.columns",
                   cells->where, cells->table->line[row], rp_column_label(label, sizeof label, cells->table, col),
                   odd_text ? "a number" : "text", rp_printable(quoted, sizeof quoted, text, strlen(text)));
}

static rp_status infer_kind(const rp_cells *cells, size_t col, rp_column_kind *kind)
{
    census found = count_cells(cells, col);

    if (found.count[RP_CELL_NUMBER] > 0 && found.count[RP_CELL_TEXT] > 0)
        return fail_mixed(cells, col, &found);
    *kind = found.count[RP_CELL_TEXT] == 0 && found.count[RP_CELL_NUMBER] + found.count[RP_CELL_NOT_FINITE] > 0
                ? RP_COL_NUMERIC
                : RP_COL_CATEGORICAL;
    return *kind == RP_COL_CATEGORICAL ? rp_inspect_texts(cells, col) : RP_OK;
}

static rp_status apply_rules(const rp_cells *cells, rp_column_kind *kind, size_t target, unsigned char *ruled)
{
    char label[RP_LABEL_SIZE];

    for (size_t i = 0; i < cells->recipe->data.n_columns; i++) {
        const rp_column_rule *rule = &cells->recipe->data.columns[i];
        size_t col = 0;
        rp_status status = rp_column_find(cells, &rule->column, "data.columns", &col);

        if (status != RP_OK)
            return status;
        rp_column_label(label, sizeof label, cells->table, col);
        if (col == target)
            return rp_fail(cells->err, RP_EARG,
                           "%s: key data.columns: %s is the target; remove it there, its kind "
                           "follows from train.task",
                           cells->where, label);
        if (ruled[col])
            return rp_fail(cells->err, RP_EARG, "%s: key data.columns: %s is listed by name and by index; keep one",
                           cells->where, label);
        ruled[col] = 1;
        kind[col] = rule->kind;
    }
    return RP_OK;
}

static rp_status settle_column(const rp_cells *cells, size_t col, rp_column_kind *kind)
{
    rp_status status = *kind == RP_COL_AUTO ? infer_kind(cells, col, kind) : RP_OK;
    rp_cell cell;

    for (size_t row = 0; status == RP_OK && *kind != RP_COL_IGNORE && row < cells->table->rows; row++)
        status = rp_cell_read(cells, row, col, *kind, &cell);
    return status == RP_OK && *kind == RP_COL_NUMERIC ? rp_inspect_numbers(cells, col) : status;
}

rp_status rp_columns_resolve(const rp_cells *cells, rp_column_kind *kind, size_t *target)
{
    size_t cols = cells->table->cols;
    unsigned char *ruled = rp_calloc(cols, 1);
    rp_status status = rp_column_find(cells, &cells->recipe->data.target, "data.target", target);

    if (ruled == NULL)
        return rp_no_memory(cells->err);
    for (size_t col = 0; col < cols; col++)
        kind[col] = RP_COL_AUTO;
    if (status == RP_OK)
        status = apply_rules(cells, kind, *target, ruled);
    rp_free(ruled);
    if (status == RP_OK)
        kind[*target] = RP_COL_IGNORE;
    for (size_t col = 0; col < cols && status == RP_OK; col++)
        status = settle_column(cells, col, &kind[col]);
    return status;
}
