/* SPDX-License-Identifier: Apache-2.0
 * Values for specimens. */
#ifndef KERNELS_CONFORMANCE_SPECIMEN_DATA_H
#define KERNELS_CONFORMANCE_SPECIMEN_DATA_H

#include "determinism/philox.h"
#include "kernels/conformance/specimen.h"

/* Blocks filled before: kernels share their values, which depend on the plan's data and seed, the block's number and
 * the element type only; and the random words, which do not depend on the type. Zero-initialised; one thread's. A new
 * data or seed empties it. */
enum { RP_CACHED_BLOCKS = 40, RP_CACHED_STREAMS = 8 };
typedef struct rp_specimen_cache {
    rp_specimen_data data;
    uint64_t seed;
    struct {
        rp_dtype dtype;
        uint32_t stream;
        size_t count, room;
        void *block;
    } entry[RP_CACHED_BLOCKS];
    size_t n;
    struct {
        rp_philox4 *word;
        size_t count, room;
    } words[RP_CACHED_STREAMS]; /* of the first streams */
} rp_specimen_cache;
void rp_specimen_cache_free(rp_specimen_cache *cache);

/* cache may be NULL, and is passed over when it is full or memory is short. */
void rp_specimen_fill(rp_specimen_cache *cache, void *block, rp_dtype dtype, size_t count, rp_specimen_data data,
                      uint64_t seed, uint32_t stream);
/* Indices below limit; zeros when limit is 0. dtype i32 or i64. */
void rp_specimen_fill_indices(void *block, rp_dtype dtype, size_t count, size_t limit, uint64_t seed, uint32_t stream);

#endif
