/* SPDX-License-Identifier: Apache-2.0
 * Row kernels over contiguous rows for one type: the formulas of ref/softmax_type.inc.h and ref/norm_type.inc.h,
 * a block of elements at a time so that the terms of a sum are computed in vectors before they are added. */
#include "kernels/ref/formula.inc.h"
#include "kernels/ref/lanes.inc.h"
#include "kernels/cpu/sum.inc.h"

/* The maximum does not depend on the order (CONTRACT 2.4 orders the zeros), so any number of partial ones will do. */
static T FN(row_max)(const T *x, size_t n)
{
    enum { PARTS = 16 };
    T best[PARTS], most = (T)-__builtin_inf();
    size_t i = 0;

    for (size_t l = 0; l < PARTS; l++)
        best[l] = most;
    for (; i + PARTS <= n; i += PARTS)
        for (size_t l = 0; l < PARTS; l++)
            best[l] = FN(maximum)(best[l], x[i + l]);
    for (; i < n; i++)
        most = FN(maximum)(most, x[i]);
    for (size_t l = 0; l < PARTS; l++)
        most = FN(maximum)(most, best[l]);
    return most;
}

/* What a sum runs over: term i of row x, y with constants c, d. */
typedef void FN(terms)(T *term, const T *x, const T *y, size_t n, T c, T d);

RP_INLINE T FN(sum_terms)(FN(terms) *terms, const T *x, const T *y, size_t n, T c, T d)
{
    T term[RP_CHUNK];
    FN(lanes) lanes;

    term[0] = 0; /* a row may be empty, which a compiler cannot tell from a term that was forgotten */
    if (n <= RP_CHUNK) {
        terms(term, x, y, n, c, d);
        return FN(sum_chunk)(term, n);
    }
    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < n; i += RP_CHUNK) {
        const size_t count = n - i < RP_CHUNK ? n - i : RP_CHUNK;

        terms(term, x + i, y + i, count, c, d);
        FN(lanes_push)(&lanes, 1, FN(sum_chunk)(term, count));
    }
    return FN(lanes_total)(&lanes);
}

/* The names of a term function's unused parameters stay, so that all have one type. */
#define TERMS(name, value)                                                                    \
    RP_INLINE void FN(name)(T *term, const T *x, const T *y, size_t n, T c, T d)              \
    {                                                                                         \
        (void)y, (void)c, (void)d;                                                            \
        RP_EACH(i, n) term[i] = value;                                                        \
    }

TERMS(exp_terms, FN(rp_exp)(x[i] - c))
TERMS(product_terms, x[i] * y[i])
TERMS(square_terms, (x[i] - c) * (x[i] - c))
/* y is h = g gamma, x the input, c its mean, d its 1/deviation */
TERMS(slope_terms, y[i] * ((x[i] - c) * d))
#undef TERMS

static void FN(softmax_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const T *x = row->at[1];
    T *y = row->at[0];
    const T m = FN(row_max)(x, n);
    T s;

    RP_EACH(i, n) y[i] = FN(rp_exp)(x[i] - m);
    s = FN(sum_contiguous)(y, n);
    RP_EACH(i, n) y[i] = y[i] / s;
}

static void FN(softmax_grad_fast)(const rp_row *row)
{
    const T *g = row->at[1], *y = row->at[2];
    const T d = FN(sum_terms)(FN(product_terms), g, y, row->n, 0, 0);
    T *dx = row->at[0];

    RP_EACH(i, row->n) dx[i] = (g[i] - d) * y[i];
}

static void FN(log_softmax_fast)(const rp_row *row)
{
    const T *x = row->at[1];
    const T m = FN(row_max)(x, row->n);
    const T log_s = FN(rp_log)(FN(sum_terms)(FN(exp_terms), x, x, row->n, m, 0));
    T *y = row->at[0];

    RP_EACH(i, row->n) y[i] = (x[i] - m) - log_s;
}

static void FN(log_softmax_grad_fast)(const rp_row *row)
{
    const T *g = row->at[1], *y = row->at[2];
    const T s = FN(sum_contiguous)(g, row->n);
    T *dx = row->at[0];

    RP_EACH(i, row->n) dx[i] = g[i] - FN(rp_exp)(y[i]) * s;
}

static void FN(cross_entropy_fast)(const rp_row *row)
{
    const T *x = row->at[1];
    const T m = FN(row_max)(x, row->n);
    const T log_s = FN(rp_log)(FN(sum_terms)(FN(exp_terms), x, x, row->n, m, 0));

    *(T *)row->at[0] = log_s - (x[label_of(row, 2)] - m);
}

static void FN(cross_entropy_grad_fast)(const rp_row *row)
{
    const size_t n = row->n, label = label_of(row, 3);
    const T g = *(const T *)row->at[1], *x = row->at[2];
    const T m = FN(row_max)(x, n);
    T *dx = row->at[0], s;

    RP_EACH(i, n) dx[i] = FN(rp_exp)(x[i] - m);
    s = FN(sum_contiguous)(dx, n);
    RP_EACH(i, n) dx[i] = dx[i] / s;
    dx[label] = dx[label] - (T)1;
    RP_EACH(i, n) dx[i] = g * dx[i];
}

static void FN(moments)(const T *x, size_t n, double eps, T *mean, T *r)
{
    *mean = FN(sum_contiguous)(x, n) / (T)n;
    *r = (T)1 / SQRT(FN(sum_terms)(FN(square_terms), x, x, n, *mean, 0) / (T)n + (T)eps);
}

static void FN(layer_norm_fast)(const rp_row *row)
{
    const T *x = row->at[1], *gamma = row->at[2], *beta = row->at[3];
    T *y = row->at[0], mean, r;

    FN(moments)(x, row->n, row->args->attr[0].r, &mean, &r);
    RP_EACH(i, row->n) y[i] = ((x[i] - mean) * r) * gamma[i] + beta[i];
}

static void FN(layer_norm_grad_fast)(const rp_row *row)
{
    const size_t n = row->n;
    const T *g = row->at[1], *x = row->at[2], *gamma = row->at[3];
    T *dx = row->at[0], mean, r, a, b;

    FN(moments)(x, n, row->args->attr[0].r, &mean, &r);
    RP_EACH(i, n) dx[i] = g[i] * gamma[i];
    a = FN(sum_contiguous)(dx, n) / (T)n;
    b = FN(sum_terms)(FN(slope_terms), x, dx, n, mean, r) / (T)n;
    RP_EACH(i, n) dx[i] = ((dx[i] - a) - ((x[i] - mean) * r) * b) * r;
}
