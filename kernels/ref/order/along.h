/* SPDX-License-Identifier: Apache-2.0
 * Taking and scattering along an axis: how both see their views. Every index names a place along the axis; all other
 * coordinates are the index's own. */
#ifndef KERNELS_REF_ORDER_ALONG_H
#define KERNELS_REF_ORDER_ALONG_H

#include "kernels/walk.h"

/* How what is scattered is combined with what is there: the attribute mode. */
enum { ALONG_SET, ALONG_SUM, ALONG_PRODUCT, ALONG_MOST, ALONG_LEAST };

/* Indices, step elements apart; axis_stride: elements from one place along the axis to the next. */
typedef struct along_index {
    const void *index;
    ptrdiff_t step, axis_stride;
    bool wide; /* i64 */
} along_index;

static inline ptrdiff_t index_along(const along_index *at, ptrdiff_t i)
{
    return at->wide ? (ptrdiff_t)((const int64_t *)at->index)[i * at->step]
                    : (ptrdiff_t)((const int32_t *)at->index)[i * at->step];
}

/* scatter_along's views: across the axis (the lines), and steps along it. */
typedef struct scattering {
    rp_view out, x, index, source; /* without the axis */
    ptrdiff_t out_step, x_step, index_step, source_step;
    size_t length, n; /* of the axis in out, in the index */
} scattering;

static inline scattering scattering_of(const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, scatter_along, axis).i;
    const unsigned along = 1u << axis;
    scattering s;

    s.out = rp_view_axes(&args->out[0], along, false);
    s.x = rp_view_axes(&args->in[0], along, false);
    s.index = rp_view_axes(&args->in[1], along, false);
    s.source = rp_view_axes(&args->in[2], along, false);
    s.out_step = args->out[0].stride[axis];
    s.x_step = args->in[0].stride[axis];
    s.index_step = args->in[1].stride[axis];
    s.source_step = args->in[2].stride[axis];
    s.length = args->out[0].shape[axis];
    s.n = args->in[1].shape[axis];
    return s;
}

/* Lines [begin, end): out, x, index, source. */
static inline void scattering_walk(rp_walk *walk, const scattering *s, size_t begin, size_t end)
{
    const rp_view *views[4] = {&s->out, &s->x, &s->index, &s->source};

    rp_walk_begin(walk, views, 4, begin, end);
}

#endif
