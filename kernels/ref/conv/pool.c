/* SPDX-License-Identifier: Apache-2.0
 * Max and average pooling over windows of x [n, h, w, c] and their gradients (CONTRACT 4.5). attr 0 .. 2 as in conv.h,
 * RP_AT(attr, max_pool, window).list the window's height and width. Padding is not there: it is never a maximum and
 * never counted. */
#include "determinism/math.h"
#include "kernels/level.h"
#include "kernels/ref/conv/conv.h"

/* x and y by name; either may be the gradient. */
typedef struct pool {
    rp_conv_axis h, w;
    const rp_view *x, *y;
} pool;

static pool pool_of(const rp_view *x, const rp_view *y, const rp_attr *attr)
{
    const int64_t *window = RP_AT(attr, max_pool, window).list;

    return (pool){rp_conv_axis_of(attr, 0, x->shape[1], y->shape[1], (size_t)window[0]),
                  rp_conv_axis_of(attr, 1, x->shape[2], y->shape[2], (size_t)window[1]), x, y};
}

#include "kernels/type_f32.h"
#include "kernels/ref/conv/pool_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/pool_type.inc.h"

typedef void pool_pixel(const pool *p, size_t n, size_t oh, size_t ow);
typedef void pool_plane(const pool *p, const rp_view *x, size_t n, size_t c);

static size_t pool_cost(const rp_kernel_args *args)
{
    return 1 + 2 * rp_view_last(&args->out[0]) *
                   (size_t)(RP_AT(args->attr, max_pool, window).list[0] * RP_AT(args->attr, max_pool, window).list[1]);
}

/* An item is a pixel of y with all its channels. */
RP_KERNEL_CALLER static void run_pixels(const rp_kernel_args *args, size_t begin, size_t end, pool_pixel *work)
{
    const pool p = pool_of(&args->in[0], &args->out[0], args->attr);

    for (size_t item = begin; item < end; item++)
        work(&p, item / p.w.out / p.h.out, item / p.w.out % p.h.out, item % p.w.out);
}

/* An item of a gradient is a channel of an image: it takes every contribution of its plane, in ascending order. */
static size_t plane_items(const rp_kernel_args *args)
{
    return args->out[0].shape[0] * args->out[0].shape[3];
}

static size_t plane_cost(const rp_kernel_args *args)
{
    const rp_view *y = &args->in[0];

    return 1 + 4 * y->shape[1] * y->shape[2] *
                   (size_t)(RP_AT(args->attr, max_pool, window).list[0] * RP_AT(args->attr, max_pool, window).list[1]);
}

RP_KERNEL_CALLER static void run_planes(const rp_kernel_args *args, size_t begin, size_t end, pool_plane *work)
{
    const pool p = pool_of(&args->out[0], &args->in[0], args->attr);
    const size_t channels = args->out[0].shape[3];

    for (size_t item = begin; item < end; item++)
        work(&p, args->n_in > 1 ? &args->in[1] : NULL, item / channels, item % channels);
}

#define POOL(name, items, run, cost) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        if (args->out[0].dtype == RP_F32) \
            run(args, begin, end, name##_f32); \
        else \
            run(args, begin, end, name##_f64); \
    } \
    RP_DEFINE_KERNEL(name, items, name##_run, cost)

POOL(max_pool, rp_items_rows, run_pixels, pool_cost);
POOL(max_pool_grad, plane_items, run_planes, plane_cost);
POOL(avg_pool, rp_items_rows, run_pixels, pool_cost);
POOL(avg_pool_grad, plane_items, run_planes, plane_cost);
