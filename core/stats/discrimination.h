/* SPDX-License-Identifier: Apache-2.0
 * How well a score tells positives from negatives (CONTRACT 14.2): the area under the ROC curve with the interval of
 * DeLong, DeLong and Clarke-Pearson (1988), Gini, Somers' D, Kendall's tau b, Kolmogorov-Smirnov, CAP and lift
 * (BCBS working paper 14). Pure functions; NaN stands for what is not defined. */
#ifndef CORE_STATS_DISCRIMINATION_H
#define CORE_STATS_DISCRIMINATION_H

#include "core/stats/ranking.h"

enum { RP_CAP_POINTS = 10 };

typedef struct rp_discrimination {
    double auc, error, low, high; /* error: DeLong's standard error; the interval of 95 %, cut at 0 and 1 */
    double gini, somers_d, kendall_tau;
    double ks, ks_score; /* the largest distance of the two distributions, and the score up to which they are */
    double captured[RP_CAP_POINTS]; /* share of the positives among the highest (k + 1) tenths of the rows */
    double lift[RP_CAP_POINTS];
} rp_discrimination;

/* Everything is NaN unless there are both positives and negatives. */
void rp_discriminate(rp_discrimination *out, const rp_ranking *ranking);
/* The score s at which P(score >= s | positive) - P(score >= s | negative) is largest, the least of them (Youden 1950).
 */
double rp_youden(const rp_ranking *ranking);

#endif
