/* SPDX-License-Identifier: Apache-2.0
 * Metrics of CONTRACT 10: integer counts, then one binary64 division. */
#include "core/train/metrics.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "determinism/bits.h"

typedef struct scored {
    float score;
    bool positive;
} scored;

static int compare_scores(const void *a, const void *b)
{
    float x = ((const scored *)a)->score, y = ((const scored *)b)->score;

    return (x > y) - (x < y);
}

/* Twice the Mann-Whitney statistic: a pair counts 2 when the positive is above, 1 when tied. Groups of equal scores
 * are taken whole, so the order the sort leaves inside a group has no influence. */
static uint64_t count_pairs(const scored *sorted, size_t n)
{
    uint64_t twice = 0, negatives_below = 0;

    for (size_t i = 0; i < n;) {
        uint64_t positives = 0, negatives = 0;
        size_t j = i;

        for (; j < n && compare_scores(&sorted[i], &sorted[j]) == 0; j++) {
            positives += sorted[j].positive;
            negatives += !sorted[j].positive;
        }
        twice += positives * (2 * negatives_below + negatives);
        negatives_below += negatives;
        i = j;
    }
    return twice;
}

rp_status rp_metric_auc(double *out, const float *score, const int64_t *positive, size_t n, rp_error *err)
{
    scored *sorted;
    uint64_t positives = 0;

    /* the largest count, 2 * (n/2)^2, must be below 2^63 */
    if (n > (size_t)1 << 31)
        return rp_fail(err, RP_EDATA, "AUC of %zu scores: expected at most 2^31", n);
    for (size_t i = 0; i < n; i++) {
        if (score[i] != score[i])
            return rp_fail(err, RP_EDATA, "AUC: score of row %zu is NaN; the model diverged, lower train.optimizer.lr",
                           i);
        positives += positive[i] != 0;
    }
    if (positives == 0 || positives == n) {
        *out = rp_from_bits_f64(0x7FF8000000000000u);
        return RP_OK;
    }
    sorted = rp_reallocarray(NULL, n, sizeof *sorted);
    if (sorted == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (scored){score[i], positive[i] != 0};
    qsort(sorted, n, sizeof *sorted, compare_scores);
    *out = (double)(int64_t)count_pairs(sorted, n) / (double)(int64_t)(2 * positives * (n - positives));
    rp_free(sorted);
    return RP_OK;
}

void rp_metric_confusion(int64_t *matrix, const int64_t *truth, const int64_t *predicted, size_t n, size_t classes)
{
    for (size_t i = 0; i < classes * classes; i++)
        matrix[i] = 0;
    for (size_t i = 0; i < n; i++)
        matrix[(size_t)truth[i] * classes + (size_t)predicted[i]]++;
}

double rp_metric_accuracy(const int64_t *truth, const int64_t *predicted, size_t n)
{
    int64_t correct = 0;

    if (n == 0)
        return rp_from_bits_f64(0x7FF8000000000000u);
    for (size_t i = 0; i < n; i++)
        correct += truth[i] == predicted[i];
    return (double)correct / (double)(int64_t)n;
}
