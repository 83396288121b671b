/* SPDX-License-Identifier: Apache-2.0
 * How far one sample is from another (CONTRACT 14.6): the population stability index, Jensen-Shannon and chi-squared
 * over bins, Kolmogorov-Smirnov and Wasserstein over values. Pure functions; NaN stands for what is not defined. */
#ifndef CORE_STATS_DRIFT_H
#define CORE_STATS_DRIFT_H

#include <stddef.h>
#include <stdint.h>

/* Edges that cut a sorted sample into `parts` parts as equal as its ties allow: its quantiles 1/parts, 2/parts ...,
 * without those that no value is below and without repeats. edge [parts - 1]; returns how many there are. n may be 0.
 */
size_t rp_quantile_edges(double *edge, const double *sorted, size_t n, size_t parts);
enum {
    RP_REFERENCE_PARTS = 10, /* of the numbers that are not heavy (CONTRACT 14.6) */
    RP_HEAVY_MOST = RP_REFERENCE_PARTS - 1,
    RP_REFERENCE_EDGES = RP_REFERENCE_PARTS - 1 + 2 * RP_HEAVY_MOST /* of a column or of scores, at most */
};
/* The edges that a reference is frozen with: a number that m of n are is heavy if 10 (m - 1) >= n - 1 and has a bin of
 * its own, from itself to the next binary64; the others are cut at their tenths. Puts the heavy ones of sorted [n]
 * behind the others. */
size_t rp_reference_edges(double edge[RP_REFERENCE_EDGES], double *sorted, size_t n);
/* The bin of x: how many edges are at most x. */
size_t rp_bin_of(const double *edge, size_t edges, double x);

typedef struct rp_binned_drift {
    double psi;            /* a share of 0 counts as 0.0001; bins without rows in both samples are left out */
    double jensen_shannon; /* the distance: root of the divergence, natural logarithms */
    double chi_squared, p, cramers_v;
    uint64_t freedom;
} rp_binned_drift;

/* expected, found [bins]: rows of each bin, in the reference and in the sample. */
void rp_drift_of_bins(rp_binned_drift *out, const uint64_t *expected, const uint64_t *found, size_t bins);

typedef struct rp_sample_drift {
    double ks, p, wasserstein;
} rp_sample_drift;

/* Both sorted by rp_sort_f64; NaN where one is empty. p is that of the limit (Kolmogorov's distribution). */
void rp_drift_of_samples(rp_sample_drift *out, const double *a, size_t n, const double *b, size_t m);

#endif
