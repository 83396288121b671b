/* SPDX-License-Identifier: Apache-2.0
 * A line of sort and topk: what the reference and the variants make of a kernel's arguments. */
#ifndef KERNELS_REF_ORDER_ORDER_H
#define KERNELS_REF_ORDER_ORDER_H

#include "kernels/walk.h"

/* The first k of the n elements of x, in order, and their places; steps in elements. */
typedef struct order_line {
    void *y;
    int64_t *place;
    const void *x;
    ptrdiff_t y_step, place_step, x_step;
    size_t n, k;
    bool descending;
} order_line;

/* A walk over the rows of y, place and x. */
static inline void order_walk(rp_walk *walk, const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view y = rp_view_rows(&args->out[0]), place = rp_view_rows(&args->out[1]);
    const rp_view x = rp_view_rows(&args->in[0]);
    const rp_view *rows[3] = {&y, &place, &x};

    rp_walk_begin(walk, rows, 3, begin, end);
}

/* Line i of the walk's run. */
static inline order_line order_line_at(const rp_walk *walk, size_t i, const rp_kernel_args *args, bool descending)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(args->in[0].dtype), at = (ptrdiff_t)i;
    order_line l;

    l.y = (char *)walk->at[0] + at * walk->step[0] * size;
    l.place = (int64_t *)walk->at[1] + at * walk->step[1];
    l.x = (const char *)walk->at[2] + at * walk->step[2] * size;
    l.y_step = rp_view_last_stride(&args->out[0]);
    l.place_step = rp_view_last_stride(&args->out[1]);
    l.x_step = rp_view_last_stride(&args->in[0]);
    l.n = rp_view_last(&args->in[0]);
    l.k = rp_view_last(&args->out[0]);
    l.descending = descending;
    return l;
}

#endif
