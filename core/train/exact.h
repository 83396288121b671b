/* SPDX-License-Identifier: Apache-2.0
 * The exact fit of a model without layers (CONTRACT 12.8): one step whose program is a loop of Newton's method, so that
 * the whole fit, its rule of convergence too, is read in the archive and replayed like any other step. */
#ifndef CORE_TRAIN_EXACT_H
#define CORE_TRAIN_EXACT_H

#include "core/data/dataset.h"
#include "core/train/model.h"

enum {
    RP_EXACT_ITERATIONS = 30, /* at most; where estimates are infinite each gains about one unit, and must not pass for
                                 convergence */
    RP_EXACT_PENALISED = 100, /* the same with a penalty, which has a minimum */
    RP_EXACT_SWEEPS = 10000,  /* of one iteration with l1 */
    RP_EXACT_UNKNOWNS = 4096, /* coefficients of all outputs together; a factor takes the cube of it */
    RP_EXACT_ROWS = 4096      /* of a block */
};

/* Appends the fit to g: data train_x, train_y and, of a weighted model, train_w, states the model's parameters.
 * Results, beside "loss" (of the training rows, binary32):
 *   coefficients  f64 [outputs, 1 + features], the intercept first, in units of the features as they were encoded
 *   deviation     f64 [], the sum of the rows' losses (12.1), weighted, under them
 *   iterations    i64 []
 *   decrement     f64 [], of the last iteration, and
 *   limit         f64 [], under or at which it has converged
 *   sweeps        i64 [], with l1: of all iterations together; without it
 *   factor        f64 [n, n], the last Cholesky factor of the n unknowns; an infinite diagonal: a column left out
 *   pearson       f64 [], of the families poisson, gamma and binomial: the weighted sum of (y - m)^2 / v, v = m, m^2
 *                 and m (1 - m)
 * and without a penalty
 *   covariance    f64 [n, n], the inverse of the second derivatives of what is estimated
 *   gram          f64 [1 + features, 1 + features], the weighted sums of products of 1 and the features
 *   gram_inverse  f64 [1, 1 + features], the diagonal of its inverse, of what is estimated
 * Errors: RP_EDATA (more unknowns than RP_EXACT_UNKNOWNS), RP_ENOMEM; others are the graph's. */
rp_status rp_exact_fit(const rp_model *model, const rp_dataset *data, const rp_run *run, rp_graph *g, rp_error *err);

#endif
