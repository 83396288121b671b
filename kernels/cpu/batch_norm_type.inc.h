/* SPDX-License-Identifier: Apache-2.0
 * The steps of ref/batch_norm_type.inc.h for a block of neighbouring channels at a time. */
#include "kernels/ref/lanes.inc.h"

enum { FN(BLOCK) = 128 / sizeof(T) };

/* The block's channels [c, c + n): what their elements meet. */
typedef struct FN(channels) {
    size_t n;
    T mean[FN(BLOCK)], r[FN(BLOCK)], gamma[FN(BLOCK)], beta[FN(BLOCK)];
} FN(channels);

/* What is summed: an element of x, its squared distance from the mean, g, and g z. */
typedef enum FN(term) { FN(ELEMENT), FN(SQUARE), FN(PRODUCT) } FN(term);

static T FN(of)(const rp_view *vector, size_t c)
{
    return ((const T *)vector->data)[(ptrdiff_t)c * vector->stride[0]];
}

static void FN(set)(const rp_view *vector, size_t c, T value)
{
    ((T *)vector->data)[(ptrdiff_t)c * vector->stride[0]] = value;
}

static T FN(inverse_deviation)(T var, const rp_attr *eps)
{
    return (T)1 / SQRT(var + (T)eps->r);
}

/* The sums over at most RP_CHUNK rows, in the lanes of CONTRACT 4. */
RP_INLINE void FN(sum_rows)(T *sum, const FN(channels) * k, FN(term) term, const T *x, ptrdiff_t x_step, const T *g,
                            ptrdiff_t g_step, size_t n, size_t rows_left)
{
    T lane[RP_LANES][FN(BLOCK)] = {{0}};

    for (size_t i = 0; i < rows_left; i++, x += x_step, g += g_step) {
        T *to = lane[i % RP_LANES];

        RP_EACH(j, n)
        {
            const T d = x[j] - k->mean[j];

            to[j] += term == FN(ELEMENT) ? x[j] : term == FN(SQUARE) ? d * d : g[j] * (d * k->r[j]);
        }
    }
    RP_NO_UNROLL for (size_t half = RP_LANES / 2; half > 0; half /= 2) RP_NO_UNROLL for (size_t l = 0; l < half; l++)
        RP_EACH(j, n) lane[l][j] += lane[l + half][j];
    RP_EACH(j, n) sum[j] = lane[0][j];
}

/* The sums over all rows, one a channel. */
RP_INLINE void FN(sum_all)(T *sum, const FN(channels) * k, FN(term) term, const T *x, ptrdiff_t x_step, const T *g,
                           ptrdiff_t g_step, size_t n, size_t all)
{
    FN(lanes) lanes[FN(BLOCK)];

    if (all <= RP_CHUNK) {
        FN(sum_rows)(sum, k, term, x, x_step, g, g_step, n, all);
        return;
    }
    for (size_t j = 0; j < n; j++)
        FN(lanes_begin)(&lanes[j]);
    for (size_t i = 0; i < all; i += RP_CHUNK) {
        FN(sum_rows)
        (sum, k, term, x + (ptrdiff_t)i * x_step, x_step, g + (ptrdiff_t)i * g_step, g_step, n,
         all - i < RP_CHUNK ? all - i : RP_CHUNK);
        for (size_t j = 0; j < n; j++)
            FN(lanes_push)(&lanes[j], 1, sum[j]);
    }
    for (size_t j = 0; j < n; j++)
        sum[j] = FN(lanes_total)(&lanes[j]);
}

static void FN(sums)(T *sum, const FN(channels) * k, FN(term) term, const T *x, ptrdiff_t x_step, const T *g,
                     ptrdiff_t g_step, size_t all)
{
    const bool whole = k->n == FN(BLOCK);

#define SUMS(what) \
    if (whole) \
        FN(sum_all)(sum, k, what, x, x_step, g, g_step, FN(BLOCK), all); \
    else \
        FN(sum_all)(sum, k, what, x, x_step, g, g_step, k->n, all)
    if (term == FN(ELEMENT))
        SUMS(FN(ELEMENT));
    else if (term == FN(SQUARE))
        SUMS(FN(SQUARE));
    else
        SUMS(FN(PRODUCT));
#undef SUMS
}

/* y = ((x - mean) r) gamma + beta */
static void FN(normalise)(const FN(channels) * k, T *y, ptrdiff_t y_step, const T *x, ptrdiff_t x_step, size_t all)
{
    for (size_t i = 0; i < all; i++, y += y_step, x += x_step)
        RP_EACH(j, k->n) y[j] = ((x[j] - k->mean[j]) * k->r[j]) * k->gamma[j] + k->beta[j];
}

/* The scale and shift of channels from c on. */
static FN(channels) FN(channels_at)(const rp_kernel_args *args, size_t c, size_t end)
{
    FN(channels) k = {.n = end - c < FN(BLOCK) ? end - c : FN(BLOCK)};

    for (size_t j = 0; j < k.n; j++) {
        k.gamma[j] = FN(of)(&args->in[1], c + j);
        k.beta[j] = FN(of)(&args->in[2], c + j);
    }
    return k;
}

/* in: x, gamma, beta, mean, var; out: y */
static void FN(batch_norm)(const rp_kernel_args *args, const rows *r, size_t begin, size_t end)
{
    for (size_t c = begin; c < end; c += FN(BLOCK)) {
        FN(channels) k = FN(channels_at)(args, c, end);

        for (size_t j = 0; j < k.n; j++) {
            k.mean[j] = FN(of)(&args->in[3], c + j);
            k.r[j] = FN(inverse_deviation)(FN(of)(&args->in[4], c + j), &RP_AT(args->attr, batch_norm, eps));
        }
        FN(normalise)(&k, (T *)args->out[0].data + c, r[0].step, (const T *)args->in[0].data + c, r[1].step, r[0].n);
    }
}

/* in: x, gamma, beta; out: y, mean, var */
static void FN(batch_norm_train)(const rp_kernel_args *args, const rows *r, size_t begin, size_t end)
{
    for (size_t c = begin; c < end; c += FN(BLOCK)) {
        FN(channels) k = FN(channels_at)(args, c, end);
        const T *x = (const T *)args->in[0].data + c, n = (T)r[0].n;
        T sum[FN(BLOCK)];

        FN(sums)(sum, &k, FN(ELEMENT), x, r[1].step, x, r[1].step, r[0].n);
        for (size_t j = 0; j < k.n; j++)
            k.mean[j] = sum[j] / n;
        FN(sums)(sum, &k, FN(SQUARE), x, r[1].step, x, r[1].step, r[0].n);
        for (size_t j = 0; j < k.n; j++) {
            const T var = sum[j] / n;

            k.r[j] = FN(inverse_deviation)(var, &RP_AT(args->attr, batch_norm, eps));
            FN(set)(&args->out[1], c + j, k.mean[j]);
            FN(set)(&args->out[2], c + j, var);
        }
        FN(normalise)(&k, (T *)args->out[0].data + c, r[0].step, x, r[1].step, r[0].n);
    }
}

/* in: g, x, gamma, mean, var of training; out: dx, dgamma, dbeta */
static void FN(batch_norm_grad)(const rp_kernel_args *args, const rows *r, size_t begin, size_t end)
{
    for (size_t c = begin; c < end; c += FN(BLOCK)) {
        const T *g = (const T *)args->in[0].data + c, *x = (const T *)args->in[1].data + c, n = (T)r[0].n;
        FN(channels) k = {.n = end - c < FN(BLOCK) ? end - c : FN(BLOCK)};
        T a[FN(BLOCK)], b[FN(BLOCK)], scale[FN(BLOCK)], *dx = (T *)args->out[0].data + c;

        for (size_t j = 0; j < k.n; j++) {
            k.mean[j] = FN(of)(&args->in[3], c + j);
            k.r[j] = FN(inverse_deviation)(FN(of)(&args->in[4], c + j), &RP_AT(args->attr, batch_norm, eps));
            scale[j] = FN(of)(&args->in[2], c + j) * k.r[j];
        }
        FN(sums)(a, &k, FN(ELEMENT), g, r[1].step, g, r[1].step, r[0].n);
        FN(sums)(b, &k, FN(PRODUCT), x, r[2].step, g, r[1].step, r[0].n);
        for (size_t j = 0; j < k.n; j++) {
            FN(set)(&args->out[1], c + j, b[j]);
            FN(set)(&args->out[2], c + j, a[j]);
            a[j] = a[j] / n;
            b[j] = b[j] / n;
        }
        for (size_t i = 0; i < r[0].n; i++, dx += r[0].step, g += r[1].step, x += r[2].step)
            RP_EACH(j, k.n) dx[j] = ((g[j] - a[j]) - ((x[j] - k.mean[j]) * k.r[j]) * b[j]) * scale[j];
    }
}
