/* SPDX-License-Identifier: Apache-2.0
 * Lines in order, their first k, and places in lines that are in order (CONTRACT 4.8). An item of sort and topk is a
 * line along the last axis, one of searchsorted an element. */
#include "kernels/ref/order/order.h"
#include "kernels/level.h"

#define IS_NAN(x) ((x) != (x))
#include "kernels/type_f32.h"
#include "kernels/ref/order/order_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/order/order_type.inc.h"
#undef IS_NAN
#define IS_NAN(x) ((void)(x), false)
#include "kernels/type_i32.h"
#include "kernels/ref/order/order_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/order/order_type.inc.h"
#include "kernels/type_end.h"
#undef IS_NAN

static void order_lines(const rp_kernel_args *args, size_t begin, size_t end, bool descending)
{
    rp_walk walk;

    order_walk(&walk, args, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const order_line line = order_line_at(&walk, i, args, descending);

            switch (args->in[0].dtype) {
            case RP_F32:
                order_f32(&line);
                break;
            case RP_F64:
                order_f64(&line);
                break;
            case RP_I32:
                order_i32(&line);
                break;
            default:
                order_i64(&line);
            }
        }
}

/* Comparisons of a line of n: n log n. */
static size_t order_cost(const rp_kernel_args *args)
{
    const size_t n = rp_view_last(&args->in[0]);
    size_t bits = 1;

    while (bits < 63 && n >> bits != 0)
        bits++;
    return 20 + 4 * n * bits;
}

static void sort_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    order_lines(args, begin, end, RP_AT(args->attr, sort, descending).i != 0);
}

RP_DEFINE_KERNEL(sort, rp_items_rows, sort_run, order_cost);

static void topk_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    order_lines(args, begin, end, RP_AT(args->attr, topk, largest).i != 0);
}

RP_DEFINE_KERNEL(topk, rp_items_rows, topk_run, order_cost);

/* in: sorted [.., n], or [n] for all, and x [.., m]; out i64 [.., m]. */
static void searchsorted_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const bool right = RP_AT(args->attr, searchsorted, right).i != 0;
    const size_t n = rp_view_last(&args->in[0]);
    const ptrdiff_t step = rp_view_last_stride(&args->in[0]);
    rp_view lines =
        args->out[0]; /* the line of each element: no step along the last axis, and none at all for one line */
    const rp_view *views[3] = {&args->out[0], &args->in[1], &lines};
    rp_walk walk;

    lines.data = args->in[0].data;
    lines.dtype = args->in[0].dtype;
    for (int d = 0; d < lines.rank; d++)
        lines.stride[d] = args->in[0].rank == 1 || d == lines.rank - 1 ? 0 : args->in[0].stride[d];
    rp_walk_begin(&walk, views, 3, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(lines.dtype), at = (ptrdiff_t)i;
            const char *line = (const char *)walk.at[2] + at * walk.step[2] * size;
            const char *value = (const char *)walk.at[1] + at * walk.step[1] * size;
            int64_t *out = (int64_t *)walk.at[0] + at * walk.step[0];

            switch (lines.dtype) {
            case RP_F32:
                *out = (int64_t)place_in_f32(line, step, n, value, right);
                break;
            case RP_F64:
                *out = (int64_t)place_in_f64(line, step, n, value, right);
                break;
            case RP_I32:
                *out = (int64_t)place_in_i32(line, step, n, value, right);
                break;
            default:
                *out = (int64_t)place_in_i64(line, step, n, value, right);
            }
        }
}

static size_t searchsorted_cost(const rp_kernel_args *args)
{
    size_t bits = 1;

    while (bits < 63 && rp_view_last(&args->in[0]) >> bits != 0)
        bits++;
    return 4 + 4 * bits;
}

RP_DEFINE_KERNEL(searchsorted, rp_items_elements, searchsorted_run, searchsorted_cost);
