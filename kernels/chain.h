/* SPDX-License-Identifier: Apache-2.0
 * A chain: elementwise kernels over the same elements, run block by block, so that what one of them makes and only the
 * others need stays in a scratch that fits the first-level cache and is never stored. The kernels are the ordinary
 * ones; as each computes element i from element i alone, any cut into blocks gives the same bits. */
#ifndef KERNELS_CHAIN_H
#define KERNELS_CHAIN_H

#include "base/pool.h"
#include "kernels/kernel.h"

enum {
    RP_CHAIN_BLOCK = 2048, /* elements of a block at most: shorter tensors gain nothing from a chain */
    RP_CHAIN_STEPS = 16,
    RP_CHAIN_VIEWS = 64,
    RP_CHAIN_SLOTS = 32,
    RP_CHAIN_STREAM = 1 << 24 /* bytes from which an output is better streamed past the caches */
};

/* One kernel: its operands are view[in .. in + n_in) and view[out .. out + n_out). */
typedef struct rp_chain_step {
    rp_kernel_id kernel;
    size_t in, n_in, out, n_out;
    const rp_attr *attr;
} rp_chain_step;

/* A view whose elements are in the scratch: its memory is set for each block. stream: where the block goes when all
 * steps are done, for an output too large to be found in a cache again; else NULL. */
typedef struct rp_chain_scratch {
    size_t view, slot;
    void *stream;
} rp_chain_scratch;

typedef struct rp_chain {
    size_t count;       /* elements of every output */
    size_t slots, size; /* pieces of scratch, and bytes of an element of the widest */
    size_t n_steps, n_views, n_scratch;
    unsigned way; /* 0: as a device likes; else, for tests, which of its kernels for chains, from 1 on, where it may */
    rp_chain_step step[RP_CHAIN_STEPS];
    rp_chain_scratch scratch[RP_CHAIN_VIEWS];
    rp_view view[RP_CHAIN_VIEWS]; /* operands as the kernels take them; all outputs contiguous, of one shape */
} rp_chain;

/* Bytes of a chain of so many views: who keeps many keeps no others. */
static inline size_t rp_chain_bytes(size_t n_views)
{
    return offsetof(rp_chain, view) + n_views * sizeof(rp_view);
}

/* Runs the chain with the kernels of a table. pool may be NULL; least: work, in elementary operations, that a thread
 * should have before it is worth waking. */
void rp_chain_run(const rp_chain *chain, const rp_kernel_table *table, rp_pool *pool, size_t least);

#endif
