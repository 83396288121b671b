/* SPDX-License-Identifier: Apache-2.0
 * Columns of dates (CONTRACT 9.2a): their parts become columns behind the table's, of training and of new rows. */
#include <string.h>

#include "base/memory.h"
#include "core/data/schema.h"

static bool names(const rp_column_ref *ref, size_t place, const char *name)
{
    return ref->name == NULL ? ref->index == (int64_t)place : name != NULL && strcmp(ref->name, name) == 0;
}

static const rp_column_rule *find_rule(const rp_recipe *recipe, size_t place, const char *name)
{
    for (size_t i = 0; i < recipe->data.n_columns; i++)
        if (names(&recipe->data.columns[i].column, place, name))
            return &recipe->data.columns[i];
    return NULL;
}

const rp_column_rule *rp_schema_rule(const rp_recipe *recipe, const rp_schema *schema, size_t i)
{
    return find_rule(recipe, i, schema->columns[i].name);
}

static const rp_treatment *treatment_of(const rp_cells *cells, size_t col)
{
    const rp_table *table = cells->table;
    const size_t source = table->column[col].source;
    const rp_column_rule *rule = find_rule(cells->recipe, col, table->names != NULL ? table->names[col] : NULL);

    if (rule == NULL && source != col)
        rule = find_rule(cells->recipe, source, table->names != NULL ? table->names[source] : NULL);
    return rule != NULL && rule->treated ? &rule->treatment : NULL;
}

rp_status rp_treatments_find(const rp_treatment **treatment, const rp_cells *cells)
{
    for (size_t i = 0; i < cells->recipe->data.n_columns; i++) {
        const rp_column_rule *rule = &cells->recipe->data.columns[i];
        size_t col = 0;
        rp_status status = rule->treated ? rp_column_find(cells, &rule->column, "data.columns", &col) : RP_OK;

        if (status != RP_OK)
            return status;
    }
    for (size_t col = 0; col < cells->table->cols; col++)
        treatment[col] = treatment_of(cells, col);
    return RP_OK;
}

rp_status rp_dates_declare(const rp_cells *cells, rp_table *table)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < cells->recipe->data.n_columns && status == RP_OK; i++) {
        const rp_column_rule *rule = &cells->recipe->data.columns[i];
        size_t col = 0;

        if (rule->kind != RP_COL_DATE)
            continue;
        status = rp_column_find(cells, &rule->column, "data.columns", &col);
        if (status == RP_OK && col >= table->own_cols)
            status = rp_fail(cells->err, RP_EARG, "%s: key data.columns: the part of a date is not one", cells->where);
        if (status == RP_OK && table->column[col].date == NULL)
            status = rp_table_derive(table, col, &rule->date, cells->err);
    }
    return status;
}

/* Of a date all parts that the recipe names are made, and the schema has them in the same order. */
rp_status rp_dates_follow(const rp_schema *schema, const rp_cells *cells, rp_table *table, size_t *source)
{
    rp_status status = RP_OK;

    for (size_t i = rp_schema_own(schema); i < schema->n_columns && status == RP_OK; i++) {
        const rp_schema_column *column = &schema->columns[i];
        const size_t from = source[column->source];
        const rp_column_rule *rule = rp_schema_rule(cells->recipe, schema, column->source);
        size_t col = table->own_cols;

        if (column->kind == RP_COL_IGNORE)
            continue;
        if (rule == NULL || rule->kind != RP_COL_DATE)
            return rp_fail(cells->err, RP_EFORMAT,
                           "the schema has the part of a date that the recipe does not declare");
        if (table->column[from].date == NULL)
            status = rp_table_derive(table, from, &rule->date, cells->err);
        while (col < table->cols && (table->column[col].source != from || table->column[col].part != column->part))
            col++;
        if (status == RP_OK && col == table->cols)
            status = rp_fail(cells->err, RP_EFORMAT, "the schema has the part of a date that the recipe does not name");
        source[i] = col;
    }
    return status;
}
