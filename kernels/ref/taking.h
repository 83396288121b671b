/* SPDX-License-Identifier: Apache-2.0
 * How gather, its gradient and one_hot see their views: the parts of a table before, at and behind the indexed axis. */
#ifndef KERNELS_REF_TAKING_H
#define KERNELS_REF_TAKING_H

#include "kernels/walk.h"

/* An axis of `table` is replaced by the axes of `index` in `taken`: the parts before, at and after it. */
typedef struct taking {
    rp_view table_outer, table_inner, taken_outer, taken_inner;
    rp_view taken_index; /* the axes of taken that run along the index */
    const rp_view *index;
    ptrdiff_t axis_stride; /* of table */
    size_t axis_length, outer, inner, n;
} taking;

static inline taking taking_of(const rp_view *table, const rp_view *index, const rp_view *taken, size_t axis)
{
    const unsigned before = (1u << axis) - 1, upto = (1u << (axis + 1)) - 1;
    const unsigned upto_index = (1u << (axis + (size_t)index->rank)) - 1;
    taking t = {.index = index, .axis_stride = table->stride[axis], .axis_length = table->shape[axis]};

    t.table_outer = rp_view_axes(table, before, true);
    t.table_inner = rp_view_axes(table, upto, false);
    t.taken_outer = rp_view_axes(taken, before, true);
    t.taken_inner = rp_view_axes(taken, upto_index, false);
    t.taken_index = rp_view_axes(taken, upto_index & ~before, true);
    t.outer = rp_view_count(&t.table_outer);
    t.inner = rp_view_count(&t.table_inner);
    t.n = rp_view_count(index);
    return t;
}

static inline int64_t index_value(const rp_view *index, const void *at)
{
    return index->dtype == RP_I32 ? *(const int32_t *)at : *(const int64_t *)at;
}

/* The address of row-major element `position` of a view. */
static inline void *address(const rp_view *view, size_t position)
{
    ptrdiff_t offset = 0;

    for (int d = view->rank - 1; d >= 0; d--) {
        offset += (ptrdiff_t)(position % view->shape[d]) * view->stride[d];
        position /= view->shape[d];
    }
    return rp_view_at(view, offset);
}

#endif
