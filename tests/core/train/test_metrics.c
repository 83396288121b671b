/* SPDX-License-Identifier: Apache-2.0
 * Metrics against their definitions: AUC by counting every pair, confusion and accuracy by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/train/metrics.h"
#include "determinism/bits.h"
#include "determinism/philox.h"

enum { MOST = 300 };

static double auc_by_pairs(const double *score, const int64_t *positive, size_t n)
{
    int64_t twice = 0, pairs = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (positive[i] && !positive[j]) {
                pairs++;
                twice += score[i] > score[j] ? 2 : score[i] == score[j];
            }
    return (double)twice / (double)(2 * pairs);
}

static void auc_counts_every_pair_and_half_of_ties(void **state)
{
    (void)state;
    for (size_t n = 2; n < MOST; n += 7) {
        double score[MOST];
        int64_t positive[MOST];
        double auc, expected;

        for (size_t i = 0; i < n; i++) {
            score[i] = (double)(int32_t)(rp_random_u32(1, n, 0, i) % 16) - 8; /* many ties */
            positive[i] = rp_random_u32(1, n, 1, i) % 4 == 0;
        }
        positive[0] = 1;
        positive[1] = 0;
        assert_int_equal(rp_metric_auc(&auc, score, positive, n, NULL), RP_OK);
        expected = auc_by_pairs(score, positive, n);
        if (memcmp(&auc, &expected, sizeof auc) != 0)
            fail_msg("n %zu: expected %a, found %a", n, expected, auc);
    }
}

static void auc_knows_order_signed_zero_and_infinity(void **state)
{
    static const int64_t positive[4] = {0, 0, 1, 1};
    static const double up[4] = {-1, 0, 1, 2}, down[4] = {2, 1, 0, -1}, flat[4] = {0.0, -0.0, -0.0, 0.0};
    double wide[4] = {-1.0 / 0.0, 0, 0, 1.0 / 0.0};
    double auc;

    (void)state;
    assert_int_equal(rp_metric_auc(&auc, up, positive, 4, NULL), RP_OK);
    assert_true(auc == 1);
    assert_int_equal(rp_metric_auc(&auc, down, positive, 4, NULL), RP_OK);
    assert_true(auc == 0);
    assert_int_equal(rp_metric_auc(&auc, flat, positive, 4, NULL), RP_OK);
    assert_true(auc == 0.5);
    assert_int_equal(rp_metric_auc(&auc, wide, positive, 4, NULL), RP_OK);
    assert_true(auc == 0.875);
}

static void auc_of_one_class_is_the_canonical_nan_and_a_nan_score_is_refused(void **state)
{
    static const int64_t ones[3] = {1, 1, 1}, mixed[3] = {0, 1, 1};
    double score[3] = {1, 2, 3};
    double auc;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_metric_auc(&auc, score, ones, 3, NULL), RP_OK);
    assert_true(rp_bits_f64(auc) == 0x7FF8000000000000u);
    assert_int_equal(rp_metric_auc(&auc, score, ones, 0, NULL), RP_OK);
    assert_true(auc != auc);
    score[1] = rp_from_bits_f64(0x7FF8000000000000u);
    assert_int_equal(rp_metric_auc(&auc, score, mixed, 3, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "row 1"));
}

static void confusion_and_accuracy_count_rows(void **state)
{
    static const int64_t truth[6] = {0, 1, 2, 2, 1, 0}, predicted[6] = {0, 2, 2, 2, 1, 1};
    static const int64_t expected[9] = {1, 1, 0, 0, 1, 1, 0, 0, 2};
    int64_t matrix[9];

    (void)state;
    memset(matrix, 0x55, sizeof matrix);
    rp_metric_confusion(matrix, truth, predicted, 6, 3);
    assert_memory_equal(matrix, expected, sizeof matrix);
    assert_true(rp_metric_accuracy(truth, predicted, 6) == 4.0 / 6.0);
    assert_true(rp_bits_f64(rp_metric_accuracy(truth, predicted, 0)) == 0x7FF8000000000000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auc_counts_every_pair_and_half_of_ties),
        cmocka_unit_test(auc_knows_order_signed_zero_and_infinity),
        cmocka_unit_test(auc_of_one_class_is_the_canonical_nan_and_a_nan_score_is_refused),
        cmocka_unit_test(confusion_and_accuracy_count_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
