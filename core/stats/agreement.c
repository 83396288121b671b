/* SPDX-License-Identifier: Apache-2.0
 * Counts in integers, then the divisions and sums that CONTRACT 14.12 writes. */
#include "core/stats/agreement.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/stats/distributions.h"
#include "core/stats/ranking.h"
#include "determinism/bits.h"
#include "determinism/sum.h"

const double rp_agreement_shares[RP_AGREEMENT_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

static double nan_f64(void)
{
    return rp_from_bits_f64(0x7FF8000000000000u);
}

/* Rounded once, to nearest even. */
static double real(uint64_t count)
{
    return (double)(int64_t)count;
}

static double mean_of(const double *x, size_t n)
{
    return rp_sum_f64(x, n, 1) / real(n);
}

/* ---- where a number stands among sorted ones ---- */

static size_t count_below(const double *sorted, size_t n, double x)
{
    size_t low = 0;

    for (size_t high = n; low < high;) {
        const size_t middle = low + (high - low) / 2;

        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_up_to(const double *sorted, size_t n, double x)
{
    size_t low = 0;

    for (size_t high = n; low < high;) {
        const size_t middle = low + (high - low) / 2;

        if (sorted[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sort_copy(double *out, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] + 0.0; /* +0 stands for both zeros */
    rp_sort_f64(out, n);
}

/* ---- Spearman ---- */

/* Twice the midrank from 1, less n + 1: an integer, exact. rank, sorted [n]. */
static void centred_ranks(double *rank, double *sorted, const double *x, size_t n)
{
    sort_copy(sorted, x, n);
    for (size_t i = 0; i < n; i++) {
        const size_t below = count_below(sorted, n, x[i]), up_to = count_up_to(sorted, n, x[i]);

        rank[i] = (double)((int64_t)(below + up_to) - (int64_t)n);
    }
}

/* u, v: centred ranks. work [n]. */
static double correlation(const double *u, const double *v, double *work, size_t n)
{
    double both, first, second;

    for (size_t i = 0; i < n; i++)
        work[i] = u[i] * v[i];
    both = rp_sum_f64(work, n, 1);
    for (size_t i = 0; i < n; i++)
        work[i] = u[i] * u[i];
    first = rp_sum_f64(work, n, 1);
    for (size_t i = 0; i < n; i++)
        work[i] = v[i] * v[i];
    second = rp_sum_f64(work, n, 1);
    return first > 0 && second > 0 ? both / (__builtin_sqrt(first) * __builtin_sqrt(second)) : nan_f64();
}

/* ---- Kendall ---- */

typedef struct pair {
    double a, b;
} pair;

static int compare_pairs(const void *x, const void *y)
{
    const pair *p = x, *q = y;

    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static uint64_t pairs_of(uint64_t n)
{
    return n ? n * (n - 1) / 2 : 0;
}

/* Pairs that are equal in a, and those that are equal in both. */
static void count_ties(const pair *p, size_t n, uint64_t *in_a, uint64_t *in_both)
{
    size_t a = 0, both = 0;

    *in_a = *in_both = 0;
    for (size_t i = 1; i <= n; i++) {
        const bool same = i < n && p[i].a == p[i - 1].a;

        if (!same || p[i].b != p[i - 1].b) {
            *in_both += pairs_of(i - both);
            both = i;
        }
        if (!same) {
            *in_a += pairs_of(i - a);
            a = i;
        }
    }
}

/* Sorts by b from both halves on, counting how many of the second half pass how many of the first. */
static uint64_t merge_by_b(pair *p, pair *scratch, size_t n)
{
    const size_t half = n / 2;
    uint64_t passed = 0;
    size_t i = 0, j = half, k = 0;

    if (n < 2)
        return 0;
    passed = merge_by_b(p, scratch, half) + merge_by_b(p + half, scratch, n - half);
    while (i < half && j < n) {
        if (p[j].b < p[i].b) {
            passed += half - i;
            scratch[k++] = p[j++];
        } else {
            scratch[k++] = p[i++];
        }
    }
    memcpy(scratch + k, p + i, (half - i) * sizeof *p);
    memcpy(p, scratch, (k + half - i) * sizeof *p);
    return passed;
}

static uint64_t ties_in_b(const pair *p, size_t n)
{
    uint64_t ties = 0;
    size_t from = 0;

    for (size_t i = 1; i <= n; i++)
        if (i == n || p[i].b != p[i - 1].b) {
            ties += pairs_of(i - from);
            from = i;
        }
    return ties;
}

static double tau_b(pair *p, pair *scratch, const double *a, const double *b, size_t n)
{
    const uint64_t all = pairs_of(n);
    uint64_t in_a, in_b, in_both, discordant;
    int64_t excess;

    for (size_t i = 0; i < n; i++)
        p[i] = (pair){a[i] + 0.0, b[i] + 0.0};
    if (n)
        qsort(p, n, sizeof *p, compare_pairs);
    count_ties(p, n, &in_a, &in_both);
    discordant = merge_by_b(p, scratch, n);
    in_b = ties_in_b(p, n);
    excess = (int64_t)(all - in_a - in_b + in_both) - (int64_t)(2 * discordant);
    if (all == in_a || all == in_b)
        return nan_f64();
    return (double)excess / (__builtin_sqrt(real(all - in_a)) * __builtin_sqrt(real(all - in_b)));
}

/* ---- both ---- */

static rp_status look(const double *a, const double *b, size_t n, rp_error *err)
{
    if (n > (size_t)1 << 31)
        return rp_fail(err, RP_EDATA, "figures of %zu rows: expected at most 2^31", n);
    for (size_t i = 0; i < n; i++)
        if (a[i] - a[i] != 0 || b[i] - b[i] != 0)
            return rp_fail(err, RP_EDATA, "score of row %zu: expected a finite number, found none", i);
    return RP_OK;
}

/* work [2 n] */
static void differences(rp_agreement *out, const double *a, const double *b, double *work, size_t n)
{
    double *absolute = work + n;

    for (size_t i = 0; i < n; i++) {
        work[i] = b[i] - a[i];
        absolute[i] = work[i] < 0 ? -work[i] : work[i];
    }
    out->mean = mean_of(work, n);
    out->mean_absolute = mean_of(absolute, n);
    sort_copy(absolute, work, n);
    for (int k = 0; k < RP_AGREEMENT_QUANTILES; k++)
        out->quantile[k] = rp_sorted_quantile(absolute, n, rp_agreement_shares[k]);
}

rp_status rp_agree(rp_agreement *out, const double *a, const double *b, size_t n, rp_error *err)
{
    const double none = nan_f64();
    double *work;
    pair *pairs;
    rp_status status = look(a, b, n, err);

    *out = (rp_agreement){none, none, none, none, {none, none, none, none, none, none, none}};
    if (status != RP_OK || n == 0)
        return status;
    work = rp_reallocarray(NULL, n, 3 * sizeof *work);
    pairs = rp_reallocarray(NULL, n, 2 * sizeof *pairs);
    if (work && pairs) {
        centred_ranks(work, work + 2 * n, a, n);
        centred_ranks(work + n, work + 2 * n, b, n);
        out->spearman = correlation(work, work + n, work + 2 * n, n);
        out->kendall = tau_b(pairs, pairs + n, a, b, n);
        differences(out, a, b, work, n);
    } else {
        status = rp_no_memory(err);
    }
    rp_free(work);
    rp_free(pairs);
    return status;
}

static void judge(rp_paired *out, double difference, double error)
{
    const double reach = rp_normal_quantile(0.975) * error;

    *out = (rp_paired){.difference = difference, .error = error, .low = difference - reach, .high = difference + reach};
    out->statistic = error > 0 ? difference / error : nan_f64();
    out->p = rp_normal_two_sided(out->statistic);
}

void rp_paired_means(rp_paired *out, double *d, size_t n)
{
    const double none = nan_f64(), mean = n ? mean_of(d, n) : none;

    for (size_t i = 0; i < n; i++)
        d[i] = (d[i] - mean) * (d[i] - mean);
    judge(out, mean, n > 1 ? __builtin_sqrt((rp_sum_f64(d, n, 1) / real(n - 1)) / real(n)) : none);
}

/* The placement of each row of one outcome among the rows of the other: the share that it is on the right side of, ties
 * counting half. */
typedef struct placements {
    double *own;   /* [n]: a row's placement, of b less a */
    double *other; /* [n]: sorted scores of the other outcome */
    size_t rows, others;
} placements;

static void place(placements *p, const double *x, const bool *positive, bool which, double sign, size_t n)
{
    size_t row = 0;

    p->others = 0;
    for (size_t i = 0; i < n; i++)
        if (positive[i] != which)
            p->other[p->others++] = x[i] + 0.0;
    rp_sort_f64(p->other, p->others);
    for (size_t i = 0; i < n; i++) {
        const size_t below = count_below(p->other, p->others, x[i]), up_to = count_up_to(p->other, p->others, x[i]);
        const size_t beyond = which ? below : p->others - up_to;

        if (positive[i] != which)
            continue;
        p->own[row] = p->own[row] + sign * (real(2 * beyond + (up_to - below)) / real(2 * p->others));
        row++;
    }
    p->rows = row;
}

/* The variance of one outcome's placements over its rows. */
static double placement_variance(placements *p, const double *a, const double *b, const bool *positive, bool which,
                                 double difference, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->own[i] = 0;
    place(p, b, positive, which, 1, n);
    place(p, a, positive, which, -1, n);
    for (size_t i = 0; i < p->rows; i++)
        p->own[i] = (p->own[i] - difference) * (p->own[i] - difference);
    return (rp_sum_f64(p->own, p->rows, 1) / real(p->rows - 1)) / real(p->rows);
}

/* The integer S of 14.2: twice the pairs whose positive is above, and once those that are equal. */
static uint64_t twice_above(placements *p, const double *x, const bool *positive, size_t n)
{
    uint64_t twice = 0;

    p->others = 0;
    for (size_t i = 0; i < n; i++)
        if (!positive[i])
            p->other[p->others++] = x[i] + 0.0;
    rp_sort_f64(p->other, p->others);
    for (size_t i = 0; i < n; i++)
        if (positive[i])
            twice += count_below(p->other, p->others, x[i]) + count_up_to(p->other, p->others, x[i]);
    return twice;
}

static void compare_areas(rp_paired *out, placements *p, const double *a, const double *b, const bool *positive,
                          size_t n)
{
    const double none = nan_f64();
    uint64_t positives = 0, negatives;
    double difference, first, second;

    for (size_t i = 0; i < n; i++)
        positives += positive[i];
    negatives = n - positives;
    *out = (rp_paired){none, none, none, none, none, none};
    if (positives == 0 || negatives == 0)
        return;
    difference = real(twice_above(p, b, positive, n)) / real(2 * positives * negatives) -
                 real(twice_above(p, a, positive, n)) / real(2 * positives * negatives);
    if (positives < 2 || negatives < 2) {
        out->difference = difference;
        return;
    }
    first = placement_variance(p, a, b, positive, true, difference, n);
    second = placement_variance(p, a, b, positive, false, difference, n);
    judge(out, difference, __builtin_sqrt(first + second));
}

rp_status rp_paired_areas(rp_paired *out, const double *a, const double *b, const bool *positive, size_t n,
                          rp_error *err)
{
    placements p = {.own = rp_reallocarray(NULL, n + 1, sizeof(double)),
                    .other = rp_reallocarray(NULL, n + 1, sizeof(double))};
    rp_status status = look(a, b, n, err);

    if (status == RP_OK && (!p.own || !p.other))
        status = rp_no_memory(err);
    if (status == RP_OK)
        compare_areas(out, &p, a, b, positive, n);
    rp_free(p.own);
    rp_free(p.other);
    return status;
}
