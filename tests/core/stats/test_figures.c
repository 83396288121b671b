/* SPDX-License-Identifier: Apache-2.0
 * Figures of validation against their definitions taken literally: every pair of rows, every threshold, every point
 * between two samples. Orders of rows have no influence, to the bit; what is not defined is NaN. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/stats/calibration.h"
#include "core/stats/discrimination.h"
#include "core/stats/drift.h"
#include "core/stats/residuals.h"
#include "core/stats/groups.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"

enum { ROWS = 400 };

static double score[ROWS];
static bool positive[ROWS];

/* levels: how many distinct scores; few of them make ties. */
static void draw(uint32_t stream, int levels)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        const double u = rp_uniform_f32(rp_random_u32(7, 1, stream, 2 * i));

        score[i] = floor(u * levels) / levels;
        positive[i] = rp_uniform_f32(rp_random_u32(7, 1, stream, 2 * i + 1)) < 0.1 + 0.7 * score[i];
    }
}

static rp_ranking *ranked(void)
{
    rp_ranking *r;

    assert_int_equal(rp_ranking_new(&r, score, positive, ROWS, NULL), RP_OK);
    return r;
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* The share of rows j of the other outcome that row i is on the right side of, ties one half. */
static double placement(int i)
{
    double sum = 0, others = 0;

    for (int j = 0; j < ROWS; j++) {
        const double d = positive[i] ? score[i] - score[j] : score[j] - score[i];

        if (positive[j] == positive[i])
            continue;
        others++;
        sum += d > 0 ? 1 : d == 0 ? 0.5 : 0;
    }
    return sum / others;
}

static void areas_are_those_of_all_pairs(void **state)
{
    (void)state;
    for (int levels = 3; levels < 2000; levels *= 4) {
        double mean[2] = {0}, square[2] = {0}, n[2] = {0}, concordant = 0, untied = 0, best = -1;
        rp_discrimination d;
        rp_ranking *r;

        draw((uint32_t)levels, levels);
        r = ranked();
        rp_discriminate(&d, r);
        for (int i = 0; i < ROWS; i++) {
            mean[positive[i]] += placement(i);
            n[positive[i]]++;
        }
        for (int i = 0; i < ROWS; i++) {
            const double e = placement(i) - mean[1] / n[1];
            double below[2] = {0};

            square[positive[i]] += e * e;
            for (int j = 0; j < ROWS; j++) {
                below[positive[j]] += score[j] <= score[i];
                untied += j < i && score[i] != score[j];
                if (j < i && positive[i] != positive[j])
                    concordant += (score[i] > score[j]) == positive[i] ? score[i] != score[j] : -(score[i] != score[j]);
            }
            best = fmax(best, fabs(below[0] / n[0] - below[1] / n[1]));
        }
        near(d.auc, mean[1] / n[1]);
        near(d.error, sqrt(square[1] / (n[1] - 1) / n[1] + square[0] / (n[0] - 1) / n[0]));
        near(d.high - d.auc, 1.959963984540054 * d.error);
        near(d.gini, concordant / (n[0] * n[1]));
        near(d.somers_d, concordant / untied);
        near(d.kendall_tau, concordant / sqrt(untied * n[0] * n[1]));
        near(d.ks, best);
        near(d.captured[9], 1);
        near(d.lift[9], 1);
        assert_true(d.captured[0] > 0.1 && d.captured[4] > d.captured[3]);
        rp_ranking_free(r);
    }
}

static void orders_of_rows_change_no_bit(void **state)
{
    rp_calibration first, again;
    rp_discrimination d, e;
    rp_ranking *r;

    (void)state;
    draw(3, 50);
    r = ranked();
    rp_calibrate(&first, r, false);
    rp_discriminate(&d, r);
    rp_ranking_free(r);
    for (int i = 0; i < ROWS / 2; i++) {
        const double s = score[i];
        const bool p = positive[i];

        score[i] = score[ROWS - 1 - i];
        positive[i] = positive[ROWS - 1 - i];
        score[ROWS - 1 - i] = s == 0 ? -0.0 : s;
        positive[ROWS - 1 - i] = p;
    }
    r = ranked();
    rp_calibrate(&again, r, false);
    rp_discriminate(&e, r);
    rp_ranking_free(r);
    assert_memory_equal(&first.brier, &again.brier, sizeof first.brier);
    assert_memory_equal(&first.band, &again.band, first.bands * sizeof *first.band);
    assert_memory_equal(&d, &e, sizeof d);
}

static void calibration_is_that_of_the_rows(void **state)
{
    double brier = 0, loss = 0, above = 0, below = 0, statistic = 0, sorted[ROWS];
    uint64_t rows = 0;
    rp_calibration c;
    rp_ranking *r;

    (void)state;
    draw(11, 1 << 20);
    for (int i = 0; i < ROWS; i++) {
        const double y = positive[i], s = score[i];

        brier += (y - s) * (y - s);
        loss -= log(positive[i] ? s : 1 - s);
        above += (y - s) * (1 - 2 * s);
        below += (1 - 2 * s) * (1 - 2 * s) * s * (1 - s);
        sorted[i] = s;
    }
    rp_sort_f64(sorted, ROWS);
    r = ranked();
    rp_calibrate(&c, r, false);
    near(c.brier, brier / ROWS);
    near(c.log_loss, loss / ROWS);
    near(c.spiegelhalter, above / sqrt(below));
    near(c.spiegelhalter_p, erfc(fabs(c.spiegelhalter) / sqrt(2)));
    assert_int_equal(c.bands, RP_BANDS);
    for (size_t b = 0; b < c.bands; b++) {
        double mean = 0, found = 0;

        for (int i = 0; i < ROWS; i++)
            if (score[i] >= sorted[b * 40] && score[i] <= sorted[b * 40 + 39]) {
                mean += score[i] / 40;
                found += positive[i];
            }
        near(c.band[b].mean, mean);
        near(c.band[b].rate, found / 40);
        assert_true(c.band[b].low < c.band[b].rate || found == 0);
        assert_true(c.band[b].high > c.band[b].rate || found == 40);
        statistic += (found - 40 * mean) * (found - 40 * mean) / (40 * mean * (1 - mean));
        rows += c.band[b].rows;
    }
    near(c.hosmer_lemeshow, statistic);
    assert_int_equal(rows, ROWS);
    assert_int_equal(c.freedom, 10);
    rp_calibrate(&c, r, true);
    assert_int_equal(c.freedom, 8);
    rp_ranking_free(r);
    draw(12, 2); /* two scores make two bands: equal scores stay together */
    r = ranked();
    rp_calibrate(&c, r, true);
    assert_int_equal(c.bands, 2);
    assert_int_equal(c.freedom, 0);
    assert_true(c.hosmer_lemeshow_p != c.hosmer_lemeshow_p);
    rp_ranking_free(r);
}

static void thresholds_count_from_themselves_up(void **state)
{
    double best = -2, at = 0;
    rp_confusion c;
    rp_ranking *r;

    (void)state;
    draw(5, 20);
    r = ranked();
    for (int i = 0; i < ROWS; i++) {
        uint64_t n[2][2] = {{0}};
        double j;

        for (int k = 0; k < ROWS; k++)
            n[positive[k]][score[k] >= score[i]]++;
        rp_confuse(&c, r, score[i]);
        assert_true(c.true_positives == n[1][1] && c.false_positives == n[0][1]);
        assert_true(c.true_negatives == n[0][0] && c.false_negatives == n[1][0]);
        near(c.balanced_accuracy, (c.recall + c.specificity) / 2);
        j = c.recall + c.specificity - 1;
        if (j > best + 1e-12 || (fabs(j - best) <= 1e-12 && score[i] < at)) {
            best = j;
            at = score[i];
        }
    }
    assert_true(rp_youden(r) == at);
    rp_ranking_free(r);
    for (int i = 0; i < ROWS; i++) { /* by turns: 0.25, 0.5 and 0.75 are as good as each other */
        score[i] = (i % 4) / 4.0;
        positive[i] = i % 4 == 1 || i % 4 == 3;
    }
    positive[0] = false;
    r = ranked();
    assert_true(rp_youden(r) == 0.25);
    rp_ranking_free(r);
}

static void one_outcome_and_no_rows_have_no_areas(void **state)
{
    rp_discrimination d;
    rp_calibration c;
    rp_ranking *r;
    double low, high;

    (void)state;
    draw(1, 10);
    memset(positive, 0, sizeof positive);
    r = ranked();
    rp_discriminate(&d, r);
    rp_calibrate(&c, r, false);
    assert_true(d.auc != d.auc && d.low != d.low && d.captured[3] != d.captured[3]);
    assert_true(rp_youden(r) != rp_youden(r) && c.all.rate == 0 && c.all.low == 0 && c.all.high > 0);
    rp_ranking_free(r);
    assert_int_equal(rp_ranking_new(&r, score, positive, 0, NULL), RP_OK);
    rp_calibrate(&c, r, false);
    assert_int_equal(c.bands, 0);
    rp_ranking_free(r);
    score[3] = NAN;
    assert_int_equal(rp_ranking_new(&r, score, positive, ROWS, NULL), RP_EDATA);
    assert_null(r);
    rp_jeffreys(5, 5, &low, &high);
    assert_true(high == 1 && low > 0.5 && low < 1);
}

static void drift_is_that_of_the_samples(void **state)
{
    static const uint64_t a[] = {10, 20, 0, 30, 0}, b[] = {15, 10, 5, 20, 0};
    double x[200], y[120], psi = 0, statistic = 0, js = 0, distance = 0, area = 0, edge[9];
    rp_binned_drift d;
    rp_sample_drift s;

    (void)state;
    rp_drift_of_bins(&d, a, b, 5);
    for (int i = 0; i < 4; i++) {
        const double e = (double)a[i] / 60, f = (double)b[i] / 50, m = (e + f) / 2, all = (double)(a[i] + b[i]) / 110;

        psi += (f - (e > 0 ? e : 1e-4)) * log(f / (e > 0 ? e : 1e-4));
        js += ((e > 0 ? e * log(e / m) : 0) + f * log(f / m)) / 2;
        statistic += pow((double)a[i] - 60 * all, 2) / (60 * all) + pow((double)b[i] - 50 * all, 2) / (50 * all);
    }
    near(d.psi, psi);
    near(d.jensen_shannon, sqrt(js));
    near(d.chi_squared, statistic);
    near(d.cramers_v, sqrt(statistic / 110));
    assert_int_equal(d.freedom, 3);
    rp_drift_of_bins(&d, a, a, 5);
    assert_true(d.psi == 0 && d.jensen_shannon == 0 && d.chi_squared == 0 && d.p == 1);
    rp_drift_of_bins(&d, a, (const uint64_t[5]){0}, 5);
    assert_true(d.psi != d.psi);
    for (uint64_t i = 0; i < 200; i++)
        x[i] = floor(20 * rp_uniform_f32(rp_random_u32(9, 1, 1, i))) / 4;
    for (uint64_t i = 0; i < 120; i++)
        y[i] = floor(24 * rp_uniform_f32(rp_random_u32(9, 1, 2, i))) / 4;
    rp_sort_f64(x, 200);
    rp_sort_f64(y, 120);
    for (double at = 0; at < 6; at += 0.25) {
        double f = 0, g = 0;

        for (int i = 0; i < 200; i++)
            f += x[i] <= at;
        for (int i = 0; i < 120; i++)
            g += y[i] <= at;
        distance = fmax(distance, fabs(f / 200 - g / 120));
        area += 0.25 * fabs(f / 200 - g / 120);
    }
    rp_drift_of_samples(&s, x, 200, y, 120);
    near(s.ks, distance);
    near(s.wasserstein, area);
    assert_true(s.p > 0 && s.p < 1);
    rp_drift_of_samples(&s, x, 200, x, 200);
    assert_true(s.ks == 0 && s.wasserstein == 0 && s.p == 1);
    assert_int_equal(rp_quantile_edges(edge, x, 200, 10), 9);
    for (int i = 0; i < 200; i++) /* most of them are the least number: it is no edge */
        x[i] = i < 150 ? 1 : i;
    assert_int_equal(rp_quantile_edges(edge, x, 200, 10), 2);
    assert_true(edge[0] > 1 && rp_bin_of(edge, 2, 1) == 0 && rp_bin_of(edge, 2, edge[0]) == 1);
}

/* PSI of the numbers a against b, in bins by the edges of a reference of a. */
static double stability(const double *a, size_t n, const double *b, size_t m)
{
    double edge[RP_REFERENCE_EDGES], sorted[1000];
    uint64_t expected[RP_REFERENCE_EDGES + 1] = {0}, found[RP_REFERENCE_EDGES + 1] = {0};
    rp_binned_drift d;
    size_t edges;

    memcpy(sorted, a, n * sizeof *a);
    rp_sort_f64(sorted, n);
    edges = rp_reference_edges(edge, sorted, n);
    for (size_t i = 0; i < n; i++)
        expected[rp_bin_of(edge, edges, a[i])]++;
    for (size_t i = 0; i < m; i++)
        found[rp_bin_of(edge, edges, b[i])]++;
    rp_drift_of_bins(&d, expected, found, edges + 1);
    return d.psi;
}

static void a_heavy_number_cannot_move_unseen(void **state)
{
    double was[1000], is[1000];

    (void)state;
    for (int i = 0; i < 1000; i++) { /* 85 % zeros become ones, below all amounts */
        was[i] = i < 850 ? 0 : i;
        is[i] = i < 850 ? 1 : i;
    }
    assert_true(stability(was, 1000, is, 1000) > 1 && stability(was, 1000, was, 1000) == 0);
    for (int i = 0; i < 1000; i++) { /* a flag of -1, 0 and 1 of which 5 % are 1, then 60 % */
        was[i] = i < 50 ? -1 : i < 950 ? 0 : 1;
        is[i] = i < 50 ? -1 : i < 400 ? 0 : 1;
    }
    assert_true(stability(was, 1000, is, 1000) > 1);
    for (int i = 0; i < 1000; i++) { /* the greatest number is heavy, and grows */
        was[i] = i < 850 ? i : 900;
        is[i] = i < 850 ? i : 901;
    }
    assert_true(stability(was, 1000, is, 1000) > 1);
    for (int i = 0; i < 1000; i++) { /* a constant by one unit in the last place, either way */
        was[i] = 3;
        is[i] = i < 500 ? 3 : nextafter(3, i % 2 ? 4 : 2);
    }
    assert_true(stability(was, 1000, is, 1000) > 1);
}

static void edges_of_a_reference_stand_beside_heavy_numbers(void **state)
{
    double edge[RP_REFERENCE_EDGES], tenth[9], x[1000];

    (void)state;
    for (int i = 0; i < 991; i++) /* 100 of 991 is heavy, 99 is not: 10 (m - 1) >= 990 */
        x[i] = i < 99 ? 1 : i < 199 ? 2 : i;
    assert_int_equal(rp_reference_edges(edge, x, 991), 10);
    assert_true(edge[0] == 2 && edge[1] == nextafter(2, 3) && edge[9] < 990);
    assert_true(x[0] == 1 && x[98] == 1 && x[99] == 199 && x[890] == 990 && x[891] == 2 && x[990] == 2);
    assert_int_equal(rp_quantile_edges(tenth, x, 891, 10), 8);
    assert_memory_equal(edge + 2, tenth, 8 * sizeof *tenth);
    for (int i = 0; i < 1000; i++) /* nine heavy numbers, between them ten others */
        x[i] = i < 990 ? i / 110 : i - 989.75;
    rp_sort_f64(x, 1000);
    assert_int_equal(rp_reference_edges(edge, x, 1000), RP_REFERENCE_EDGES);
    for (int i = 1; i < RP_REFERENCE_EDGES; i++)
        assert_true(edge[i] > edge[i - 1]);
    /* a heavy number that is a quantile of the others too: one edge */
    assert_int_equal(rp_reference_edges(edge, (double[]){-2, -1, 0, 0, 0, 1, 2}, 7), 10);
    assert_int_equal(rp_reference_edges(edge, (double[]){-0.0}, 1), 2); /* all of few, and none */
    assert_true(edge[0] == 0 && signbit(edge[0]) == 0 && edge[1] == 0x1p-1074);
    assert_int_equal(rp_reference_edges(edge, (double[]){-0x1p-1074}, 1), 2);
    assert_true(edge[1] == 0 && signbit(edge[1]) == 0);
    assert_int_equal(rp_reference_edges(edge, (double[]){DBL_MAX, DBL_MAX}, 2), 1);
    assert_int_equal(rp_reference_edges(edge, (double[]){1, 2}, 2), 9); /* a number alone is none unless it is all */
    assert_int_equal(rp_reference_edges(edge, x, 0), 0);
}

/* Kolmogorov's distribution: its two series meet, and tabulated points (Smirnov 1948). */
static void kolmogorov_has_its_tabulated_values(void **state)
{
    double x[1000], y[1000];
    rp_sample_drift s;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        x[i] = i;
        y[i] = i + 50; /* ks 0.05, times sqrt(500): 1.118 */
    }
    rp_drift_of_samples(&s, x, 1000, y, 1000);
    near(s.p, 2 * (exp(-2.5) - exp(-10.) + exp(-22.5) - exp(-40.)));
    for (int i = 0; i < 1000; i++)
        y[i] = i + 60;
    rp_drift_of_samples(&s, x, 1000, y, 1000);
    near(s.p, 2 * (exp(-3.6) - exp(-14.4) + exp(-32.4) - exp(-57.6)));
}

static void groups_are_held_against_the_highest_rate(void **state)
{
    rp_group g[] = {{.rows = 200, .selected = 60, .favourable = 80, .favourable_selected = 40},
                    {.rows = 100, .selected = 45, .favourable = 50, .favourable_selected = 30},
                    {.rows = 40, .selected = 0, .favourable = 0, .favourable_selected = 0}};
    rp_group_summary s;
    double error;

    (void)state;
    rp_compare_groups(&s, g, 3, 1);
    assert_int_equal(s.reference, 1);
    near(g[0].ratio, 0.3 / 0.45);
    error = sqrt(1. / 60 - 1. / 200 + 1. / 45 - 1. / 100);
    near(g[0].ratio_low, 0.3 / 0.45 * exp(-1.959963984540054 * error));
    near(g[0].p, erfc(0.15 / sqrt(0.35 * 0.65 * (1. / 200 + 1. / 100)) / sqrt(2)));
    assert_true(g[1].ratio == 1 && g[1].p == 1 && g[1].ratio_low != g[1].ratio_low && g[2].ratio == 0 &&
                g[2].ratio_low != g[2].ratio_low);
    assert_true(g[2].true_positive_rate != g[2].true_positive_rate);
    rp_compare_groups(&s, (rp_group[]){{.rows = 30, .selected = 6}, {.rows = 60, .selected = 12}}, 2, 0);
    assert_true(s.reference == 0 && s.ratio == 1); /* the first of equal rates */
    rp_compare_groups(&s, g, 3, 1);
    near(s.difference, 0.45);
    near(s.opportunity, 0.1);
    {
        /* ten of ten: its rate varies too, by how much ten rows do not say */
        rp_group all[] = {{.rows = 10, .selected = 10}, {.rows = 100, .selected = 90}};

        rp_compare_groups(&s, all, 2, 0);
        assert_int_equal(s.reference, 1);
        near(all[0].ratio, 1 / 0.9);
        assert_true(all[0].ratio_low != all[0].ratio_low && all[0].ratio_high != all[0].ratio_high);
        all[1].rows = all[1].selected = 40;
        all[0] = (rp_group){.rows = 100, .selected = 90};
        rp_compare_groups(&s, all, 2, 0);
        assert_int_equal(s.reference, 1);
        assert_true(all[0].p > 0.03 && all[0].ratio_low != all[0].ratio_low);
    }
    rp_compare_groups(&s, g, 3, 1);
    near(s.odds, 0.3); /* false positives: 20 of 120, 15 of 50, 0 of 40 */
    assert_true(s.ratio == 0);
}

/* Twelve rows of which all were selected are no standard for others, and five of which none was no headline. */
static void small_groups_are_told_and_decide_nothing(void **state)
{
    rp_group g[] = {{.rows = 12, .selected = 12, .favourable = 6, .favourable_selected = 6},
                    {.rows = 100, .selected = 50, .favourable = 50, .favourable_selected = 30},
                    {.rows = 100, .selected = 40, .favourable = 50, .favourable_selected = 28},
                    {.rows = 29, .selected = 0, .favourable = 10, .favourable_selected = 0}};
    rp_group_summary s;

    (void)state;
    rp_compare_groups(&s, g, 4, 1);
    assert_int_equal(s.reference, 1);
    near(s.ratio, 0.8);
    near(s.difference, 0.1);
    near(s.opportunity, 0.04);
    near(g[0].ratio, 2);
    assert_true(g[3].ratio == 0);
    rp_compare_groups(&s, (rp_group[]){g[0], g[1]}, 2, 1); /* one is left: nothing to compare */
    assert_true(s.reference == 1 && s.ratio != s.ratio && s.difference != s.difference && s.odds != s.odds);
    rp_compare_groups(&s, (rp_group[]){g[3], g[0]}, 2, 1);
    assert_true(s.reference == 1 && s.ratio != s.ratio);
}

static void errors_stand_beside_those_of_one_value(void **state)
{
    static const double p[] = {1, 2, 3, 4}, t[] = {2, 2, 1, 5};
    rp_errors e;

    (void)state;
    assert_int_equal(rp_errors_of(&e, p, t, 4, 3, NULL, NULL), RP_OK);
    near(e.mse, 1.5);
    near(e.mae, 1);
    near(e.bias, 0);
    near(e.r2, 1 - 6 / 9.);
    near(e.trivial_mae, 1.5);
    near(e.skill, 1 - 6 / 10.);
    near(e.residual[0], -2);
    near(e.residual[3], 0.5);
    near(e.residual[1], -2 + 0.15 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_are_those_of_all_pairs),
        cmocka_unit_test(orders_of_rows_change_no_bit),
        cmocka_unit_test(calibration_is_that_of_the_rows),
        cmocka_unit_test(thresholds_count_from_themselves_up),
        cmocka_unit_test(one_outcome_and_no_rows_have_no_areas),
        cmocka_unit_test(drift_is_that_of_the_samples),
        cmocka_unit_test(a_heavy_number_cannot_move_unseen),
        cmocka_unit_test(edges_of_a_reference_stand_beside_heavy_numbers),
        cmocka_unit_test(kolmogorov_has_its_tabulated_values),
        cmocka_unit_test(groups_are_held_against_the_highest_rate),
        cmocka_unit_test(small_groups_are_told_and_decide_nothing),
        cmocka_unit_test(errors_stand_beside_those_of_one_value),
    };
    rp_fpenv saved;
    rp_error err = {0};

    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
