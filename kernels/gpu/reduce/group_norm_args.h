/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of group_norm.cu. Channels are the last axis; what is a channel's of a sample lies in
 * the workspace, [samples, channels]. */
#ifndef KERNELS_GPU_REDUCE_GROUP_NORM_ARGS_H
#define KERNELS_GPU_REDUCE_GROUP_NORM_ARGS_H

#include "kernels/gpu/reduce/reduce_args.h"

/* A number of each group, and what its channels have of it. */
typedef struct rp_gpu_group_number {
    const void *sums;  /* [samples, channels]: the number is their sum over the group's channels, divided by N; */
    const void *given; /* where sums is NULL, this one, [samples, groups] */
    i64 given_step[2];
    void *out; /* where it is wanted, [samples, groups], or NULL */
    i64 out_step[2];
    void *sums_out; /* where the sums are wanted, or NULL */
    i64 sums_out_step[2];
    void *spread; /* [samples, channels]: the number, */
    u32 inverse;  /* or 1 / sqrt(number + eps) */
} rp_gpu_group_number;

typedef struct rp_gpu_group_numbers {
    rp_gpu_head head;
    rp_gpu_group_number number[2]; /* one a block of the grid's second axis */
    const void *gamma;             /* by which each channel's sum is multiplied, or NULL */
    i64 gamma_step;
    u32 groups, width, items; /* of a sample; channels of a group; groups of all samples */
    double eps, n;
} rp_gpu_group_numbers;

typedef struct rp_gpu_group_norm {
    rp_gpu_head head;
    const void *g, *x;
    void *y;
    i64 g_last, x_last, y_last; /* strides of the last axis, then of the others */
    i64 g_row[RP_GPU_AXES], x_row[RP_GPU_AXES], y_row[RP_GPU_AXES];
    rp_gpu_axes rows;
    const void *gamma, *beta;
    i64 gamma_step, beta_step;
    const void *center, *scale, *a, *b; /* [samples, channels] */
    u32 channels, positions;            /* of a sample */
    u32 wide;                           /* 16 bytes of neighbouring channels at once */
    u32 items;                          /* of one load of each operand */
} rp_gpu_group_norm;

#endif
