/* SPDX-License-Identifier: Apache-2.0
 * Ranking: one sort, then rows of equal scores are counted together. */
#include "core/stats/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"

enum { BY_DIGITS = 4096 }; /* from so many numbers on sorting by digits is the faster */

typedef struct scored {
    double score;
    bool positive;
} scored;

static int compare_scored(const void *a, const void *b)
{
    const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;

    return (x > y) - (x < y);
}

static int compare_f64(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Bits in an order that is that of the numbers; both zeros are one. */
static uint64_t order_of(double x)
{
    const uint64_t bits = x == 0 ? 0 : rp_bits_f64(x);

    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Stable, by eleven bits at a time; passes over bits that all numbers have in common are left out. Returns where the
 * numbers lie, x or scratch. */
static double *sort_by_digits(double *x, double *scratch, size_t n)
{
    enum { BITS = 11, DIGITS = 1 << BITS };

    for (int shift = 0; shift < 64; shift += BITS) {
        size_t place[DIGITS] = {0}, next = 0;
        double *swap = x;

        for (size_t i = 0; i < n; i++)
            place[order_of(x[i]) >> shift & (DIGITS - 1)]++;
        if (place[order_of(x[0]) >> shift & (DIGITS - 1)] == n)
            continue;
        for (size_t i = 0; i < DIGITS; i++) {
            const size_t count = place[i];

            place[i] = next;
            next += count;
        }
        for (size_t i = 0; i < n; i++)
            scratch[place[order_of(x[i]) >> shift & (DIGITS - 1)]++] = x[i];
        x = scratch;
        scratch = swap;
    }
    return x;
}

void rp_sort_f64(double *x, size_t n)
{
    double *scratch = n >= BY_DIGITS ? rp_reallocarray(NULL, n, sizeof *scratch) : NULL, *sorted;

    if (!scratch) { /* few, or no memory to be fast */
        if (n)
            qsort(x, n, sizeof *x, compare_f64);
        return;
    }
    sorted = sort_by_digits(x, scratch, n);
    if (sorted != x)
        memcpy(x, sorted, n * sizeof *x);
    rp_free(scratch);
}

double rp_sorted_quantile(const double *sorted, size_t n, double q)
{
    const double h = (double)(int64_t)(n - 1) * q;
    const size_t low = (size_t)h;

    if (low + 1 >= n)
        return sorted[n - 1];
    return sorted[low] + (h - (double)(int64_t)low) * (sorted[low + 1] - sorted[low]);
}

/* +0 stands for both zeros, so that which of them came first has no influence. */
static rp_status take_rows(scored *row, const double *score, const bool *positive, size_t rows, rp_error *err)
{
    for (size_t i = 0; i < rows; i++) {
        if (score[i] - score[i] != 0)
            return rp_fail(err, RP_EDATA, "score of row %zu: expected a finite number, found none", i);
        row[i] = (scored){score[i] + 0.0, positive[i]};
    }
    qsort(row, rows, sizeof *row, compare_scored);
    return RP_OK;
}

static void count_ties(rp_ranking *r, const scored *row, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        if (r->n == 0 || r->tied[r->n - 1].score != row[i].score)
            r->tied[r->n++] = (rp_tied){.score = row[i].score};
        r->tied[r->n - 1].positives += row[i].positive;
        r->tied[r->n - 1].negatives += !row[i].positive;
        r->positives += row[i].positive;
        r->negatives += !row[i].positive;
    }
}

rp_status rp_ranking_new(rp_ranking **out, const double *score, const bool *positive, size_t rows, rp_error *err)
{
    rp_ranking *r;
    scored *row;
    rp_status status;

    *out = NULL;
    if (rows > (size_t)1 << 31)
        return rp_fail(err, RP_EDATA, "figures of %zu rows: expected at most 2^31", rows);
    r = rp_calloc(1, sizeof *r);
    row = rp_reallocarray(NULL, rows + 1, sizeof *row);
    if (r) {
        r->tied = rp_reallocarray(NULL, rows + 1, sizeof *r->tied);
        r->work = rp_reallocarray(NULL, rows + 1, sizeof *r->work);
    }
    status = r && row && r->tied && r->work ? take_rows(row, score, positive, rows, err) : rp_no_memory(err);
    if (status == RP_OK)
        count_ties(r, row, rows);
    rp_free(row);
    if (status != RP_OK)
        rp_ranking_free(r);
    else
        *out = r;
    return status;
}

void rp_ranking_free(rp_ranking *r)
{
    if (!r)
        return;
    rp_free(r->tied);
    rp_free(r->work);
    rp_free(r);
}
