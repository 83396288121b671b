/* SPDX-License-Identifier: Apache-2.0
 * Between the files that build the program of an exact fit (CONTRACT 12.8): passes over the rows (exact_pass.c), the
 * step with l1 (exact_lasso.c), loop, beginning and end (exact.c). Private to them. */
#ifndef CORE_TRAIN_EXACT_BUILD_H
#define CORE_TRAIN_EXACT_BUILD_H

#include "core/program/function.h"
#include "core/program/graph.h"
#include "core/train/exact.h"

/* What the data have of each row; W of a weighted model. */
enum { X, Y, W, ROW };

/* What the parts of the builder share. */
typedef struct fit {
    const rp_model *model;
    const rp_schema *schema;
    size_t rows, width, outputs, unknowns; /* width: 1 + features; unknowns: outputs * width */
    size_t offset;                         /* the feature whose coefficient stays 1; SIZE_MAX: none */
    double total;                          /* the sum of the weights, or the rows */
    rp_type row[ROW];
} fit;

/* What a pass over the rows gives: the sum of losses; the sum of residuals times features [outputs, width]; the matrix
 * of second derivatives, in two parts where there are several outputs; of poisson, gamma and counts Pearson's sum.
 */
enum { LOSS, SLOPE, CURVE, CROSS, PEARSON = CROSS, PASSED };

/* What every iteration is given: rows, 1 or 0 a coefficient, strengths, the limit; with l1 that of each coefficient. */
enum { MASK = ROW, PENALTY, LIMIT, LASSO, SHARED };

/* What is minimised, the step to take, and how much is to be gained by it. */
typedef struct newton {
    rp_tensor objective, factor, step, decrement, losses, pearson, sweeps; /* factor without l1, sweeps with it */
} newton;

static inline bool is_log_link(const fit *f)
{
    return f->model->loss == RP_LOSS_POISSON || f->model->loss == RP_LOSS_GAMMA;
}

/* Whether targets are numbers whose spread follows from their mean. */
static inline bool has_pearson(const fit *f)
{
    return is_log_link(f) || f->model->recipe->train.family == RP_FAMILY_BINOMIAL;
}

static inline bool is_lasso(const fit *f)
{
    return f->model->recipe->train.l1 > 0;
}

static inline bool is_there(const fit *f, size_t shared)
{
    return shared == W ? f->model->weighted : shared != LASSO || is_lasso(f);
}

/* By what its row counts. */
static inline rp_tensor weigh(const fit *f, rp_tensor value, const rp_tensor *row)
{
    return f->model->weighted ? rp_mul(value, row[W]) : value;
}

static inline rp_tensor number(rp_graph *g, double value)
{
    return rp_fill(g, RP_F64, 0, NULL, value);
}

static inline rp_tensor filled(rp_graph *g, size_t rows, size_t cols, double value)
{
    return rp_fill(g, RP_F64, 2, (size_t[]){rows, cols}, value);
}

static inline rp_tensor shaped(rp_tensor x, size_t rows, size_t cols)
{
    return rp_reshape(x, 2, (size_t[]){rows, cols});
}

static inline rp_tensor all(rp_tensor x)
{
    return rp_sum(x, NULL, 0, false);
}

/* A pass over all rows under beta: row [ROW]; value [PASSED]. Errors: RP_ENOMEM; others are the graph's. */
rp_status rp_exact_pass(const fit *f, rp_graph *g, const rp_tensor *row, rp_tensor beta, rp_tensor *value,
                        rp_error *err);
/* [unknowns, unknowns] of what a pass gave. */
rp_tensor rp_exact_curvature(const fit *f, rp_graph *g, const rp_tensor *value);
/* [width, width], the weighted sums of products of 1 and the features over all rows. Errors: as above. */
rp_status rp_exact_gram(const fit *f, rp_graph *g, const rp_tensor *row, rp_tensor *gram, rp_error *err);
/* The step to the minimum of the quadratic model with l1, by coordinate descent. system [n, n], slope [n, 1]; sets step
 * and sweeps of out, unless the graph has failed. */
void rp_exact_descend(const fit *f, rp_graph *g, const rp_tensor *shared, rp_tensor beta, rp_tensor system,
                      rp_tensor slope, newton *out);

#endif
