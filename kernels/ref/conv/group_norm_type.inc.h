/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 7.11 for one type, a group of a sample at a time. */
#include "kernels/ref/lanes.inc.h"

/* The views' elements of a sample's channel, walked together. */
static void FN(walk_positions)(rp_walk *walk, const rp_view *const *views, size_t n, size_t sample, size_t c)
{
    rp_view channel[3];
    const rp_view *at[3];

    for (size_t v = 0; v < n; v++) {
        const unsigned middle = (1u << (views[v]->rank - 1)) - 2;

        channel[v] = rp_view_axes(views[v], middle, true);
        channel[v].data = rp_view_at(views[v], (ptrdiff_t)sample * views[v]->stride[0] +
                                                   (ptrdiff_t)c * rp_view_last_stride(views[v]));
        at[v] = &channel[v];
    }
    rp_walk_begin(walk, at, n, 0, rp_view_count(&channel[0]));
}

#define AT(walk, v, i) (((T *)(walk).at[v])[(ptrdiff_t)(i) * (walk).step[v]])

static T *FN(of)(const rp_view *vector, size_t c)
{
    return (T *)vector->data + (ptrdiff_t)c * vector->stride[0];
}

static T *FN(of_sample)(const rp_view *matrix, size_t sample, size_t i)
{
    return (T *)matrix->data + (ptrdiff_t)sample * matrix->stride[0] + (ptrdiff_t)i * matrix->stride[1];
}

static T FN(inverse_deviation)(T var, const rp_attr *eps)
{
    return (T)1 / SQRT(var + (T)eps->r);
}

/* The sum over a channel's positions of x, or of (x - mean)^2. */
static T FN(channel_sum)(const rp_view *x, size_t sample, size_t c, bool square, T mean)
{
    FN(lanes) sum;
    rp_walk walk;

    FN(walk_positions)(&walk, &x, 1, sample, c);
    FN(lanes_begin)(&sum);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const T d = AT(walk, 0, i) - mean;

            FN(lanes_add)(&sum, square ? d * d : AT(walk, 0, i));
        }
    return FN(lanes_total)(&sum);
}

/* The sum over the channels [first, first + width) of those sums. */
static T FN(group_sum)(const rp_view *x, size_t sample, size_t first, size_t width, bool square, T mean)
{
    FN(lanes) sum;

    FN(lanes_begin)(&sum);
    for (size_t c = first; c < first + width; c++)
        FN(lanes_add)(&sum, FN(channel_sum)(x, sample, c, square, mean));
    return FN(lanes_total)(&sum);
}

/* N, the number of a group's elements. */
static T FN(group_count)(const rp_view *x, size_t width)
{
    size_t n = width;

    for (int d = 1; d + 1 < x->rank; d++)
        n *= x->shape[d];
    return (T)n;
}

/* in: x, gamma, beta; out: y, mean, var */
static void FN(group_norm)(const rp_kernel_args *args, size_t sample, size_t group, size_t width)
{
    const rp_view *x = &args->in[0], *const views[] = {&args->out[0], x};
    const T n = FN(group_count)(x, width);
    const size_t first = group * width;
    const T mean = FN(group_sum)(x, sample, first, width, false, 0) / n;
    const T var = FN(group_sum)(x, sample, first, width, true, mean) / n;
    const T r = FN(inverse_deviation)(var, &RP_AT(args->attr, group_norm, eps));

    *FN(of_sample)(&args->out[1], sample, group) = mean;
    *FN(of_sample)(&args->out[2], sample, group) = var;
    for (size_t c = first; c < first + width; c++) {
        const T gamma = *FN(of)(&args->in[1], c), beta = *FN(of)(&args->in[2], c);
        rp_walk walk;

        FN(walk_positions)(&walk, views, 2, sample, c);
        while (rp_walk_next(&walk))
            for (size_t i = 0; i < walk.run; i++)
                AT(walk, 0, i) = ((AT(walk, 1, i) - mean) * r) * gamma + beta;
    }
}

/* A channel's q = sum(g z) and p = sum(g). */
static void FN(slopes)(const rp_kernel_args *args, size_t sample, size_t c, T mean, T r, T *q, T *p)
{
    const rp_view *const views[] = {&args->in[0], &args->in[1]};
    FN(lanes) g_sum, gz_sum;
    rp_walk walk;

    FN(walk_positions)(&walk, views, 2, sample, c);
    FN(lanes_begin)(&g_sum);
    FN(lanes_begin)(&gz_sum);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            FN(lanes_add)(&g_sum, AT(walk, 0, i));
            FN(lanes_add)(&gz_sum, AT(walk, 0, i) * ((AT(walk, 1, i) - mean) * r));
        }
    *q = FN(lanes_total)(&gz_sum);
    *p = FN(lanes_total)(&g_sum);
}

/* in: g, x, gamma, mean, var; out: dx, q, p. With h = g gamma and z = (x - mean) r, a = sum(gamma p) / N and
 * b = sum(gamma q) / N over the group's channels: dx = ((h - a) - z b) r */
static void FN(group_norm_grad)(const rp_kernel_args *args, size_t sample, size_t group, size_t width)
{
    const rp_view *const views[] = {&args->out[0], &args->in[0], &args->in[1]};
    const T n = FN(group_count)(&args->in[1], width), mean = *FN(of_sample)(&args->in[3], sample, group);
    const T r =
        FN(inverse_deviation)(*FN(of_sample)(&args->in[4], sample, group), &RP_AT(args->attr, group_norm_grad, eps));
    const size_t first = group * width;
    FN(lanes) a_sum, b_sum;
    T a, b;

    FN(lanes_begin)(&a_sum);
    FN(lanes_begin)(&b_sum);
    for (size_t c = first; c < first + width; c++) {
        T *q = FN(of_sample)(&args->out[1], sample, c), *p = FN(of_sample)(&args->out[2], sample, c);

        FN(slopes)(args, sample, c, mean, r, q, p);
        FN(lanes_add)(&a_sum, *FN(of)(&args->in[2], c) * *p);
        FN(lanes_add)(&b_sum, *FN(of)(&args->in[2], c) * *q);
    }
    a = FN(lanes_total)(&a_sum) / n;
    b = FN(lanes_total)(&b_sum) / n;
    for (size_t c = first; c < first + width; c++) {
        const T gamma = *FN(of)(&args->in[2], c);
        rp_walk walk;

        FN(walk_positions)(&walk, views, 3, sample, c);
        while (rp_walk_next(&walk))
            for (size_t i = 0; i < walk.run; i++)
                AT(walk, 0, i) = ((AT(walk, 1, i) * gamma - a) - ((AT(walk, 2, i) - mean) * r) * b) * r;
    }
}

#undef AT
