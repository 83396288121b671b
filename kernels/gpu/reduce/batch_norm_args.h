/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of batch_norm.cu. Channels are the last axis. */
#ifndef KERNELS_GPU_REDUCE_BATCH_NORM_ARGS_H
#define KERNELS_GPU_REDUCE_BATCH_NORM_ARGS_H

#include "kernels/gpu/reduce/reduce_args.h"

typedef struct rp_gpu_batch_norm {
    rp_gpu_head head;
    /* a channel: of the operands and results by strides, and neighbours in the workspace */
    const void *gamma, *beta, *mean, *var, *g_sum, *gz_sum;
    i64 gamma_step, beta_step, mean_step, var_step;
    void *mean_out, *var_out; /* NULL: not wanted */
    i64 mean_out_step, var_out_step;
    void *center, *scale; /* [channels]: the mean, and r = 1 / sqrt(var + eps) */
    /* an element */
    const void *g, *x;
    void *y;
    i64 g_last, x_last, y_last; /* strides of the last axis, then of the others */
    i64 g_row[RP_GPU_AXES], x_row[RP_GPU_AXES], y_row[RP_GPU_AXES];
    rp_gpu_axes rows;
    u32 channels;
    u64 count; /* elements */
    double eps, n;
} rp_gpu_batch_norm;

#endif
