/* SPDX-License-Identifier: Apache-2.0
 * How far predictions of a quantity are from it (CONTRACT 14.5), beside the model that always gives one value. */
#ifndef CORE_STATS_RESIDUALS_H
#define CORE_STATS_RESIDUALS_H

#include <stdbool.h>
#include <stddef.h>

#include "rp/error.h"

enum { RP_RESIDUAL_QUANTILES = 7 };
extern const double rp_residual_quantiles[RP_RESIDUAL_QUANTILES];

typedef struct rp_errors {
    double mse, rmse, mae, bias, r2;        /* bias: mean of prediction less truth; r2 against their own mean */
    double residual[RP_RESIDUAL_QUANTILES]; /* of truth less prediction */
    double trivial_rmse, trivial_mae, trivial_r2, skill; /* skill: 1 - mse / the trivial model's mse */
    double mean, predicted_mean;
} rp_errors;

/* prediction, truth [rows], finite; trivial: the value that the trivial model gives, or of each row; NULL: the
 * value. NaN where rows is 0 or a figure is
 * not defined. Errors: RP_ENOMEM. */
rp_status rp_errors_of(rp_errors *out, const double *prediction, const double *truth, size_t rows, double trivial,
                       const double *of_each, rp_error *err);

/* Twice the mean of each row's deviance of the family poisson or gamma (CONTRACT 14.5). NaN where it is not defined.
 * Errors: RP_ENOMEM. */
rp_status rp_mean_deviance(double *out, const double *prediction, const double *truth, size_t rows, bool gamma,
                           rp_error *err);

#endif
