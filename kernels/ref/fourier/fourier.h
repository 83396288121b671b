/* SPDX-License-Identifier: Apache-2.0
 * A line of fft: what the reference and the variants make of a kernel's arguments. */
#ifndef KERNELS_REF_FOURIER_FOURIER_H
#define KERNELS_REF_FOURIER_FOURIER_H

#include "kernels/fourier/factors.h"
#include "kernels/walk.h"

/* u + i v of x + i y, n elements each; steps in elements. */
typedef struct fourier_line {
    void *u, *v;
    const void *x, *y;
    ptrdiff_t u_step, v_step, x_step, y_step;
    size_t n;
    bool inverse, transposed;
} fourier_line;

/* A walk over the rows of u, v, x and y. */
static inline void fourier_walk(rp_walk *walk, const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view u = rp_view_rows(&args->out[0]), v = rp_view_rows(&args->out[1]);
    const rp_view x = rp_view_rows(&args->in[0]), y = rp_view_rows(&args->in[1]);
    const rp_view *rows[4] = {&u, &v, &x, &y};

    rp_walk_begin(walk, rows, 4, begin, end);
}

/* Line i of the walk's run. */
static inline fourier_line fourier_line_at(const rp_walk *walk, size_t i, const rp_kernel_args *args)
{
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(args->in[0].dtype), at = (ptrdiff_t)i;
    fourier_line l;

    l.u = (char *)walk->at[0] + at * walk->step[0] * size;
    l.v = (char *)walk->at[1] + at * walk->step[1] * size;
    l.x = (const char *)walk->at[2] + at * walk->step[2] * size;
    l.y = (const char *)walk->at[3] + at * walk->step[3] * size;
    l.u_step = rp_view_last_stride(&args->out[0]);
    l.v_step = rp_view_last_stride(&args->out[1]);
    l.x_step = rp_view_last_stride(&args->in[0]);
    l.y_step = rp_view_last_stride(&args->in[1]);
    l.n = rp_view_last(&args->in[0]);
    l.inverse = RP_AT(args->attr, fft, inverse).i != 0;
    l.transposed = RP_AT(args->attr, fft, transposed).i != 0;
    return l;
}

#endif
