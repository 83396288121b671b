/* SPDX-License-Identifier: Apache-2.0
 * Copies on the device (CONTRACT 3) that go faster than an element at a time: 16 bytes at once where both views have
 * runs of them, and tiles through shared memory where neighbours of one view are not neighbours of the other;
 * and the bytes that go to the host, put together so that they go at once. */
#include "kernels/gpu/device_map.h"
#include "kernels/gpu/move/move_args.h"

RP_GPU_MAP(rp_gpu_copy_16_bytes, 2,
           RP_GPU_STORE16(rp_gpu_u32x4, walk->at[0], RP_GPU_LOAD16(rp_gpu_u32x4, walk->at[1]));)

/* A warp reads 32 neighbours of `from`, along b, and writes 32 of `to`, along a; APART keeps both free of conflicts
 * between banks. All of a thread's elements are asked for before the first is put down; those behind an edge are read
 * at it. */
enum { SIDE = RP_GPU_TRANSPOSE_SIDE, WARPS = 8, THREADS = 32 * WARPS, EACH = SIDE * SIDE / THREADS };

#define TRANSPOSE(bits, T, APART) \
    RP_GPU_KERNEL(256, 4) rp_gpu_transpose_##bits(const RP_GPU_PARAMETER rp_gpu_transpose p) \
    { \
        RP_GPU_SHARED(T, transposed_##bits, SIDE *(APART)); \
        T *const tile = transposed_##bits; \
        const u32 x = RP_GPU_THREAD % 32, y = RP_GPU_THREAD / 32; \
\
        RP_GPU_BEGIN(p); \
        for (u64 block = RP_GPU_BLOCK_X; block < p.tiles; block += RP_GPU_BLOCKS_X) { \
            u64 rest = block; \
            const u64 a = rp_gpu_split(&rest, p.tiles_a) * SIDE, b = rp_gpu_split(&rest, p.tiles_b) * SIDE; \
            const u32 last_a = p.a - a < SIDE ? (u32)(p.a - a - 1) : SIDE - 1; \
            const u32 last_b = p.b - b < SIDE ? (u32)(p.b - b - 1) : SIDE - 1; \
            rp_walk at; \
            T v[EACH]; \
\
            rp_gpu_walk_to(&at, &p.outer, rest, 2); \
            RP_GPU_UNROLL for (u32 e = 0; e < EACH; e++) \
            { \
                const u32 i = y + e / 2 * WARPS, j = x + e % 2 * 32; \
\
                v[e] = *((const T *)rp_gpu_beyond(at.at[1], (i64)(a + (i < last_a ? i : last_a)) * p.from_a) + b + \
                         (j < last_b ? j : last_b)); \
            } \
            RP_GPU_UNROLL for (u32 e = 0; e < EACH; e++) tile[(y + e / 2 * WARPS) * (APART) + x + e % 2 * 32] = v[e]; \
            RP_GPU_BARRIER(); \
            RP_GPU_UNROLL for (u32 e = 0; e < EACH; e++) \
            { \
                const u32 i = x + e % 2 * 32, j = y + e / 2 * WARPS; \
\
                if (i <= last_a && j <= last_b) \
                    *((T *)rp_gpu_beyond(at.at[0], (i64)(b + j) * p.to_b) + a + i) = tile[i * (APART) + j]; \
            } \
            RP_GPU_BARRIER(); \
        } \
    }

TRANSPOSE(16, uint16_t, SIDE + 2)
TRANSPOSE(32, u32, SIDE + 1)
TRANSPOSE(64, u64, SIDE + 1)

/* No look at the fault word: copies to the host happen after a wrong index too. */
RP_GPU_KERNEL(RP_GPU_PACK_BLOCK, 4) rp_gpu_pack(const RP_GPU_PARAMETER rp_gpu_packing p)
{
    const rp_gpu_piece *const piece = &p.piece[RP_GPU_BLOCK_X];
    const unsigned char *const from = (const unsigned char *)(uintptr_t)piece->bytes;
    unsigned char *const to = p.to + piece->at;
    const u64 size = piece->size, wide = (uintptr_t)from % 16 == 0 ? size / 16 : 0;
    const u64 first = (u64)RP_GPU_BLOCK_Y * RP_GPU_THREADS + RP_GPU_THREAD, step = RP_GPU_BLOCKS_Y * RP_GPU_THREADS;

    for (u64 i = first; i < wide; i += step)
        RP_GPU_STORE16(rp_gpu_u32x4, to + 16 * i, RP_GPU_LOAD16(rp_gpu_u32x4, from + 16 * i));
    for (u64 i = 16 * wide + first; i < size; i += step)
        to[i] = from[i];
}
