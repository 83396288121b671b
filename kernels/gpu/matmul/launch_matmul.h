/* SPDX-License-Identifier: Apache-2.0
 * Matrix products in memory that the caller has, for launches that are made of several kernels. */
#ifndef KERNELS_GPU_MATMUL_LAUNCH_MATMUL_H
#define KERNELS_GPU_MATMUL_LAUNCH_MATMUL_H

#include "kernels/gpu/launch.h"

/* Bytes that rp_gpu_matmul_here may need for products [count] of m x k by k x n, numbers of `size` bytes that lie in
 * rows of multiples of 16 bytes: the results of chunks, of which there are as many as 512 goes into k. */
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
