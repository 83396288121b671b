/* SPDX-License-Identifier: Apache-2.0
 * The steps of ref/batch_norm_type.inc.h for a block of neighbouring channels at a time. */

#include "kernels/cpu/channels/channel_sums.inc.h"
#include "kernels/cpu/channels/normalised.inc.h"

/* The block's channels [c, c + n): what their elements meet. */
typedef struct FN(channels) {
    size_t n;
    T mean[FN(BLOCK)], r[FN(BLOCK)], gamma[FN(BLOCK)], beta[FN(BLOCK)];
} FN(channels);

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

static void FN(normalise)(const FN(channels) * k, T *y, ptrdiff_t y_step, const T *x, ptrdiff_t x_step, size_t all)
{
    const FN(scaling) scaling = {k->mean, k->r, k->gamma, k->beta, y_step, x_step, k->n};

    FN(normalised)(&scaling, y, x, all);
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
        const FN(channel_rows) all = {.x = x, .x_step = r[1].step, .n = r[0].n, .mean = k.mean};
        T sum[FN(BLOCK)];

        FN(channel_sums)(sum, NULL, &all, FN(ELEMENT), k.n);
        for (size_t j = 0; j < k.n; j++)
            k.mean[j] = sum[j] / n;
        FN(channel_sums)(sum, NULL, &all, FN(SQUARE), k.n);
        for (size_t j = 0; j < k.n; j++) {
            const T var = sum[j] / n;

            k.r[j] = FN(inverse_deviation)(var, &RP_AT(args->attr, batch_norm, eps));
            FN(set)(&args->out[1], c + j, k.mean[j]);
            FN(set)(&args->out[2], c + j, var);
        }
        FN(normalise)(&k, (T *)args->out[0].data + c, r[0].step, x, r[1].step, r[0].n);
    }
}

/* dx = ((g - a) - ((x - mean) r) b) (gamma r); k->gamma holds gamma r. From the last chunk of rows back to the first,
 * as the sums read the last one last. */
RP_INLINE void FN(grad_rows)(const FN(channels) * k, const T *a, const T *b, T *dx, const T *g, const T *x,
                             const rows *r, size_t n)
{
    for (size_t end = r[0].n, begin; end > 0; end = begin) {
        begin = (end - 1) / RP_CHUNK * RP_CHUNK;
        for (size_t i = begin; i < end; i++) {
            const T *gi = g + (ptrdiff_t)i * r[1].step, *xi = x + (ptrdiff_t)i * r[2].step;
            T *to = dx + (ptrdiff_t)i * r[0].step;

            RP_EACH(j, n) to[j] = ((gi[j] - a[j]) - ((xi[j] - k->mean[j]) * k->r[j]) * b[j]) * k->gamma[j];
        }
    }
}

/* in: g, x, gamma, mean, var of training; out: dx, dgamma, dbeta */
static void FN(batch_norm_grad)(const rp_kernel_args *args, const rows *r, size_t begin, size_t end)
{
    for (size_t c = begin; c < end; c += FN(BLOCK)) {
        const T *g = (const T *)args->in[0].data + c, *x = (const T *)args->in[1].data + c, n = (T)r[0].n;
        FN(channels) k = {.n = end - c < FN(BLOCK) ? end - c : FN(BLOCK)};
        const FN(channel_rows) all = {x, g, r[2].step, r[1].step, r[0].n, k.mean, k.r};
        T a[FN(BLOCK)], b[FN(BLOCK)], *dx = (T *)args->out[0].data + c;

        for (size_t j = 0; j < k.n; j++) {
            k.mean[j] = FN(of)(&args->in[3], c + j);
            k.r[j] = FN(inverse_deviation)(FN(of)(&args->in[4], c + j), &RP_AT(args->attr, batch_norm, eps));
            k.gamma[j] = FN(of)(&args->in[2], c + j) * k.r[j];
        }
        FN(channel_sums)(b, a, &all, FN(SLOPE), k.n);
        for (size_t j = 0; j < k.n; j++) {
            FN(set)(&args->out[1], c + j, b[j]);
            FN(set)(&args->out[2], c + j, a[j]);
            a[j] = a[j] / n;
            b[j] = b[j] / n;
        }
        if (k.n == FN(NARROW))
            FN(grad_rows)(&k, a, b, dx, g, x, r, FN(NARROW));
        else
            FN(grad_rows)(&k, a, b, dx, g, x, r, k.n);
    }
}
