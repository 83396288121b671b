/* SPDX-License-Identifier: Apache-2.0
 * Rows scored again with one column changed: encoded block by block, so that of the features only one column's are held
 * for all rows. */
#include "audit/explain/changes.h"

#include <string.h>

#include "audit/replay/replay.h"
#include "base/memory.h"
#include "core/data/later/changed.h"
#include "determinism/fpenv.h"

void rp_changes_clear(rp_changes *c)
{
    rp_scorer_free(c->scorer);
    rp_free(c->row);
    rp_free(c->judge);
    rp_free(c->x);
    rp_free(c->own);
    rp_free(c->scores);
    *c = (rp_changes){.judged = NULL};
}

rp_status rp_changes_new(rp_changes *out, const rp_judged *j, rp_error *err)
{
    const rp_model *m = &j->scoring->model;
    rp_status status;

    *out = (rp_changes){.judged = j};
    out->row = rp_reallocarray(NULL, j->rows + 1, sizeof *out->row);
    out->judge = rp_reallocarray(NULL, j->rows + 1, sizeof *out->judge);
    out->x = rp_reallocarray(NULL, RP_BLOCK_ROWS, m->features * rp_dtype_size(m->dtype));
    out->scores = rp_reallocarray(NULL, j->outcomes + 1, m->outputs * sizeof *out->scores);
    status = out->row && out->judge && out->x && out->scores ? rp_scorer_new(&out->scorer, m, j->scoring->run, err)
                                                             : rp_no_memory(err);
    for (size_t i = 0; i < j->rows && status == RP_OK; i++)
        if (j->known[i]) {
            out->row[out->rows] = j->row ? (size_t)j->row[i] : i;
            out->judge[out->rows++] = i;
        }
    if (status != RP_OK)
        rp_changes_clear(out);
    return status;
}

rp_status rp_changes_afford(rp_changes *c, uint64_t times, const rp_job_options *options, rp_error *err)
{
    const size_t most = c->rows < RP_BLOCK_ROWS ? c->rows : RP_BLOCK_ROWS;
    rp_budget budget = {.work = 0};
    rp_price price;
    rp_status status = rp_scorer_price(c->scorer, most, &price, err);

    return status == RP_OK ? rp_budget_add(&budget, &price, (c->rows + most - 1) / most * times, options,
                                           "scores of changed rows", err)
                           : status;
}

/* Rows first .. first + count - 1 of those with an outcome; neighbours in the table are encoded together. */
static rp_status encode(rp_changes *c, size_t first, size_t count, rp_error *err)
{
    const rp_model *m = &c->judged->scoring->model;
    const size_t size = m->features * rp_dtype_size(m->dtype);
    rp_status status = RP_OK;

    for (size_t i = 0, run; i < count && status == RP_OK; i += run) {
        for (run = 1; i + run < count && c->row[first + i + run] == c->row[first + i] + run;)
            run++;
        status = rp_rows_encode(c->judged->scoring->rows, c->row[first + i], run, (char *)c->x + i * size, err);
    }
    return status;
}

static rp_features row_at(const rp_changes *c, size_t i)
{
    const rp_model *m = &c->judged->scoring->model;

    return m->dtype == RP_F64 ? (rp_features){.wide = (double *)c->x + i * m->features}
                              : (rp_features){.narrow = (float *)c->x + i * m->features};
}

static rp_status not_finite(size_t column, rp_error *err)
{
    return rp_fail(err, RP_EDATA, "explain: a product with column %zu of the schema is not finite on changed rows",
                   column);
}

static rp_status score_block(rp_changes *c, size_t first, size_t count, rp_error *err)
{
    const rp_scoring *s = c->judged->scoring;
    double *scores = c->scores + first * s->model.outputs;
    rp_status status = rp_scorer_score(c->scorer, c->x, count, scores, err);

    if (status == RP_OK)
        rp_schema_give_back(s->schema, scores, count);
    c->blocks++;
    return status;
}

rp_status rp_changes_take(rp_changes *c, size_t column, rp_error *err)
{
    const rp_model *m = &c->judged->scoring->model;
    const rp_schema_column *of = &c->judged->scoring->schema->columns[column];
    const size_t item = rp_dtype_size(m->dtype), width = of->width * item;
    rp_status status = RP_OK;

    rp_free(c->own);
    c->own = rp_reallocarray(NULL, c->rows + 1, width);
    if (!c->own)
        return rp_no_memory(err);
    for (size_t first = 0; first < c->rows && status == RP_OK; first += RP_BLOCK_ROWS) {
        const size_t left = c->rows - first, count = left < RP_BLOCK_ROWS ? left : RP_BLOCK_ROWS;

        status = encode(c, first, count, err);
        for (size_t i = 0; i < count && status == RP_OK; i++)
            memcpy((char *)c->own + (first + i) * width, (const char *)c->x + (i * m->features + of->at) * item, width);
    }
    return status;
}

rp_status rp_changes_permuted(rp_changes *c, size_t column, const int64_t *from, rp_error *err)
{
    const rp_schema *schema = c->judged->scoring->schema;
    const rp_model *m = &c->judged->scoring->model;
    const size_t item = rp_dtype_size(m->dtype), width = schema->columns[column].width * item;
    rp_status status = RP_OK;

    for (size_t first = 0; first < c->rows && status == RP_OK; first += RP_BLOCK_ROWS) {
        const size_t left = c->rows - first, count = left < RP_BLOCK_ROWS ? left : RP_BLOCK_ROWS;

        status = encode(c, first, count, err);
        for (size_t i = 0; i < count && status == RP_OK; i++) {
            memcpy((char *)c->x + (i * m->features + schema->columns[column].at) * item,
                   (const char *)c->own + (size_t)from[first + i] * width, width);
            if (!rp_changed_products(schema, row_at(c, i)))
                status = not_finite(column, err);
        }
        if (status == RP_OK)
            status = score_block(c, first, count, err);
    }
    return status;
}

rp_status rp_changes_fixed(rp_changes *c, size_t column, double number, size_t group, rp_error *err)
{
    const rp_schema *schema = c->judged->scoring->schema;
    rp_status status = RP_OK;

    for (size_t first = 0; first < c->rows && status == RP_OK; first += RP_BLOCK_ROWS) {
        const size_t left = c->rows - first, count = left < RP_BLOCK_ROWS ? left : RP_BLOCK_ROWS;

        status = encode(c, first, count, err);
        for (size_t i = 0; i < count && status == RP_OK; i++)
            if (!rp_changed_cell(schema, column, number, group, row_at(c, i)) ||
                !rp_changed_products(schema, row_at(c, i)))
                status = not_finite(column, err);
        if (status == RP_OK)
            status = score_block(c, first, count, err);
    }
    return status;
}
