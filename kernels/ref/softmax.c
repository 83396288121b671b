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
/* out and labels have one element a row */
ROWS(cross_entropy, rp_items_elements, 2, 1u << 0 | 1u << 2, 0);
ROWS(cross_entropy_grad, rp_items_rows, 3, 1u << 1 | 1u << 3, 1);
