/* SPDX-License-Identifier: Apache-2.0
 * Pooling and its gradients for one instruction set (CONTRACT 4.5): vectors lie across channels, so each channel's
 * window is still taken in order. A gradient whose channels are not neighbours, as a flattened image's, is turned on
 * the way; other images with such channels go to the reference. */
#include <string.h>

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/level.h"
#include "kernels/ref/conv/conv.h"

/* Columns whose taps are looked up once; channels at a time; pixels of a gradient that are turned at a time. */
enum { MOST_COLUMNS = 512, CHANNELS = 64, TURNED_COLUMNS = 16 };

typedef struct pool {
    rp_conv_axis h, w;
    const rp_view *x, *y; /* either may be the gradient */
    rp_taps columns[MOST_COLUMNS];
} pool;

static void pool_begin(pool *p, const rp_view *x, const rp_view *y, const rp_attr *attr)
{
    p->h = rp_conv_axis_of(attr, 0, x->shape[1], y->shape[1], (size_t)RP_AT(attr, max_pool, window).list[0]);
    p->w = rp_conv_axis_of(attr, 1, x->shape[2], y->shape[2], (size_t)RP_AT(attr, max_pool, window).list[1]);
    p->x = x;
    p->y = y;
    for (size_t ow = 0; ow < p->w.out && ow < MOST_COLUMNS; ow++)
        p->columns[ow] = rp_conv_taps(&p->w, ow);
}

static rp_taps column_taps(const pool *p, size_t ow)
{
    return ow < MOST_COLUMNS ? p->columns[ow] : rp_conv_taps(&p->w, ow);
}

#include "kernels/type_f32.h"
#include "kernels/cpu/pool_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/pool_type.inc.h"

/* Of all images from input `first` on. */
static bool channels_are_neighbours(const rp_kernel_args *args, size_t first)
{
    for (size_t i = first; i < args->n_in; i++)
        if (args->in[i].stride[3] != 1)
            return false;
    return args->out[0].stride[3] == 1;
}

typedef void pool_pixel(const pool *p, const rp_taps *r, size_t n, size_t oh, size_t ow);
typedef void pool_plane(const pool *p, const rp_view *x, size_t n, size_t c, size_t c_end);

/* An item is a pixel of y with all its channels. */
static void run_pixels(const rp_kernel_args *args, size_t begin, size_t end, pool_pixel *work)
{
    pool p;
    rp_taps r = {0};

    pool_begin(&p, &args->in[0], &args->out[0], args->attr);
    for (size_t item = begin; item < end; item++) {
        const size_t row = item / p.w.out, ow = item % p.w.out;

        if (ow == 0 || item == begin)
            r = rp_conv_taps(&p.h, row % p.h.out);
        work(&p, &r, row / p.h.out, row % p.h.out, ow);
    }
}

/* An item of a gradient is a channel of an image. */
static void run_planes(const rp_kernel_args *args, size_t begin, size_t end, pool_plane *work)
{
    const size_t channels = args->out[0].shape[3];
    pool p;

    pool_begin(&p, &args->out[0], &args->in[0], args->attr);
    while (begin < end) {
        const size_t c = begin % channels, room = channels - c < CHANNELS ? channels - c : CHANNELS;
        const size_t count = end - begin < room ? end - begin : room;

        work(&p, args->n_in > 1 ? &args->in[1] : NULL, begin / channels, c, c + count);
        begin += count;
    }
}

/* turns: input 0 is a gradient that may lie otherwise. */
#define POOL(name, walk, turns) \
    extern const rp_kernel rp_kernel_##name##_ref; \
    static size_t name##_items(const rp_kernel_args *args) \
    { \
        return rp_kernel_##name##_ref.items(args); \
    } \
    static size_t name##_cost(const rp_kernel_args *args) \
    { \
        return 1 + rp_kernel_##name##_ref.cost(args) / 8; \
    } \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        if (channels_are_neighbours(args, turns)) \
            walk(args, begin, end, args->out[0].dtype == RP_F32 ? name##_f32 : name##_f64); \
        else \
            rp_kernel_##name##_ref.run(args, begin, end); \
    } \
    RP_DEFINE_KERNEL(name, name##_items, name##_run, name##_cost)

POOL(max_pool, run_pixels, 0);
POOL(max_pool_grad, run_planes, 1);
POOL(avg_pool, run_pixels, 0);
POOL(avg_pool_grad, run_planes, 1);
