/* SPDX-License-Identifier: Apache-2.0
 * Grids: quantiles of what the rows have, or their categories. */
#include "audit/explain/grid.h"

#include <string.h>

#include "base/memory.h"
#include "core/data/later/reference.h"
#include "core/stats/ranking.h"
#include "core/train/figures.h"

/* What all rows have in the column. */
typedef struct cells {
    double *number;
    size_t *category;
    const char **text;
} cells;

void rp_grid_clear(rp_grid *g)
{
    rp_free(g->number);
    rp_free(g->group);
    rp_free(g->text);
    *g = (rp_grid){.points = 0};
}

static void add(rp_grid *g, double number, size_t group, const char *text)
{
    g->number[g->points] = number;
    g->group[g->points] = group;
    g->text[g->points++] = text;
}

/* x [n] sorted. All distinct numbers where there are no more than points, else those at k / parts, each once. */
static void add_numbers(rp_grid *g, const double *x, size_t n, size_t parts)
{
    size_t distinct = n > 0;

    for (size_t i = 1; i < n && distinct <= parts + 1; i++)
        distinct += x[i] > x[i - 1];
    if (distinct <= parts + 1) {
        for (size_t i = 0; i < n; i++)
            if (i == 0 || x[i] > x[i - 1])
                add(g, x[i], SIZE_MAX, NULL);
        return;
    }
    for (size_t k = 0; k <= parts; k++) {
        const double q = rp_sorted_quantile(x, n, (double)k / (double)parts);

        if (g->points == 0 || q > g->number[g->points - 1])
            add(g, q, SIZE_MAX, NULL);
    }
}

/* Those of the schema that most rows have, of equal ones the first; in the order of the schema. */
static void add_categories(rp_grid *g, const rp_schema_column *c, size_t *count)
{
    bool taken[RP_CATEGORIES_MAX] = {false};

    for (size_t k = 0; k < RP_GRID_CATEGORIES; k++) {
        size_t best = c->categories;

        for (size_t i = 0; i < c->categories; i++)
            if (count[i] > 0 && !taken[i] && (best == c->categories || count[i] > count[best]))
                best = i;
        if (best < c->categories)
            taken[best] = true;
    }
    for (size_t i = 0; i < c->categories; i++)
        if (taken[i])
            add(g, 0, i, c->category[i]);
}

static rp_status fill(rp_grid *g, const rp_scoring *s, size_t column, const size_t *row, size_t rows, size_t parts,
                      const cells *all, rp_error *err)
{
    const rp_schema_column *c = &s->schema->columns[column];
    double *x = rp_reallocarray(NULL, rows + 1, sizeof *x);
    size_t *count = rp_calloc(c->categories + 1, sizeof *count), n = 0;
    bool missing = false;

    for (size_t i = 0; i < rows && x && count; i++) {
        const double number = all->number[row[i]];

        if (g->categorical && all->text[row[i]])
            count[all->category[row[i]]]++;
        else if (!g->categorical && number == number)
            x[n++] = number;
        else
            missing = true;
    }
    if (x && count && g->categorical) {
        add_categories(g, c, count);
        if (c->other && count[c->categories]) {
            g->pooled = g->points;
            add(g, 0, c->categories + c->null_category, NULL);
        }
    } else if (x && count) {
        rp_sort_f64(x, n);
        add_numbers(g, x, n, parts);
    }
    if (x && count && missing)
        add(g, 0.0 / 0.0, g->categorical && c->null_category ? c->categories : SIZE_MAX, NULL);
    rp_free(x);
    rp_free(count);
    return x && count ? RP_OK : rp_no_memory(err);
}

rp_status rp_grid_make(rp_grid *g, const rp_scoring *s, size_t column, const size_t *row, size_t rows, size_t parts,
                       rp_error *err)
{
    const size_t most = (parts + 1 > RP_GRID_CATEGORIES ? parts + 1 : RP_GRID_CATEGORIES) + 2;
    const size_t n = rp_rows_count(s->rows) + 1;
    const cells all = {rp_calloc(n, sizeof *all.number), rp_calloc(n, sizeof *all.category),
                       rp_calloc(n, sizeof *all.text)};
    rp_status status;

    *g = (rp_grid){.pooled = SIZE_MAX, .categorical = s->schema->columns[column].kind == RP_COL_CATEGORICAL};
    g->number = rp_reallocarray(NULL, most, sizeof *g->number);
    g->group = rp_reallocarray(NULL, most, sizeof *g->group);
    g->text = rp_reallocarray(NULL, most, sizeof *g->text);
    status = all.number && all.category && all.text && g->number && g->group && g->text ? RP_OK : rp_no_memory(err);
    if (status == RP_OK) {
        rp_rows_features(s->rows, column, all.number, all.category, all.text);
        status = fill(g, s, column, row, rows, parts, &all, err);
    }
    rp_free(all.number);
    rp_free(all.category);
    rp_free(all.text);
    return status;
}

rp_json *rp_grid_json(const rp_grid *g)
{
    rp_json *out = rp_json_array();
    int failed = !out;

    for (size_t i = 0; i < g->points && !failed; i++)
        if (i == g->pooled)
            failed = rp_json_array_append_new(out, rp_json_pack("{s:b}", "other", true));
        else
            failed = !g->categorical
                         ? rp_append_figure(out, g->number[i])
                         : rp_json_array_append_new(out, g->text[i] ? rp_json_string(g->text[i]) : rp_json_null());
    if (!failed)
        return out;
    rp_json_free(out);
    return NULL;
}
