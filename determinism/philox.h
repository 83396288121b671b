/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 (Salmon et al., SC'11) and what is drawn from it. Every draw is a pure function of
 * (seed, step, stream, index); there is no generator state. Layout of counter and key, and each rule: CONTRACT 6.
 * Ranges: step < 2^48 and index < 2^50 (block < 2^48); higher bits are ignored, so core refuses them. */
#ifndef DETERMINISM_PHILOX_H
#define DETERMINISM_PHILOX_H

#include <stddef.h>
#include <stdint.h>

typedef struct rp_philox4 {
    uint32_t v[4];
} rp_philox4;

/* The raw block function. */
rp_philox4 rp_philox(const uint32_t counter[4], const uint32_t key[2]);

/* Block `block` of the sequence (seed, step, stream): its words 4 * block .. 4 * block + 3. */
rp_philox4 rp_random_block(uint64_t seed, uint64_t step, uint32_t stream, uint64_t block);

/* Blocks first .. first + count - 1 of the sequence. */
void rp_random_blocks(rp_philox4 *out, uint64_t seed, uint64_t step, uint32_t stream, uint64_t first, size_t count);

/* Word `index` of the sequence (seed, step, stream): word index mod 4 of block index / 4. */
uint32_t rp_random_u32(uint64_t seed, uint64_t step, uint32_t stream, uint64_t index);

/* Uniform on [0, 1): the top 24 bits times 2^-24, exact. Element i takes word i. */
float rp_uniform_f32(uint32_t word);
/* Uniform on [0, 1) from two words: 53 bits times 2^-53, exact. Element i takes words 2i (high) and 2i + 1 (low). */
double rp_uniform_f64(uint32_t high, uint32_t low);
/* Standard normal from one block, by Box-Muller in binary64. Element i takes block i. */
double rp_normal_f64(rp_philox4 block);

/* permutation[0..n) of 0..n-1, a pure function of (seed, step, stream): Fisher-Yates from the top, index drawn without
 * bias by Lemire's multiply-and-reject rule as CONTRACT 6 writes it. n <= 2^32. */
void rp_permutation(int64_t *permutation, size_t n, uint64_t seed, uint64_t step, uint32_t stream);

#endif
