/* SPDX-License-Identifier: Apache-2.0
 * Log gamma and both tails of the incomplete gamma and beta functions (CONTRACT 13.2 to 13.4), which the distributions
 * are made of. Private to core/stats; arguments are in their domains. */
#ifndef CORE_STATS_INCOMPLETE_H
#define CORE_STATS_INCOMPLETE_H

#include <stdbool.h>

typedef struct rp_tails {
    double lower, upper;
} rp_tails;

/* Whether a parameter is in 2^-30 .. 2^34; a NaN is not. */
bool rp_is_shape(double a);
/* 0 <= x, not a NaN. */
rp_tails rp_gamma_tails(double a, double x);
/* x + y = 1 but for rounding: who knows y better than 1 - x gives it. */
rp_tails rp_beta_tails(double a, double b, double x, double y);

#endif
