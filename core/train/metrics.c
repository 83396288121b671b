/* SPDX-License-Identifier: Apache-2.0
 * Metrics of CONTRACT 10: integer counts, then one binary64 division. */
#include "core/train/metrics.h"

#include "base/memory.h"
#include "core/stats/ranking.h"
#include "determinism/bits.h"

/* Twice the Mann-Whitney statistic of scores that ascend: a pair counts 2 when the positive is above, 1 when tied. */
static uint64_t count_pairs(const double *positive, size_t positives, const double *negative, size_t negatives)
{
    uint64_t twice = 0;

    for (size_t i = 0, below = 0, not_above = 0; i < positives; i++) {
        while (below < negatives && negative[below] < positive[i])
            below++;
        while (not_above < negatives && negative[not_above] <= positive[i])
            not_above++;
        twice += below + not_above;
    }
    return twice;
}

rp_status rp_metric_auc(double *out, const double *score, const int64_t *positive, size_t n, rp_error *err)
{
    double *sorted;
    size_t positives = 0;

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
    sorted = rp_reallocarray(NULL, n, sizeof *sorted); /* the positives, then the others */
    if (sorted == NULL)
        return rp_no_memory(err);
    for (size_t i = 0, first = 0, second = positives; i < n; i++)
        sorted[positive[i] != 0 ? first++ : second++] = score[i];
    rp_sort_f64(sorted, positives);
    rp_sort_f64(sorted + positives, n - positives);
    *out = (double)(int64_t)count_pairs(sorted, positives, sorted + positives, n - positives) /
           (double)(int64_t)(2 * (uint64_t)positives * (n - positives));
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
