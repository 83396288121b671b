/* SPDX-License-Identifier: Apache-2.0
 * Walking strided views: items [begin, end) of a shape in row-major order, given out as runs along which every view
 * has one constant step. Axes that lie behind one another in all views are merged, so contiguous data is one run. */
#ifndef KERNELS_WALK_H
#define KERNELS_WALK_H

#include "kernels/kernel.h"

enum { RP_WALK_VIEWS = 8 };

typedef struct rp_walk {
    /* The current run. */
    size_t run;                    /* elements in it, > 0 */
    size_t first;                  /* row-major position of its first element */
    void *at[RP_WALK_VIEWS];       /* its first element in each view */
    ptrdiff_t step[RP_WALK_VIEWS]; /* elements between neighbours; the same for every run */
    const rp_attr *attr;           /* of the kernel whose arguments are walked; NULL without */
    void *owed;                    /* what a map puts off to the end of its kernel; NULL: nothing may be */
    /* The rest is the walk's own. */
    size_t n_views, left;
    int rank; /* after merging, at least 1 */
    size_t shape[RP_MAX_RANK], index[RP_MAX_RANK];
    ptrdiff_t bytes[RP_WALK_VIEWS][RP_MAX_RANK];
    char *next[RP_WALK_VIEWS];
} rp_walk;

/* All views have the shape of views[0]; n_views <= RP_WALK_VIEWS. */
RP_KERNEL_FN RP_KERNEL_APART void rp_walk_begin(rp_walk *walk, const rp_view *const *views, size_t n_views,
                                                size_t begin, size_t end);
/* The walk of a kernel's outputs, then its first n_in inputs. */
RP_KERNEL_FN void rp_walk_args(rp_walk *walk, const rp_kernel_args *args, size_t n_in, size_t begin, size_t end);
/* Moves to the next run; false when there is none left. */
RP_KERNEL_FN RP_KERNEL_APART bool rp_walk_next(rp_walk *walk);

RP_KERNEL_FN RP_KERNEL_APART size_t rp_view_count(const rp_view *view); /* elements */
/* The view's axes whose bit in mask is (keep) set or (!keep) clear, in order. */
RP_KERNEL_FN RP_KERNEL_APART rp_view rp_view_axes(const rp_view *view, unsigned mask, bool keep);
/* The view without its last axis; a rank-0 view is one row of one element. */
RP_KERNEL_FN RP_KERNEL_APART rp_view rp_view_rows(const rp_view *view);
RP_KERNEL_FN size_t rp_view_last(const rp_view *view);           /* length of the last axis; 1 for rank 0 */
RP_KERNEL_FN ptrdiff_t rp_view_last_stride(const rp_view *view); /* and its stride */
/* The address of element `offset` (in elements) from the view's data. */
RP_KERNEL_FN void *rp_view_at(const rp_view *view, ptrdiff_t offset);

/* Items of a kernel: elements of output 0, its rows along the last axis. */
RP_KERNEL_FN size_t rp_items_elements(const rp_kernel_args *args);
RP_KERNEL_FN size_t rp_items_rows(const rp_kernel_args *args);

/* Costs of an item, in elementary operations. */
RP_KERNEL_FN size_t rp_cost_light(const rp_kernel_args *args);    /* an addition or a move */
RP_KERNEL_FN size_t rp_cost_function(const rp_kernel_args *args); /* an elementary function */
RP_KERNEL_FN size_t rp_cost_row(const rp_kernel_args *args);      /* a few passes with a function over a row of in 0 */

#endif
