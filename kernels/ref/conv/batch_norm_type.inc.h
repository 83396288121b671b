/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 7.8 for one type, a channel at a time. */
#include "kernels/ref/lanes.inc.h"

/* The views' elements of channel c, walked together. */
static void FN(walk_channel)(rp_walk *walk, const rp_view *const *views, size_t n, ptrdiff_t c)
{
    rp_view channel[3];
    const rp_view *at[3];

    for (size_t v = 0; v < n; v++) {
        channel[v] = rp_view_rows(views[v]);
        channel[v].data = rp_view_at(views[v], c * rp_view_last_stride(views[v]));
        at[v] = &channel[v];
    }
    rp_walk_begin(walk, at, n, 0, rp_view_count(&channel[0]));
}

#define AT(walk, v, i) (((T *)(walk).at[v])[(ptrdiff_t)(i) * (walk).step[v]])

static T *FN(of_channel)(const rp_view *vector, ptrdiff_t c)
{
    return (T *)vector->data + c * vector->stride[0];
}

static T FN(inverse_deviation)(T var, const rp_attr *eps)
{
    return (T)1 / SQRT(var + (T)eps->r);
}

/* y = ((x - mean) r) gamma + beta */
static void FN(normalise)(const rp_kernel_args *args, ptrdiff_t c, T mean, T r)
{
    const T gamma = *FN(of_channel)(&args->in[1], c), beta = *FN(of_channel)(&args->in[2], c);
    const rp_view *const views[] = {&args->out[0], &args->in[0]};
    rp_walk walk;

    FN(walk_channel)(&walk, views, 2, c);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++)
            AT(walk, 0, i) = ((AT(walk, 1, i) - mean) * r) * gamma + beta;
}

/* in: x, gamma, beta, mean, var; out: y */
static void FN(batch_norm)(const rp_kernel_args *args, ptrdiff_t c)
{
    FN(normalise)
    (args, c, *FN(of_channel)(&args->in[3], c),
     FN(inverse_deviation)(*FN(of_channel)(&args->in[4], c), &RP_AT(args->attr, batch_norm, eps)));
}

/* in: x, gamma, beta; out: y, mean, var: mean = sum(x) / N, var = sum((x - mean)^2) / N */
static void FN(batch_norm_train)(const rp_kernel_args *args, ptrdiff_t c)
{
    const rp_view *const views[] = {&args->in[0]};
    FN(lanes) sum, square;
    rp_walk walk;
    T n, mean, var;

    FN(walk_channel)(&walk, views, 1, c);
    n = (T)walk.left;
    FN(lanes_begin)(&sum);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++)
            FN(lanes_add)(&sum, AT(walk, 0, i));
    mean = FN(lanes_total)(&sum) / n;
    FN(walk_channel)(&walk, views, 1, c);
    FN(lanes_begin)(&square);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T d = AT(walk, 0, i) - mean;

            FN(lanes_add)(&square, d * d);
        }
    var = FN(lanes_total)(&square) / n;
    *FN(of_channel)(&args->out[1], c) = mean;
    *FN(of_channel)(&args->out[2], c) = var;
    FN(normalise)(args, c, mean, FN(inverse_deviation)(var, &RP_AT(args->attr, batch_norm, eps)));
}

/* in: g, x, gamma, mean, var of training; out: dx, dgamma = sum(g z), dbeta = sum(g), with z = (x - mean) r:
 * dx = ((g - dbeta / N) - z (dgamma / N)) (gamma r) */
static void FN(batch_norm_grad)(const rp_kernel_args *args, ptrdiff_t c)
{
    const T mean = *FN(of_channel)(&args->in[3], c);
    const T r = FN(inverse_deviation)(*FN(of_channel)(&args->in[4], c), &RP_AT(args->attr, batch_norm, eps));
    const T scale = *FN(of_channel)(&args->in[2], c) * r;
    const rp_view *const views[] = {&args->out[0], &args->in[0], &args->in[1]};
    FN(lanes) g_sum, gz_sum;
    T n, a, b;
    rp_walk walk;

    FN(walk_channel)(&walk, views, 3, c);
    n = (T)walk.left;
    FN(lanes_begin)(&g_sum);
    FN(lanes_begin)(&gz_sum);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            FN(lanes_add)(&g_sum, AT(walk, 1, i));
            FN(lanes_add)(&gz_sum, AT(walk, 1, i) * ((AT(walk, 2, i) - mean) * r));
        }
    *FN(of_channel)(&args->out[1], c) = b = FN(lanes_total)(&gz_sum);
    *FN(of_channel)(&args->out[2], c) = a = FN(lanes_total)(&g_sum);
    a = a / n;
    b = b / n;
    FN(walk_channel)(&walk, views, 3, c);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++)
            AT(walk, 0, i) = ((AT(walk, 1, i) - a) - ((AT(walk, 2, i) - mean) * r) * b) * scale;
}

#undef AT
