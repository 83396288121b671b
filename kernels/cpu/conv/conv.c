/* SPDX-License-Identifier: Apache-2.0
 * Convolution and its gradients for one instruction set (CONTRACT 4.5), as a matrix product that is never laid out in
 * memory: a chunk of terms at a time is packed and run through register tiles. Vectors lie across outputs, so every
 * output runs its own chain in order. A 1 x 1 convolution of plain images is the matrix product itself. */
#include <string.h>

#include "kernels/chain/epilogue.h"
#include "kernels/cpu/conv/conv_pixels.h"
#include "kernels/cpu/conv/conv_sizes.h"
#include "kernels/level.h"

#include "kernels/type_f32.h"
#include "kernels/cpu/conv/conv_tile.inc.h"
#include "kernels/cpu/conv/conv_turned_type.inc.h"
#include "kernels/cpu/conv/conv_pixels_type.inc.h"
#include "kernels/cpu/conv/conv_narrow_type.inc.h"
#include "kernels/cpu/conv/conv_lines_type.inc.h"
#include "kernels/cpu/conv/conv_channels_type.inc.h"
#include "kernels/cpu/conv/conv_groups_type.inc.h"
#include "kernels/cpu/conv/conv_weight_type.inc.h"
#include "kernels/cpu/conv/conv_channels_weight_type.inc.h"
#include "kernels/cpu/conv/conv_taps_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/conv/conv_tile.inc.h"
#include "kernels/cpu/conv/conv_turned_type.inc.h"
#include "kernels/cpu/conv/conv_pixels_type.inc.h"
#include "kernels/cpu/conv/conv_narrow_type.inc.h"
#include "kernels/cpu/conv/conv_lines_type.inc.h"
#include "kernels/cpu/conv/conv_channels_type.inc.h"
#include "kernels/cpu/conv/conv_groups_type.inc.h"
#include "kernels/cpu/conv/conv_weight_type.inc.h"
#include "kernels/cpu/conv/conv_channels_weight_type.inc.h"
#include "kernels/cpu/conv/conv_taps_type.inc.h"
#include "kernels/type_end.h"

extern const rp_kernel RP_KERNEL(matmul);

/* A matrix product with the same bits as a convolution. */
typedef struct product {
    rp_view in[2], out;
    rp_kernel_args args;
} product;

/* [n, h, w, c] as [n h w, c]. */
static bool as_rows(const rp_view *image, rp_view *rows)
{
    for (int d = 0; d < 2; d++)
        if (image->stride[d] != image->stride[d + 1] * (ptrdiff_t)image->shape[d + 1])
            return false;
    *rows = (rp_view){.data = image->data,
                      .dtype = image->dtype,
                      .rank = 2,
                      .shape = {image->shape[0] * image->shape[1] * image->shape[2], image->shape[3]},
                      .stride = {image->stride[2], image->stride[3]}};
    return rows->shape[0] > 0 && rows->shape[1] > 0;
}

static rp_view turned(const rp_view *v)
{
    rp_view t = *v;

    t.shape[0] = v->shape[1];
    t.shape[1] = v->shape[0];
    t.stride[0] = v->stride[1];
    t.stride[1] = v->stride[0];
    return t;
}

/* x, weight and y as matrices, where they are. */
static bool as_matrices(const rp_conv *conv, rp_view *x, rp_view *weight, rp_view *y)
{
    const rp_conv_axis *axes[2] = {&conv->h, &conv->w};

    for (int d = 0; d < 2; d++)
        if (axes[d]->taps != 1 || axes[d]->stride != 1 || axes[d]->pad != 0 || axes[d]->in != axes[d]->out)
            return false;
    *weight = *conv->weight;
    weight->rank = 2;
    for (int d = 0; d < 2; d++) {
        weight->shape[d] = conv->weight->shape[d + 2];
        weight->stride[d] = conv->weight->stride[d + 2];
    }
    return conv->groups == 1 && as_rows(conv->x, x) && as_rows(conv->y, y);
}

/* Forward, or the input gradient (back). */
static bool as_product(const rp_kernel_args *args, bool back, product *p)
{
    const rp_conv conv = back ? rp_conv_grad_input(args) : rp_conv_forward(args);
    rp_view x, weight, y;

    if (!as_matrices(&conv, &x, &weight, &y))
        return false;
    p->in[0] = back ? y : x;
    p->in[1] = back ? turned(&weight) : weight;
    p->out = back ? x : y;
    p->args = (rp_kernel_args){.in = p->in, .n_in = 2, .out = &p->out, .n_out = 1};
    return true;
}

/* How pixels are cut into items: strips of columns, each of all pixels, an item being one pixel of one strip. So
 * threads share large weights and few pixels by columns, and many pixels by pixels. */
typedef struct strips {
    size_t pixels, columns, panel, panels, n;
} strips;

static strips strips_of(const rp_view *to, const rp_conv *conv, size_t columns)
{
    const size_t panel = PANEL_BYTES / rp_dtype_size(to->dtype);
    const bool apart = conv->groups > 1; /* narrow groups: by pixels only */
    strips s = {.pixels = to->shape[0] * to->shape[1] * to->shape[2],
                .columns = columns,
                .panel = panel,
                .panels = (columns + panel - 1) / panel};
    size_t wide = panel;

    while (wide * 2 <= 1024 && wide * 2 <= s.pixels)
        wide *= 2;
    s.n = apart || columns == 0 ? 1 : (columns + wide - 1) / wide;
    return s;
}

static size_t strip_start(const strips *s, size_t strip)
{
    const size_t column = s->panels * strip / s->n * s->panel;

    return strip == s->n || column > s->columns ? s->columns : column;
}

static bool mixes_nothing(const rp_conv *conv)
{
    return conv->c == 1 && conv->k == 1 && conv->groups > 1;
}

/* Pixels [begin, end) and columns [column, column_end) of every group; of several groups, all columns. */
static void run_block(const plan *all, size_t begin, size_t end, size_t column, size_t column_end)
{
    const rp_conv *conv = all->conv;
    const bool single = all->to.dtype == RP_F32, whole = column == 0 && column_end == all->columns;
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(all->to.dtype);
    plan p = *all;

    if (mixes_nothing(conv) && conv->h.taps * conv->w.taps <= RP_CONV_CHUNK &&
        (single ? channels_f32 : channels_f64)(&p, begin, end))
        return;
    if (conv->groups > 1 && (single ? few_of_groups_f32 : few_of_groups_f64)(&p, begin, end))
        return;
    for (size_t g = 0; g < conv->groups; g++) {
        if (!whole || !(single ? narrow_pixels_f32 : narrow_pixels_f64)(&p, begin, end))
            (single ? run_pixels_f32 : run_pixels_f64)(&p, begin, end, column, column_end);
        p.to.data = (char *)p.to.data + (ptrdiff_t)p.columns * size * p.to.stride[3];
        p.from.data = (char *)p.from.data + (ptrdiff_t)p.depth * size * p.from.stride[3];
        p.weight.data = (char *)p.weight.data + (ptrdiff_t)conv->k * size * p.weight.stride[3];
    }
}

/* The same with what goes on behind each part of it: as many pixels at a time as are still in the second cache then,
 * and more than those for which a weight is not worth packing. First layers of few channels lose more by the cut. */
static void run_behind(const plan *p, size_t begin, size_t end, size_t column, size_t column_end,
                       const rp_epilogue *epilogue)
{
    const size_t groups = p->conv->groups, columns = groups * (column_end - column), all = groups * p->columns;
    const size_t most = 2 * MOST_ROWS + BEHIND_BYTES / (1 + columns * rp_dtype_size(p->to.dtype));
    const bool whole = groups == 1 && p->depth < FEW_CHANNELS;
    const size_t parts = whole ? 1 : (end - begin + most - 1) / most, n = (end - begin + parts - 1) / parts;

    for (size_t last; begin < end; begin = last) {
        last = end - begin < n ? end : begin + n;
        run_block(p, begin, last, column, column_end);
        epilogue->run(epilogue->self, begin * all + column, last - begin, all, columns);
    }
}

/* Items [begin, end) of the pixels. epilogue: NULL, or of a `to` that is contiguous. */
static void run_strips(const plan *p, const strips *s, size_t begin, size_t end, const rp_epilogue *epilogue)
{
    while (begin < end) {
        const size_t strip = begin / s->pixels, pixel = begin % s->pixels, left = end - begin, room = s->pixels - pixel;
        const size_t count = left < room ? left : room;
        const size_t whole = pixel == 0 && left >= s->pixels ? left / s->pixels : 1;
        const size_t column = strip_start(s, strip), column_end = strip_start(s, strip + whole);

        if (epilogue)
            run_behind(p, pixel, pixel + count, column, column_end, epilogue);
        else
            run_block(p, pixel, pixel + count, column, column_end);
        begin += count * whole;
    }
}

/* Items of the forward pass, or of the input gradient (back). */
static void run_conv(const rp_conv *conv, bool back, size_t begin, size_t end, const rp_epilogue *epilogue)
{
    const rp_view *to = back ? conv->x : conv->y, *from = back ? conv->y : conv->x, *weight = conv->weight;
    const size_t columns = back ? conv->c : conv->k;
    const strips s = strips_of(to, conv, columns);
    plan p = {.conv = conv,
              .to = *to,
              .from = *from,
              .weight = *weight,
              .depth = back ? conv->k : conv->c,
              .columns = columns,
              .a_step = from->stride[3],
              .b_step = weight->stride[back ? 3 : 2],
              .b_col = weight->stride[back ? 2 : 3],
              .y_col = to->stride[3],
              .h = side_of(&conv->h, back),
              .w = side_of(&conv->w, back)};

    if (begin == end)
        return;
    if (p.depth == 1 && conv->groups == 1)
        p.a_step = 1; /* of a single term no step is taken, and taps that lie so join */
    run_strips(&p, &s, begin, end, epilogue);
}

static strips strips_for(const rp_kernel_args *args, bool back)
{
    const rp_conv conv = back ? rp_conv_grad_input(args) : rp_conv_forward(args);

    return strips_of(back ? conv.x : conv.y, &conv, back ? conv.c : conv.k);
}

#define PIXEL_KERNEL(name, operands, back) \
    static size_t name##_items(const rp_kernel_args *args) \
    { \
        const strips s = strips_for(args, back); \
        product p; \
\
        return as_product(args, back, &p) ? RP_KERNEL(matmul).items(&p.args) : s.pixels * s.n; \
    } \
    static size_t name##_cost(const rp_kernel_args *args) \
    { \
        product p; \
\
        return as_product(args, back, &p) ? RP_KERNEL(matmul).cost(&p.args) \
                                          : 1 + operands##_cost(args) / strips_for(args, back).n; \
    } \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        const rp_conv conv = operands(args); \
        product p; \
\
        if (as_product(args, back, &p)) \
            RP_KERNEL(matmul).run(&p.args, begin, end); \
        else \
            run_conv(&conv, back, begin, end, NULL); \
    } \
    RP_DEFINE_KERNEL(name, name##_items, name##_run, name##_cost)

PIXEL_KERNEL(conv2d, rp_conv_forward, false);
PIXEL_KERNEL(conv2d_grad_input, rp_conv_grad_input, true);

#ifdef VEC_BYTES
extern rp_epilogue_run RP_KERNEL(epilogue_run), RP_KERNEL(conv2d_behind), RP_KERNEL(conv2d_grad_input_behind);

static void run_and_go_on(const rp_kernel_args *args, const rp_conv *conv, bool back, size_t begin, size_t end,
                          const rp_epilogue *epilogue)
{
    product p;

    if (as_product(args, back, &p))
        RP_KERNEL(epilogue_run)(&p.args, begin, end, epilogue);
    else
        run_conv(conv, back, begin, end, epilogue);
}

void RP_KERNEL(conv2d_behind)(const rp_kernel_args *args, size_t begin, size_t end, const rp_epilogue *epilogue)
{
    const rp_conv conv = rp_conv_forward(args);

    run_and_go_on(args, &conv, false, begin, end, epilogue);
}

void RP_KERNEL(conv2d_grad_input_behind)(const rp_kernel_args *args, size_t begin, size_t end,
                                         const rp_epilogue *epilogue)
{
    const rp_conv conv = rp_conv_grad_input(args);

    run_and_go_on(args, &conv, true, begin, end, epilogue);
}
#endif

/* Fills b where the taps along s may be computed together. */
static bool can_lie_beside(const rp_conv *conv, tap_line *b)
{
    const rp_view *x = conv->x, *w = conv->weight, *y = conv->y;
    const side across = side_of(&conv->w, false);

    if (conv->groups != 1 || conv->c >= CONV_ROWS || conv->w.taps * conv->c > MOST_BESIDE ||
        (x->stride[3] != 1 && conv->c > 1) || conv->w.dilation * x->stride[2] != (int64_t)conv->c ||
        w->stride[3] != 1 || y->stride[3] != 1)
        return false;
    *b = (tap_line){
        .c = conv->c, .x_step = x->stride[2], .x_move = conv->w.stride * x->stride[2], .y_step = y->stride[2]};
    for (same_taps run = {0}; next_same(&across, &run);) {
        if (b->runs == MOST_RUNS)
            return false;
        b->run[b->runs++] = run;
    }
    return true;
}

/* Rows of the weight, the taps of a row of the image together. */
static void run_beside(const rp_conv *conv, tap_line *all, size_t begin, size_t end)
{
    const size_t length = conv->w.taps * conv->c;

    while (begin < end) {
        const size_t at = begin % length, room = length - at, count = end - begin < room ? end - begin : room;

        all->begin = at;
        all->end = at + count;
        (conv->weight->dtype == RP_F32 ? taps_together_f32 : taps_together_f64)(conv, all, begin / length);
        begin += count;
    }
}

/* Channels that do not mix lie beside one another in all operands, the pixels of y at one step. */
static bool are_beside(const rp_conv *conv)
{
    const rp_view *y = conv->y;

    return conv->x->stride[3] == 1 && conv->weight->stride[3] == 1 && y->stride[3] == 1 &&
           y->stride[1] == (ptrdiff_t)conv->w.out * y->stride[2] &&
           y->stride[0] == (ptrdiff_t)conv->h.out * y->stride[1];
}

static bool is_by_channels(const rp_conv *conv)
{
    if (!mixes_nothing(conv))
        return false;
#ifdef VEC_BYTES
    if (conv->weight->dtype == RP_F32 ? may_pack_f32(conv) : may_pack_f64(conv))
        return true;
#endif
    return are_beside(conv);
}

/* Rows of the weight, or vectors of channels that do not mix. */
static size_t conv2d_grad_weight_items(const rp_kernel_args *args)
{
    const rp_conv conv = rp_conv_grad_weight(args);
    const size_t width = WIDEST / rp_dtype_size(conv.weight->dtype);

    return is_by_channels(&conv) ? (conv.groups + width - 1) / width : rp_items_rows(args);
}

static size_t conv2d_grad_weight_cost(const rp_kernel_args *args)
{
    const size_t items = conv2d_grad_weight_items(args);

    return items == 0 ? 0 : 1 + rp_conv_grad_weight_cost(args) * rp_items_rows(args) / items;
}

static void conv2d_grad_weight_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_conv conv = rp_conv_grad_weight(args);
    tap_line all;

    if (is_by_channels(&conv))
        (conv.weight->dtype == RP_F32 ? channels_weight_f32 : channels_weight_f64)(&conv, are_beside(&conv), begin,
                                                                                   end);
    else if (can_lie_beside(&conv, &all))
        run_beside(&conv, &all, begin, end);
    else
        (conv.weight->dtype == RP_F32 ? grad_weight_f32 : grad_weight_f64)(&conv, begin, end);
}

RP_DEFINE_KERNEL(conv2d_grad_weight, conv2d_grad_weight_items, conv2d_grad_weight_run, conv2d_grad_weight_cost);
