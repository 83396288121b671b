/* SPDX-License-Identifier: Apache-2.0
 * Memory for packed operands. Kernels cannot fail, so they do not allocate: a fixed number of blocks lies in the
 * program's zero pages (only those in use cost memory), and a thread borrows one for the length of a call. With more
 * threads than blocks the caller does with a small block on its stack: slower by a few per cent, with the same bits. */
#ifndef KERNELS_CPU_MATMUL_SCRATCH_H
#define KERNELS_CPU_MATMUL_SCRATCH_H

#include <stddef.h>

enum { RP_SCRATCH_BYTES = 2464 * 1024, RP_SCRATCH_BLOCKS = 64 };

/* A block of RP_SCRATCH_BYTES, aligned to a page; NULL when all are lent. */
void *rp_scratch_borrow(void);
void rp_scratch_return(void *block); /* NULL is fine */

#endif
