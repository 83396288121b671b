/* SPDX-License-Identifier: Apache-2.0
 * What launches that are made of several kernels take of matrix products: products in memory that the caller has, which
 * tile and whether chunks go to blocks of their own, and the addition of chunks. */
#ifndef KERNELS_GPU_MATMUL_LAUNCH_MATMUL_H
#define KERNELS_GPU_MATMUL_LAUNCH_MATMUL_H

#include "kernels/gpu/launch.h"
#include "kernels/gpu/matmul/matmul_args.h"

/* A tile, how many of its blocks a multiprocessor holds, and how much of its peak, in percent, one of them alone and
 * all of them reach: what was measured on an H100 and an H200, rounded. */
typedef struct rp_gpu_tile_speed {
    unsigned rows, columns, resident, alone, full;
} rp_gpu_tile_speed;

/* `count` results of m x n that are sums of k terms in chunks of 512. */
typedef struct rp_gpu_tiled_product {
    size_t m, n, k, count;
} rp_gpu_tiled_product;

typedef struct rp_gpu_tiling {
    size_t tiles, chunks; /* chunks: 1, or those that go to blocks of their own where that is faster */
    uint64_t cycles;      /* by a model (tiling.c) */
} rp_gpu_tiling;

/* size: bytes of a result. */
rp_gpu_tiling rp_gpu_tiling_of(const rp_gpu_queue *queue, const rp_gpu_tile_speed *speed, const rp_gpu_tiled_product *p,
                               size_t size);

/* Launches the addition of chunks that p describes, but for its count. */
void rp_gpu_matmul_add(rp_gpu_queue *queue, rp_dtype dtype, rp_gpu_matmul_join *p);

/* Bytes that rp_gpu_matmul_here may need for products [count] of m x k by k x n, numbers of `size` bytes that lie in
 * rows of multiples of 16 bytes but for those of a: the results of chunks, of which there are as many as 512 goes into
 * k, and rows of a laid out anew. */
size_t rp_gpu_matmul_most(size_t m, size_t k, size_t n, size_t count, size_t size);
/* Whether rp_gpu_matmul_here takes such products: rows of a are k apart, those of b n. */
bool rp_gpu_matmul_takes(size_t k, size_t n);
/* The bytes that rp_gpu_matmul_here needs for this product, of whose data only the alignment counts; false: it does not
 * take it. */
bool rp_gpu_matmul_needs(const rp_gpu_queue *queue, const rp_kernel_args *args, size_t *bytes);
/* As the launcher, in that memory, aligned to 16 bytes. Of rp_gpu_matmul_most bytes where rows of a lie along k, those
 * of b along n, and n is a multiple of 4, so that no tile wants an operand laid out anew. */
void rp_gpu_matmul_here(rp_gpu_queue *queue, const rp_kernel_args *args, void *memory);

#endif
