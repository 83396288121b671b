/* SPDX-License-Identifier: Apache-2.0
 * Two scores of the same rows: against scipy 1.17 and scikit-learn 1.9 on 60 rows (spearmanr, kendalltau, quantile,
 * ttest_rel, and DeLong's covariances from all pairs with numpy.cov), and against all pairs of rows on drawn ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/stats/agreement.h"
#include "core/stats/discrimination.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"

enum { ROWS = 400, FEW = 60 };

static double a[ROWS], b[ROWS], work[ROWS];
static bool positive[ROWS];

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-13 * (1 + fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* Integers over powers of two: any program has the same bits. */
static void fixed_rows(void)
{
    for (int i = 0; i < FEW; i++) {
        a[i] = i * 37 % 29 / 32.0;
        b[i] = (i * 37 % 29 * 3 + i * i % 41) / 128.0;
        positive[i] = i * 11 % 7 < 3;
    }
}

static void draw(uint32_t stream, int levels)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        const double u = rp_uniform_f32(rp_random_u32(7, 1, stream, 3 * i));

        a[i] = floor(u * levels) / levels - 0.5;
        b[i] = floor((u + rp_uniform_f32(rp_random_u32(7, 1, stream, 3 * i + 1))) / 2 * levels) / levels - 0.5;
        positive[i] = rp_uniform_f32(rp_random_u32(7, 1, stream, 3 * i + 2)) < 0.2 + 0.6 * u;
    }
}

static void rank_correlations_and_differences_are_scipys(void **state)
{
    static const double quantile[] = {-0.1640625, -0.141015625,        -0.04296875, 0.0546875,
                                      0.1328125,  0.22734374999999996, 0.296875};
    rp_agreement g;

    (void)state;
    fixed_rows();
    assert_int_equal(rp_agree(&g, a, b, FEW, NULL), RP_OK);
    near(g.spearman, 0.8965163009057684);
    near(g.kendall, 0.7252087082262981);
    near(g.mean, 0.04505208333333333);
    near(g.mean_absolute, 0.10833333333333334);
    for (int k = 0; k < RP_AGREEMENT_QUANTILES; k++)
        near(g.quantile[k], quantile[k]);
}

static void paired_differences_are_scikit_learns(void **state)
{
    rp_paired p;

    (void)state;
    fixed_rows();
    assert_int_equal(rp_paired_areas(&p, a, b, positive, FEW, NULL), RP_OK);
    near(p.difference, 0.019230769230769273);
    near(p.error, 0.03627541488403314);
    near(p.p, 0.5960202037231023);
    near(p.low, 0.019230769230769273 - 1.959963984540054 * 0.03627541488403314);
    near(p.high, 0.019230769230769273 + 1.959963984540054 * 0.03627541488403314);
    for (int i = 0; i < FEW; i++)
        work[i] = (b[i] - positive[i]) * (b[i] - positive[i]) - (a[i] - positive[i]) * (a[i] - positive[i]);
    rp_paired_means(&p, work, FEW);
    near(p.difference, -0.016680908203125);
    near(p.error, 0.017135230061771086);
    near(p.statistic, -0.9734860951963707);
}

/* tau b of all pairs, one after another. */
static double tau_of_pairs(size_t n)
{
    double excess = 0, in_a = 0, in_b = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const int x = (a[i] > a[j]) - (a[i] < a[j]), y = (b[i] > b[j]) - (b[i] < b[j]);

            excess += x * y;
            in_a += x != 0;
            in_b += y != 0;
        }
    return excess / (sqrt(in_a) * sqrt(in_b));
}

static void kendall_is_that_of_all_pairs(void **state)
{
    static const size_t lengths[] = {2, 3, 7, 64, 65, 399, ROWS};

    (void)state;
    for (uint32_t stream = 0; stream < 6; stream++) {
        draw(stream, stream % 2 ? 7 : 1000000);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            const double expected = tau_of_pairs(lengths[k]);
            rp_agreement g;

            assert_int_equal(rp_agree(&g, a, b, lengths[k], NULL), RP_OK);
            if (expected == expected)
                near(g.kendall, expected);
            else
                assert_true(isnan(g.kendall));
        }
    }
}

/* The change of an area is that of the two areas, and a model beside itself does not differ. */
static void areas_change_by_their_difference(void **state)
{
    rp_discrimination d[2];
    rp_paired p;

    (void)state;
    for (uint32_t stream = 0; stream < 4; stream++) {
        draw(stream, stream % 2 ? 5 : 1000);
        for (int k = 0; k < 2; k++) {
            rp_ranking *r;

            assert_int_equal(rp_ranking_new(&r, k ? b : a, positive, ROWS, NULL), RP_OK);
            rp_discriminate(&d[k], r);
            rp_ranking_free(r);
        }
        assert_int_equal(rp_paired_areas(&p, a, b, positive, ROWS, NULL), RP_OK);
        assert_true(p.difference == d[1].auc - d[0].auc);
        assert_true(p.error > 0 && p.error < d[0].error + d[1].error);
        assert_int_equal(rp_paired_areas(&p, a, a, positive, ROWS, NULL), RP_OK);
        assert_true(p.difference == 0 && p.error == 0 && isnan(p.p) && isnan(p.statistic));
    }
}

static void a_model_agrees_with_itself_and_with_its_own_square(void **state)
{
    rp_agreement g;

    (void)state;
    draw(1, 9);
    for (int i = 0; i < ROWS; i++)
        b[i] = a[i] < 0 ? -(a[i] * a[i]) : a[i] * a[i];
    assert_int_equal(rp_agree(&g, a, b, ROWS, NULL), RP_OK);
    near(g.spearman, 1);
    near(g.kendall, 1);
    for (int i = 0; i < ROWS; i++)
        b[i] = -a[i];
    assert_int_equal(rp_agree(&g, a, b, ROWS, NULL), RP_OK);
    near(g.spearman, -1);
    near(g.kendall, -1);
}

static void what_is_not_defined_is_not_a_number(void **state)
{
    rp_agreement g;
    rp_paired p;
    rp_error err = {0};

    (void)state;
    draw(2, 9);
    assert_int_equal(rp_agree(&g, a, b, 0, NULL), RP_OK);
    assert_true(isnan(g.spearman) && isnan(g.kendall) && isnan(g.mean));
    assert_int_equal(rp_agree(&g, a, b, 1, NULL), RP_OK);
    assert_true(isnan(g.spearman) && isnan(g.kendall) && g.mean == b[0] - a[0]);
    for (int i = 0; i < ROWS; i++)
        work[i] = 0.25;
    assert_int_equal(rp_agree(&g, a, work, ROWS, NULL), RP_OK);
    assert_true(isnan(g.spearman) && isnan(g.kendall));
    for (int i = 0; i < ROWS; i++)
        positive[i] = true;
    assert_int_equal(rp_paired_areas(&p, a, b, positive, ROWS, NULL), RP_OK);
    assert_true(isnan(p.difference) && isnan(p.error));
    positive[0] = false;
    assert_int_equal(rp_paired_areas(&p, a, b, positive, ROWS, NULL), RP_OK);
    assert_true(!isnan(p.difference) && isnan(p.error) && isnan(p.low));
    a[3] = 0.0 / 0.0;
    assert_int_equal(rp_agree(&g, a, b, ROWS, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "row 3"));
    assert_int_equal(rp_paired_areas(&p, b, a, positive, ROWS, &err), RP_EDATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_correlations_and_differences_are_scipys),
        cmocka_unit_test(paired_differences_are_scikit_learns),
        cmocka_unit_test(kendall_is_that_of_all_pairs),
        cmocka_unit_test(areas_change_by_their_difference),
        cmocka_unit_test(a_model_agrees_with_itself_and_with_its_own_square),
        cmocka_unit_test(what_is_not_defined_is_not_a_number),
    };
    rp_fpenv saved;
    rp_error err = {0};

    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
