/* SPDX-License-Identifier: Apache-2.0
 * Contributions of a block of rows at a time, so that their memory does not grow with the table. Shapley values
 * (Shapley 1953; of a linear model, Strumbelj and Kononenko 2014), integrated gradients (Sundararajan, Taly and Yan
 * 2017). */
#include "audit/explain/attribution.h"

#include <string.h>

#include "audit/replay/replay.h"
#include "base/memory.h"
#include "core/data/schema.h"
#include "core/train/evaluate.h"
#include "core/train/sensitivity.h"
#include "determinism/fpenv.h"

enum { BLOCK_FEATURES = 1 << 20 }; /* of a block in all, unless one row has more */

struct rp_attribution {
    const rp_scoring *scoring;
    const rp_margin *margin;
    const rp_background *background;
    size_t block, first, count, steps; /* rows of a block; those that are there */
    double start;
    void *x;                              /* [block, features] of the model's type */
    double *value, *margins, *gaps;       /* [block, columns], [block], [block] */
    rp_sensitivity *sensitivity;          /* of a network, with what follows */
    float *base, *at, *logits, *gradient; /* [features], [block, features], [block, outputs], [block, features] */
    double *sum;                          /* [block, features] */
};

/* ---- linear models ---- */

static double margin_of_features(const rp_attribution *a, const double *x)
{
    double sum = a->margin->bias;

    for (size_t j = 0; j < a->scoring->model.features; j++)
        sum = sum + a->margin->weight[j] * x[j];
    return sum;
}

/* The features of the columns alone: each adds what it is more than the mean. */
static void add_own(const rp_attribution *a, const double *x, double *value)
{
    const rp_schema *schema = a->scoring->schema;

    for (size_t c = 0; c < schema->n_columns; c++) {
        const rp_schema_column *column = &schema->columns[c];

        value[c] = 0;
        for (size_t k = 0; column->kind != RP_COL_IGNORE && k < column->width; k++) {
            const size_t j = column->at + k;

            value[c] = value[c] + a->margin->weight[j] * (x[j] - a->background->mean[j]);
        }
    }
}

/* A product of two columns' features: the game of both has a closed form in the three means. */
static void add_products(const rp_attribution *a, const double *x, double *value)
{
    const rp_schema *schema = a->scoring->schema;
    const double *mean = a->background->mean;
    size_t place = schema->features;

    for (size_t p = 0; p < schema->n_pairs; p++)
        place -= schema->columns[schema->pair[p][0]].width * schema->columns[schema->pair[p][1]].width;
    for (size_t p = 0; p < schema->n_pairs; p++) {
        const rp_schema_column *one = &schema->columns[schema->pair[p][0]];
        const rp_schema_column *other = &schema->columns[schema->pair[p][1]];

        for (size_t i = one->at; i < one->at + one->width; i++)
            for (size_t j = other->at; j < other->at + other->width; j++, place++) {
                const double w = a->margin->weight[place], t = x[place] - mean[place];
                const double d = x[i] * mean[j] - mean[i] * x[j];

                value[schema->pair[p][0]] = value[schema->pair[p][0]] + w * (0.5 * (t + d));
                value[schema->pair[p][1]] = value[schema->pair[p][1]] + w * (0.5 * (t - d));
            }
    }
}

static void explain_linear(rp_attribution *a)
{
    const size_t features = a->scoring->model.features, columns = a->scoring->schema->n_columns;

    for (size_t i = 0; i < a->count; i++) {
        double *row = a->sum;

        for (size_t j = 0; j < features; j++)
            row[j] = a->scoring->model.dtype == RP_F64 ? ((const double *)a->x)[i * features + j]
                                                       : (double)((const float *)a->x)[i * features + j];
        add_own(a, row, a->value + i * columns);
        add_products(a, row, a->value + i * columns);
        a->margins[i] = margin_of_features(a, row);
    }
}

/* ---- networks ---- */

/* Products belong to both columns in halves. */
static void gather_columns(const rp_attribution *a, const double *feature, double *value)
{
    const rp_schema *schema = a->scoring->schema;
    size_t place = 0;

    memset(value, 0, schema->n_columns * sizeof *value);
    for (size_t c = 0; c < schema->n_columns; c++)
        for (size_t k = 0; schema->columns[c].kind != RP_COL_IGNORE && k < schema->columns[c].width; k++)
            value[c] = value[c] + feature[place++];
    for (size_t p = 0; p < schema->n_pairs; p++) {
        const size_t one = schema->pair[p][0], other = schema->pair[p][1];

        for (size_t n = schema->columns[one].width * schema->columns[other].width; n > 0; n--, place++) {
            value[one] = value[one] + 0.5 * feature[place];
            value[other] = value[other] + 0.5 * feature[place];
        }
    }
}

/* The point of the path from the reference to the rows. */
static void move(const rp_attribution *a, double alpha)
{
    const size_t features = a->scoring->model.features;
    const float *x = a->x;

    for (size_t i = 0; i < a->block; i++)
        for (size_t j = 0; j < features; j++) {
            const double b = (double)a->base[j], whole = (double)x[i * features + j] - b;

            a->at[i * features + j] = (float)(b + alpha * whole);
        }
}

static rp_status integrate(rp_attribution *a, rp_error *err)
{
    const size_t n = a->block * a->scoring->model.features;
    rp_status status = RP_OK;

    memset(a->sum, 0, n * sizeof *a->sum);
    for (size_t k = 0; k < a->steps && status == RP_OK; k++) {
        move(a, ((double)k + 0.5) / (double)a->steps);
        status = rp_sensitivity_of(a->sensitivity, a->at, a->logits, a->gradient, err);
        for (size_t i = 0; i < n && status == RP_OK; i++)
            a->sum[i] = a->sum[i] + (double)a->gradient[i];
    }
    return status;
}

static rp_status explain_network(rp_attribution *a, rp_error *err)
{
    const size_t features = a->scoring->model.features, columns = a->scoring->schema->n_columns;
    const size_t outputs = a->scoring->model.outputs;
    const float *x = a->x;
    rp_status status = integrate(a, err);

    if (status == RP_OK)
        status = rp_sensitivity_of(a->sensitivity, x, a->logits, a->gradient, err);
    for (size_t i = 0; i < a->count && status == RP_OK; i++) {
        double *sum = a->sum + i * features;

        for (size_t j = 0; j < features; j++) {
            const double whole = (double)x[i * features + j] - (double)a->base[j];

            sum[j] = whole * (sum[j] / (double)a->steps) * a->margin->unit;
        }
        gather_columns(a, sum, a->value + i * columns);
        a->margins[i] = rp_margin_of(a->margin, a->logits + i * outputs, outputs);
    }
    return status;
}

static rp_status start_network(rp_attribution *a, const rp_job_options *options, rp_error *err)
{
    const rp_model *m = &a->scoring->model;
    const size_t rows = rp_rows_count(a->scoring->rows), n = a->block * m->features;
    rp_budget budget = {.work = 0};
    rp_price price;
    float *direction = rp_reallocarray(NULL, m->outputs, sizeof *direction);
    rp_status status;

    a->base = rp_reallocarray(NULL, m->features, sizeof *a->base);
    a->at = rp_calloc(n, sizeof *a->at);
    a->gradient = rp_reallocarray(NULL, n, sizeof *a->gradient);
    a->logits = rp_reallocarray(NULL, a->block, m->outputs * sizeof *a->logits);
    status = direction && a->base && a->at && a->gradient && a->logits ? RP_OK : rp_no_memory(err);
    for (size_t k = 0; k < m->outputs && status == RP_OK; k++)
        direction[k] = (float)a->margin->direction[k];
    if (status == RP_OK)
        status = rp_sensitivity_new(&a->sensitivity, m, a->scoring->run, direction, a->block, err);
    rp_free(direction);
    if (status != RP_OK)
        return status;
    price = rp_sensitivity_price(a->sensitivity);
    status = rp_budget_add(&budget, &price, ((rows + a->block - 1) / a->block) * (a->steps + 1) + 1, options,
                           "integrated gradients", err);
    for (size_t j = 0; j < m->features; j++) {
        a->base[j] = (float)a->background->mean[j];
        a->at[j] = a->base[j];
    }
    if (status == RP_OK)
        status = rp_sensitivity_of(a->sensitivity, a->at, a->logits, a->gradient, err);
    if (status == RP_OK)
        a->start = rp_margin_of(a->margin, a->logits, m->outputs);
    return status;
}

/* ---- both ---- */

static rp_status explain_block(rp_attribution *a, size_t row, rp_error *err)
{
    const size_t rows = rp_rows_count(a->scoring->rows), columns = a->scoring->schema->n_columns;
    rp_status status;

    a->first = row - row % a->block;
    a->count = rows - a->first < a->block ? rows - a->first : a->block;
    status = rp_rows_encode(a->scoring->rows, a->first, a->count, a->x, err);
    if (status == RP_OK && !a->margin->linear)
        status = explain_network(a, err);
    else if (status == RP_OK)
        explain_linear(a);
    for (size_t i = 0; i < a->count && status == RP_OK; i++) {
        a->gaps[i] = a->margins[i] - a->start;
        for (size_t c = 0; c < columns; c++)
            a->gaps[i] = a->gaps[i] - a->value[i * columns + c];
    }
    if (status != RP_OK)
        a->count = 0;
    return status;
}

static rp_status make_room(rp_attribution *a, rp_error *err)
{
    const rp_model *m = &a->scoring->model;
    const size_t rows = rp_rows_count(a->scoring->rows);

    a->block = BLOCK_FEATURES / m->features;
    a->block = a->block < 1 ? 1 : a->block > RP_BLOCK_ROWS ? RP_BLOCK_ROWS : a->block;
    a->block = a->block < rows ? a->block : rows ? rows : 1;
    a->x = rp_calloc(a->block, m->features * rp_dtype_size(m->dtype));
    a->value = rp_reallocarray(NULL, a->block, (a->scoring->schema->n_columns + 1) * sizeof *a->value);
    a->margins = rp_reallocarray(NULL, a->block, sizeof *a->margins);
    a->gaps = rp_reallocarray(NULL, a->block, sizeof *a->gaps);
    a->sum = rp_reallocarray(NULL, a->margin->linear ? 1 : a->block, m->features * sizeof *a->sum);
    return a->x && a->value && a->margins && a->gaps && a->sum ? RP_OK : rp_no_memory(err);
}

rp_status rp_attribution_new(rp_attribution **out, const rp_scoring *scoring, const rp_margin *margin,
                             const rp_background *background, size_t steps, const rp_job_options *options,
                             rp_error *err)
{
    rp_attribution *a = rp_calloc(1, sizeof *a);
    rp_fpenv saved;
    rp_status status = a ? rp_fpenv_enter(&saved, NULL, err) : rp_no_memory(err);

    *out = NULL;
    if (status != RP_OK) {
        rp_free(a);
        return status;
    }
    *a = (rp_attribution){.scoring = scoring, .margin = margin, .background = background, .steps = steps};
    status = make_room(a, err);
    if (status == RP_OK && !margin->linear)
        status = start_network(a, options, err);
    else if (status == RP_OK)
        a->start = margin_of_features(a, background->mean);
    rp_fpenv_leave(&saved);
    if (status != RP_OK)
        rp_attribution_free(a);
    else
        *out = a;
    return status;
}

void rp_attribution_free(rp_attribution *a)
{
    if (!a)
        return;
    rp_sensitivity_free(a->sensitivity);
    rp_free(a->x);
    rp_free(a->value);
    rp_free(a->margins);
    rp_free(a->gaps);
    rp_free(a->base);
    rp_free(a->at);
    rp_free(a->logits);
    rp_free(a->gradient);
    rp_free(a->sum);
    rp_free(a);
}

double rp_attribution_start(const rp_attribution *a)
{
    return a->start;
}

rp_status rp_attribution_row(rp_attribution *a, size_t row, const double **value, double *margin, double *gap,
                             rp_error *err)
{
    rp_status status = RP_OK;
    rp_fpenv saved;

    if (a->count == 0 || row < a->first || row >= a->first + a->count) {
        status = rp_fpenv_enter(&saved, NULL, err);
        if (status != RP_OK)
            return status;
        status = explain_block(a, row, err);
        rp_fpenv_leave(&saved);
    }
    if (status != RP_OK)
        return status;
    *value = a->value + (row - a->first) * a->scoring->schema->n_columns;
    *margin = a->margins[row - a->first];
    *gap = a->gaps[row - a->first];
    return RP_OK;
}
