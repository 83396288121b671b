/* SPDX-License-Identifier: Apache-2.0
 * A matrix of a kernel's arguments: its memory and steps in elements. */
#ifndef KERNELS_REF_TRIANGULAR_H
#define KERNELS_REF_TRIANGULAR_H

#include "kernels/kernel.h"

typedef struct rp_matrix {
    void *at;
    ptrdiff_t row, col;
} rp_matrix;

static inline rp_matrix rp_matrix_of(const rp_view *view)
{
    return (rp_matrix){view->data, view->stride[0], view->stride[1]};
}

/* The matrix of a triangular system, transposed where the attribute says so: solved forward if it is then lower. */
static inline rp_matrix rp_triangle_of(const rp_kernel_args *args, bool *forward)
{
    const bool transposed = RP_AT(args->attr, triangular_solve, transposed).i != 0;
    const rp_matrix a = rp_matrix_of(&args->in[0]);

    *forward = transposed == (RP_AT(args->attr, triangular_solve, upper).i != 0);
    return transposed ? (rp_matrix){a.at, a.col, a.row} : a;
}

#endif
