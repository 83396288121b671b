/* SPDX-License-Identifier: Apache-2.0
 * Which columns a recipe's conditions mean, and what is told of the rows that they leave out. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"

/* Dates are compared with a date, and their parts with a number. */
static rp_status check_value(const rp_cells *cells, const rp_row_rule *rule, const rp_column *column)
{
    const bool whole = column->part == RP_DATE_PARTS;
    char quoted[64];

    if (column->date == NULL || rule->is == RP_IS_PRESENT || (whole ? rule->dated : rule->numeric))
        return RP_OK;
    return rp_fail(cells->err, RP_EARG, "%s: key data.where.value: expected %s, found \"%s\"", cells->where,
                   whole ? "a date as 2024-03-31, as the column holds dates" : "a number, as a part of a date is one",
                   rp_printable(quoted, sizeof quoted, rule->value, strlen(rule->value)));
}

rp_status rp_filter_resolve(rp_filter **out, const rp_cells *cells, size_t target)
{
    const rp_reading *r = &cells->recipe->data.reading;
    rp_filter *f;
    rp_status status = RP_OK;

    *out = NULL;
    if (r->n_where == 0 && !r->drop_missing_target)
        return RP_OK;
    f = rp_calloc(1, sizeof *f);
    if (f == NULL)
        return rp_no_memory(cells->err);
    *f = (rp_filter){.recipe = cells->recipe,
                     .where = r->where,
                     .table = cells->table,
                     .n = r->n_where,
                     .target = r->drop_missing_target ? target : SIZE_MAX,
                     .trials = SIZE_MAX};
    f->col = rp_reallocarray(NULL, f->n, sizeof *f->col);
    if (f->col == NULL)
        status = rp_no_memory(cells->err);
    if (status == RP_OK && r->drop_missing_target && cells->recipe->data.denominator.given)
        status = rp_column_find(cells, &cells->recipe->data.denominator, "data.denominator", &f->trials);
    for (size_t i = 0; i < f->n && status == RP_OK; i++) {
        status = rp_column_find(cells, &r->where[i].column, "data.where", &f->col[i]);
        if (status == RP_OK)
            status = check_value(cells, &r->where[i], &cells->table->column[f->col[i]]);
    }
    if (status != RP_OK)
        rp_filter_free(f);
    else
        *out = f;
    return status;
}

rp_status rp_filter_conditions(rp_filter **out, const rp_cells *cells)
{
    rp_status status = rp_filter_resolve(out, cells, SIZE_MAX);

    if (status == RP_OK && *out != NULL) {
        (*out)->trials = SIZE_MAX;
        (*out)->blank = true;
    }
    return status;
}

rp_status rp_filter_own(rp_filter **out, const rp_cells *cells)
{
    const rp_recipe *recipe = cells->recipe;
    size_t target = SIZE_MAX;
    rp_status status = RP_OK;

    if (recipe->data.reading.drop_missing_target)
        status = rp_column_find(cells, &recipe->data.target, "data.target", &target);
    if (status == RP_OK)
        status = rp_filter_resolve(out, cells, target);
    if (status == RP_OK && *out != NULL)
        (*out)->blank = true;
    return status;
}

void rp_filter_free(rp_filter *filter)
{
    if (filter == NULL)
        return;
    rp_free(filter->col);
    rp_free(filter);
}

static rp_status tell(const rp_cells *cells, size_t count, const char *key)
{
    const rp_warning warning = {.kind = RP_WARN_DROPPED, .column = (size_t)RP_NO_COLUMN, .count = count};
    size_t all = cells->table->rows + cells->table->dropped[0] + cells->table->dropped[1];

    if (count == 0 || cells->warnings == NULL)
        return RP_OK;
    return rp_warnings_add(cells->warnings, &warning, cells->err, "%zu of %zu rows are left out by %s", count, all,
                           key);
}

static rp_status tell_hidden(const rp_cells *cells)
{
    const size_t count = cells->table->hidden;
    const rp_warning warning = {.kind = RP_WARN_HIDDEN, .column = (size_t)RP_NO_COLUMN, .count = count};

    if (count == 0 || cells->warnings == NULL)
        return RP_OK;
    return rp_warnings_add(cells->warnings, &warning, cells->err,
                           "%zu %s as many cells as a row, and %s passed over by data.comment or data.skip_lines",
                           count, count == 1 ? "line has" : "lines have", count == 1 ? "is" : "are");
}

rp_status rp_filter_tell(const rp_cells *cells)
{
    rp_status status = tell(cells, cells->table->dropped[0], "data.where");

    if (status == RP_OK)
        status = tell(cells, cells->table->dropped[1], "data.missing_target: drop");
    return status == RP_OK ? tell_hidden(cells) : status;
}
