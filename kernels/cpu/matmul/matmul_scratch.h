/* SPDX-License-Identifier: Apache-2.0
 * Memory for packed operands. Kernels cannot fail, so they do not allocate: addresses for a fixed number of
 * blocks are reserved once (only those in use cost memory), and a thread borrows one for the length of a call,
 * a convolution of planes two. With more threads than blocks, or where the system reserves nothing, the caller does
 * with a small block on its stack: slower by a few per cent, with the same bits. */
#ifndef KERNELS_CPU_MATMUL_MATMUL_SCRATCH_H
#define KERNELS_CPU_MATMUL_MATMUL_SCRATCH_H

#include <stddef.h>

enum {
    RP_SCRATCH_BYTES = 4512 * 1024,
    RP_SCRATCH_CACHED = 2464 * 1024, /* what a thread should fill where all have their share of the third cache */
    RP_SCRATCH_BLOCKS = 64
};

/* A block of RP_SCRATCH_BYTES, aligned to a page; NULL when all are lent. */
void *rp_scratch_borrow(void);
/* For who is about to fill megabytes of a block: pages first touched from here on are large where the system has them,
 * which saves address translation. Not for small work, as clearing a large page takes a tenth of a millisecond. */
void rp_scratch_prefer_huge(void);
void rp_scratch_return(void *block); /* NULL is fine */

#endif
