/* SPDX-License-Identifier: Apache-2.0
 * Batch norm over all axes of x but the last, which holds the channels, and its gradient (CONTRACT 7.8). An item of
 * training and of the gradient is a channel, whose sums run over its elements in row-major order. */
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/walk.h"

#include "kernels/type_f32.h"
#include "kernels/ref/conv/batch_norm_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/batch_norm_type.inc.h"

static size_t channel_items(const rp_kernel_args *args)
{
    return rp_view_last(&args->out[0]);
}

static size_t channel_cost(const rp_kernel_args *args)
{
    const rp_view rows = rp_view_rows(&args->out[0]);

    return 1 + 12 * rp_view_count(&rows);
}

#define BATCH_NORM(name) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        for (size_t c = begin; c < end; c++) \
            if (args->out[0].dtype == RP_F32) \
                name##_f32(args, (ptrdiff_t)c); \
            else \
                name##_f64(args, (ptrdiff_t)c); \
    } \
    RP_DEFINE_KERNEL(name, channel_items, name##_run, channel_cost)

BATCH_NORM(batch_norm);
BATCH_NORM(batch_norm_train);
BATCH_NORM(batch_norm_grad);
