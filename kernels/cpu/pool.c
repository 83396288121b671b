/* SPDX-License-Identifier: Apache-2.0
 * Pooling and its gradients for one instruction set (CONTRACT 4.5): vectors lie across channels, so each channel's
 * window is still taken in order. A gradient whose channels are not neighbours, as a flattened image's, is turned on
 * the way; other images with such channels go to the reference. */
#include <string.h>

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/level.h"
#include "kernels/ref/conv/conv.h"
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#define POOL_PAIRS /* the levels that permute the lanes of two vectors */
#include "kernels/cpu/pool_pairs.h"
#endif

/* Columns whose taps are looked up once; channels at a time; pixels of a gradient, and elements of
 * a row of it, that are turned at a time. */
enum { MOST_COLUMNS = 512, CHANNELS = 64, TURNED_COLUMNS = 16, TURNED_ROW = 4096 };

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

#if defined(POOL_PAIRS)
static bool axis_of_pairs(const rp_conv_axis *axis)
{
    return axis->taps == 2 && axis->stride == 2 && axis->dilation == 1 && axis->pad == 0 && 2 * axis->out <= axis->in;
}

static bool row_is_whole(const rp_view *view)
{
    return view->stride[2] == (ptrdiff_t)view->shape[3] && view->stride[3] == 1;
}

/* Whole windows of 2 x 2 side by side, in rows without gaps; x is what a maximum's gradient reads. */
static bool are_pairs(const pool *p, const rp_view *x)
{
    return p->x->dtype == RP_F32 && axis_of_pairs(&p->h) && axis_of_pairs(&p->w) && row_is_whole(p->x) &&
           (x == NULL || row_is_whole(x));
}

static bool row_may_turn(const rp_view *g)
{
    return row_is_whole(g) || g->shape[2] * g->shape[3] <= TURNED_ROW;
}

/* Outputs [begin, end), which are pixels of y, a row or a part of one at a time. */
static void pair_pixels(const pool *p, size_t begin, size_t end, bool mean)
{
    const size_t channels = p->x->shape[3];
    const pairs s = pairs_of(channels, 0, channels);

    while (begin < end) {
        const size_t row = begin / p->w.out, ow = begin % p->w.out, n = row / p->h.out, oh = row % p->h.out;
        const size_t count = end - begin < p->w.out - ow ? end - begin : p->w.out - ow;
        const pair_rows r = {.x = pixel_f32(p->x, n, (ptrdiff_t)(2 * oh), (ptrdiff_t)(2 * ow), 0),
                             .y = pixel_f32(p->y, n, (ptrdiff_t)oh, (ptrdiff_t)ow, 0),
                             .x_row = p->x->stride[1]};

        if (mean)
            pair_row(&s, &r, count, PAIR_MEANS);
        else
            pair_row(&s, &r, count, PAIR_MAXIMA);
        begin += count;
    }
}

/* Row oh of an image's gradient, its channels made neighbours. */
static const float *turned_row(const pool *p, const pairs *s, size_t n, size_t oh, float *to)
{
    const float *g = pixel_f32(p->y, n, (ptrdiff_t)oh, 0, 0);

    if (row_is_whole(p->y))
        return g;
    for (size_t i = 0; i < p->w.out; i++)
        for (size_t c = s->begin; c < s->end; c++)
            to[i * s->channels + c] = g[(ptrdiff_t)i * p->y->stride[2] + (ptrdiff_t)c * p->y->stride[3]];
    return to;
}

/* The pairs' channels of image n; what is in no window is +0. */
static void pair_image(const pool *p, const pairs *s, const rp_view *x, size_t n)
{
    float turned[TURNED_ROW];

    for (size_t oh = 0; oh < p->h.out; oh++) {
        pair_rows r = {.g = turned_row(p, s, n, oh, turned),
                       .dx = pixel_f32(p->x, n, (ptrdiff_t)(2 * oh), 0, 0),
                       .dx_row = p->x->stride[1]};

        if (x == NULL) {
            pair_row(s, &r, p->w.out, PAIR_MEANS_BACK);
            continue;
        }
        r.x = pixel_f32(x, n, (ptrdiff_t)(2 * oh), 0, 0);
        r.x_row = x->stride[1];
        pair_row(s, &r, p->w.out, PAIR_MAXIMA_BACK);
    }
    for (size_t h = 0; h < p->h.in; h++)
        for (size_t w = h < 2 * p->h.out ? 2 * p->w.out : 0; w < p->w.in; w++)
            memset(pixel_f32(p->x, n, (ptrdiff_t)h, (ptrdiff_t)w, s->begin), 0, (s->end - s->begin) * sizeof(float));
}

/* Items [begin, end), which are channels of images. */
static void pair_images(const pool *p, const rp_view *x, size_t begin, size_t end)
{
    const size_t channels = p->x->shape[3];

    while (begin < end) {
        const size_t c = begin % channels, count = end - begin < channels - c ? end - begin : channels - c;
        const pairs s = pairs_of(channels, c, c + count);

        pair_image(p, &s, x, begin / channels);
        begin += count;
    }
}
#endif

typedef void pool_pixel(const pool *p, const rp_taps *r, size_t n, size_t oh, size_t ow);
typedef void pool_plane(const pool *p, const rp_view *x, size_t n, size_t c, size_t c_end);

/* An item is a pixel of y with all its channels. */
static void run_pixels(const rp_kernel_args *args, size_t begin, size_t end, pool_pixel *work)
{
    pool p;
    rp_taps r = {0};

    pool_begin(&p, &args->in[0], &args->out[0], args->attr);
#if defined(POOL_PAIRS)
    if (are_pairs(&p, NULL) && row_is_whole(p.y)) {
        pair_pixels(&p, begin, end, work == avg_pool_f32);
        return;
    }
#endif
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
    const rp_view *x = args->n_in > 1 ? &args->in[1] : NULL;
    const size_t channels = args->out[0].shape[3];
    pool p;

    pool_begin(&p, &args->out[0], &args->in[0], args->attr);
#if defined(POOL_PAIRS)
    if (are_pairs(&p, x) && row_may_turn(p.y)) {
        pair_images(&p, x, begin, end);
        return;
    }
#endif
    while (begin < end) {
        const size_t c = begin % channels, room = channels - c < CHANNELS ? channels - c : CHANNELS;
        const size_t count = end - begin < room ? end - begin : room;

        work(&p, x, begin / channels, c, c + count);
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
