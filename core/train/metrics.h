/* SPDX-License-Identifier: Apache-2.0
 * Metrics under the contract (CONTRACT 10), in binary64. */
#ifndef CORE_TRAIN_METRICS_H
#define CORE_TRAIN_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "rp/error.h"

/* Area under the ROC curve by the Mann-Whitney statistic, ties count one half: exact counts in integers, one division.
 * score [n], positive [n] 0/1. NaN scores: RP_EDATA. One class only: *out is NaN. Errors: RP_ENOMEM. */
rp_status rp_metric_auc(double *out, const double *score, const int64_t *positive, size_t n, rp_error *err);
/* matrix [classes, classes] row = true class, column = predicted. */
void rp_metric_confusion(int64_t *matrix, const int64_t *truth, const int64_t *predicted, size_t n, size_t classes);
/* correct / n; NaN for n = 0. */
double rp_metric_accuracy(const int64_t *truth, const int64_t *predicted, size_t n);

#endif
