/* SPDX-License-Identifier: Apache-2.0
 * Softmax, log-softmax, cross-entropy and their gradients along the last axis (CONTRACT 7). An item is a row; a NaN in
 * a row makes its maximum and so the whole row NaN. */
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/ref/rows.h"

static size_t label_of(const rp_row *row, int v)
{
    return row->args->in[v - 1].dtype == RP_I32 ? (size_t) * (const int32_t *)row->at[v]
                                                : (size_t) * (const int64_t *)row->at[v];
}

#include "kernels/type_f32.h"
#include "kernels/ref/softmax_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/softmax_type.inc.h"

#define ROWS(name, items, n_in, single, length_of) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        if (args->out[0].dtype == RP_F32) \
            rp_rows_run(args, n_in, single, length_of, begin, end, name##_row_f32); \
        else \
            rp_rows_run(args, n_in, single, length_of, begin, end, name##_row_f64); \
    } \
    RP_DEFINE_KERNEL(name, items, name##_run, rp_cost_row)

ROWS(softmax, rp_items_rows, 1, 0, 0);
ROWS(softmax_grad, rp_items_rows, 2, 0, 0);
ROWS(log_softmax, rp_items_rows, 1, 0, 0);
ROWS(log_softmax_grad, rp_items_rows, 2, 0, 0);
/* out and labels have one element a row; so has a second output, which a plan may ask for: the rows' logsumexp */
static void cross_entropy_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const bool narrow = args->out[0].dtype == RP_F32, both = args->n_out == 2;
    const unsigned single = 1u << 0 | 1u << 2 | 1u << 3;
    rp_view in[3] = {args->in[0], args->in[1], args->out[both]};
    const rp_kernel_args all = {in, 3, args->out, 1, args->attr};

    if (both && narrow)
        rp_rows_run(&all, 3, single, 0, begin, end, cross_entropy_both_row_f32);
    else if (both)
        rp_rows_run(&all, 3, single, 0, begin, end, cross_entropy_both_row_f64);
    else if (narrow)
        rp_rows_run(args, 2, single, 0, begin, end, cross_entropy_row_f32);
    else
        rp_rows_run(args, 2, single, 0, begin, end, cross_entropy_row_f64);
}

RP_DEFINE_KERNEL(cross_entropy, rp_items_elements, cross_entropy_run, rp_cost_row);
ROWS(cross_entropy_grad, rp_items_rows, 3, 1u << 1 | 1u << 3, 1);
