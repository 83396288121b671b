/* SPDX-License-Identifier: Apache-2.0
 * What all matrix products share: the chunk of CONTRACT 4.4 and where the matrices of an item lie. */
#ifndef KERNELS_REF_MATMUL_H
#define KERNELS_REF_MATMUL_H

#include "kernels/walk.h"

enum { RP_MATMUL_CHUNK = 512 };

/* One product of the batch: y [m, n] = a [m, k] b [k, n], strides in elements. */
typedef struct rp_matmul {
    size_t m, k, n;
    const void *a, *b;
    bool a_half, b_half; /* bf16, which counts as the binary32 of the same value; else of the type of y */
    void *y;
    ptrdiff_t a_row, a_col, b_row, b_col, y_row, y_col;
    size_t more;          /* so many further products, which are added to the same y one after the other, and whose */
    ptrdiff_t a_on, b_on; /* operands lie so far behind those before them; only of products that are added to y */
} rp_matmul;

/* Items are rows of the output, batch after batch. */
RP_KERNEL_FN size_t rp_matmul_items(const rp_kernel_args *args);
RP_KERNEL_FN size_t rp_matmul_cost(const rp_kernel_args *args);
RP_KERNEL_FN rp_matmul rp_matmul_of(const rp_kernel_args *args, size_t batch);

/* Calls rows(product, begin, end) for the rows of each product that items [begin, end) name. */
RP_KERNEL_FN RP_KERNEL_CALLER void rp_matmul_run(const rp_kernel_args *args, size_t begin, size_t end,
                                                 void (*rows)(const rp_matmul *product, size_t begin, size_t end));

#endif
