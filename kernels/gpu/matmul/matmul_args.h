/* SPDX-License-Identifier: Apache-2.0
 * What a launch tells the kernels of matmul.cu: plain data, passed by value, the same for host and device. */
#ifndef KERNELS_GPU_MATMUL_MATMUL_ARGS_H
#define KERNELS_GPU_MATMUL_MATMUL_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_MATMUL_CHUNK = 512, RP_GPU_MATMUL_BATCH_AXES = 6, RP_GPU_MATMUL_STRIDE = 1 << 25 };

/* y [m, n] = a [m, k] b [k, n] for each product of a batch; strides in elements. Block x is a tile, y a product of the
 * batch counted from `first`, z a chunk of k if `apart` is set: then chunk c of product p goes to y + c y_chunk + p m
 * n, whose rows lie n apart, and another kernel adds the chunks. */
typedef struct rp_gpu_matmul {
    rp_gpu_head head;
    const void *a, *b;
    void *y;
    int32_t a_row, a_col, b_row, b_col; /* between -RP_GPU_MATMUL_STRIDE and that */
    int64_t y_row, y_col, y_chunk;
    int64_t a_batch[RP_GPU_MATMUL_BATCH_AXES], b_batch[RP_GPU_MATMUL_BATCH_AXES], y_batch[RP_GPU_MATMUL_BATCH_AXES];
    uint32_t batch[RP_GPU_MATMUL_BATCH_AXES]; /* its shape, axes that are not there of length 1 */
    uint32_t m, n, k, first;
    uint32_t apart;
    uint32_t wide; /* y's rows are stored 16 bytes at a time */
} rp_gpu_matmul;

/* y = the first of `chunks` results plus the others, left to right, or, if there are `more`, y plus all of them;
 * element i of product p lies at y + the strides. wide: both are read and stored 16 bytes at a time. */
typedef struct rp_gpu_matmul_join {
    rp_gpu_head head;
    const void *parts; /* [chunks, products, m, n] */
    void *y;
    int64_t y_row, y_col, part;
    int64_t y_batch[RP_GPU_MATMUL_BATCH_AXES];
    uint32_t batch[RP_GPU_MATMUL_BATCH_AXES];
    uint32_t m, n, chunks, more, wide;
    uint64_t count; /* elements of y */
} rp_gpu_matmul_join;

/* Rows of `inner` elements from [products, rows, inner] by strides to [products, rows, pitch]. */
typedef struct rp_gpu_matmul_pack {
    rp_gpu_head head;
    const void *from;
    void *to;
    int64_t row, stride;
    int64_t stride_batch[RP_GPU_MATMUL_BATCH_AXES];
    uint32_t batch[RP_GPU_MATMUL_BATCH_AXES];
    uint32_t rows, inner, pitch;
    uint64_t count; /* elements of all products */
} rp_gpu_matmul_pack;

#endif
