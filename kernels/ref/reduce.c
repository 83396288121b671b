/* SPDX-License-Identifier: Apache-2.0
 * Reductions over any axes, and running sums and products along one (CONTRACT 4.3). An item of a reduction is one
 * output element, made of the elements along the reduced axes in row-major order. */
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

RP_KERNEL_CALLER static void reduce_items(const rp_kernel_args *args, unsigned mask, size_t begin, size_t end,
                                          reduce_one *reduce)
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

#define CASE(TYPE, one) \
    case TYPE: \
        reduce_items(args, axes, begin, end, one); \
        break;
#define REALS(name) CASE(RP_F32, name##_one_f32) CASE(RP_F64, name##_one_f64)
#define NUMBERS(name) REALS(name) CASE(RP_I32, name##_one_i32) CASE(RP_I64, name##_one_i64)
#define REDUCTION(name, mask, TYPES) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        const unsigned axes = mask; \
\
        switch (args->in[0].dtype) { \
            TYPES(name) \
        default: \
            break; \
        } \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, reduce_cost)

REDUCTION(sum, axes_mask(&RP_AT(args->attr, sum, axes)), NUMBERS);
REDUCTION(mean, axes_mask(&RP_AT(args->attr, mean, axes)), REALS);
REDUCTION(max, axes_mask(&RP_AT(args->attr, max, axes)), NUMBERS);
REDUCTION(argmax, 1u << RP_AT(args->attr, argmax, axis).i, NUMBERS);
REDUCTION(min, axes_mask(&RP_AT(args->attr, min, axes)), NUMBERS);
REDUCTION(argmin, 1u << RP_AT(args->attr, argmin, axis).i, NUMBERS);
REDUCTION(prod, axes_mask(&RP_AT(args->attr, prod, axes)), NUMBERS);
REDUCTION(var, axes_mask(&RP_AT(args->attr, var, axes)), REALS);
REDUCTION(logsumexp, axes_mask(&RP_AT(args->attr, logsumexp, axes)), REALS);
#undef CASE
#undef REALS
#undef NUMBERS

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

typedef void cumsum_line(void *out, ptrdiff_t step_out, const void *in, ptrdiff_t step_in, size_t n);

RP_KERNEL_CALLER static void cumsum_lines(const rp_kernel_args *args, size_t begin, size_t end, cumsum_line *line)
{
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
            line((char *)walk.at[0] + (i * walk.step[0] + start * to) * size, way * to,
                 (char *)walk.at[1] + (i * walk.step[1] + start * from) * size, way * from, (size_t)last + 1);
}

#define RUNNING(name) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        switch (args->out[0].dtype) { \
        case RP_F32: \
            cumsum_lines(args, begin, end, name##_line_f32); \
            break; \
        case RP_F64: \
            cumsum_lines(args, begin, end, name##_line_f64); \
            break; \
        case RP_I32: \
            cumsum_lines(args, begin, end, name##_line_i32); \
            break; \
        default: \
            cumsum_lines(args, begin, end, name##_line_i64); \
        } \
    } \
    RP_DEFINE_KERNEL(name, cumsum_items, name##_run, cumsum_cost)

RUNNING(cumsum);
RUNNING(cumprod);
#undef RUNNING
