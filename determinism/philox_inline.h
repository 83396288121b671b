/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 after Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC'11), and the draws
 * of CONTRACT 6 in its words, as static inline functions: determinism/philox.c compiles them once, GPUs in place. */
#ifndef DETERMINISM_PHILOX_INLINE_H
#define DETERMINISM_PHILOX_INLINE_H

#include "determinism/philox.h"

enum { RP_PHILOX_ROUNDS = 10 };

static inline rp_philox4 rp_philox_inline(const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < RP_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (rp_philox4){{c0, c1, c2, c3}};
}

/* Injective on its stated ranges: 48 bits of block, 48 of step, 32 of stream fill the counter exactly. */
static inline rp_philox4 rp_random_block_inline(uint64_t seed, uint64_t step, uint32_t stream, uint64_t block)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {
        (uint32_t)block,
        (uint32_t)step,
        (uint32_t)(block >> 32 & 0xFFFF) << 16 | (uint32_t)(step >> 32 & 0xFFFF),
        stream,
    };

    return rp_philox_inline(counter, key);
}

static inline uint32_t rp_random_u32_inline(uint64_t seed, uint64_t step, uint32_t stream, uint64_t index)
{
    return rp_random_block_inline(seed, step, stream, index / 4).v[index % 4];
}

static inline float rp_uniform_f32_inline(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 0x1p-24f;
}

static inline double rp_uniform_f64_inline(uint32_t high, uint32_t low)
{
    int64_t bits = (int64_t)((uint64_t)high << 21 | low >> 11);

    return (double)bits * 0x1p-53;
}

#endif
