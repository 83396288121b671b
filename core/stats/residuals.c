/* SPDX-License-Identifier: Apache-2.0
 * Figures of a regression: sums by CONTRACT 4.1 in the order of the rows. */
#include "core/stats/residuals.h"

#include <stdint.h>

#include "base/memory.h"
#include "core/stats/ranking.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/sum.h"

const double rp_residual_quantiles[RP_RESIDUAL_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

static double sum_of_squares(double *work, const double *a, const double *b, double less, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        const double d = a[i] - (b ? b[i] : less);

        work[i] = d * d;
    }
    return rp_sum_f64(work, rows, 1);
}

static double sum_of_sizes(double *work, const double *a, const double *b, double less, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        const double d = a[i] - (b ? b[i] : less);

        work[i] = d < 0 ? -d : d;
    }
    return rp_sum_f64(work, rows, 1);
}

rp_status rp_errors_of(rp_errors *out, const double *prediction, const double *truth, size_t rows, double trivial,
                       const double *of_each, rp_error *err)
{
    const double n = (double)(int64_t)rows;
    double *work = rp_reallocarray(NULL, rows + 1, sizeof *work), spread, squares, sum;

    if (!work)
        return rp_no_memory(err);
    out->mean = rp_sum_f64(truth, rows, 1) / n;
    out->predicted_mean = rp_sum_f64(prediction, rows, 1) / n;
    spread = sum_of_squares(work, truth, NULL, out->mean, rows);
    squares = sum_of_squares(work, prediction, truth, 0, rows);
    out->mse = squares / n;
    out->rmse = __builtin_sqrt(out->mse);
    out->mae = sum_of_sizes(work, prediction, truth, 0, rows) / n;
    out->r2 = 1 - squares / spread;
    sum = sum_of_squares(work, truth, of_each, trivial, rows);
    out->trivial_rmse = __builtin_sqrt(sum / n);
    out->trivial_mae = sum_of_sizes(work, truth, of_each, trivial, rows) / n;
    out->trivial_r2 = 1 - sum / spread;
    out->skill = 1 - squares / sum;
    for (size_t i = 0; i < rows; i++)
        work[i] = prediction[i] - truth[i];
    out->bias = rp_sum_f64(work, rows, 1) / n;
    for (size_t i = 0; i < rows; i++)
        work[i] = (truth[i] - prediction[i]) + 0.0;
    rp_sort_f64(work, rows);
    for (int k = 0; k < RP_RESIDUAL_QUANTILES; k++)
        out->residual[k] = rows ? rp_sorted_quantile(work, rows, rp_residual_quantiles[k]) : n / n;
    rp_free(work);
    return RP_OK;
}

rp_status rp_mean_deviance(double *out, const double *prediction, const double *truth, size_t rows, bool gamma,
                           rp_error *err)
{
    double *work = rp_reallocarray(NULL, rows + 1, sizeof *work);

    if (!work)
        return rp_no_memory(err);
    for (size_t i = 0; i < rows; i++) {
        const double p = prediction[i], t = truth[i], ratio = rp_log_f64(t / p);

        work[i] = gamma ? (t - p) / p - ratio : t == 0 ? p : t * ratio - (t - p);
    }
    *out = 2 * (rp_sum_f64(work, rows, 1) / (double)(int64_t)rows);
    rp_free(work);
    return RP_OK;
}
