/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of this folder. */
#ifndef KERNELS_GPU_MOVE_MOVE_ARGS_H
#define KERNELS_GPU_MOVE_MOVE_ARGS_H

#include "kernels/gpu/args.h"

enum { RP_GPU_SCATTER_ITEMS = 128, RP_GPU_SCATTER_PLACES = 32 };

/* Items are the elements of a slice across the axis. Views of items: out, in; of index: the index, and in from it (a
 * difference of addresses); items.own: the axis' bytes from one to the next, its length. */
typedef struct rp_gpu_scatter {
    rp_gpu_map items, index;
    u32 places; /* of the axis that a block has, at most RP_GPU_SCATTER_PLACES; */
    u64 ranges; /* of so many that the axis is cut into */
} rp_gpu_scatter;

#endif
