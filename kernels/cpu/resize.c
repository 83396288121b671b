/* SPDX-License-Identifier: Apache-2.0
 * Resizing along an axis for one instruction set, where what lies behind the axis is contiguous, as channels and rows
 * of images are: an item is a row of it, and taps are computed once for many rows. The rest goes to the reference. */
#include "kernels/ref/conv/resize.h"

#include <string.h>

#include "kernels/level.h"
#include "kernels/ref/taking.h"

/* Elements of a row that make vectors pay; taps kept at a time; elements summed at a time. */
enum { ROW_LEAST = 4, KEPT = 64, BLOCK = 64 };

/* Of element `at` of the resized axis, in a gradient. */
typedef struct share {
    int64_t at;
    double weight;
} share;

#include "kernels/type_f32.h"
#include "kernels/cpu/resize_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/resize_type.inc.h"
#include "kernels/type_end.h"

extern const rp_kernel rp_kernel_resize_ref, rp_kernel_resize_grad_ref;

/* The parts of both views before and behind the axis. */
typedef struct lines {
    rp_view in_outer, out_outer, in_inner, out_inner;
    ptrdiff_t in_row, out_row;   /* elements */
    size_t outer, length, inner; /* length: of out's axis */
    bool fast;
} lines;

static bool contiguous(const rp_view *view)
{
    ptrdiff_t step = 1;

    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != step)
            return false;
        step *= (ptrdiff_t)view->shape[d];
    }
    return true;
}

static lines lines_of(const rp_kernel_args *args)
{
    const int64_t axis = RP_AT(args->attr, resize, axis).i;
    const unsigned before = (1u << axis) - 1, upto = (1u << (axis + 1)) - 1;
    const rp_view *in = &args->in[0], *out = &args->out[0];
    lines l = {.in_outer = rp_view_axes(in, before, true),
               .out_outer = rp_view_axes(out, before, true),
               .in_inner = rp_view_axes(in, upto, false),
               .out_inner = rp_view_axes(out, upto, false),
               .in_row = in->stride[axis],
               .out_row = out->stride[axis],
               .length = out->shape[axis]};

    l.outer = rp_view_count(&l.out_outer);
    l.inner = rp_view_count(&l.out_inner);
    l.fast = l.inner >= ROW_LEAST && contiguous(&l.in_inner) && contiguous(&l.out_inner);
    return l;
}

static size_t items_of(const rp_kernel_args *args, const rp_kernel *reference)
{
    const lines l = lines_of(args);

    return l.fast ? l.outer * l.length : reference->items(args);
}

static size_t cost_of(const rp_kernel_args *args, const rp_kernel *reference, size_t each)
{
    const lines l = lines_of(args);

    return l.fast ? 10 + each * l.inner : reference->cost(args);
}

/* Rows [begin, end) of all are those of elements [from, *to) in outer block `outer`, if any. */
static size_t rows_of(const lines *l, size_t begin, size_t end, size_t outer, size_t from, size_t *to)
{
    const size_t first = outer * l->length, low = begin > first ? begin - first : 0, high = end - first;

    *to = *to < high ? *to : high;
    return from > low ? from : low;
}

static void *row_at(const rp_view *outer_view, size_t outer, ptrdiff_t row, size_t at)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(outer_view->dtype);

    return (char *)address(outer_view, outer) + (ptrdiff_t)at * row * size;
}

static void resize_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const lines l = lines_of(args);
    const resizing r = resizing_of(args->attr, args->in[0].shape[RP_AT(args->attr, resize, axis).i], l.length);
    resize_taps kept[KEPT];

    if (!l.fast) {
        rp_kernel_resize_ref.run(args, begin, end);
        return;
    }
    for (size_t o = 0; o < l.length && begin < end; o += KEPT) {
        const size_t n = l.length - o < KEPT ? l.length - o : KEPT;

        for (size_t k = 0; k < n; k++)
            kept[k] = resize_taps_of(&r, (int64_t)(o + k));
        for (size_t outer = begin / l.length; outer <= (end - 1) / l.length; outer++) {
            const void *x = address(&l.in_outer, outer);
            size_t to = o + n;

            for (size_t k = rows_of(&l, begin, end, outer, o, &to); k < to; k++)
                (args->out[0].dtype == RP_F32 ? resize_row_f32 : resize_row_f64)(
                    row_at(&l.out_outer, outer, l.out_row, k), x, l.in_row, &kept[k - o], l.inner);
        }
    }
}

/* The next shares of element i, from element *o on: at most KEPT of them, all taps of an element at once. */
static size_t next_shares(share *s, const resizing *r, int64_t i, int64_t *o, int64_t end)
{
    size_t n = 0;

    for (; *o < end && n + RP_RESIZE_TAPS <= KEPT; ++*o) {
        const resize_taps t = resize_taps_of(r, *o);

        for (int k = 0; k < t.n; k++)
            if (t.at[k] == i)
                s[n++] = (share){*o, t.weight[k]};
    }
    return n;
}

static void resize_grad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const lines l = lines_of(args);
    const resizing r = resizing_of(args->attr, l.length, args->in[0].shape[RP_AT(args->attr, resize, axis).i]);
    const bool narrow = args->out[0].dtype == RP_F32;
    share s[KEPT];

    if (!l.fast) {
        rp_kernel_resize_grad_ref.run(args, begin, end);
        return;
    }
    for (size_t i = 0; i < l.length && begin < end; i++) {
        int64_t o, last;

        resize_reached(&r, (int64_t)i, &o, &last);
        for (bool first = true; first || o < last; first = false) {
            const size_t n = next_shares(s, &r, (int64_t)i, &o, last);

            for (size_t outer = begin / l.length; outer <= (end - 1) / l.length; outer++) {
                size_t to = i + 1;

                if (rows_of(&l, begin, end, outer, i, &to) >= to)
                    continue;
                void *y = row_at(&l.out_outer, outer, l.out_row, i);

                if (first)
                    memset(y, 0, l.inner * rp_dtype_size(args->out[0].dtype));
                (narrow ? add_shares_f32 : add_shares_f64)(y, address(&l.in_outer, outer), l.in_row, s, n, l.inner);
            }
        }
    }
}

static size_t resize_items(const rp_kernel_args *args)
{
    return items_of(args, &rp_kernel_resize_ref);
}

static size_t resize_cost(const rp_kernel_args *args)
{
    return cost_of(args, &rp_kernel_resize_ref, 1 + (size_t)RP_AT(args->attr, resize, mode).i);
}

static size_t resize_grad_items(const rp_kernel_args *args)
{
    return items_of(args, &rp_kernel_resize_grad_ref);
}

static size_t resize_grad_cost(const rp_kernel_args *args)
{
    const int64_t axis = RP_AT(args->attr, resize, axis).i;

    return cost_of(args, &rp_kernel_resize_grad_ref, 2 + 2 * args->in[0].shape[axis] / args->out[0].shape[axis]);
}

RP_DEFINE_KERNEL(resize, resize_items, resize_run, resize_cost);
RP_DEFINE_KERNEL(resize_grad, resize_grad_items, resize_grad_run, resize_grad_cost);
