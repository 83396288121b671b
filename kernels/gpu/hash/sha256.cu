/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4) of many messages, a thread each. The state and the sixteen words of the schedule stay in
 * registers, and the next block is read while this one is hashed: a message's blocks hang on each other, so what hides
 * the memory is within the thread. A prefix shifts the message by a byte against the memory, which the permutation that
 * turns the words' bytes round does by the way. */
#include "kernels/gpu/hash/sha256_args.h"

#include "rp/dtype.h"

enum { WORDS = 16, BLOCK = 64, LENGTH = 9 /* the bit and eight bytes behind a message */ };
enum { TURNED = 0x4567, TURNED_AFTER_ONE = 0x3456, REVERSED = 0x0123 }; /* bytes of two words, the least first */

#define ROTATED(x, n) ((x) >> (n) | (x) << (32 - (n)))

/* 4.1.2 of the standard; its names are Ch, Maj, and sigmas. */
RP_GPU_FN u32 choose(u32 x, u32 y, u32 z)
{
    return (x & y) ^ (~x & z);
}

RP_GPU_FN u32 majority(u32 x, u32 y, u32 z)
{
    return (x & y) ^ (x & z) ^ (y & z);
}

RP_GPU_FN u32 large_sigma_0(u32 x)
{
    return ROTATED(x, 2) ^ ROTATED(x, 13) ^ ROTATED(x, 22);
}

RP_GPU_FN u32 large_sigma_1(u32 x)
{
    return ROTATED(x, 6) ^ ROTATED(x, 11) ^ ROTATED(x, 25);
}

RP_GPU_FN u32 small_sigma_0(u32 x)
{
    return ROTATED(x, 7) ^ ROTATED(x, 18) ^ x >> 3;
}

RP_GPU_FN u32 small_sigma_1(u32 x)
{
    return ROTATED(x, 17) ^ ROTATED(x, 19) ^ x >> 10;
}

/* A block of the message, as words, into the state (6.2.2). The words are used up. */
RP_GPU_FN void compress(u32 state[8], u32 w[WORDS])
{
    const u32 k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    u32 a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];

    RP_GPU_UNROLL for (int t = 0; t < 64; t++)
    {
        u32 first, second;

        if (t >= WORDS)
            w[t % WORDS] += small_sigma_1(w[(t + 14) % WORDS]) + w[(t + 9) % WORDS] + small_sigma_0(w[(t + 1) % WORDS]);
        first = h + large_sigma_1(e) + choose(e, f, g) + k[t] + w[t % WORDS];
        second = large_sigma_0(a) + majority(a, b, c);
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* The block's bytes as they lie in memory; 0 behind the message's end, `left` bytes from here, which may be below 0. */
RP_GPU_FN void read_block(u32 raw[WORDS], const unsigned char *at, int left, bool aligned)
{
    if (aligned && left >= BLOCK) {
        RP_GPU_UNROLL for (int i = 0; i < WORDS; i += 4)
        {
            const rp_gpu_u32x4 v = RP_GPU_LOAD16(rp_gpu_u32x4, at + 4 * i);

            raw[i] = v.x, raw[i + 1] = v.y, raw[i + 2] = v.z, raw[i + 3] = v.w;
        }
        return;
    }
    RP_GPU_UNROLL for (int i = 0; i < WORDS; i++)
    {
        raw[i] = 0;
        RP_GPU_UNROLL for (int k = 0; k < 4; k++) if (4 * i + k < left) raw[i] |= (u32)at[4 * i + k] << 8 * k;
    }
}

/* One half of a word: its bits where it is no NaN, else those of the stored one, which has a bit below infinity's. */
RP_GPU_FN u32 stored_half(u32 bits, u32 infinity)
{
    return (bits & 0x7FFF) > infinity ? infinity | (infinity >> 1 & ~infinity) : bits;
}

/* From elements in host form to their stored form: every NaN the canonical one, a bool 0 or 1 (determinism/bits.h). */
RP_GPU_FN void to_stored(u32 raw[WORDS], int dtype)
{
    if (dtype == RP_F32) {
        RP_GPU_UNROLL for (int i = 0; i < WORDS; i++) raw[i] = (raw[i] & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC00000 : raw[i];
    } else if (dtype == RP_F64) {
        RP_GPU_UNROLL for (int i = 0; i < WORDS; i += 2)
        {
            const u32 high = raw[i + 1] & 0x7FFFFFFF;
            const bool is_nan = high > 0x7FF00000 || (high == 0x7FF00000 && raw[i] != 0);

            raw[i] = is_nan ? 0 : raw[i];
            raw[i + 1] = is_nan ? 0x7FF80000 : raw[i + 1];
        }
    } else if (dtype == RP_BF16 || dtype == RP_F16) {
        const u32 infinity = dtype == RP_F16 ? 0x7C00 : 0x7F80;

        RP_GPU_UNROLL for (int i = 0; i < WORDS; i++) raw[i] =
            stored_half(raw[i] >> 16, infinity) << 16 | stored_half(raw[i] & 0xFFFF, infinity);
    } else if (dtype == RP_BOOL) {
        RP_GPU_UNROLL for (int i = 0; i < WORDS; i++)
        {
            u32 any = raw[i] | (raw[i] >> 4 & 0x0F0F0F0F);

            any |= any >> 2 & 0x03030303;
            raw[i] = (any | any >> 1) & 0x01010101;
        }
    }
}

/* The bit behind the message, where that is in this block (5.1.1). Not raw[left / 4], which would put the words into
 * memory. */
RP_GPU_FN void put_end(u32 raw[WORDS], int left)
{
    RP_GPU_UNROLL for (int i = 0; i < WORDS; i++)
    {
        const u32 within = (u32)(left - 4 * i);

        raw[i] |= within < 4 ? 0x80u << 8 * within : 0;
    }
}

/* No look at the fault word, unlike every other kernel: what is hashed is what was computed before a wrong index, and a
 * digest that was not made would be one of junk. */
RP_GPU_KERNEL(RP_GPU_HASH_BLOCK, 1) rp_gpu_sha256(const RP_GPU_PARAMETER rp_gpu_sha256_args p)
{
    const u64 which = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD;
    u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    u32 raw[WORDS];

    if (which >= p.count)
        return;
    const rp_gpu_u32x4 row = RP_GPU_LOAD16(rp_gpu_u32x4, p.message + which);
    const unsigned char *at = (const unsigned char *)(uintptr_t)((u64)row.y << 32 | row.x);
    const int size = (int)row.z, prefix = (int16_t)(row.w & 0xFFFF), dtype = (int)(row.w >> 16);
    const u64 length = (u64)size + (prefix >= 0);
    const int blocks = (int)((length + LENGTH + BLOCK - 1) / BLOCK);
    const u32 selector = prefix >= 0 ? TURNED_AFTER_ONE : TURNED;
    const bool aligned = (uintptr_t)at % 16 == 0;
    u32 before = (u32)prefix << 24; /* the word in front of the block, of which the last byte counts */

    read_block(raw, at, size, aligned);
    RP_GPU_NO_UNROLL for (int b = 0; b < blocks; b++)
    {
        const int left = (int)((i64)size - (i64)b * BLOCK);
        u32 w[WORDS];

        to_stored(raw, dtype);
        if (left < BLOCK)
            put_end(raw, left);
        RP_GPU_UNROLL for (int i = 0; i < WORDS; i++)
        {
            w[i] = RP_GPU_PERMUTE(before, raw[i], selector);
            before = raw[i];
        }
        if (b == blocks - 1) {
            w[14] = (u32)(length >> 29);
            w[15] = (u32)(length << 3);
        } else {
            at += BLOCK;
            read_block(raw, at, left - BLOCK, aligned);
        }
        compress(state, w);
    }
    RP_GPU_UNROLL for (int i = 0; i < 8; i += 4)
    {
        rp_gpu_u32x4 v;

        v.x = RP_GPU_PERMUTE(state[i], 0, REVERSED), v.y = RP_GPU_PERMUTE(state[i + 1], 0, REVERSED);
        v.z = RP_GPU_PERMUTE(state[i + 2], 0, REVERSED), v.w = RP_GPU_PERMUTE(state[i + 3], 0, REVERSED);
        RP_GPU_STORE16(rp_gpu_u32x4, p.digest + which * RP_GPU_DIGEST + 4 * i, v);
    }
}
