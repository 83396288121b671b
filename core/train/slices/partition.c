/* SPDX-License-Identifier: Apache-2.0
 * Partitions: by values as they are written, or by quantiles of numbers. */
#include "core/train/slices/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/stats/drift.h"
#include "core/stats/ranking.h"
#include "core/train/figures.h"

/* "age:4" is column age in 4 parts, unless a column has that whole name. */
rp_status rp_partition_want(rp_written *texts, const char *by, size_t *col, size_t *parts, rp_error *err)
{
    const char *colon = strrchr(by, ':');
    rp_error ignored;
    char *name, *end;
    rp_status status = rp_written_want(texts, by, col, &ignored);

    *parts = 0;
    if (status == RP_OK || !colon || colon[1] < '1' || colon[1] > '9')
        return status == RP_OK ? RP_OK : rp_written_want(texts, by, col, err);
    *parts = strtoul(colon + 1, &end, 10);
    if (*end || *parts < 2 || *parts > RP_PARTITION_PARTS_MAX)
        return rp_fail(err, RP_EARG, "%.*s: expected COLUMN:K with 2 to %d parts", rp_fits(by, 200), by,
                       RP_PARTITION_PARTS_MAX);
    name = rp_strndup(by, (size_t)(colon - by));
    if (!name)
        return rp_no_memory(err);
    status = rp_written_want(texts, name, col, err);
    rp_free(name);
    return status;
}

/* A column on its way into parts. */
typedef struct cutting {
    const rp_written *texts;
    const char *by, **cell, **sorted_cell; /* [rows] */
    double *value, *sorted;                /* [rows] */
    size_t rows, known, numbers;
} cutting;

static rp_status cut_numbers(rp_partition *p, const cutting *c, size_t parts, rp_error *err)
{
    size_t edges;

    p->edge = rp_reallocarray(NULL, parts, sizeof *p->edge);
    if (!p->edge)
        return rp_no_memory(err);
    edges = rp_quantile_edges(p->edge, c->sorted, c->numbers, parts);
    p->numbers = true;
    p->missing = c->known < c->rows;
    p->parts = edges + 1 + p->missing;
    for (size_t i = 0; i < c->rows; i++)
        p->part[i] = c->cell[i] ? rp_bin_of(p->edge, edges, c->value[i]) : edges + 1;
    return RP_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rp_status cut_texts(rp_partition *p, const cutting *c, rp_error *err)
{
    const char **text = c->sorted_cell;
    size_t values = 0;

    qsort(text, c->known, sizeof *text, compare_texts);
    for (size_t i = 0; i < c->known; i++)
        if (i == 0 || strcmp(text[i], text[values - 1]) != 0)
            text[values++] = text[i];
    if (values > RP_PARTITION_MAX)
        return rp_fail(err, RP_EARG,
                       "column \"%.*s\": expected at most %d values, found %zu; of numbers write %.*s:4 for four "
                       "parts of equal size",
                       rp_fits(c->by, 100), c->by, RP_PARTITION_MAX, values, rp_fits(c->by, 100), c->by);
    p->value = rp_reallocarray(NULL, values + 1, sizeof *p->value);
    if (!p->value)
        return rp_no_memory(err);
    memcpy(p->value, text, values * sizeof *text);
    p->missing = c->known < c->rows;
    p->parts = values + p->missing;
    for (size_t i = 0; i < c->rows; i++) {
        const char **at = c->cell[i] ? bsearch(&c->cell[i], p->value, values, sizeof *p->value, compare_texts) : NULL;

        p->part[i] = at ? (size_t)(at - p->value) : values;
    }
    return RP_OK;
}

static size_t count_distinct(const double *x, size_t n)
{
    size_t distinct = 0;

    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || x[i] != x[i - 1];
    return distinct;
}

/* What the cells are decides, unless parts were asked for. */
static rp_status cut(rp_partition *p, cutting *c, size_t parts, rp_error *err)
{
    char quoted[64];

    for (size_t i = 0; i < c->rows; i++) {
        if (!c->cell[i])
            continue;
        c->sorted_cell[c->known++] = c->cell[i];
        if (rp_written_number(c->texts, c->cell[i], &c->value[i]))
            c->sorted[c->numbers++] = c->value[i] + 0.0;
        else if (parts)
            return rp_fail(err, RP_EARG, "%.*s: expected numbers, found \"%s\" in data row %zu", rp_fits(c->by, 200),
                           c->by, rp_printable(quoted, sizeof quoted, c->cell[i], strlen(c->cell[i])), i);
    }
    if (c->numbers == c->known)
        rp_sort_f64(c->sorted, c->numbers);
    if (!parts && c->numbers == c->known && count_distinct(c->sorted, c->numbers) > RP_PARTITION_FEW)
        parts = 4;
    return parts ? cut_numbers(p, c, parts, err) : cut_texts(p, c, err);
}

/* All cells, of which those of the rows that are cut move to the front: rows are ascending. */
static void take_cells(const rp_written *texts, size_t col, const int64_t *row, size_t rows, const char **cell)
{
    rp_written_column(texts, col, cell);
    for (size_t i = 0; row && i < rows; i++)
        cell[i] = cell[row[i]];
}

rp_status rp_partition_make(rp_partition *p, const rp_written *texts, const char *by, size_t col, size_t parts,
                            const int64_t *row, size_t rows, rp_error *err)
{
    const size_t n = rp_written_rows(texts);
    cutting c = {.texts = texts,
                 .by = by,
                 .cell = rp_reallocarray(NULL, n + 1, sizeof *c.cell),
                 .sorted_cell = rp_reallocarray(NULL, n + 1, sizeof *c.sorted_cell),
                 .value = rp_reallocarray(NULL, n + 1, sizeof *c.value),
                 .sorted = rp_reallocarray(NULL, n + 1, sizeof *c.sorted),
                 .rows = row ? rows : n};
    rp_status status = RP_OK;

    *p = (rp_partition){.part = rp_reallocarray(NULL, n + 1, sizeof *p->part)};
    if (!p->part || !c.cell || !c.sorted_cell || !c.value || !c.sorted)
        status = rp_no_memory(err);
    if (status == RP_OK) {
        take_cells(texts, col, row, rows, c.cell);
        status = cut(p, &c, parts, err);
    }
    rp_free(c.cell);
    rp_free(c.sorted_cell);
    rp_free(c.value);
    rp_free(c.sorted);
    if (status != RP_OK)
        rp_partition_clear(p);
    return status;
}

void rp_partition_clear(rp_partition *p)
{
    rp_free(p->part);
    rp_free(p->edge);
    rp_free(p->value);
    *p = (rp_partition){.parts = 0};
}

int rp_partition_name(rp_json *object, const rp_partition *p, size_t part)
{
    const size_t last = p->parts - p->missing;
    const double none = 0.0 / 0.0;

    if (part >= last)
        return rp_json_object_set_new(object, "value", rp_json_null());
    if (!p->numbers)
        return rp_json_object_set_new(object, "value", rp_json_string(p->value[part]));
    return rp_put_figure(object, "from", part == 0 ? none : p->edge[part - 1]) |
           rp_put_figure(object, "to", part + 1 == last ? none : p->edge[part]);
}
