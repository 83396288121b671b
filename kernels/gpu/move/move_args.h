/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of this folder. */
#ifndef KERNELS_GPU_MOVE_MOVE_ARGS_H
#define KERNELS_GPU_MOVE_MOVE_ARGS_H

#include "kernels/gpu/args.h"

enum { RP_GPU_SCATTER_ITEMS = 128, RP_GPU_SCATTER_PLACES = 32, RP_GPU_TRANSPOSE_SIDE = 64 };
enum { RP_GPU_PACKED = 240, RP_GPU_PACK_BLOCK = 256 }; /* pieces of a launch, threads */

/* Items are the elements of a slice across the axis. Views of items: out, in; of index: the index, and in from it (a
 * difference of addresses); items.own: the axis' bytes from one to the next, its length. */
typedef struct rp_gpu_scatter {
    rp_gpu_map items, index;
    u32 places; /* of the axis that a block has, at most RP_GPU_SCATTER_PLACES; */
    u64 ranges; /* of so many that the axis is cut into */
} rp_gpu_scatter;

/* A copy in tiles of 64 x 64: along axis a neighbours of `to` lie, along b those of `from`. */
typedef struct rp_gpu_transpose {
    rp_gpu_head head;
    u64 a, b;                    /* lengths */
    i64 from_a, to_b;            /* bytes from one to the next along the other's axis */
    u64 tiles_a, tiles_b, tiles; /* tiles: of all */
    rp_gpu_map outer;            /* the other axes; views to, from */
} rp_gpu_transpose;

/* An rp_piece (kernels/device.h) with the address as a number. */
typedef struct rp_gpu_piece {
    u64 bytes;
    u32 size, at;
} rp_gpu_piece;

/* A block of the grid's x a piece, which the blocks of y share. The table is here, not in memory: the 4 KiB that every
 * driver takes as parameters have room for it, and so there is nothing to upload before the launch. */
typedef struct rp_gpu_packing {
    rp_gpu_head head;  /* not looked at: see the kernel */
    unsigned char *to; /* aligned to 16 bytes */
    rp_gpu_piece piece[RP_GPU_PACKED];
} rp_gpu_packing;

#endif
