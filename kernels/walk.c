/* SPDX-License-Identifier: Apache-2.0
 * Strided walking and the small questions kernels ask of views. */
#include "kernels/walk.h"

#include <string.h>

RP_KERNEL_FN RP_KERNEL_APART size_t rp_view_count(const rp_view *view)
{
    size_t count = 1;

    for (int d = 0; d < view->rank; d++)
        count *= view->shape[d];
    return count;
}

RP_KERNEL_FN RP_KERNEL_APART rp_view rp_view_axes(const rp_view *view, unsigned mask, bool keep)
{
    rp_view part; /* axes beyond its rank stay unset: clearing all of it takes longer than the rest of this function */

    part.data = view->data;
    part.dtype = view->dtype;
    part.rank = 0;
    for (int d = 0; d < view->rank; d++) {
        if (((mask >> d & 1) != 0) != keep)
            continue;
        part.shape[part.rank] = view->shape[d];
        part.stride[part.rank++] = view->stride[d];
    }
    return part;
}

RP_KERNEL_FN RP_KERNEL_APART rp_view rp_view_rows(const rp_view *view)
{
    rp_view rows = *view;

    if (rows.rank > 0)
        rows.rank--;
    return rows;
}

RP_KERNEL_FN size_t rp_view_last(const rp_view *view)
{
    return view->rank > 0 ? view->shape[view->rank - 1] : 1;
}

RP_KERNEL_FN ptrdiff_t rp_view_last_stride(const rp_view *view)
{
    return view->rank > 0 ? view->stride[view->rank - 1] : 1;
}

RP_KERNEL_FN void *rp_view_at(const rp_view *view, ptrdiff_t offset)
{
    return (char *)view->data + offset * (ptrdiff_t)rp_dtype_size(view->dtype);
}

/* Axis d can join the axis before it when every view steps over d's whole length there. */
static bool can_merge(const rp_view *const *views, size_t n_views, int before, int d)
{
    for (size_t v = 0; v < n_views; v++)
        if (views[v]->stride[before] != views[v]->stride[d] * (ptrdiff_t)views[v]->shape[d])
            return false;
    return true;
}

static void add_axis(rp_walk *walk, const rp_view *const *views, int d, bool merge)
{
    int at = merge ? walk->rank - 1 : walk->rank++;

    walk->shape[at] = views[0]->shape[d] * (merge ? walk->shape[at] : 1);
    for (size_t v = 0; v < walk->n_views; v++)
        walk->bytes[v][at] = views[v]->stride[d] * (ptrdiff_t)rp_dtype_size(views[v]->dtype);
}

/* Places the walk at row-major position `begin`. */
static void seek(rp_walk *walk, const rp_view *const *views, size_t begin)
{
    for (size_t v = 0; v < walk->n_views; v++)
        walk->next[v] = (char *)views[v]->data;
    for (int d = walk->rank - 1; d >= 0; d--) {
        walk->index[d] = begin % walk->shape[d];
        begin /= walk->shape[d];
        for (size_t v = 0; v < walk->n_views; v++)
            if (walk->index[d] != 0)
                walk->next[v] += (ptrdiff_t)walk->index[d] * walk->bytes[v][d];
    }
}

RP_KERNEL_FN RP_KERNEL_APART void rp_walk_begin(rp_walk *walk, const rp_view *const *views, size_t n_views,
                                                size_t begin, size_t end)
{
    int last = -1;

    walk->n_views = n_views;
    walk->rank = 0;
    walk->left = end - begin;
    walk->run = 0;
    walk->first = begin;
    if (walk->left == 0)
        return;
    for (int d = 0; d < views[0]->rank; d++) {
        if (views[0]->shape[d] == 1)
            continue;
        add_axis(walk, views, d, last >= 0 && can_merge(views, n_views, last, d));
        last = d;
    }
    if (walk->rank == 0) { /* one element */
        walk->shape[walk->rank++] = 1;
        for (size_t v = 0; v < n_views; v++)
            walk->bytes[v][0] = (ptrdiff_t)rp_dtype_size(views[v]->dtype);
    }
    for (size_t v = 0; v < n_views; v++)
        walk->step[v] = last >= 0 ? views[v]->stride[last] : 1;
    seek(walk, views, begin);
}

RP_KERNEL_FN void rp_walk_args(rp_walk *walk, const rp_kernel_args *args, size_t n_in, size_t begin, size_t end)
{
    const rp_view *views[RP_WALK_VIEWS];
    size_t n = 0;

    for (size_t v = 0; v < args->n_out; v++)
        views[n++] = &args->out[v];
    for (size_t v = 0; v < n_in; v++)
        views[n++] = &args->in[v];
    rp_walk_begin(walk, views, n, begin, end);
    walk->attr = args->attr;
    walk->owed = NULL;
}

/* Steps every view by `by` along axis d. The first bound is no news, but without it gcc 12.2 at -O1 makes code that
 * steps none (it is right with -fno-ivopts, at -O0, -O2 and -O3, and by clang). */
static void advance(rp_walk *walk, int d, ptrdiff_t by)
{
    for (size_t v = 0; v < RP_WALK_VIEWS && v < walk->n_views; v++)
        walk->next[v] += by * walk->bytes[v][d];
}

RP_KERNEL_FN RP_KERNEL_APART bool rp_walk_next(rp_walk *walk)
{
    int d = walk->rank - 1;
    size_t room;

    walk->first += walk->run;
    if (walk->left == 0)
        return false;
    room = walk->shape[d] - walk->index[d];
    walk->run = room < walk->left ? room : walk->left;
    memcpy(walk->at, walk->next, sizeof walk->at); /* all, there or not: as many as there are would be a call */
    walk->left -= walk->run;
    if (walk->left == 0)
        return true; /* the pointers are not moved past the last element */
    walk->index[d] += walk->run;
    advance(walk, d, (ptrdiff_t)walk->run);
    while (d > 0 && walk->index[d] == walk->shape[d]) {
        advance(walk, d, -(ptrdiff_t)walk->shape[d]);
        walk->index[d--] = 0;
        walk->index[d]++;
        advance(walk, d, 1);
    }
    return true;
}

RP_KERNEL_FN size_t rp_items_elements(const rp_kernel_args *args)
{
    return rp_view_count(&args->out[0]);
}

RP_KERNEL_FN size_t rp_items_rows(const rp_kernel_args *args)
{
    rp_view rows = rp_view_rows(&args->out[0]);

    return rp_view_count(&rows);
}

RP_KERNEL_FN size_t rp_cost_light(const rp_kernel_args *args)
{
    (void)args;
    return 1;
}

RP_KERNEL_FN size_t rp_cost_function(const rp_kernel_args *args)
{
    (void)args;
    return 16;
}

RP_KERNEL_FN size_t rp_cost_row(const rp_kernel_args *args)
{
    return 1 + 20 * rp_view_last(&args->in[0]);
}
