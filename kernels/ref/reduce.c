/* SPDX-License-Identifier: Apache-2.0
 * Reductions over any axes, and running sums along one (CONTRACT 4.3). An item of a reduction is one output element,
 * made of the elements along the reduced axes in row-major order. */
#include <string.h>

#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/walk.h"

/* The elements that one output is made of. */
typedef struct elements {
    rp_walk walk;
    char *first;
    size_t count;
} elements;

/* The walk from its first element, which a reduction takes for each of its passes. */
static rp_walk *from_first(elements *e)
{
    rp_walk *walk = &e->walk;

    walk->run = 0;
    walk->first = 0;
    walk->left = e->count;
    for (int d = 0; d < walk->rank; d++)
        walk->index[d] = 0;
    walk->next[0] = e->first;
    return walk;
}

#include "kernels/type_f32.h"
#include "kernels/ref/reduce_real.inc.h"
#include "kernels/ref/reduce_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/reduce_real.inc.h"
#include "kernels/ref/reduce_type.inc.h"
#include "kernels/type_i32.h"
#include "kernels/ref/reduce_int.inc.h"
#include "kernels/ref/reduce_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/reduce_int.inc.h"
#include "kernels/ref/reduce_type.inc.h"

/* Reduces the elements into *out. */
typedef void reduce_one(void *out, elements *e);

enum { VALUE_MAX = 8 }; /* bytes of the widest element */

static unsigned axes_mask(const rp_attr *axes)
{
    unsigned mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->list[i];
    return mask;
}

static void reduce_items(const rp_kernel_args *args, unsigned mask, size_t begin, size_t end, reduce_one *reduce)
{
    const rp_view kept_out = rp_view_axes(&args->out[0], mask, false);
    const rp_view kept_in = rp_view_axes(&args->in[0], mask, false);
    const rp_view *kept[2] = {&kept_out, &kept_in};
    rp_view reduced = rp_view_axes(&args->in[0], mask, true);
    const rp_view *walked = &reduced;
    const size_t size = rp_dtype_size(kept_out.dtype);
    union {
        double f64;
        int64_t i64;
        char bytes[VALUE_MAX];
    } of_none = {.bytes = {0}}; /* of any type */
    elements e = {.count = rp_view_count(&reduced)};
    rp_walk walk;

    rp_walk_begin(&walk, kept, 2, begin, end);
    rp_walk_begin(&e.walk, &walked, 1, 0, e.count);
    e.walk.attr = args->attr;
    if (e.count == 0) /* one value for all: an output is one unit of work then, which a reduction takes longer than */
        reduce(of_none.bytes, &e);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            char *out = (char *)walk.at[0] + (ptrdiff_t)i * walk.step[0] * (ptrdiff_t)size;

            e.first = (char *)walk.at[1] + (ptrdiff_t)i * walk.step[1] * (ptrdiff_t)rp_dtype_size(reduced.dtype);
            if (e.count == 0)
                memcpy(out, of_none.bytes, size);
            else
                reduce(out, &e);
        }
}

static size_t reduce_cost(const rp_kernel_args *args)
{
    const size_t out = rp_view_count(&args->out[0]);

    return 1 + (out > 0 ? rp_view_count(&args->in[0]) / out : 0);
}

#define REDUCTION(name, mask, ...) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        static reduce_one *const reduce[RP_DTYPE_COUNT] = {__VA_ARGS__}; \
\
        reduce_items(args, mask, begin, end, reduce[args->in[0].dtype]); \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, reduce_cost)

REDUCTION(sum, axes_mask(&RP_AT(args->attr, sum, axes)), sum_one_f32, sum_one_f64, sum_one_i32, sum_one_i64);
REDUCTION(mean, axes_mask(&RP_AT(args->attr, mean, axes)), mean_one_f32, mean_one_f64);
REDUCTION(max, axes_mask(&RP_AT(args->attr, max, axes)), max_one_f32, max_one_f64, max_one_i32, max_one_i64);
REDUCTION(argmax, 1u << RP_AT(args->attr, argmax, axis).i, argmax_one_f32, argmax_one_f64, argmax_one_i32,
          argmax_one_i64);
REDUCTION(min, axes_mask(&RP_AT(args->attr, min, axes)), min_one_f32, min_one_f64, min_one_i32, min_one_i64);
REDUCTION(argmin, 1u << RP_AT(args->attr, argmin, axis).i, argmin_one_f32, argmin_one_f64, argmin_one_i32,
          argmin_one_i64);
REDUCTION(var, axes_mask(&RP_AT(args->attr, var, axes)), var_one_f32, var_one_f64);
REDUCTION(logsumexp, axes_mask(&RP_AT(args->attr, logsumexp, axes)), logsumexp_one_f32, logsumexp_one_f64);

/* An item is a line along the axis, forward or backward. */
static size_t cumsum_items(const rp_kernel_args *args)
{
    const rp_view kept = rp_view_axes(&args->out[0], 1u << RP_AT(args->attr, cumsum, axis).i, false);

    return rp_view_count(&args->out[0]) > 0 ? rp_view_count(&kept) : 0;
}

static size_t cumsum_cost(const rp_kernel_args *args)
{
    return 1 + args->out[0].shape[RP_AT(args->attr, cumsum, axis).i];
}

static void cumsum_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static void (*const lines[RP_DTYPE_COUNT])(void *, ptrdiff_t, const void *, ptrdiff_t, size_t) = {
        cumsum_line_f32, cumsum_line_f64, cumsum_line_i32, cumsum_line_i64};
    const rp_view *out = &args->out[0], *in = &args->in[0];
    const int64_t axis = RP_AT(args->attr, cumsum, axis).i;
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(out->dtype), last = (ptrdiff_t)out->shape[axis] - 1;
    const ptrdiff_t way = RP_AT(args->attr, cumsum, reverse).i != 0 ? -1 : 1, start = way < 0 ? last : 0;
    const ptrdiff_t to = out->stride[axis], from = in->stride[axis];
    const rp_view kept_out = rp_view_axes(out, 1u << axis, false), kept_in = rp_view_axes(in, 1u << axis, false);
    const rp_view *kept[2] = {&kept_out, &kept_in};
    rp_walk walk;

    rp_walk_begin(&walk, kept, 2, begin, end);
    while (rp_walk_next(&walk))
        for (ptrdiff_t i = 0; i < (ptrdiff_t)walk.run; i++)
            lines[out->dtype]((char *)walk.at[0] + (i * walk.step[0] + start * to) * size, way * to,
                              (char *)walk.at[1] + (i * walk.step[1] + start * from) * size, way * from,
                              (size_t)last + 1);
}

RP_DEFINE_KERNEL(cumsum, cumsum_items, cumsum_run, cumsum_cost);
