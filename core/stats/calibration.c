/* SPDX-License-Identifier: Apache-2.0
 * Calibration and confusion from a ranking; every sum runs over its distinct scores (CONTRACT 14.3, 14.4). */
#include "core/stats/calibration.h"

#include "core/stats/distributions.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/sum.h"

static double nan_f64(void)
{
    return rp_from_bits_f64(0x7FF8000000000000u);
}

static double real(uint64_t count)
{
    return (double)(int64_t)count;
}

static double ratio(uint64_t a, uint64_t b)
{
    return b ? real(a) / real(b) : nan_f64();
}

void rp_jeffreys(uint64_t k, uint64_t n, double *low, double *high)
{
    const double a = real(k) + 0.5, b = real(n - k) + 0.5;

    *low = k == 0 ? 0 : rp_beta_quantile(0.025, a, b);
    *high = k == n ? 1 : rp_beta_quantile(0.975, a, b);
}

double rp_clip_probability(double p)
{
    return p < 0x1p-52 ? 0x1p-52 : p > 1 - 0x1p-52 ? 1 - 0x1p-52 : p;
}

/* Groups first .. last - 1 of the ranking. */
static void fill_band(rp_band *band, const rp_ranking *r, size_t first, size_t last)
{
    *band = (rp_band){.lowest = r->tied[first].score, .highest = r->tied[last - 1].score};
    for (size_t g = first; g < last; g++) {
        const uint64_t m = r->tied[g].positives + r->tied[g].negatives;

        band->rows += m;
        band->positives += r->tied[g].positives;
        r->work[g - first] = real(m) * r->tied[g].score;
    }
    band->mean = rp_sum_f64(r->work, last - first, 1) / real(band->rows);
    band->rate = ratio(band->positives, band->rows);
    rp_jeffreys(band->positives, band->rows, &band->low, &band->high);
    band->p = rp_beta_cdf(band->mean, real(band->positives) + 0.5, real(band->rows - band->positives) + 0.5);
}

/* A band is the tenth that the first of equal scores falls into by its rank. */
static void cut_bands(rp_calibration *out, const rp_ranking *r)
{
    const uint64_t rows = r->positives + r->negatives;
    uint64_t before = 0, tenth = 0;
    size_t first = 0;

    for (size_t g = 0; g < r->n; g++) {
        if (RP_BANDS * before / rows > tenth) {
            fill_band(&out->band[out->bands++], r, first, g);
            first = g;
            tenth = RP_BANDS * before / rows;
        }
        before += r->tied[g].positives + r->tied[g].negatives;
    }
    fill_band(&out->band[out->bands++], r, first, r->n);
}

static void hosmer_lemeshow(rp_calibration *out, bool fitted)
{
    double sum = 0;

    for (size_t i = 0; i < out->bands; i++) {
        const rp_band *b = &out->band[i];
        const double expected = real(b->rows) * b->mean, d = real(b->positives) - expected;

        if (d != 0)
            sum = sum + (d * d) / (expected * (1 - b->mean));
    }
    out->hosmer_lemeshow = sum;
    out->freedom = !fitted ? out->bands : out->bands > 2 ? out->bands - 2 : 0;
    out->hosmer_lemeshow_p = rp_chi_squared_upper(sum, real(out->freedom));
}

/* Brier's own expectation and variance where the scores are the probabilities. */
static void spiegelhalter(rp_calibration *out, const rp_ranking *r)
{
    double above, below;

    for (size_t g = 0; g < r->n; g++) {
        const double s = r->tied[g].score, t = 1 - 2 * s;

        r->work[g] = t * (real(r->tied[g].positives) * (1 - s) - real(r->tied[g].negatives) * s);
    }
    above = rp_sum_f64(r->work, r->n, 1);
    for (size_t g = 0; g < r->n; g++) {
        const double s = r->tied[g].score, t = 1 - 2 * s;

        r->work[g] = real(r->tied[g].positives + r->tied[g].negatives) * ((t * t) * (s * (1 - s)));
    }
    below = rp_sum_f64(r->work, r->n, 1);
    out->spiegelhalter = above / __builtin_sqrt(below);
    out->spiegelhalter_p = rp_normal_two_sided(out->spiegelhalter);
}

static double brier(const rp_ranking *r)
{
    for (size_t g = 0; g < r->n; g++) {
        const double s = r->tied[g].score;

        r->work[g] = real(r->tied[g].positives) * ((1 - s) * (1 - s)) + real(r->tied[g].negatives) * (s * s);
    }
    return rp_sum_f64(r->work, r->n, 1) / real(r->positives + r->negatives);
}

static double log_loss(const rp_ranking *r)
{
    for (size_t g = 0; g < r->n; g++) {
        const double c = rp_clip_probability(r->tied[g].score);

        r->work[g] = real(r->tied[g].positives) * -rp_log_f64(c) + real(r->tied[g].negatives) * -rp_log_f64(1 - c);
    }
    return rp_sum_f64(r->work, r->n, 1) / real(r->positives + r->negatives);
}

void rp_calibrate(rp_calibration *out, const rp_ranking *r, bool fitted)
{
    double sum = 0;

    *out = (rp_calibration){.bands = 0};
    if (r->n == 0)
        return;
    cut_bands(out, r);
    fill_band(&out->all, r, 0, r->n);
    out->brier = brier(r);
    out->log_loss = log_loss(r);
    for (size_t i = 0; i < out->bands; i++) {
        const double d = out->band[i].rate - out->band[i].mean;

        sum = sum + real(out->band[i].rows) * (d < 0 ? -d : d);
    }
    out->error = sum / real(out->all.rows);
    hosmer_lemeshow(out, fitted);
    spiegelhalter(out, r);
}

double rp_trivial_brier(const rp_ranking *r, double rate)
{
    return (real(r->positives) * ((1 - rate) * (1 - rate)) + real(r->negatives) * (rate * rate)) /
           real(r->positives + r->negatives);
}

double rp_trivial_log_loss(const rp_ranking *r, double rate)
{
    const double c = rp_clip_probability(rate);

    return (real(r->positives) * -rp_log_f64(c) + real(r->negatives) * -rp_log_f64(1 - c)) /
           real(r->positives + r->negatives);
}

static double mean_of_two(double a, double b)
{
    return (a + b) / 2;
}

void rp_confuse(rp_confusion *out, const rp_ranking *r, double threshold)
{
    const uint64_t rows = r->positives + r->negatives;
    uint64_t right;
    double tp, fp, tn, fn;

    *out = (rp_confusion){.true_positives = 0};
    for (size_t g = 0; g < r->n; g++) {
        const bool positive = r->tied[g].score >= threshold;

        *(positive ? &out->true_positives : &out->false_negatives) += r->tied[g].positives;
        *(positive ? &out->false_positives : &out->true_negatives) += r->tied[g].negatives;
    }
    tp = real(out->true_positives), fp = real(out->false_positives);
    tn = real(out->true_negatives), fn = real(out->false_negatives);
    right = out->true_positives + out->true_negatives;
    out->accuracy = ratio(right, rows);
    rp_jeffreys(right, rows, &out->accuracy_low, &out->accuracy_high);
    out->precision = ratio(out->true_positives, out->true_positives + out->false_positives);
    out->recall = ratio(out->true_positives, r->positives);
    out->specificity = ratio(out->true_negatives, r->negatives);
    out->f1 = ratio(2 * out->true_positives, 2 * out->true_positives + out->false_positives + out->false_negatives);
    out->balanced_accuracy = mean_of_two(out->recall, out->specificity);
    out->mcc = (tp * tn - fp * fn) / (__builtin_sqrt((tp + fp) * (tp + fn)) * __builtin_sqrt((tn + fp) * (tn + fn)));
}
