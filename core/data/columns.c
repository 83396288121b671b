/* SPDX-License-Identifier: Apache-2.0
 * Column kinds: which columns the recipe means, and what an undeclared column is (CONTRACT 9.2). */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"

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
    if (table->cols != 1 || !strpbrk(table->names[0], ",;\t| "))
        return "";
    return strpbrk(table->names[0], ",;\t|") ? " alone: is data.delimiter the file's?"
           : strstr(table->names[0], "  ")
               ? " alone, divided by runs of blanks: no data.delimiter reads these; make "
                 "each run one character (tr -s ' ' ',')"
               : " alone: is data.delimiter \" \", or do lines stand before the table (data.skip_lines)?";
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
        if (col >= cells->table->own_cols && rule->kind == RP_COL_DATE)
            return rp_fail(cells->err, RP_EARG, "%s: key data.columns: %s is the part of a date, not one", cells->where,
                           label);
        ruled[col] = 1;
        if (rule->kind != RP_COL_AUTO || col < cells->table->own_cols)
            kind[col] = rule->kind;
    }
    return RP_OK;
}

/* Parts that a recipe gives a column besides that of a feature. */
typedef struct column_role {
    const rp_column_ref *column;
    const char *key;
    rp_column_kind never;
    bool told; /* that it is no feature is worth a word */
} column_role;

enum { ROLES = 5 };

static void list_roles(column_role out[ROLES], const rp_recipe *recipe)
{
    const column_role list[ROLES] = {{&recipe->data.weight, "data.weight", RP_COL_CATEGORICAL, false},
                                     {&recipe->data.denominator, "data.denominator", RP_COL_CATEGORICAL, false},
                                     {&recipe->data.time, "data.time", RP_COL_CATEGORICAL, true},
                                     {&recipe->data.group, "data.group", RP_COL_NUMERIC, true},
                                     {&recipe->data.split, "data.split", RP_COL_NUMERIC, false}};

    memcpy(out, list, sizeof list);
}

rp_status rp_columns_roles(const rp_cells *cells, const char **key)
{
    column_role role[ROLES];

    list_roles(role, cells->recipe);
    for (size_t i = 0; i < ROLES; i++) {
        size_t col = 0;
        rp_status status;

        if (!role[i].column->given)
            continue;
        status = rp_column_find(cells, role[i].column, role[i].key, &col);
        if (status != RP_OK)
            return status;
        key[col] = role[i].key;
    }
    return RP_OK;
}

static rp_status tell_role(const rp_cells *cells, const column_role *role, size_t col)
{
    const rp_warning warning = {.kind = RP_WARN_ROLE, .column = col};
    char label[RP_LABEL_SIZE];

    if (cells->warnings == NULL || !role->told || cells->table->column[col].date != NULL)
        return RP_OK;
    rp_column_label(label, sizeof label, cells->table, col);
    return rp_warnings_add(cells->warnings, &warning, cells->err,
                           "%s is no feature, since %s names it; data.columns with its kind, %s, makes it one too",
                           label, role->key, role->never == RP_COL_NUMERIC ? "categorical" : "numeric");
}

/* A column that the recipe gives another part is no feature unless it is declared. */
static rp_status set_aside(const rp_cells *cells, rp_column_kind *kind, size_t target, const unsigned char *ruled)
{
    column_role role[ROLES];

    list_roles(role, cells->recipe);
    for (size_t i = 0; i < ROLES; i++) {
        size_t col = 0;
        rp_status status;

        if (!role[i].column->given)
            continue;
        status = rp_column_find(cells, role[i].column, role[i].key, &col);
        if (status != RP_OK)
            return status;
        if (col == target)
            return rp_fail(cells->err, RP_EARG, "%s: key %s: this column is the target; name another", cells->where,
                           role[i].key);
        if (kind[col] == RP_COL_DATE && role[i].column != &cells->recipe->data.time)
            return rp_fail(cells->err, RP_EARG,
                           "%s: key %s: data.columns declares this column a date; name one of its parts, or leave "
                           "the declaration out",
                           cells->where, role[i].key);
        if (ruled[col] && (kind[col] == role[i].never || kind[col] == RP_COL_AUTO))
            return rp_fail(cells->err, RP_EARG,
                           "%s: key %s: data.columns declares this column %s; leave it out there, or declare it %s",
                           cells->where, role[i].key, kind[col] == RP_COL_AUTO ? "auto" : "otherwise",
                           role[i].never == RP_COL_NUMERIC ? "categorical" : "numeric");
        if (ruled[col])
            continue;
        kind[col] = RP_COL_IGNORE;
        status = tell_role(cells, &role[i], col);
        if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

rp_status rp_offset_find(const rp_cells *cells, size_t *out)
{
    const rp_recipe *recipe = cells->recipe;

    *out = SIZE_MAX;
    return recipe->data.offset.given ? rp_column_find(cells, &recipe->data.offset, rp_recipe_offset_key(recipe), out)
                                     : RP_OK;
}

/* It is a feature, as it stands: no rule of data.columns may change it. */
static rp_status add_offset(const rp_cells *cells, rp_column_kind *kind, size_t target, const unsigned char *ruled)
{
    const char *key = rp_recipe_offset_key(cells->recipe);
    char label[RP_LABEL_SIZE];
    size_t col;
    rp_status status = rp_offset_find(cells, &col);

    if (status != RP_OK || col == SIZE_MAX)
        return status;
    if (col == target)
        return rp_fail(cells->err, RP_EARG, "%s: key %s: this column is the target; name another", cells->where, key);
    rp_column_label(label, sizeof label, cells->table, col);
    if (ruled[col])
        return rp_fail(cells->err, RP_EARG,
                       "%s: key %s: data.columns lists %s too; leave it out there: it is added to the predictor as it "
                       "is",
                       cells->where, key, label);
    kind[col] = RP_COL_NUMERIC;
    return RP_OK;
}

rp_status rp_columns_declare(const rp_cells *cells, rp_column_kind *kind, size_t *target)
{
    size_t cols = cells->table->cols;
    unsigned char *ruled = rp_calloc(cols, 1);
    rp_status status = rp_column_find(cells, &cells->recipe->data.target, "data.target", target);

    if (ruled == NULL)
        return rp_no_memory(cells->err);
    for (size_t col = 0; col < cols; col++)
        kind[col] = col < cells->table->own_cols ? RP_COL_AUTO : RP_COL_NUMERIC;
    if (status == RP_OK && *target >= cells->table->own_cols)
        status = rp_fail(cells->err, RP_EARG, "%s: key data.target: the part of a date is no target", cells->where);
    if (status == RP_OK)
        status = apply_rules(cells, kind, *target, ruled);
    if (status == RP_OK)
        status = set_aside(cells, kind, *target, ruled);
    if (status == RP_OK)
        status = add_offset(cells, kind, *target, ruled);
    rp_free(ruled);
    if (status == RP_OK)
        kind[*target] = RP_COL_IGNORE;
    return status;
}

void rp_columns_store(const rp_recipe *recipe, const rp_column_kind *kind, size_t cols, size_t target, rp_store *store)
{
    static const rp_store of[] = {[RP_COL_AUTO] = RP_STORE_AUTO,
                                  [RP_COL_NUMERIC] = RP_STORE_NUMBERS,
                                  [RP_COL_CATEGORICAL] = RP_STORE_TEXTS,
                                  [RP_COL_IGNORE] = RP_STORE_AUTO, /* its profile is told */
                                  [RP_COL_DATE] = RP_STORE_NUMBERS};

    for (size_t col = 0; col < cols; col++)
        store[col] = of[kind[col]];
    if (target < cols)
        store[target] = recipe->train.regression ? RP_STORE_TARGET : RP_STORE_TEXTS;
}

rp_status rp_columns_store_roles(const rp_cells *cells, rp_store *store)
{
    const rp_column_ref *role[] = {&cells->recipe->data.group, &cells->recipe->data.split};
    size_t col;
    rp_status status = RP_OK;

    for (size_t i = 0; i < sizeof role / sizeof *role && status == RP_OK; i++) {
        if (!role[i]->given)
            continue;
        status = rp_column_find(cells, role[i], "data.group", &col);
        if (status == RP_OK)
            store[col] = RP_STORE_TEXTS;
    }
    return status;
}

/* Numbers and text in one undeclared column are a typing error as often as a code list: the user must say which. */
static rp_status fail_mixed(const rp_cells *cells, size_t col)
{
    const rp_tally *sort = cells->table->column[col].sort;
    const bool odd_text = sort[RP_SORT_NUMBER].count >= sort[RP_SORT_TEXT].count;
    const size_t row = sort[odd_text ? RP_SORT_TEXT : RP_SORT_NUMBER].first;
    const size_t odd = sort[odd_text ? RP_SORT_TEXT : RP_SORT_NUMBER].count;
    const size_t usual = sort[odd_text ? RP_SORT_NUMBER : RP_SORT_TEXT].count;
    char label[RP_LABEL_SIZE], quoted[RP_QUOTED_SIZE], name[64] = "..";
    rp_status status = rp_inspect_texts(cells, col); /* texts that look like numbers have an error of their own */

    if (status != RP_OK)
        return status;
    if (cells->table->names != NULL)
        rp_printable(name, sizeof name, cells->table->names[col], strlen(cells->table->names[col]));
    return rp_fail(cells->err, RP_EDATA,
                   "%s:%zu: %s: expected %s as in %zu of %zu cells, found \"%s\"; correct the cell, list it under "
                   "data.missing, or take all of them as text: data.columns: {\"%s\": categorical}",
                   cells->where, rp_table_line(cells->table, row),
                   rp_column_label(label, sizeof label, cells->table, col), odd_text ? "a number" : "text", usual,
                   usual + odd, rp_cell_quoted(quoted, sizeof quoted, cells->table, row, col), name);
}

static rp_status infer_kind(const rp_cells *cells, size_t col, rp_column_kind *kind)
{
    const rp_tally *sort = cells->table->column[col].sort;

    if (sort[RP_SORT_NUMBER].count > 0 && sort[RP_SORT_TEXT].count > 0)
        return fail_mixed(cells, col);
    *kind = sort[RP_SORT_TEXT].count == 0 && sort[RP_SORT_NUMBER].count + sort[RP_SORT_NOT_FINITE].count > 0
                ? RP_COL_NUMERIC
                : RP_COL_CATEGORICAL;
    return *kind == RP_COL_CATEGORICAL ? rp_inspect_texts(cells, col) : RP_OK;
}

rp_status rp_columns_settle(const rp_cells *cells, rp_column_kind *kind)
{
    size_t offset;
    rp_status status = rp_offset_find(cells, &offset);

    if (status == RP_OK && offset != SIZE_MAX)
        status = rp_offset_check(cells, offset, cells->recipe->data.exposure ? RP_OFFSET_LOG : RP_OFFSET_NUMBER);

    for (size_t col = 0; col < cells->table->cols && status == RP_OK; col++) {
        if (kind[col] == RP_COL_AUTO)
            status = infer_kind(cells, col, &kind[col]);
        if (status == RP_OK)
            status = rp_column_check(cells, col, kind[col]);
        if (status == RP_OK && kind[col] == RP_COL_NUMERIC)
            status = rp_inspect_numbers(cells, col);
    }
    return status;
}
