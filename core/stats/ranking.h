/* SPDX-License-Identifier: Apache-2.0
 * Scores in order, equal ones together, with the outcomes they met: what every figure of a score with two outcomes is
 * made of (CONTRACT 14.1). It does not depend on the order of the rows, and neither do the figures. */
#ifndef CORE_STATS_RANKING_H
#define CORE_STATS_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp/error.h"

/* Ascending by score; no two have the same. Counts are below 2^31, so products of two are exact. */
typedef struct rp_tied {
    double score;
    uint32_t positives, negatives; /* not both 0; at most 2^31 together */
} rp_tied;

typedef struct rp_ranking {
    rp_tied *tied;
    size_t n;
    uint64_t positives, negatives;
    double *work; /* [n], for terms of sums */
} rp_ranking;

/* score [rows], any finite numbers; positive [rows]. Errors: RP_EDATA (a NaN or an infinity, with its row; more than
 * 2^31 rows), RP_ENOMEM. */
rp_status rp_ranking_new(rp_ranking **out, const double *score, const bool *positive, size_t rows, rp_error *err);
void rp_ranking_free(rp_ranking *ranking); /* NULL is fine */

/* x [n] in ascending order, in place; -0 equals +0; no NaN. */
void rp_sort_f64(double *x, size_t n);
/* The quantile q, 0 <= q <= 1, of n sorted numbers, n at least 1: linear between order statistics (CONTRACT 14.1;
 * Hyndman and Fan 1996, definition 7). */
double rp_sorted_quantile(const double *sorted, size_t n, double q);

#endif
