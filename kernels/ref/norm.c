/* SPDX-License-Identifier: Apache-2.0
 * Layer norm along the last axis and its gradient (CONTRACT 7). An item is a row. The gradients of gamma and beta are
 * sums that core builds from mul and sum. */
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

RP_DEFINE_KERNEL(layer_norm, rp_items_rows, layer_norm_run, rp_cost_row);
RP_DEFINE_KERNEL(layer_norm_grad, rp_items_rows, layer_norm_grad_run, rp_cost_row);
