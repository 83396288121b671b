/* SPDX-License-Identifier: Apache-2.0
 * Attention for one type, by the steps of CONTRACT 7.10. Nothing is kept of a row of scores but its maximum and the sum
 * of its exponentials: a score is made again wherever it is needed. Needs ref/matmul_type.inc.h for FN(dot). */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"

/* What is kept of rows of queries: the maximum of the scores, the sum of the exponentials, the sum of the gradient's
 * products with the weights. */
typedef struct FN(attention_rows) {
    T most[RP_MATMUL_CHUNK], sum[RP_MATMUL_CHUNK], slope[RP_MATMUL_CHUNK];
} FN(attention_rows);

static bool FN(is_seen)(const rp_attention_head *h, size_t i, size_t j)
{
    const unsigned char *mask = (const unsigned char *)h->mask.data;

    return j >= rp_attention_begin(h->a, i) && j < rp_attention_end(h->a, i) &&
           (!mask || !h->chosen || mask[(ptrdiff_t)i * h->mask.row + (ptrdiff_t)j * h->mask.col] != 0);
}

/* The masked score of query i and key j. */
static T FN(score)(const rp_attention_head *h, size_t i, size_t j)
{
    const T *mask = (const T *)h->mask.data;
    T s;

    if (!FN(is_seen)(h, i, j))
        return (T)-__builtin_inf();
    s = FN(dot)((const T *)h->q.data + (ptrdiff_t)i * h->q.row, h->q.col,
                (const T *)h->k.data + (ptrdiff_t)j * h->k.row, h->k.col, h->a->d) *
        (T)h->a->scale;
    return mask && !h->chosen ? s + mask[(ptrdiff_t)i * h->mask.row + (ptrdiff_t)j * h->mask.col] : s;
}

static bool FN(is_kept)(const rp_attention_head *h, size_t i, size_t j)
{
    const rp_attending *a = h->a;
    const uint64_t at = h->first + (uint64_t)i * a->n + j;

    return (double)rp_uniform_f32(rp_random_u32(a->seed, a->step, a->stream, at)) >= a->rate;
}

/* x as dropout leaves it. */
static T FN(dropped)(const rp_attention_head *h, size_t i, size_t j, T x)
{
    if (!h->a->rng)
        return x;
    return FN(is_kept)(h, i, j) ? x * (T)(1.0 / (1.0 - h->a->rate)) : (T)0;
}

static void FN(weigh)(const rp_attention_head *h, size_t i, T *most, T *sum)
{
    FN(lanes) lanes;

    *most = (T)-__builtin_inf();
    for (size_t j = 0; j < h->a->n; j++)
        *most = FN(maximum)(*most, FN(score)(h, i, j));
    FN(lanes_begin)(&lanes);
    for (size_t j = 0; j < h->a->n; j++)
        FN(lanes_add)(&lanes, FN(rp_exp)(FN(score)(h, i, j) - *most));
    *sum = FN(lanes_total)(&lanes);
}

/* Adds w times columns [first, first + columns) of row j of a matrix to a row of outputs: CONTRACT 4.4 with k over keys. */
static void FN(join)(const rp_attention_head *h, const rp_attention_matrix *rows, size_t j, size_t first, size_t columns,
                     T w, T *chain, T *to, ptrdiff_t to_col)
{
    const T *x = (const T *)rows->data + (ptrdiff_t)j * rows->row + (ptrdiff_t)first * rows->col;
    const bool last = (j + 1) % RP_MATMUL_CHUNK == 0 || j + 1 == h->a->n;

    for (size_t c = 0; c < columns; c++) {
        T *at = &to[(ptrdiff_t)c * to_col];

        chain[c] = FN(rp_fma)(w, x[(ptrdiff_t)c * rows->col], j % RP_MATMUL_CHUNK == 0 ? (T)0 : chain[c]);
        if (last)
            *at = j < RP_MATMUL_CHUNK ? chain[c] : *at + chain[c];
    }
}

/* y of query i. */
static void FN(attention_row)(const rp_attention_head *h, size_t i, const rp_attention_matrix *y)
{
    T most, sum, chain[COLUMNS];

    FN(weigh)(h, i, &most, &sum);
    for (size_t first = 0, columns; first < h->a->e; first += columns) {
        T *to = (T *)y->data + (ptrdiff_t)i * y->row + (ptrdiff_t)first * y->col;

        columns = h->a->e - first < COLUMNS ? h->a->e - first : COLUMNS;
        for (size_t j = 0; j < h->a->n; j++) {
            const T p = FN(dropped)(h, i, j, FN(rp_exp)(FN(score)(h, i, j) - most) / sum);

            FN(join)(h, &h->v, j, first, columns, p, chain, to, y->col);
        }
    }
}

/* The gradient of weight (i, j) before dropout, of the output g. */
static T FN(weight_grad)(const rp_attention_head *h, const rp_attention_matrix *g, size_t i, size_t j)
{
    return FN(dropped)(h, i, j,
                       FN(dot)((const T *)g->data + (ptrdiff_t)i * g->row, g->col,
                               (const T *)h->v.data + (ptrdiff_t)j * h->v.row, h->v.col, h->a->e));
}

/* The rows of queries from `start` on; of row i the values at i - start. */
static void FN(know_rows)(const rp_attention_head *h, const rp_attention_matrix *g, size_t start, size_t count,
                          FN(attention_rows) * rows)
{
    FN(lanes) lanes;

    for (size_t r = 0; r < count; r++) {
        FN(weigh)(h, start + r, &rows->most[r], &rows->sum[r]);
        FN(lanes_begin)(&lanes);
        for (size_t j = 0; j < h->a->n; j++) {
            const T p = FN(rp_exp)(FN(score)(h, start + r, j) - rows->most[r]) / rows->sum[r];

            FN(lanes_add)(&lanes, FN(weight_grad)(h, g, start + r, j) * p);
        }
        rows->slope[r] = FN(lanes_total)(&lanes);
    }
}

/* The gradient of the product of query i and key j, r the query's place in rows. */
static T FN(score_grad)(const rp_attention_head *h, const rp_attention_matrix *g, const FN(attention_rows) * rows,
                        size_t i, size_t r, size_t j)
{
    const T p = FN(rp_exp)(FN(score)(h, i, j) - rows->most[r]) / rows->sum[r];
    const T ds = (FN(weight_grad)(h, g, i, j) - rows->slope[r]) * p;

    return (FN(is_seen)(h, i, j) ? ds : (T)0) * (T)h->a->scale;
}

/* dq of rows start .. start + count - 1. */
static void FN(query_grads)(const rp_attention_head *h, const rp_attention_matrix *g, size_t start, size_t count,
                            const FN(attention_rows) * rows, const rp_attention_matrix *dq)
{
    T chain[COLUMNS];

    for (size_t r = 0; r < count; r++)
        for (size_t first = 0, columns; first < h->a->d; first += columns) {
            T *to = (T *)dq->data + (ptrdiff_t)(start + r) * dq->row + (ptrdiff_t)first * dq->col;

            columns = h->a->d - first < COLUMNS ? h->a->d - first : COLUMNS;
            for (size_t j = 0; j < h->a->n; j++)
                FN(join)(h, &h->k, j, first, columns, FN(score_grad)(h, g, rows, start + r, r, j), chain, to, dq->col);
        }
}

/* What rows start .. start + count - 1, a chunk, add to a row of dk or dv: x is q or g, with `columns` columns, and
 * weight (j, r) the score's gradient or the weight. */
static void FN(key_grads)(const rp_attention_head *h, const rp_attention_matrix *g, size_t start, size_t count,
                          const FN(attention_rows) * rows, bool values, const rp_attention_matrix *out)
{
    const rp_attention_matrix *x = values ? g : &h->q;
    const size_t width = values ? h->a->e : h->a->d;
    T chain[COLUMNS];

    for (size_t j = 0; j < h->a->n; j++)
        for (size_t first = 0, columns; first < width; first += columns) {
            T *to = (T *)out->data + (ptrdiff_t)j * out->row + (ptrdiff_t)first * out->col;

            columns = width - first < COLUMNS ? width - first : COLUMNS;
            for (size_t c = 0; c < columns; c++)
                chain[c] = 0;
            for (size_t r = 0; r < count; r++) {
                const size_t i = start + r;
                const T *from = (const T *)x->data + (ptrdiff_t)i * x->row + (ptrdiff_t)first * x->col;
                const T w =
                    values ? FN(dropped)(h, i, j, FN(rp_exp)(FN(score)(h, i, j) - rows->most[r]) / rows->sum[r])
                           : FN(score_grad)(h, g, rows, i, r, j);

                for (size_t c = 0; c < columns; c++)
                    chain[c] = FN(rp_fma)(w, from[(ptrdiff_t)c * x->col], chain[c]);
            }
            for (size_t c = 0; c < columns; c++) {
                T *at = &to[(ptrdiff_t)c * out->col];

                *at = start == 0 ? chain[c] : *at + chain[c];
            }
        }
}

/* out: dq, dk, dv. */
static void FN(attention_grad_head)(const rp_attention_head *h, const rp_attention_matrix *g,
                                    const rp_attention_matrix out[3])
{
    FN(attention_rows) rows;
    size_t start = 0;

    do { /* once also without queries: then nothing is added to the gradients of keys and values */
        const size_t left = h->a->m - start, count = left < RP_MATMUL_CHUNK ? left : RP_MATMUL_CHUNK;

        FN(know_rows)(h, g, start, count, &rows);
        FN(query_grads)(h, g, start, count, &rows, &out[0]);
        FN(key_grads)(h, g, start, count, &rows, false, &out[1]);
        FN(key_grads)(h, g, start, count, &rows, true, &out[2]);
        start += RP_MATMUL_CHUNK;
    } while (start < h->a->m);
}
