/* SPDX-License-Identifier: Apache-2.0
 * Ranking: positives and negatives are sorted apart, then equal scores of both are counted together. */
#include "core/stats/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"

enum { BY_DIGITS = 4096 }; /* from so many numbers on sorting by digits is the faster */

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

enum { BITS = 11, DIGITS = 1 << BITS, PASSES = (64 + BITS - 1) / BITS };

static size_t digit(double x, int pass)
{
    return order_of(x) >> pass * BITS & (DIGITS - 1);
}

static void count_digits(uint32_t count[PASSES][DIGITS], const double *x, size_t n)
{
    memset(count, 0, sizeof(uint32_t[PASSES][DIGITS]));
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = order_of(x[i]);

        for (int pass = 0; pass < PASSES; pass++)
            count[pass][bits >> pass * BITS & (DIGITS - 1)]++;
    }
}

/* Stable, by eleven bits at a time; passes over bits that all numbers have in common are left out. Returns where the
 * numbers lie, x or scratch. */
static double *sort_by_digits(double *x, double *scratch, size_t n)
{
    uint32_t place[PASSES][DIGITS];

    count_digits(place, x, n);
    for (int pass = 0; pass < PASSES; pass++) {
        double *swap = x;
        uint32_t next = 0;

        if (place[pass][digit(x[0], pass)] == n)
            continue;
        for (size_t i = 0; i < DIGITS; i++) {
            const uint32_t count = place[pass][i];

            place[pass][i] = next;
            next += count;
        }
        for (size_t i = 0; i < n; i++)
            scratch[place[pass][digit(x[i], pass)]++] = x[i];
        x = scratch;
        scratch = swap;
    }
    return x;
}

void rp_sort_f64(double *x, size_t n)
{
    double *scratch = n >= BY_DIGITS && n <= UINT32_MAX ? rp_reallocarray(NULL, n, sizeof *scratch) : NULL, *sorted;

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

/* Scores of the positives and of the others, each in order. */
typedef struct sides {
    double *positive, *negative;
    size_t positives, negatives;
} sides;

/* +0 stands for both zeros, so that which of them came first has no influence. sorted [rows]. */
static rp_status take_rows(sides *s, double *sorted, const double *score, const bool *positive, size_t rows,
                           rp_error *err)
{
    size_t first = 0, second;

    for (size_t i = 0; i < rows; i++) {
        if (score[i] - score[i] != 0)
            return rp_fail(err, RP_EDATA, "score of row %zu: expected a finite number, found none", i);
        first += positive[i];
    }
    *s = (sides){sorted, sorted + first, first, rows - first};
    second = first;
    first = 0;
    for (size_t i = 0; i < rows; i++)
        sorted[positive[i] ? first++ : second++] = score[i] + 0.0;
    rp_sort_f64(s->positive, s->positives);
    rp_sort_f64(s->negative, s->negatives);
    return RP_OK;
}

static void count_ties(rp_ranking *r, const sides *s)
{
    for (size_t i = 0, j = 0; i < s->positives || j < s->negatives;) {
        rp_tied *tied = &r->tied[r->n++];
        const bool other = i == s->positives || (j < s->negatives && s->negative[j] < s->positive[i]);

        *tied = (rp_tied){.score = other ? s->negative[j] : s->positive[i]};
        for (; i < s->positives && s->positive[i] == tied->score; i++)
            tied->positives++;
        for (; j < s->negatives && s->negative[j] == tied->score; j++)
            tied->negatives++;
    }
    r->positives = s->positives;
    r->negatives = s->negatives;
}

rp_status rp_ranking_new(rp_ranking **out, const double *score, const bool *positive, size_t rows, rp_error *err)
{
    rp_ranking *r;
    double *sorted;
    sides s = {NULL, NULL, 0, 0};
    rp_status status;

    *out = NULL;
    if (rows > (size_t)1 << 31)
        return rp_fail(err, RP_EDATA, "figures of %zu rows: expected at most 2^31", rows);
    r = rp_calloc(1, sizeof *r);
    sorted = rp_reallocarray(NULL, rows + 1, sizeof *sorted);
    if (r) {
        r->tied = rp_reallocarray(NULL, rows + 1, sizeof *r->tied);
        r->work = rp_reallocarray(NULL, rows + 1, sizeof *r->work);
    }
    status = r && sorted && r->tied && r->work ? take_rows(&s, sorted, score, positive, rows, err) : rp_no_memory(err);
    if (status == RP_OK)
        count_ties(r, &s);
    rp_free(sorted);
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
