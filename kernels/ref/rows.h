/* SPDX-License-Identifier: Apache-2.0
 * Kernels whose item is a row along the last axis: each row's address in every view. */
#ifndef KERNELS_REF_ROWS_H
#define KERNELS_REF_ROWS_H

#include "kernels/walk.h"

typedef struct rp_row {
    size_t n;                      /* length of the last axis */
    void *at[RP_WALK_VIEWS];       /* output 0, then the inputs */
    ptrdiff_t step[RP_WALK_VIEWS]; /* along the row, in elements */
    const rp_kernel_args *args;
} rp_row;

typedef void rp_row_work(const rp_row *row);

/* Calls work for rows [begin, end). The views are output 0 and the first n_in inputs; those whose bit is set in single
 * (bit 0 the output, bit 1 input 0, ...) have one element a row instead of a last axis. The length is
 * that of input length_of. */
RP_KERNEL_FN RP_KERNEL_CALLER void rp_rows_run(const rp_kernel_args *args, size_t n_in, unsigned single,
                                               size_t length_of, size_t begin, size_t end, rp_row_work *work);

#endif
