/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 (determinism/philox.c) for PHILOX_WIDE neighbouring blocks at a time. A word lies in the low half of a
 * 64-bit lane; what is in the high half never reaches a low one, so products are used as they come. */
#ifndef KERNELS_CPU_PHILOX_H
#define KERNELS_CPU_PHILOX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { PHILOX_LANES = 8 };
#define PHILOX_MUL(a, b) (philox_lanes) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#elif defined(__AVX2__)
#include <immintrin.h>
enum { PHILOX_LANES = 4 };
#define PHILOX_MUL(a, b) (philox_lanes) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#elif defined(__SSE2__)
#include <emmintrin.h>
enum { PHILOX_LANES = 2 };
#define PHILOX_MUL(a, b) (philox_lanes) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#elif defined(__aarch64__)
#include <arm_neon.h>
enum { PHILOX_LANES = 2 };
#define PHILOX_MUL(a, b) (philox_lanes) vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b)))
#endif

/* So many vectors are under way at once, to hide the multiplier's latency. */
enum { PHILOX_VECTORS = 4, PHILOX_WIDE = PHILOX_VECTORS * PHILOX_LANES };
typedef uint64_t philox_lanes __attribute__((vector_size(8 * PHILOX_LANES)));

typedef struct philox_source {
    uint64_t seed, step;
    uint32_t stream;
} philox_source;

/* One round of all vectors. */
static inline __attribute__((always_inline)) void philox_round(philox_lanes word[4][PHILOX_VECTORS],
                                                               philox_lanes key[2])
{
    const philox_lanes zero = {0}, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;

    for (int v = 0; v < PHILOX_VECTORS; v++) {
        const philox_lanes p0 = PHILOX_MUL(word[0][v], m0), p1 = PHILOX_MUL(word[2][v], m1);

        word[0][v] = (p1 >> 32) ^ word[1][v] ^ key[0];
        word[1][v] = p1;
        word[2][v] = (p0 >> 32) ^ word[3][v] ^ key[1];
        word[3][v] = p0;
    }
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
}

/* Blocks block .. block + PHILOX_WIDE - 1; word[w][v] has word w of them, with arbitrary high halves. */
static inline __attribute__((always_inline)) void philox_wide(const philox_source *s, uint64_t block,
                                                              philox_lanes word[4][PHILOX_VECTORS])
{
    static const uint64_t ascending[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const philox_lanes zero = {0};
    philox_lanes key[2] = {zero + s->seed, zero + (s->seed >> 32)}, blocks;

    memcpy(&blocks, ascending, sizeof blocks);
    blocks += block;
    for (int v = 0; v < PHILOX_VECTORS; v++, blocks += PHILOX_LANES) {
        word[0][v] = blocks;
        word[1][v] = zero + s->step;
        word[2][v] = ((blocks >> 32 & 0xFFFF) << 16) | (s->step >> 32 & 0xFFFF);
        word[3][v] = zero + s->stream;
    }
    for (int round = 0; round < 10; round += 2) { /* by twos, which saves moves between registers */
        philox_round(word, key);
        philox_round(word, key);
    }
}

/* Words of blocks first .. first + n - 1, one column a word, each in 64 bits. The columns have room for n rounded up to
 * PHILOX_WIDE. */
static inline void philox_columns(const philox_source *s, uint64_t first, size_t n, uint64_t *c0, uint64_t *c1,
                                  uint64_t *c2, uint64_t *c3)
{
    uint64_t *const column[4] = {c0, c1, c2, c3};

    for (size_t i = 0; i < n; i += PHILOX_WIDE) {
        philox_lanes word[4][PHILOX_VECTORS];

        philox_wide(s, first + i, word);
        for (int w = 0; w < 4; w++)
            for (int v = 0; v < PHILOX_VECTORS; v++) {
                const philox_lanes low = word[w][v] & 0xFFFFFFFFu;

                memcpy(column[w] + i + v * PHILOX_LANES, &low, sizeof low);
            }
    }
}

/* Words first .. first + n - 1 of the sequence, somewhere in buffer, which has room for n + 4 PHILOX_WIDE + 4.
 * Little-endian hosts only, as all that have a variant are. */
static const uint32_t *philox_words(const philox_source *s, uint64_t first, size_t n, uint32_t *buffer)
{
    const size_t skip = first % 4, blocks = (skip + n + 3) / 4;

    for (size_t i = 0; i < blocks; i += PHILOX_WIDE) {
        philox_lanes word[4][PHILOX_VECTORS];

        philox_wide(s, first / 4 + i, word);
        for (int v = 0; v < PHILOX_VECTORS; v++) {
            const philox_lanes low = (word[0][v] & 0xFFFFFFFFu) | word[1][v] << 32;
            const philox_lanes high = (word[2][v] & 0xFFFFFFFFu) | word[3][v] << 32;
            uint64_t pairs[2 * PHILOX_LANES];

            for (int l = 0; l < PHILOX_LANES; l++) {
                pairs[2 * l] = low[l];
                pairs[2 * l + 1] = high[l];
            }
            memcpy(buffer + 4 * (i + (size_t)(v * PHILOX_LANES)), pairs, sizeof pairs);
        }
    }
    return buffer + skip;
}

#endif
