/* SPDX-License-Identifier: Apache-2.0
 * Drift between two samples; sums go left to right over bins, by CONTRACT 4.1 over nothing else. */
#include "core/stats/drift.h"

#include <string.h>

#include "core/stats/distributions.h"
#include "core/stats/ranking.h"
#include "determinism/bits.h"
#include "determinism/math.h"

static const double floor_share = 0.0001;

static double real(uint64_t count)
{
    return (double)(int64_t)count;
}

size_t rp_quantile_edges(double *edge, const double *sorted, size_t n, size_t parts)
{
    size_t edges = 0;

    for (size_t k = 1; k < parts && n; k++) {
        const double at = rp_sorted_quantile(sorted, n, real(k) / real(parts));

        if (at > (edges ? edge[edges - 1] : sorted[0]))
            edge[edges++] = at;
    }
    return edges;
}

/* The number of heavy numbers, at most RP_HEAVY_MOST: of ten with 10 (m - 1) >= n - 1 there would be more than n. Of
 * sorted [n] they are put behind the others, whose number is in *others. */
static size_t set_heavy_aside(double heavy[RP_HEAVY_MOST], size_t *others, double *sorted, size_t n)
{
    size_t count[RP_HEAVY_MOST], found = 0, kept = 0, at;

    for (size_t begin = 0, end; begin < n; begin = end) {
        const double x = sorted[begin];

        for (end = begin + 1; end < n && sorted[end] == x; end++)
            ;
        if (end - begin > (n + 8) / 10) { /* 10 (m - 1) >= n - 1 */
            heavy[found] = x + 0.0;
            count[found++] = end - begin;
            continue;
        }
        for (size_t i = begin; i < end; i++)
            sorted[kept++] = sorted[i];
    }
    *others = at = kept;
    for (size_t i = 0; i < found; i++)
        for (size_t k = 0; k < count[i]; k++)
            sorted[at++] = heavy[i];
    return found;
}

/* The next number above a finite one; an infinity above the greatest. */
static double next_above(double x)
{
    const uint64_t bits = rp_bits_f64(x + 0.0);

    return rp_from_bits_f64(bits >> 63 ? bits - 1 : bits + 1) + 0.0;
}

/* Among ascending edges, unless it is one. Returns how many there are. */
static size_t insert(double *edge, size_t edges, double at)
{
    const size_t place = rp_bin_of(edge, edges, at);

    if (place > 0 && edge[place - 1] == at)
        return edges;
    memmove(edge + place + 1, edge + place, (edges - place) * sizeof *edge);
    edge[place] = at;
    return edges + 1;
}

size_t rp_reference_edges(double edge[RP_REFERENCE_EDGES], double *sorted, size_t n)
{
    double heavy[RP_HEAVY_MOST];
    size_t others, heavies = set_heavy_aside(heavy, &others, sorted, n);
    size_t edges = rp_quantile_edges(edge, sorted, others, RP_REFERENCE_PARTS);

    for (size_t i = 0; i < heavies; i++) {
        const double above = next_above(heavy[i]);

        edges = insert(edge, edges, heavy[i]);
        if (above - above == 0)
            edges = insert(edge, edges, above);
    }
    return edges;
}

size_t rp_bin_of(const double *edge, size_t edges, double x)
{
    size_t low = 0, high = edges;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (edge[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double stability_term(double expected, double found)
{
    const double e = expected > 0 ? expected : floor_share, f = found > 0 ? found : floor_share;

    return expected > 0 || found > 0 ? (f - e) * rp_log_f64(f / e) : 0;
}

static double divergence_term(double share, double middle)
{
    return share > 0 ? share * rp_log_f64(share / middle) : 0;
}

static double surprise(double found, double expected)
{
    const double d = found - expected;

    return (d * d) / expected;
}

void rp_drift_of_bins(rp_binned_drift *out, const uint64_t *expected, const uint64_t *found, size_t bins)
{
    const double none = rp_from_bits_f64(0x7FF8000000000000u);
    uint64_t a = 0, b = 0;
    size_t used = 0;
    double js = 0;

    *out = (rp_binned_drift){none, none, none, none, none, 0};
    for (size_t i = 0; i < bins; i++) {
        a += expected[i];
        b += found[i];
        used += expected[i] + found[i] > 0;
    }
    if (a == 0 || b == 0)
        return;
    out->psi = out->chi_squared = 0;
    for (size_t i = 0; i < bins; i++) {
        const double e = real(expected[i]) / real(a), f = real(found[i]) / real(b), both = real(expected[i] + found[i]);

        if (both == 0)
            continue;
        out->psi = out->psi + stability_term(e, f);
        js = js + (divergence_term(e, (e + f) / 2) + divergence_term(f, (e + f) / 2));
        out->chi_squared = out->chi_squared + (surprise(real(expected[i]), real(a) * both / real(a + b)) +
                                               surprise(real(found[i]), real(b) * both / real(a + b)));
    }
    out->jensen_shannon = __builtin_sqrt(js > 0 ? js / 2 : 0);
    out->freedom = used - 1;
    out->p = out->freedom ? rp_chi_squared_upper(out->chi_squared, real(out->freedom)) : none;
    out->cramers_v = __builtin_sqrt(out->chi_squared / real(a + b));
}

/* P(K > x) of Kolmogorov's distribution: one of two series, each of four terms where it is the faster (Marsaglia, Tsang
 * and Wang 2003, 1). */
static double kolmogorov_upper(double x)
{
    double sum = 0;

    if (!(x > 0))
        return 1;
    for (int k = 4; k >= 1; k--) {
        if (x < 1.18) {
            const double t = (2 * k - 1) * 0x1.921fb54442d18p+1;

            sum = sum + rp_exp_f64(-(t * t) / (8 * (x * x)));
        } else {
            const double t = rp_exp_f64(-2 * ((k * x) * (k * x)));

            sum = k % 2 ? sum + t : sum - t;
        }
    }
    return x < 1.18 ? 1 - (0x1.40d931ff62706p+1 / x) * sum : 2 * sum;
}

void rp_drift_of_samples(rp_sample_drift *out, const double *a, size_t n, const double *b, size_t m)
{
    const double none = rp_from_bits_f64(0x7FF8000000000000u);
    double before = 0, distance = 0;
    size_t i = 0, j = 0;

    *out = (rp_sample_drift){none, none, none};
    if (n == 0 || m == 0)
        return;
    out->ks = out->wasserstein = 0;
    while (i < n || j < m) {
        const double at = j == m || (i < n && a[i] <= b[j]) ? a[i] : b[j];

        if (i + j > 0)
            out->wasserstein = out->wasserstein + distance * (at - before);
        for (; i < n && a[i] == at; i++)
            ;
        for (; j < m && b[j] == at; j++)
            ;
        distance = real(i) / real(n) - real(j) / real(m);
        distance = distance < 0 ? -distance : distance;
        if (distance > out->ks)
            out->ks = distance;
        before = at;
    }
    out->p = kolmogorov_upper(__builtin_sqrt((real(n) * real(m)) / real(n + m)) * out->ks);
}
