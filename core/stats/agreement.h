/* SPDX-License-Identifier: Apache-2.0
 * Two scores of the same rows (CONTRACT 14.12): rank correlations, how far they are apart, and whether one tells
 * positives from negatives better, or errs less, than the other. NaN stands for what is not defined. */
#ifndef CORE_STATS_AGREEMENT_H
#define CORE_STATS_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp/error.h"

enum { RP_AGREEMENT_QUANTILES = 7 };
extern const double rp_agreement_shares[RP_AGREEMENT_QUANTILES]; /* 0, 0.05, 0.25, 0.5, 0.75, 0.95, 1 */

typedef struct rp_agreement {
    double spearman;            /* the correlation of midranks (Spearman 1904) */
    double kendall;             /* tau b (Kendall 1945), counted by merging (Knight 1966) */
    double mean, mean_absolute; /* of b - a */
    double quantile[RP_AGREEMENT_QUANTILES];
} rp_agreement;

/* A difference with its standard error, the interval of 95 %, and the two-sided p of a normal statistic. */
typedef struct rp_paired {
    double difference, error, low, high, statistic, p;
} rp_paired;

/* a, b [n]: finite. Errors: RP_EDATA (a NaN or an infinity, with its row; more than 2^31 rows), RP_ENOMEM. */
rp_status rp_agree(rp_agreement *out, const double *a, const double *b, size_t n, rp_error *err);
/* The area of b less that of a, on the same outcomes (DeLong, DeLong and Clarke-Pearson 1988, for two correlated
 * curves). Errors: RP_ENOMEM; rows as above are the caller's to look at. */
rp_status rp_paired_areas(rp_paired *out, const double *a, const double *b, const bool *positive, size_t n,
                          rp_error *err);
/* The mean of d [n], which is lost, each being one row's difference. */
void rp_paired_means(rp_paired *out, double *d, size_t n);

#endif
