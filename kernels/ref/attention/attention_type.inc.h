/* SPDX-License-Identifier: Apache-2.0
 * Attention for one type, by the steps of CONTRACT 7.13. Nothing is kept of a row of scores but its maximum and the sum
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

/* A chunk of a chain for each column (CONTRACT 4.4): `count` weights by as many rows of x, the first of which is row
 * `start`; the chunk joins those before it in `to`. */
static void FN(combine)(const T *weights, size_t start, size_t count, const rp_attention_matrix *x, size_t columns,
                        T *to, ptrdiff_t to_col)
{
    for (size_t c = 0; c < columns; c++) {
        const T *from = (const T *)x->data + (ptrdiff_t)start * x->row + (ptrdiff_t)c * x->col;
        T chain = 0, *at = &to[(ptrdiff_t)c * to_col];

        for (size_t r = 0; r < count; r++)
            chain = FN(rp_fma)(weights[r], from[(ptrdiff_t)r * x->row], chain);
        *at = start == 0 ? chain : *at + chain;
    }
}

/* The length of the chunk that begins at `start`, of n. */
static size_t FN(chunk_of)(size_t start, size_t n)
{
    return n - start < RP_MATMUL_CHUNK ? n - start : RP_MATMUL_CHUNK;
}

/* y of query i. */
static void FN(attention_row)(const rp_attention_head *h, size_t i, const rp_attention_matrix *y)
{
    T most, sum, weights[RP_MATMUL_CHUNK];

    FN(weigh)(h, i, &most, &sum);
    for (size_t start = 0; start < h->a->n; start += RP_MATMUL_CHUNK) {
        const size_t count = FN(chunk_of)(start, h->a->n);

        for (size_t r = 0; r < count; r++)
            weights[r] = FN(dropped)(h, i, start + r, FN(rp_exp)(FN(score)(h, i, start + r) - most) / sum);
        FN(combine)(weights, start, count, &h->v, h->a->e, (T *)y->data + (ptrdiff_t)i * y->row, y->col);
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
    T ds[RP_MATMUL_CHUNK];

    for (size_t r = 0; r < count; r++)
        for (size_t first = 0; first < h->a->n; first += RP_MATMUL_CHUNK) {
            const size_t keys = FN(chunk_of)(first, h->a->n);

            for (size_t j = 0; j < keys; j++)
                ds[j] = FN(score_grad)(h, g, rows, start + r, r, first + j);
            FN(combine)
            (ds, first, keys, &h->k, h->a->d, (T *)dq->data + (ptrdiff_t)(start + r) * dq->row, dq->col);
        }
}

/* What rows start .. start + count - 1, a chunk, add to dk and dv. */
static void FN(key_grads)(const rp_attention_head *h, const rp_attention_matrix *g, size_t start, size_t count,
                          const FN(attention_rows) * rows, const rp_attention_matrix *dk, const rp_attention_matrix *dv)
{
    T weights[RP_MATMUL_CHUNK];

    for (size_t j = 0; j < h->a->n; j++) {
        for (size_t r = 0; r < count; r++)
            weights[r] = FN(score_grad)(h, g, rows, start + r, r, j);
        FN(combine)(weights, start, count, &h->q, h->a->d, (T *)dk->data + (ptrdiff_t)j * dk->row, dk->col);
        for (size_t r = 0; r < count; r++)
            weights[r] =
                FN(dropped)(h, start + r, j, FN(rp_exp)(FN(score)(h, start + r, j) - rows->most[r]) / rows->sum[r]);
        FN(combine)(weights, start, count, g, h->a->e, (T *)dv->data + (ptrdiff_t)j * dv->row, dv->col);
    }
}

/* out: dq, dk, dv. */
static void FN(attention_grad_head)(const rp_attention_head *h, const rp_attention_matrix *g,
                                    const rp_attention_matrix out[3])
{
    FN(attention_rows) rows;
    size_t start = 0;

    do { /* once also without queries: then nothing is added to the gradients of keys and values */
        const size_t count = FN(chunk_of)(start, h->a->m);

        FN(know_rows)(h, g, start, count, &rows);
        FN(query_grads)(h, g, start, count, &rows, &out[0]);
        FN(key_grads)(h, g, start, count, &rows, &out[1], &out[2]);
        start += RP_MATMUL_CHUNK;
    } while (start < h->a->m);
}
