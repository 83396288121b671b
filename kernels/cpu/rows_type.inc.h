/* SPDX-License-Identifier: Apache-2.0
 * Row kernels over contiguous rows for one type: the formulas of ref/softmax_type.inc.h and ref/norm_type.inc.h, in
 * vectors. A row is read from memory by its first pass; later passes find it in a cache and fetch the row behind it. */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"
#include "kernels/cpu/extreme.inc.h"
#include "kernels/cpu/sum.inc.h"
#include "kernels/cpu/exp_sum.inc.h"

/* Defines the sum of `value`, the term i of rows x, y, z with constants c, d. The chunk's parameters keep their names
 * where a term has no use for them, so that all chunks have one type. */
#define SUM_OF(name, value) \
    static T FN(name##_chunk)(const T *x, const T *y, const T *z, size_t n, T c, T d) \
    { \
        T lane[RP_LANES] = {0}; \
        size_t at = 0; \
\
        (void)y, (void)z, (void)c, (void)d; \
        for (; at + RP_LANES <= n; at += RP_LANES) \
            for (size_t l = 0, i = at; l < RP_LANES; l++, i++) \
                lane[l] += value; \
        if (at == n) \
            return FN(fold)(lane); \
        for (size_t l = 0, i = at; i < n; l++, i++) \
            lane[l] += value; \
        return FN(fold)(lane); \
    } \
    static T FN(name)(const T *x, const T *y, const T *z, size_t n, T c, T d) \
    { \
        return FN(sum_chunks)(FN(name##_chunk), x, y, z, n, c, d); \
    }

SUM_OF(product_sum, x[i] * y[i])
/* of h z, h = g gamma: x is g, y gamma, z the input, c its mean, d its 1/deviation */
SUM_OF(slope_sum, (x[i] * y[i]) * ((z[i] - c) * d))
/* the same of z = x c: x is g, y gamma, z the input, c its 1/deviation from 0 */
SUM_OF(scaled_slope_sum, (x[i] * y[i]) * (z[i] * c))
#undef SUM_OF

/* Asks for what lies n elements behind the next `count`: the same place of the next row. */
RP_INLINE void FN(fetch)(const T *x, ptrdiff_t n, size_t count)
{
    for (size_t i = 0; i < count; i += 64 / sizeof(T))
        __builtin_prefetch(x + (n + (ptrdiff_t)i), 0,
                           2); /* the second cache: the first could not have as many under way */
}

/* y[i] = value for a whole row, by blocks, past the caches if `stream`. `first` and `and` run for each block, of
 * elements [at, at + count), before it and when it is in `to`. */
#define PUT_ROW(y, n, stream, value, and) PUT_ROW_AFTER(, y, n, stream, value, and)
#define PUT_ROW_AFTER(first, y, n, stream, value, and) \
    for (size_t at = 0, count; at < (n); at += count) { \
        T block[ROW_BLOCK], *to = (stream) ? block : (y) + at; \
\
        count = (n)-at < ROW_BLOCK ? (n)-at : ROW_BLOCK; \
        first; \
        RP_EACH(j, count) \
        { \
            const size_t i = at + (size_t)j; \
\
            to[j] = value; \
        } \
        and; \
        if (stream) \
            stream_copy((y) + at, block, count * sizeof(T)); \
    }

/* e = exp(x - m); returns its sum. */
static T FN(exponentials)(T *e, const T *x, size_t n)
{
    const T m = FN(max_contiguous)(x, n, 0);

    for (size_t at = 0, count; at < n; at += count) {
        count = n - at < EXP_PIECE ? n - at : EXP_PIECE;
        FN(exp_piece)(e + at, x + at, m, count);
        FN(fetch)(x + at, n, count);
    }
    return FN(sum_contiguous)(e, n);
}

static void FN(softmax_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const bool stream = row_streams(row, sizeof(T)) && n <= ROW_HELD / sizeof(T);
    T held[ROW_HELD / sizeof(T)], *y = row->at[0], *e = stream ? held : y;
    const T s = FN(exponentials)(e, row->at[1], n);

    PUT_ROW(y, n, stream, e[i] / s, )
}

static void FN(softmax_grad_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const bool stream = row_streams(row, sizeof(T));
    const T *g = row->at[1], *y = row->at[2];
    const T d = FN(product_sum)(g, y, y, n, 0, 0);
    T *dx = row->at[0];

    PUT_ROW(dx, n, stream, (g[i] - d) * y[i], (FN(fetch)(g + at, n, count), FN(fetch)(y + at, n, count)))
}

/* m, the maximum of x, and the logarithm of the sum of exp(x - m) */
static T FN(log_sum)(const T *x, size_t n, T *m)
{
    *m = FN(max_contiguous)(x, n, 0);
    return FN(rp_log)(FN(exp_sum)(x, n, *m));
}

static void FN(log_softmax_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const bool stream = row_streams(row, sizeof(T));
    const T *x = row->at[1];
    T *y = row->at[0], m;
    const T log_s = FN(log_sum)(x, n, &m);

    PUT_ROW(y, n, stream, (x[i] - m) - log_s, FN(fetch)(x + at, n, count))
}

static void FN(log_softmax_grad_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const bool stream = row_streams(row, sizeof(T));
    const T *g = row->at[1], *y = row->at[2];
    const T s = FN(sum_contiguous)(g, n);
    T *dx = row->at[0], e[ROW_BLOCK];

    PUT_ROW_AFTER(FN(exp_piece)(e, y + at, 0, count), dx, n, stream, g[i] - e[j] * s,
                  (FN(fetch)(g + at, n, count), FN(fetch)(y + at, n, count)))
}

static void FN(cross_entropy_fast)(const rp_row *row)
{
    const T *x = row->at[1];
    T m;
    const T log_s = FN(log_sum)(x, row->n, &m);

    *(T *)row->at[0] = log_s - (x[label_of(row, 2)] - m);
}

/* The same, and the logsumexp of the row, which takes x from m where that is finite. */
static void FN(cross_entropy_both_fast)(const rp_row *row)
{
    const T *x = row->at[1];
    T m;
    const T log_s = FN(log_sum)(x, row->n, &m);

    *(T *)row->at[3] = m - m == 0 ? m + log_s : (T)0 + FN(rp_log)(FN(exp_sum)(x, row->n, (T)0));
    *(T *)row->at[0] = log_s - (x[label_of(row, 2)] - m);
}

static void FN(cross_entropy_grad_fast)(const rp_row *row)
{
    const size_t n = row->n, label = label_of(row, 3);
    const bool stream = row_streams(row, sizeof(T)) && n <= ROW_HELD / sizeof(T);
    T held[ROW_HELD / sizeof(T)], *dx = row->at[0], *e = stream ? held : dx;
    const T s = FN(exponentials)(e, row->at[2], n), g = *(const T *)row->at[1];
    const T p = e[label] / s;

    PUT_ROW(dx, n, stream, g * (e[i] / s), if (label - at < count) to[label - at] = g * (p - (T)1))
}

static void FN(moments)(const T *x, size_t n, double eps, T *mean, T *r)
{
    *mean = FN(sum_contiguous)(x, n) / (T)n;
    *r = (T)1 / SQRT(FN(square_sum)(x, n, *mean) / (T)n + (T)eps);
}

static void FN(layer_norm_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const bool stream = row_streams(row, sizeof(T));
    const T *x = row->at[1], *gamma = row->at[2], *beta = row->at[3];
    T *y = row->at[0], mean, r;

    FN(moments)(x, n, RP_AT(row->args->attr, layer_norm, eps).r, &mean, &r);
    PUT_ROW(y, n, stream, ((x[i] - mean) * r) * gamma[i] + beta[i], FN(fetch)(x + at, n, count))
}

static void FN(layer_norm_grad_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const bool stream = row_streams(row, sizeof(T));
    const T *g = row->at[1], *x = row->at[2], *gamma = row->at[3];
    T *dx = row->at[0], mean, r, a, b;

    FN(moments)(x, n, RP_AT(row->args->attr, layer_norm, eps).r, &mean, &r);
    a = FN(product_sum)(g, gamma, gamma, n, 0, 0) / (T)n;
    b = FN(slope_sum)(g, gamma, x, n, mean, r) / (T)n;
    PUT_ROW(dx, n, stream, ((g[i] * gamma[i] - a) - ((x[i] - mean) * r) * b) * r,
            (FN(fetch)(g + at, n, count), FN(fetch)(x + at, n, count)))
}
#undef PUT_ROW
#undef PUT_ROW_AFTER
