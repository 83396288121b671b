/* SPDX-License-Identifier: Apache-2.0
 * Layer norm and RMS norm along the last axis and their gradients (CONTRACT 7.5, 7.10). An item is a row. Where there
 * are gradients of gamma and beta too, an item is the rows that join one lane of a chunk (CONTRACT 4.1), and what core
 * builds with sum folds the lanes. */
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/ref/rows.h"

#include "kernels/type_f32.h"
#include "kernels/ref/norm_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/norm_type.inc.h"

/* The same rank-1 view for every row: broadcast over the axes before the last. */
static rp_view spread(const rp_view *vector, const rp_view *over)
{
    rp_view view = *over;

    view.data = vector->data;
    for (int d = 0; d < view.rank; d++)
        view.stride[d] = d == view.rank - 1 ? rp_view_last_stride(vector) : 0;
    return view;
}

static void layer_norm_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view in[3] = {args->in[0], spread(&args->in[1], &args->in[0]), spread(&args->in[2], &args->in[0])};
    const rp_kernel_args rows = {in, 3, args->out, 1, args->attr};

    if (in[0].dtype == RP_F32)
        rp_rows_run(&rows, 3, 0, 0, begin, end, layer_norm_row_f32);
    else
        rp_rows_run(&rows, 3, 0, 0, begin, end, layer_norm_row_f64);
}

static void layer_norm_grad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view in[3] = {args->in[0], args->in[1], spread(&args->in[2], &args->in[0])};
    const rp_kernel_args rows = {in, 3, args->out, 1, args->attr};

    if (in[0].dtype == RP_F32)
        rp_rows_run(&rows, 3, 0, 0, begin, end, layer_norm_grad_row_f32);
    else
        rp_rows_run(&rows, 3, 0, 0, begin, end, layer_norm_grad_row_f64);
}

static void rms_norm_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view in[2] = {args->in[0], spread(&args->in[1], &args->in[0])};
    const rp_kernel_args rows = {in, 2, args->out, 1, args->attr};

    if (in[0].dtype == RP_F32)
        rp_rows_run(&rows, 2, 0, 0, begin, end, rms_norm_row_f32);
    else
        rp_rows_run(&rows, 2, 0, 0, begin, end, rms_norm_row_f64);
}

/* ---- the gradients of x and, lane by lane, of gamma and beta ---- */

static size_t lane_items(const rp_kernel_args *args)
{
    return args->out[1].shape[0] * args->out[1].shape[1];
}

static size_t lane_cost(const rp_kernel_args *args)
{
    const size_t rows = rp_items_rows(args);

    return 1 + rp_cost_row(args) * (rows < RP_CHUNK ? 1 + rows / RP_LANES : RP_CHUNK / RP_LANES);
}

/* Row `item` of the lanes [chunks, lanes, n], all +0, for every row of `over`. */
static rp_view cleared_lane(const rp_view *lanes, size_t item, const rp_view *over)
{
    rp_view lane = {.data = rp_view_at(lanes, (ptrdiff_t)(item / lanes->shape[1]) * lanes->stride[0] +
                                                  (ptrdiff_t)(item % lanes->shape[1]) * lanes->stride[1]),
                    .dtype = lanes->dtype,
                    .rank = 1,
                    .shape = {lanes->shape[2]},
                    .stride = {lanes->stride[2]}};

    for (size_t i = 0; i < lane.shape[0]; i++)
        if (lane.dtype == RP_F32)
            *(float *)rp_view_at(&lane, (ptrdiff_t)i * lane.stride[0]) = 0;
        else
            *(double *)rp_view_at(&lane, (ptrdiff_t)i * lane.stride[0]) = 0;
    return spread(&lane, over);
}

/* in: g, x, gamma; out: dx, then the lanes, which the rows have as further operands */
RP_KERNEL_CALLER static void lanes_run(const rp_kernel_args *args, size_t begin, size_t end, rp_row_work *work)
{
    const size_t lanes = args->out[1].shape[1], all = rp_items_rows(args), n_in = 2 + args->n_out;
    rp_view in[5] = {args->in[0], args->in[1], spread(&args->in[2], &args->in[0])};
    const rp_kernel_args rows = {in, n_in, args->out, 1, args->attr};

    for (size_t item = begin; item < end; item++) {
        const size_t first = item / lanes * RP_CHUNK, last = all - first < RP_CHUNK ? all : first + RP_CHUNK;

        for (size_t v = 1; v < args->n_out; v++)
            in[2 + v] = cleared_lane(&args->out[v], item, &args->in[0]);
        for (size_t i = first + item % lanes; i < last; i += RP_LANES)
            rp_rows_run(&rows, n_in, 0, 0, i, i + 1, work);
    }
}

static void layer_norm_backward_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    if (args->in[0].dtype == RP_F32)
        lanes_run(args, begin, end, layer_norm_backward_row_f32);
    else
        lanes_run(args, begin, end, layer_norm_backward_row_f64);
}

static void rms_norm_grad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    if (args->in[0].dtype == RP_F32)
        lanes_run(args, begin, end, rms_norm_grad_row_f32);
    else
        lanes_run(args, begin, end, rms_norm_grad_row_f64);
}

RP_DEFINE_KERNEL(layer_norm, rp_items_rows, layer_norm_run, rp_cost_row);
RP_DEFINE_KERNEL(layer_norm_grad, rp_items_rows, layer_norm_grad_run, rp_cost_row);
RP_DEFINE_KERNEL(rms_norm, rp_items_rows, rms_norm_run, rp_cost_row);
RP_DEFINE_KERNEL(layer_norm_backward, lane_items, layer_norm_backward_run, lane_cost);
RP_DEFINE_KERNEL(rms_norm_grad, lane_items, rms_norm_grad_run, lane_cost);
