/* SPDX-License-Identifier: Apache-2.0
 * Gather (take along an axis), its gradient scatter_add, and one_hot (CONTRACT 3.4 and 7.7). A scatter adds
 * contributions in ascending source index from +0: an item owns its outputs and reads the whole index. */
#include "kernels/ref/functions/map.h"
#include "kernels/ref/move.h"
#include "kernels/ref/taking.h"

#include "kernels/type_f32.h"
#include "kernels/ref/gather_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/gather_type.inc.h"
#include "kernels/type_i32.h"
#include "kernels/ref/gather_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/gather_type.inc.h"

static size_t gather_items(const rp_kernel_args *args)
{
    const taking t = taking_of(&args->in[0], &args->in[1], &args->out[0], (size_t)RP_AT(args->attr, gather, axis).i);

    return t.inner == 0 ? 0 : t.outer * t.n;
}

static size_t gather_cost(const rp_kernel_args *args)
{
    const taking t = taking_of(&args->in[0], &args->in[1], &args->out[0], (size_t)RP_AT(args->attr, gather, axis).i);

    return 20 + t.inner;
}

static void gather_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const taking t = taking_of(&args->in[0], &args->in[1], &args->out[0], (size_t)RP_AT(args->attr, gather, axis).i);

    for (size_t item = begin; item < end; item++) {
        const int64_t source = index_value(t.index, address(t.index, item % t.n));
        rp_view from = t.table_inner, to = t.taken_inner, row = t.table_outer, place = t.taken_index;

        row.data = address(&row, item / t.n);
        from.data = rp_view_at(&row, (ptrdiff_t)source * t.axis_stride);
        place.data = address(&t.taken_outer, item / t.n);
        to.data = address(&place, item % t.n);
        rp_copy_elements(&to, &from, 0, t.inner);
    }
}

RP_DEFINE_KERNEL(gather, gather_items, gather_run, gather_cost);

static size_t scatter_items(const rp_kernel_args *args)
{
    const taking t = taking_of(&args->out[0], &args->in[1], &args->in[0], (size_t)RP_AT(args->attr, gather, axis).i);

    return t.outer * t.inner;
}

static size_t scatter_cost(const rp_kernel_args *args)
{
    const taking t = taking_of(&args->out[0], &args->in[1], &args->in[0], (size_t)RP_AT(args->attr, gather, axis).i);

    return 1 + t.axis_length + 2 * t.n;
}

static void add_elements(const rp_view *out, const rp_view *in, size_t begin, size_t end)
{
    static rp_map *const add[RP_DTYPE_COUNT] = {
        [RP_F32] = accumulate_f32, [RP_F64] = accumulate_f64, [RP_I32] = accumulate_i32, [RP_I64] = accumulate_i64};
    const rp_view *views[2] = {out, in};
    rp_walk walk;

    rp_walk_begin(&walk, views, 2, begin, end);
    while (rp_walk_next(&walk))
        add[out->dtype](&walk);
}

/* Inner elements [begin, end) of outer block `outer`, for the whole axis. */
static void scatter_block(const taking *t, size_t outer, size_t begin, size_t end)
{
    static const rp_attr zero;
    rp_view to = t->table_inner, from = t->taken_inner, place = t->taken_index, row = t->table_outer;

    row.data = address(&t->table_outer, outer);
    place.data = address(&t->taken_outer, outer);
    for (size_t j = 0; j < t->axis_length; j++) {
        to.data = rp_view_at(&row, (ptrdiff_t)j * t->axis_stride);
        rp_set_elements(&to, &zero, begin, end);
    }
    for (size_t j = 0; j < t->n; j++) {
        const int64_t target = index_value(t->index, address(t->index, j));

        to.data = rp_view_at(&row, (ptrdiff_t)target * t->axis_stride);
        from.data = address(&place, j);
        add_elements(&to, &from, begin, end);
    }
}

static void scatter_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const taking t = taking_of(&args->out[0], &args->in[1], &args->in[0], (size_t)RP_AT(args->attr, gather, axis).i);

    while (begin < end) {
        const size_t at = begin % t.inner, room = t.inner - at;
        const size_t count = end - begin < room ? end - begin : room;

        scatter_block(&t, begin / t.inner, at, at + count);
        begin += count;
    }
}

RP_DEFINE_KERNEL(scatter_add, scatter_items, scatter_run, scatter_cost);

/* in: index [..]; out [.., depth]: 1 where the position equals the index, else 0; an index outside gives zeros. */
static void one_hot_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0], rows = rp_view_rows(out);
    const size_t depth = rp_view_last(out);
    const ptrdiff_t stride = rp_view_last_stride(out);

    for (size_t item = begin; item < end; item++) {
        const int64_t label = index_value(&args->in[0], address(&args->in[0], item));
        void *row = address(&rows, item);

        switch (out->dtype) {
        case RP_F32:
            mark_f32(row, stride, depth, label);
            break;
        case RP_F64:
            mark_f64(row, stride, depth, label);
            break;
        case RP_I32:
            mark_i32(row, stride, depth, label);
            break;
        default:
            mark_i64(row, stride, depth, label);
        }
    }
}

RP_DEFINE_KERNEL(one_hot, rp_items_rows, one_hot_run, rp_cost_row);
