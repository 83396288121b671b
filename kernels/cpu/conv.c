/* SPDX-License-Identifier: Apache-2.0
 * Convolution and its gradients for one instruction set (CONTRACT 4.5), as a matrix product that is never laid out in
 * memory: outputs whose terms are the same taps are gathered into a block of rows, and a chunk of terms at a time is
 * packed and run through register tiles. Vectors lie across outputs, so every output runs its own chain in order. */
#include <string.h>

#include "kernels/cpu/inline_math.h"
#include "kernels/cpu/vec.h"
#ifdef VEC_BYTES
#include "kernels/cpu/matmul_zip.h"
#endif
#include "kernels/level.h"
#include "kernels/ref/conv.h"

enum { BLOCK_BYTES = 480, MOST_ROWS = BLOCK_BYTES / 4 }; /* a packed block of rows stays in the second cache */

/* Rows of a register tile. */
#if !defined(VEC_BYTES) || VEC_BYTES == 32
#define CONV_ROWS 6
#else
#define CONV_ROWS 12
#endif

#ifdef VEC_BYTES
#define WIDEST VEC_BYTES
#else
#define WIDEST 64
#endif

/* Consecutive terms: offsets in elements of the first from a row's a and from b. */
typedef struct segment {
    ptrdiff_t a, b;
    size_t n;
} segment;

/* A block of outputs, rows x columns a group, with the same terms, and the terms of the chunk that is being gathered:
 * y[i][j] is the chain of a[i][.. + l a_step] * b[.. + l b_step + j b_col]. Steps are in elements. */
typedef struct block {
    size_t rows, columns, groups;
    void *y[MOST_ROWS];
    const void *a[MOST_ROWS];
    const void *b;
    ptrdiff_t a_step, b_step, b_col, y_col, a_group, b_group, y_group;
    bool side_by_side; /* a[i] is a[0] + i */
    void (*run)(const struct block *block);
    segment segment[RP_CONV_CHUNK];
    size_t segments, terms, chunk;
    bool first; /* no chunk has been run yet */
} block;

static void begin_terms(block *p)
{
    p->segments = p->terms = 0;
    p->first = true;
}

static void run_chunk(block *p)
{
    p->run(p);
    p->segments = p->terms = 0;
    p->first = false;
}

/* n terms with indices from `index` on; indices ascend from call to call. */
static void add_terms(block *p, size_t index, ptrdiff_t a, ptrdiff_t b, size_t n)
{
    while (n > 0) {
        const size_t room = RP_CONV_CHUNK - index % RP_CONV_CHUNK, count = n < room ? n : room;

        if (p->segments > 0 && p->chunk != index / RP_CONV_CHUNK)
            run_chunk(p);
        p->chunk = index / RP_CONV_CHUNK;
        p->segment[p->segments++] = (segment){a, b, count};
        p->terms += count;
        index += count;
        a += (ptrdiff_t)count * p->a_step;
        b += (ptrdiff_t)count * p->b_step;
        n -= count;
    }
}

/* Outputs without any term are +0: the empty chain. */
static void end_terms(block *p)
{
    if (p->segments > 0 || p->first)
        run_chunk(p);
}

/* Coordinates start, start + step, ... (count of them) that have the same taps. */
typedef struct same_taps {
    size_t start, count, step;
    rp_taps taps;
} same_taps;

/* One side of the image: the pixels being computed, and whether they are inputs (the input gradient). */
typedef struct side {
    const rp_conv_axis *axis;
    bool back;
    size_t length, step, move; /* neighbours with the same taps are step apart, and move apart on the other side */
} side;

static side side_of(const rp_conv_axis *axis, bool back)
{
    const size_t stride = (size_t)axis->stride;

    return (side){axis, back, back ? axis->in : axis->out, back ? stride : 1, back ? 1 : stride};
}

static rp_taps taps_of(const side *s, size_t at)
{
    return s->back ? rp_conv_taps_back(s->axis, at) : rp_conv_taps(s->axis, at);
}

/* Goes through all coordinates; a run with count 0 begins. */
static bool next_same(const side *s, same_taps *run)
{
    size_t at = run->start + run->count * s->step;

    if (run->count > 0 && at >= s->length) {
        at = run->start % s->step + 1; /* the next residue */
        if (at >= s->step)
            return false;
    }
    if (at >= s->length)
        return false;
    run->start = at;
    run->count = 1;
    run->taps = taps_of(s, at);
    for (at += s->step; at < s->length; at += s->step) {
        const rp_taps taps = taps_of(s, at);

        if (taps.first != run->taps.first || taps.count != run->taps.count)
            break;
        run->count++;
    }
    return true;
}

/* The weight's taps along s as one row of rows, for few channels: where each row of x lies in order. */
enum { MOST_BESIDE = 32, MOST_RUNS = 32 };

typedef struct beside {
    size_t c, begin, end, runs;
    ptrdiff_t x_step, x_move, y_step; /* from pixel to pixel, from term to term; of y both are one */
    same_taps run[MOST_RUNS];
} beside;

/* What a tile does with its chains: they are the outputs, join them, or go on from them. */
typedef enum outcome { SET, ADD, RESUME } outcome;

#include "kernels/type_f32.h"
#include "kernels/cpu/conv_type.inc.h"
#include "kernels/cpu/conv_weight_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/conv_type.inc.h"
#include "kernels/cpu/conv_weight_type.inc.h"

/* How to run a chunk: channels that do not mix lie in vectors, everything else goes through tiles. */
static void choose_run(block *p, rp_dtype dtype, size_t depth)
{
    if (depth == 1 && p->columns == 1 && p->a_group == 1 && p->b_group == 1 && p->y_group == 1)
        p->run = dtype == RP_F32 ? channels_f32 : channels_f64;
    else
        p->run = dtype == RP_F32 ? tiles_f32 : tiles_f64;
}

/* The pixels of `to` from those of `from`: forward, or the input gradient. */
typedef struct pixels {
    const rp_conv *conv;
    const rp_view *to, *from;
    size_t depth; /* terms a tap */
    side h, w;
    block block;
} pixels;

/* Whether the taps along a row of the image are one run of terms, in both operands: then they are given as one. */
static bool taps_join(const pixels *p, const rp_taps *s)
{
    return s->step == 1 && s->move * p->from->stride[2] == (ptrdiff_t)p->depth * p->block.a_step &&
           p->conv->weight->stride[1] == (ptrdiff_t)p->depth * p->block.b_step;
}

static void flush(pixels *p, const rp_taps *r, const rp_taps *s)
{
    const rp_view *weight = p->conv->weight;
    const size_t joined = taps_join(p, s) && s->count > 0 ? s->count : 1;

    if (p->block.rows == 0)
        return;
    begin_terms(&p->block);
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < s->count; j += joined) {
            const size_t row = r->first + i * r->step, column = s->first + j * s->step;

            add_terms(&p->block, (row * p->conv->w.taps + column) * p->depth,
                      (ptrdiff_t)i * r->move * p->from->stride[1] + (ptrdiff_t)j * s->move * p->from->stride[2],
                      (ptrdiff_t)row * weight->stride[0] + (ptrdiff_t)column * weight->stride[1], joined * p->depth);
        }
    end_terms(&p->block);
    p->block.rows = 0;
}

/* Adds to the block the pixels of one row of one image that have the taps of h and w and are items [begin, end). */
static void add_row(pixels *p, size_t image, const same_taps *h, size_t i, const same_taps *w, size_t begin, size_t end)
{
    const size_t row = h->start + i * p->h.step, item = (image * p->h.length + row) * p->w.length;
    const rp_view *to = p->to, *from = p->from;
    const ptrdiff_t to_row = (ptrdiff_t)image * to->stride[0] + (ptrdiff_t)row * to->stride[1];
    const ptrdiff_t from_row = (ptrdiff_t)image * from->stride[0] +
                               (h->taps.at + (ptrdiff_t)(i * p->h.move)) * from->stride[1];

    if (item >= end || item + p->w.length <= begin)
        return;
    for (size_t j = 0; j < w->count; j++) {
        const size_t column = w->start + j * p->w.step;

        if (item + column < begin || item + column >= end)
            continue;
        p->block.y[p->block.rows] = rp_view_at(to, to_row + (ptrdiff_t)column * to->stride[2]);
        p->block.a[p->block.rows++] =
            rp_view_at(from, from_row + (w->taps.at + (ptrdiff_t)(j * p->w.move)) * from->stride[2]);
        if (p->block.rows == BLOCK_BYTES / rp_dtype_size(to->dtype))
            flush(p, &h->taps, &w->taps);
    }
}

static void run_pixels(pixels *p, size_t begin, size_t end)
{
    const size_t plane = p->h.length * p->w.length;

    p->block.rows = 0;
    for (same_taps h = {0}; next_same(&p->h, &h);)
        for (same_taps w = {0}; next_same(&p->w, &w);) {
            for (size_t image = begin / plane; image * plane < end; image++)
                for (size_t i = 0; i < h.count; i++)
                    add_row(p, image, &h, i, &w, begin, end);
            flush(p, &h.taps, &w.taps);
        }
}

static void conv2d_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_conv conv = rp_conv_forward(args);
    const rp_view *x = conv.x, *w = conv.weight, *y = conv.y;
    pixels p = {.conv = &conv, .to = y, .from = x, .depth = conv.c,
                .h = side_of(&conv.h, false), .w = side_of(&conv.w, false)};

    if (begin == end)
        return;
    p.block.columns = conv.k;
    p.block.groups = conv.groups;
    p.block.b = w->data;
    p.block.a_step = x->stride[3];
    p.block.b_step = w->stride[2];
    p.block.b_col = w->stride[3];
    p.block.y_col = y->stride[3];
    p.block.a_group = (ptrdiff_t)conv.c * x->stride[3];
    p.block.b_group = (ptrdiff_t)conv.k * w->stride[3];
    p.block.y_group = (ptrdiff_t)conv.k * y->stride[3];
    choose_run(&p.block, y->dtype, conv.c);
    run_pixels(&p, begin, end);
}

static void conv2d_grad_input_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_conv conv = rp_conv_grad_input(args);
    const rp_view *x = conv.x, *w = conv.weight, *y = conv.y;
    pixels p = {.conv = &conv, .to = x, .from = y, .depth = conv.k,
                .h = side_of(&conv.h, true), .w = side_of(&conv.w, true)};

    if (begin == end)
        return;
    p.block.columns = conv.c;
    p.block.groups = conv.groups;
    p.block.b = w->data;
    p.block.a_step = y->stride[3];
    p.block.b_step = w->stride[3];
    p.block.b_col = w->stride[2];
    p.block.y_col = x->stride[3];
    p.block.a_group = (ptrdiff_t)conv.k * y->stride[3];
    p.block.b_group = (ptrdiff_t)conv.k * w->stride[3];
    p.block.y_group = (ptrdiff_t)conv.c * x->stride[3];
    choose_run(&p.block, x->dtype, conv.k);
    run_pixels(&p, begin, end);
}

/* Rows [begin, end) of one tap (r, s) of the weight: a row is an input channel, a term a pixel of y. */
static void run_tap(const rp_conv *conv, block *p, size_t tap, size_t begin, size_t end)
{
    const rp_view *x = conv->x, *w = conv->weight, *y = conv->y;
    const size_t r = tap / conv->w.taps, s = tap % conv->w.taps;
    size_t top, bottom, left, right;

    rp_conv_outputs(&conv->h, r, &top, &bottom);
    rp_conv_outputs(&conv->w, s, &left, &right);
    for (p->rows = 0; begin + p->rows < end; p->rows++) {
        p->a[p->rows] = rp_view_at(x, (ptrdiff_t)(begin + p->rows) * x->stride[3]);
        p->y[p->rows] = rp_view_at(w, (ptrdiff_t)r * w->stride[0] + (ptrdiff_t)s * w->stride[1] +
                                          (ptrdiff_t)(begin + p->rows) * w->stride[2]);
    }
    begin_terms(p);
    for (size_t n = 0; n < conv->images; n++)
        for (size_t oh = top; oh < bottom; oh++) {
            const int64_t h = (int64_t)oh * conv->h.stride + (int64_t)r * conv->h.dilation - conv->h.pad;
            const int64_t column = (int64_t)left * conv->w.stride + (int64_t)s * conv->w.dilation - conv->w.pad;

            add_terms(p, (n * conv->h.out + oh) * conv->w.out + left,
                      (ptrdiff_t)n * x->stride[0] + h * x->stride[1] + column * x->stride[2],
                      (ptrdiff_t)n * y->stride[0] + (ptrdiff_t)oh * y->stride[1] + (ptrdiff_t)left * y->stride[2],
                      right - left);
        }
    end_terms(p);
}

/* Fills b where the taps along s may be computed together. */
static bool can_lie_beside(const rp_conv *conv, beside *b)
{
    const rp_view *x = conv->x, *w = conv->weight, *y = conv->y;
    const size_t panel = 2 * WIDEST / rp_dtype_size(w->dtype);
    const side across = side_of(&conv->w, false);

    if (conv->groups != 1 || conv->c >= CONV_ROWS || conv->w.taps * conv->c > MOST_BESIDE || conv->k % panel != 0 ||
        x->stride[3] != 1 || conv->w.dilation * x->stride[2] != (int64_t)conv->c || w->stride[3] != 1 || y->stride[3] != 1)
        return false;
    *b = (beside){.c = conv->c, .x_step = x->stride[2], .x_move = conv->w.stride * x->stride[2], .y_step = y->stride[2]};
    for (same_taps run = {0}; next_same(&across, &run);) {
        if (b->runs == MOST_RUNS)
            return false;
        b->run[b->runs++] = run;
    }
    return true;
}

static void conv2d_grad_weight_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_conv conv = rp_conv_grad_weight(args);
    const rp_view *x = conv.x, *w = conv.weight, *y = conv.y;
    const size_t most = BLOCK_BYTES / rp_dtype_size(w->dtype);
    beside all;
    const bool together = can_lie_beside(&conv, &all);
    const size_t length = together ? conv.w.taps * conv.c : conv.c;
    block p = {.columns = conv.k, .groups = conv.groups, .b = y->data,
               .a_step = conv.w.stride * x->stride[2], .b_step = y->stride[2], .b_col = y->stride[3],
               .y_col = w->stride[3], .a_group = (ptrdiff_t)conv.c * x->stride[3],
               .b_group = (ptrdiff_t)conv.k * y->stride[3], .y_group = (ptrdiff_t)conv.k * w->stride[3],
               .side_by_side = x->stride[3] == 1};

    choose_run(&p, w->dtype, conv.c);
    while (begin < end) {
        const size_t at = begin % length, room = length - at < most ? length - at : most;
        const size_t count = end - begin < room ? end - begin : room;

        all.begin = at;
        all.end = at + count;
        if (!together)
            run_tap(&conv, &p, begin / length, at, at + count);
        else if (w->dtype == RP_F32)
            taps_beside_f32(&conv, &all, begin / length);
        else
            taps_beside_f64(&conv, &all, begin / length);
        begin += count;
    }
}

RP_DEFINE_KERNEL(conv2d, rp_items_rows, conv2d_run, rp_conv_forward_cost);
RP_DEFINE_KERNEL(conv2d_grad_input, rp_items_rows, conv2d_grad_input_run, rp_conv_grad_input_cost);
RP_DEFINE_KERNEL(conv2d_grad_weight, rp_items_rows, conv2d_grad_weight_run, rp_conv_grad_weight_cost);
