/* SPDX-License-Identifier: Apache-2.0
 * One walk a figure over the ranking: counts in integers, then the divisions and sums that CONTRACT 14.2 writes. */
#include "core/stats/discrimination.h"

#include "core/stats/distributions.h"
#include "determinism/bits.h"
#include "determinism/sum.h"

static double nan_f64(void)
{
    return rp_from_bits_f64(0x7FF8000000000000u);
}

/* Rounded once, to nearest even. */
static double real(uint64_t count)
{
    return (double)(int64_t)count;
}

/* Twice the pairs whose positive is above, and once those that are equal. */
static uint64_t pairs(const rp_ranking *r)
{
    uint64_t twice = 0, below = 0;

    for (size_t g = 0; g < r->n; g++) {
        twice += r->tied[g].positives * (2 * below + r->tied[g].negatives);
        below += r->tied[g].negatives;
    }
    return twice;
}

/* The variance of a placement value over one of the classes, times its number of rows less one. */
static double placements(const rp_ranking *r, bool positives, double auc)
{
    const uint64_t others = positives ? r->negatives : r->positives;
    uint64_t below = 0;

    for (size_t g = 0; g < r->n; g++) {
        const uint64_t own = positives ? r->tied[g].positives : r->tied[g].negatives;
        const uint64_t tied = positives ? r->tied[g].negatives : r->tied[g].positives;
        const uint64_t beyond = positives ? below : others - below - tied;
        const double d = real(2 * beyond + tied) / real(2 * others) - auc;

        r->work[g] = real(own) * (d * d);
        below += tied;
    }
    return rp_sum_f64(r->work, r->n, 1);
}

static void area(rp_discrimination *out, const rp_ranking *r)
{
    const double p = real(r->positives), n = real(r->negatives), z = rp_normal_quantile(0.975);
    double variance, reach;

    out->auc = real(pairs(r)) / real(2 * r->positives * r->negatives);
    out->gini = 2 * out->auc - 1;
    out->error = out->low = out->high = nan_f64();
    if (r->positives < 2 || r->negatives < 2)
        return;
    variance = (placements(r, true, out->auc) / (p - 1)) / p + (placements(r, false, out->auc) / (n - 1)) / n;
    out->error = __builtin_sqrt(variance);
    reach = z * out->error;
    out->low = out->auc - reach > 0 ? out->auc - reach : 0;
    out->high = out->auc + reach < 1 ? out->auc + reach : 1;
}

/* Concordant less discordant pairs, over the pairs of different scores, and over the mean of those and of the pairs of
 * different outcomes. */
static void concordance(rp_discrimination *out, const rp_ranking *r)
{
    const uint64_t rows = r->positives + r->negatives, different = r->positives * r->negatives;
    const double excess = (double)((int64_t)pairs(r) - (int64_t)different);
    uint64_t untied = rows * (rows - 1) / 2;

    for (size_t g = 0; g < r->n; g++) {
        const uint64_t m = r->tied[g].positives + r->tied[g].negatives;

        untied -= m * (m - 1) / 2;
    }
    out->somers_d = untied ? excess / real(untied) : nan_f64();
    out->kendall_tau = untied ? excess / (__builtin_sqrt(real(untied)) * __builtin_sqrt(real(different))) : nan_f64();
}

static void distance(rp_discrimination *out, const rp_ranking *r)
{
    uint64_t positives = 0, negatives = 0;

    out->ks = -1;
    for (size_t g = 0; g < r->n; g++) {
        double d;

        positives += r->tied[g].positives;
        negatives += r->tied[g].negatives;
        d = real(negatives) / real(r->negatives) - real(positives) / real(r->positives);
        d = d < 0 ? -d : d;
        if (d > out->ks) {
            out->ks = d;
            out->ks_score = r->tied[g].score;
        }
    }
}

/* From the highest score down; rows of one score count by their share of the positives among them. */
static void capture(rp_discrimination *out, const rp_ranking *r)
{
    const uint64_t rows = r->positives + r->negatives;
    uint64_t above = 0, found = 0;
    size_t g = r->n;

    for (uint64_t k = 1; k <= RP_CAP_POINTS; k++) {
        const double wanted = real(rows * k) / RP_CAP_POINTS;
        uint64_t tied;

        while (g > 1 && real(above + r->tied[g - 1].positives + r->tied[g - 1].negatives) < wanted) {
            g--;
            above += r->tied[g].positives + r->tied[g].negatives;
            found += r->tied[g].positives;
        }
        tied = r->tied[g - 1].positives + r->tied[g - 1].negatives;
        out->captured[k - 1] =
            (real(found) + real(r->tied[g - 1].positives) * ((wanted - real(above)) / real(tied))) / real(r->positives);
        out->lift[k - 1] = (out->captured[k - 1] * RP_CAP_POINTS) / real(k);
    }
}

void rp_discriminate(rp_discrimination *out, const rp_ranking *r)
{
    const double none = nan_f64();

    if (r->positives == 0 || r->negatives == 0) {
        *out = (rp_discrimination){none, none, none, none, none, none, none, none, none, {0}, {0}};
        for (int k = 0; k < RP_CAP_POINTS; k++)
            out->captured[k] = out->lift[k] = none;
        return;
    }
    area(out, r);
    concordance(out, r);
    distance(out, r);
    capture(out, r);
}

double rp_youden(const rp_ranking *r)
{
    uint64_t positives = 0, negatives = 0;
    double best = -2, score = nan_f64();

    if (r->positives == 0 || r->negatives == 0)
        return score;
    for (size_t g = 0; g < r->n; g++) {
        const double j =
            real(r->positives - positives) / real(r->positives) - real(r->negatives - negatives) / real(r->negatives);

        if (j > best) {
            best = j;
            score = r->tied[g].score;
        }
        positives += r->tied[g].positives;
        negatives += r->tied[g].negatives;
    }
    return score;
}
