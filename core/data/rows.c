/* SPDX-License-Identifier: Apache-2.0
 * New rows under a recorded schema: a table whose columns are those of the training, encoded as many rows at a time as
 * the caller has room for (CONTRACT 9.6). */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"

struct rp_rows {
    const rp_schema *schema;
    const rp_recipe *recipe;
    const char *where;
    rp_table *table;
    size_t *source; /* the table's column of each of the schema's */
};

static rp_status find_source(const rp_schema *schema, const rp_cells *cells, size_t i, size_t *source)
{
    const rp_table *table = cells->table;
    const char *name = schema->columns[i].name;
    char quoted[64];

    for (size_t col = 0; col < table->cols; col++)
        if (strcmp(table->names[col], name) == 0) {
            source[i] = col;
            return RP_OK;
        }
    return rp_fail(cells->err, RP_EDATA,
                   "%s:1: expected a column \"%s\" in the header as in training, found none; the new "
                   "rows need every input column of the training data",
                   cells->where, rp_printable(quoted, sizeof quoted, name, strlen(name)));
}

static rp_status map_columns(const rp_schema *schema, const rp_cells *cells, size_t *source)
{
    size_t cols = cells->table->cols, col = 0;
    bool named = cells->table->names != NULL;
    rp_status status = RP_OK;

    if (named != (schema->columns[0].name != NULL))
        return rp_fail(cells->err, RP_EFORMAT, "the schema and the recipe disagree about a header line");
    if (!named && cols != schema->n_columns && cols + 1 != schema->n_columns)
        return rp_fail(cells->err, RP_EDATA,
                       "%s:1: expected %zu cells as in training (or one less, without the target), "
                       "found %zu",
                       cells->where, schema->n_columns, cols);
    for (size_t i = 0; i < schema->n_columns && status == RP_OK; i++) {
        if (!named)
            source[i] = schema->columns[i].target && cols < schema->n_columns ? 0 : col++;
        else if (schema->columns[i].kind != RP_COL_IGNORE)
            status = find_source(schema, cells, i, source);
    }
    return status;
}

rp_status rp_rows_open(rp_rows **out, const rp_schema *schema, const rp_recipe *recipe, const void *csv, size_t size,
                       const char *where, rp_error *err)
{
    rp_cells cells = {.recipe = recipe, .where = where, .err = err};
    rp_rows *r = rp_calloc(1, sizeof *r);
    rp_status status;

    *out = NULL;
    if (r == NULL)
        return rp_no_memory(err);
    *r = (rp_rows){.schema = schema, .recipe = recipe, .where = where};
    status = rp_table_parse(&r->table, csv, size, recipe, where, err);
    cells.table = r->table;
    if (status == RP_OK) {
        r->source = rp_calloc(schema->n_columns, sizeof *r->source);
        status = r->source != NULL ? map_columns(schema, &cells, r->source) : rp_no_memory(err);
    }
    if (status != RP_OK)
        rp_rows_free(r);
    else
        *out = r;
    return status;
}

void rp_rows_free(rp_rows *r)
{
    if (r == NULL)
        return;
    rp_table_free(r->table);
    rp_free(r->source);
    rp_free(r);
}

size_t rp_rows_count(const rp_rows *r)
{
    return r->table->rows;
}

rp_status rp_rows_encode(const rp_rows *r, size_t first, size_t count, void *x, rp_error *err)
{
    const rp_features features = r->recipe->train.exact ? (rp_features){.wide = x} : (rp_features){.narrow = x};
    const rp_cells cells = {.recipe = r->recipe, .table = r->table, .where = r->where, .err = err, .recorded = true};
    rp_status status = RP_OK;

    for (size_t i = 0; i < count && status == RP_OK; i++)
        status = rp_schema_encode_row(r->schema, &cells, r->source, first + i,
                                      rp_features_at(features, i * r->schema->features), NULL);
    return status;
}
