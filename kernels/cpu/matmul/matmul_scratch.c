/* SPDX-License-Identifier: Apache-2.0
 * Lending by one flag a block. A process that forks while threads hold blocks loses those blocks in the child, no
 * more. */
#define _DEFAULT_SOURCE /* madvise */
#include "kernels/cpu/matmul/matmul_scratch.h"

#include <stdatomic.h>
#include <sys/mman.h>

typedef struct block {
    _Alignas(4096) unsigned char bytes[RP_SCRATCH_BYTES];
} block;

static block blocks[RP_SCRATCH_BLOCKS];
static atomic_flag lent[RP_SCRATCH_BLOCKS]; /* zero is clear with every compiler in use */

void *rp_scratch_borrow(void)
{
    for (size_t i = 0; i < RP_SCRATCH_BLOCKS; i++)
        if (!atomic_flag_test_and_set_explicit(&lent[i], memory_order_acquire))
            return blocks[i].bytes;
    return NULL;
}

void rp_scratch_prefer_huge(void)
{
#ifdef MADV_HUGEPAGE
    static atomic_flag asked;

    if (!atomic_flag_test_and_set_explicit(&asked, memory_order_relaxed))
        (void)madvise(blocks, sizeof blocks, MADV_HUGEPAGE); /* only advice: without it the pages are small */
#endif
}

void rp_scratch_return(void *memory)
{
    if (memory != NULL)
        atomic_flag_clear_explicit(&lent[(block *)memory - blocks], memory_order_release);
}
