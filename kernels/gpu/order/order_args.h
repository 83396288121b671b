/* SPDX-License-Identifier: Apache-2.0
 * Parameters of the sorting networks of order.cu: what both sides of a launch see. */
#ifndef KERNELS_GPU_ORDER_ORDER_ARGS_H
#define KERNELS_GPU_ORDER_ORDER_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_SORT_NEAR = 1024, RP_GPU_SORT_THREADS = 256 };

/* Lines of n elements and their places, one after the other. */
typedef struct rp_gpu_sort {
    rp_gpu_head head;
    void *y;
    i64 *place;
    u64 lines, n;
    u64 parts;  /* near: stretches of RP_GPU_SORT_NEAR a line */
    u64 pairs;  /* far: of a line */
    u64 width;  /* far: of the blocks whose halves are compared */
    u32 turned; /* far: the second half from its end */
    u32 fresh;  /* near: the places are not there yet, and the stretch is in no order */
    u32 descending;
} rp_gpu_sort;

#endif
