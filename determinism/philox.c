/* SPDX-License-Identifier: Apache-2.0
 * Philox and the draws of CONTRACT 6 out of line, several blocks at once, and permutations. */
#include "determinism/philox.h"

#include "determinism/philox_inline.h"

rp_philox4 rp_philox(const uint32_t counter[4], const uint32_t key[2])
{
    return rp_philox_inline(counter, key);
}

rp_philox4 rp_random_block(uint64_t seed, uint64_t step, uint32_t stream, uint64_t block)
{
    return rp_random_block_inline(seed, step, stream, block);
}

enum { BESIDE = 8 }; /* blocks in turn, so that a compiler multiplies several words at once */

static void blocks_beside(rp_philox4 out[BESIDE], uint64_t seed, uint64_t step, uint32_t stream, uint64_t first)
{
    uint32_t c0[BESIDE], c1[BESIDE], c2[BESIDE], c3[BESIDE];
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (size_t i = 0; i < BESIDE; i++) {
        const uint64_t block = first + i;

        c0[i] = (uint32_t)block;
        c1[i] = (uint32_t)step;
        c2[i] = (uint32_t)(block >> 32 & 0xFFFF) << 16 | (uint32_t)(step >> 32 & 0xFFFF);
        c3[i] = stream;
    }
    for (int round = 0; round < RP_PHILOX_ROUNDS; round++) {
        for (size_t i = 0; i < BESIDE; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];

            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)p1;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (size_t i = 0; i < BESIDE; i++)
        out[i] = (rp_philox4){{c0[i], c1[i], c2[i], c3[i]}};
}

void rp_random_blocks(rp_philox4 *out, uint64_t seed, uint64_t step, uint32_t stream, uint64_t first, size_t count)
{
    size_t i = 0;

    for (; i + BESIDE <= count; i += BESIDE)
        blocks_beside(out + i, seed, step, stream, first + i);
    for (; i < count; i++)
        out[i] = rp_random_block(seed, step, stream, first + i);
}

uint32_t rp_random_u32(uint64_t seed, uint64_t step, uint32_t stream, uint64_t index)
{
    return rp_random_u32_inline(seed, step, stream, index);
}

float rp_uniform_f32(uint32_t word)
{
    return rp_uniform_f32_inline(word);
}

double rp_uniform_f64(uint32_t high, uint32_t low)
{
    return rp_uniform_f64_inline(high, low);
}

/* The words of one sequence in order; a block is computed once for its four words. */
typedef struct word_source {
    uint64_t seed, step, index;
    uint32_t stream;
    rp_philox4 block;
} word_source;

static uint32_t next_word(word_source *source)
{
    uint64_t at = source->index++;

    if (at % 4 == 0)
        source->block = rp_random_block(source->seed, source->step, source->stream, at / 4);
    return source->block.v[at % 4];
}

/* Uniform on [0, range), 1 <= range <= 2^32 (Lemire, "Fast random integer generation in an interval", 2019): of the
 * 2^32 words, exactly 2^32 mod range are rejected, which leaves the same number for every result. */
static uint64_t draw_below(word_source *source, uint64_t range)
{
    uint64_t reject = ((uint64_t)1 << 32) % range;

    for (;;) {
        uint64_t word = next_word(source);
        /* word < 2^32 and range <= 2^32: only (2^32 - 1) * 2^32 comes near 2^64, and it fits. */
        uint64_t product = word * range;

        if ((uint32_t)product >= reject)
            return product >> 32;
    }
}

void rp_permutation(int64_t *permutation, size_t n, uint64_t seed, uint64_t step, uint32_t stream)
{
    word_source source = {.seed = seed, .step = step, .stream = stream};

    for (size_t i = 0; i < n; i++)
        permutation[i] = (int64_t)i;
    for (size_t i = n; i-- > 1;) {
        uint64_t j = draw_below(&source, (uint64_t)i + 1);
        int64_t held = permutation[i];

        permutation[i] = permutation[j];
        permutation[j] = held;
    }
}
