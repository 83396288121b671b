/* SPDX-License-Identifier: Apache-2.0
 * Cells and column kinds: which columns the recipe means, what an undeclared column is, and what a cell may hold
 * (CONTRACT 9.2, 9.3). */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"
#include "determinism/decimal.h"

typedef enum cell_class { CELL_NUMBER, CELL_NOT_FINITE, CELL_TEXT } cell_class;

bool rp_cell_missing(const rp_recipe *recipe, const char *text)
{
    for (size_t i = 0; i < recipe->data.n_missing; i++)
        if (strcmp(text, recipe->data.missing[i]) == 0)
            return true;
    return false;
}

char *rp_column_label(char *out, size_t size, const rp_table *table, size_t col)
{
    char name[64];

    if (table->names != NULL)
        snprintf(out, size, "column \"%s\"",
                 rp_printable(name, sizeof name, table->names[col], strlen(table->names[col])));
    else
        snprintf(out, size, "column %zu", col);
    return out;
}

static bool same_word(const char *text, const char *lower)
{
    for (; *lower != '\0'; text++, lower++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + ('a' - 'A')) : *text;

        if (c != *lower)
            return false;
    }
    return *text == '\0';
}

/* What other programs write for NaN and infinity, and numbers beyond binary64, are no numbers and no categories. */
static cell_class classify(const char *text, double *number)
{
    const char *word = text + (text[0] == '+' || text[0] == '-');

    if (rp_parse_f64(number, text, strlen(text)))
        return *number - *number == 0 ? CELL_NUMBER : CELL_NOT_FINITE;
    if (same_word(word, "nan") || same_word(word, "inf") || same_word(word, "infinity"))
        return CELL_NOT_FINITE;
    return CELL_TEXT;
}

static const char *cell_at(const rp_table *table, size_t row, size_t col)
{
    return table->cell[row * table->cols + col];
}

static rp_status fail_number(const rp_cells *cells, size_t row, size_t col, cell_class found)
{
    const char *text = cell_at(cells->table, row, col);
    char label[RP_LABEL_SIZE], quoted[64];

    rp_column_label(label, sizeof label, cells->table, col);
    rp_printable(quoted, sizeof quoted, text, strlen(text));
    return rp_fail(cells->err, RP_EDATA, "%s:%zu: %s: expected a %snumber, found \"%s\"; correct the cell%s",
                   cells->where, cells->table->line[row], label, found == CELL_NOT_FINITE ? "finite " : "", quoted,
                   cells->recorded            ? ": the column was numeric in training"
                   : found == CELL_NOT_FINITE ? " or list it under data.missing"
                                              : ", list it under data.missing, or declare the column categorical");
}

static rp_status check_missing(const rp_cells *cells, size_t row, size_t col, rp_column_kind kind)
{
    bool numeric = kind == RP_COL_NUMERIC;
    rp_missing_rule rule = numeric ? cells->recipe->data.missing_numeric : cells->recipe->data.missing_categorical;
    const char *text = cell_at(cells->table, row, col);
    char label[RP_LABEL_SIZE], quoted[64];

    if (rule != RP_MISSING_ERROR)
        return RP_OK;
    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: %s: expected a value, found \"%s\", which means missing; fill it in%s", cells->where,
                   cells->table->line[row], rp_column_label(label, sizeof label, cells->table, col),
                   rp_printable(quoted, sizeof quoted, text, strlen(text)),
                   cells->recorded ? ": the recipe takes none"
                   : numeric       ? " or set data.missing_numeric: mean"
                                   : " or set data.missing_categorical: category");
}

rp_status rp_cell_read(const rp_cells *cells, size_t row, size_t col, rp_column_kind kind, rp_cell *out)
{
    cell_class found;

    out->text = cell_at(cells->table, row, col);
    out->number = 0;
    out->missing = rp_cell_missing(cells->recipe, out->text);
    if (out->missing)
        return check_missing(cells, row, col, kind);
    if (kind != RP_COL_NUMERIC)
        return RP_OK;
    found = classify(out->text, &out->number);
    return found == CELL_NUMBER ? RP_OK : fail_number(cells, row, col, found);
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

static rp_status find_column(const rp_cells *cells, const rp_column_ref *ref, const char *key, size_t *out)
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
        cell_class class;

        if (rp_cell_missing(cells->recipe, text))
            continue;
        class = classify(text, &number);
        if (found.count[class]++ == 0)
            found.first[class] = row;
    }
    return found;
}

/* Numbers and text in one undeclared column are a typing error as often as a code list: the user must say which. */
static rp_status infer_kind(const rp_cells *cells, size_t col, rp_column_kind *kind)
{
    census found = count_cells(cells, col);
    bool odd_text = found.count[CELL_NUMBER] >= found.count[CELL_TEXT];
    size_t row = found.first[odd_text ? CELL_TEXT : CELL_NUMBER];
    char label[RP_LABEL_SIZE], quoted[64];
    const char *text;

    if (found.count[CELL_NUMBER] > 0 && found.count[CELL_TEXT] > 0) {
        text = cell_at(cells->table, row, col);
        return rp_fail(cells->err, RP_EDATA,
                       "%s:%zu: %s: expected %s as in most rows, found \"%s\"; correct the cell, "
                       "list it under data.missing, or declare the column under data.columns",
                       cells->where, cells->table->line[row], rp_column_label(label, sizeof label, cells->table, col),
                       odd_text ? "a number" : "text", rp_printable(quoted, sizeof quoted, text, strlen(text)));
    }
    *kind = found.count[CELL_TEXT] == 0 && found.count[CELL_NUMBER] + found.count[CELL_NOT_FINITE] > 0
                ? RP_COL_NUMERIC
                : RP_COL_CATEGORICAL;
    return RP_OK;
}

static rp_status apply_rules(const rp_cells *cells, rp_column_kind *kind, size_t target, unsigned char *ruled)
{
    char label[RP_LABEL_SIZE];

    for (size_t i = 0; i < cells->recipe->data.n_columns; i++) {
        const rp_column_rule *rule = &cells->recipe->data.columns[i];
        size_t col = 0;
        rp_status status = find_column(cells, &rule->column, "data.columns", &col);

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
    return status;
}

rp_status rp_columns_resolve(const rp_cells *cells, rp_column_kind *kind, size_t *target)
{
    size_t cols = cells->table->cols;
    unsigned char *ruled = rp_calloc(cols, 1);
    rp_status status = find_column(cells, &cells->recipe->data.target, "data.target", target);

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
