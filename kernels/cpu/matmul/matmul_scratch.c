/* SPDX-License-Identifier: Apache-2.0
 * Lending by one flag a block. A process that forks while threads hold blocks loses those blocks in the child, no
 * more. The blocks are reserved when the first is asked for: as part of the program they would be pages that every leak
 * checker reads at every exit. */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "kernels/cpu/matmul/matmul_scratch.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

typedef struct block {
    _Alignas(4096) unsigned char bytes[RP_SCRATCH_BYTES];
} block;

/* Blocks begin at a huge page's edge: the first, which one thread borrows, then has all it can in huge pages. */
enum { RESERVED = RP_SCRATCH_BLOCKS * sizeof(block), HUGE = 2 << 20 };

static block *_Atomic blocks;               /* NULL: not reserved yet, or the system did not grant them */
static atomic_flag lent[RP_SCRATCH_BLOCKS]; /* zero is clear with every compiler in use */

static block *reserve(void)
{
    block *first = atomic_load_explicit(&blocks, memory_order_acquire);
    char *mapped;
    block *fresh;

    if (first != NULL)
        return first;
    mapped = mmap(NULL, RESERVED + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    fresh = (block *)(void *)(mapped + (HUGE - (uintptr_t)mapped % HUGE) % HUGE);
    if (atomic_compare_exchange_strong(&blocks, &first, fresh))
        return fresh;
    (void)munmap(mapped, RESERVED + HUGE); /* another thread was first */
    return first;
}

void *rp_scratch_borrow(void)
{
    block *first = reserve();

    for (size_t i = 0; first != NULL && i < RP_SCRATCH_BLOCKS; i++)
        if (!atomic_flag_test_and_set_explicit(&lent[i], memory_order_acquire))
            return first[i].bytes;
    return NULL;
}

void rp_scratch_prefer_huge(void)
{
#ifdef MADV_HUGEPAGE
    static atomic_flag asked;
    block *first = reserve();

    if (first != NULL && !atomic_flag_test_and_set_explicit(&asked, memory_order_relaxed))
        (void)madvise(first, RESERVED, MADV_HUGEPAGE); /* only advice: without it the pages are small */
#endif
}

void rp_scratch_return(void *memory)
{
    if (memory != NULL)
        atomic_flag_clear_explicit(&lent[(block *)memory - atomic_load_explicit(&blocks, memory_order_acquire)],
                                   memory_order_release);
}
