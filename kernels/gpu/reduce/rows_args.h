/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of rows.cu: an output or operand a view, rows along the last axis of each. */
#ifndef KERNELS_GPU_REDUCE_ROWS_ARGS_H
#define KERNELS_GPU_REDUCE_ROWS_ARGS_H

#include "kernels/gpu/reduce/reduce_args.h"

enum {
    RP_GPU_ROW_VIEWS = 4,
    RP_GPU_ROW_CHUNKS = 2048,
    RP_GPU_ROW_WARPS = 8,       /* of a block, at most */
    RP_GPU_ROW_PIECE = 512,     /* elements that a warp of a block's row fetches at once; a multiple of the lanes */
    RP_GPU_ROW_CACHE = 64 << 10 /* bytes of a block's caches, at most */
};

typedef struct rp_gpu_rows {
    rp_gpu_head head;
    void *at[RP_GPU_ROW_VIEWS];             /* output, then operands */
    i64 step[RP_GPU_ROW_VIEWS];             /* along a row; 0: one element a row */
    i64 row[RP_GPU_ROW_VIEWS][RP_GPU_AXES]; /* from row to row */
    rp_gpu_axes rows;
    u32 count, n;  /* rows, and their length, at most RP_GPU_ROW_CHUNKS chunks of 4096 */
    u32 block;     /* a block takes a row; else each of its warps one */
    u32 piece;     /* elements of each view in a warp's cache: a row, or RP_GPU_ROW_PIECE of a block's */
    u32 sums;      /* elements before the caches, for what a block's warps tell each other */
    u32 label_i32; /* labels are 32 bits wide, else 64 */
    double eps;
    void *center, *scale; /* [count]: where a norm's gradient leaves each row's mean and 1/deviation; NULL: nowhere */
} rp_gpu_rows;

/* The lanes of sums over rows of g z and of g, z = (x - center) scale: [chunks, lanes, n] (CONTRACT 7.5). */
typedef struct rp_gpu_norm_lanes {
    rp_gpu_head head;
    const void *g, *x;
    const void *center, *scale; /* center NULL: 0 */
    void *q, *p;                /* p NULL: not wanted */
    i64 g_row[RP_GPU_AXES], x_row[RP_GPU_AXES], g_last, x_last;
    i64 q_step[3], p_step[3];
    rp_gpu_axes rows;
    u32 all, n, lanes; /* rows, their length */
    u64 count;         /* elements of q */
} rp_gpu_norm_lanes;

#endif
