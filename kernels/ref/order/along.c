/* SPDX-License-Identifier: Apache-2.0
 * Taking and scattering along an axis (CONTRACT 3.4 and 7.14). An item of take_along is an element, one of
 * scatter_along a line along the axis, whose sources come one after the other. */
#include "kernels/ref/order/along.h"
#include "kernels/level.h"
#include "kernels/ref/order/along.inc.h"

static void take_along_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const size_t axis = (size_t)RP_AT(args->attr, take_along, axis).i;
    rp_view from = args->in[0]; /* what an index counts from: no step along the axis */
    const rp_view *views[3] = {&args->out[0], &args->in[1], &from};
    along_index at = {NULL, 0, args->in[0].stride[axis], args->in[1].dtype == RP_I64};
    rp_walk walk;

    from.stride[axis] = 0;
    rp_walk_begin(&walk, views, 3, begin, end);
    at.step = walk.step[1];
    while (rp_walk_next(&walk)) {
        at.index = walk.at[1];
        along_take(args->out[0].dtype, walk.at[0], walk.step[0], walk.at[2], walk.step[2], &at, walk.run);
    }
}

RP_DEFINE_KERNEL(take_along, rp_items_elements, take_along_run, rp_cost_light);

/* The axis apart. An index without elements along the axis leaves the lines that out has. */
static size_t scatter_along_items(const rp_kernel_args *args)
{
    const rp_view lines = rp_view_axes(&args->out[0], 1u << RP_AT(args->attr, scatter_along, axis).i, false);

    return rp_view_count(&lines);
}

static size_t scatter_along_cost(const rp_kernel_args *args)
{
    const size_t axis = (size_t)RP_AT(args->attr, scatter_along, axis).i;

    return 2 + args->out[0].shape[axis] + 2 * args->in[1].shape[axis];
}

static void scatter_along_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const scattering s = scattering_of(args);
    const rp_dtype dtype = args->out[0].dtype;
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(dtype), index_size = (ptrdiff_t)rp_dtype_size(s.index.dtype);
    const int64_t mode = RP_AT(args->attr, scatter_along, mode).i;
    along_index at = {NULL, s.index_step, s.out_step, s.index.dtype == RP_I64};
    rp_walk walk;

    scattering_walk(&walk, &s, begin, end);
    while (rp_walk_next(&walk))
        for (ptrdiff_t i = 0; i < (ptrdiff_t)walk.run; i++) {
            void *to = (char *)walk.at[0] + i * walk.step[0] * size;
            const void *source = (const char *)walk.at[3] + i * walk.step[3] * size;

            along_copy(dtype, to, s.out_step, (const char *)walk.at[1] + i * walk.step[1] * size, s.x_step, s.length);
            at.index = (const char *)walk.at[2] + i * walk.step[2] * index_size;
            along_scatter(mode, dtype, to, 0, source, s.source_step, &at, s.n);
        }
}

RP_DEFINE_KERNEL(scatter_along, scatter_along_items, scatter_along_run, scatter_along_cost);
