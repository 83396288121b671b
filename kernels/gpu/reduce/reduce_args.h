/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of reduce.cu and batch_norm.cu, and how both count: element i of the kept axes is an
 * output, element r of the reduced axes one of those that it is made of, both row-major. */
#ifndef KERNELS_GPU_REDUCE_REDUCE_ARGS_H
#define KERNELS_GPU_REDUCE_REDUCE_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_AXES = 8, RP_GPU_CHUNK = 4096, RP_GPU_LANES = 64, RP_GPU_ACROSS = 512 /* threads of a block */ };
enum { RP_GPU_HELD_BYTES = 32 }; /* of columns that are one thread's, which asks for all of it at once */

/* What becomes of the last sum. */
enum { RP_GPU_FINISH_SUM, RP_GPU_FINISH_DIVIDE, RP_GPU_FINISH_LOG };

typedef struct rp_gpu_axes {
    u32 rank, shape[RP_GPU_AXES]; /* axes that lie behind one another are one */
} rp_gpu_axes;

typedef struct rp_gpu_reduce {
    rp_gpu_head head;
    const void *x, *other; /* other: a second operand of the same axes */
    const i64 *places;     /* of argmax beyond the first level: those of x's values */
    void *y;               /* the results, or what chunks gave: [outputs, chunks] */
    i64 *y_places;
    const void *center, *scale; /* one an output: what is taken from x, and what it is multiplied with then */
    u64 all;                    /* elements of an output; */
    u32 outputs, n, chunks;     /* n: those of this launch */
    rp_gpu_axes kept, reduced;
    i64 x_kept[RP_GPU_AXES], x_reduced[RP_GPU_AXES], other_kept[RP_GPU_AXES], other_reduced[RP_GPU_AXES];
    i64 y_kept[RP_GPU_AXES];
    u32 last; /* y are the results */
    u32 finish;
    double divisor;
    u32 wide; /* an output's elements are neighbours, 16 bytes aligned */
    u32 rows; /* across: threads of a column */
} rp_gpu_reduce;

#endif
