/* SPDX-License-Identifier: Apache-2.0
 * Views whose elements lie as rows: the last axis in neighbours, all rows at one step. */
#ifndef KERNELS_CPU_ROW_VIEWS_H
#define KERNELS_CPU_ROW_VIEWS_H

#include "kernels/kernel.h"

typedef struct row_views {
    size_t n;
    ptrdiff_t step;
} row_views;

/* False where the axes from `first` to the last but one do not lie at one step, or the last's elements not beside one
 * another. No rows give 0. */
static inline bool row_views_from(const rp_view *view, int first, row_views *r)
{
    const int last = view->rank - 1;

    *r = (row_views){1, 0};
    if (last < first || view->stride[last] != 1)
        return false;
    for (int d = last - 1, behind = -1; d >= first; d--) {
        if (view->shape[d] == 1)
            continue; /* its stride says nothing */
        if (behind < 0)
            r->step = view->stride[d];
        else if (view->stride[d] != view->stride[behind] * (ptrdiff_t)view->shape[behind])
            return false;
        behind = d;
        r->n *= view->shape[d];
    }
    return true;
}

#endif
