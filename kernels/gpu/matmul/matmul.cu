/* SPDX-License-Identifier: Apache-2.0
 * Matrix products on the device in the order of CONTRACT 4.4: tiles of matmul_large.inc.h for large and middle results,
 * for operands whose sides (wide) or steps of k (along) are neighbours in 16 bytes; of matmul_tile.inc.h for small and
 * thin ones, of columns that are neighbours or operands that lie anyhow; binary32, bf16 operands with binary32 chains,
 * binary64. launch_matmul.c chooses. */
#include "kernels/gpu/gpu.h"
#include "kernels/gpu/matmul/matmul_args.h"
#include "kernels/gpu/vectors.h"

/* Where a block's product begins, in elements, and how many steps of k are its own. */
typedef struct rp_gpu_matmul_place {
    int64_t a, b, y;
    int k;
} rp_gpu_matmul_place;

RP_GPU_FN rp_gpu_matmul_place rp_gpu_matmul_place_of(const rp_gpu_matmul *p)
{
    uint32_t product = p->first + RP_GPU_BLOCK_Y;
    rp_gpu_matmul_place at = {0, 0, 0, (int)p->k};

    if (p->apart) {
        const int begin = (int)RP_GPU_BLOCK_Z * RP_GPU_MATMUL_CHUNK;

        at.a = (int64_t)begin * p->a_col;
        at.b = (int64_t)begin * p->b_row;
        at.y = RP_GPU_BLOCK_Z * p->y_chunk + (int64_t)product * p->m * p->n;
        at.k = at.k - begin < RP_GPU_MATMUL_CHUNK ? at.k - begin : RP_GPU_MATMUL_CHUNK;
    }
    RP_GPU_UNROLL for (int d = RP_GPU_MATMUL_BATCH_AXES - 1; d >= 0; d--)
    {
        const uint32_t left = product / p->batch[d], i = product - left * p->batch[d];

        at.a += i * p->a_batch[d];
        at.b += i * p->b_batch[d];
        at.y += p->apart ? 0 : i * p->y_batch[d];
        product = left;
    }
    return at;
}

/* A block's tile. Blocks go down eight tiles before they go right, so that those at work together share operands in the
 * second cache. */
RP_GPU_FN void rp_gpu_matmul_tile_of(const rp_gpu_matmul *p, int rows, int columns, int *row0, int *col0)
{
    const int high = (int)((p->m + rows - 1) / rows), wide = (int)((p->n + columns - 1) / columns);
    const int block = (int)RP_GPU_BLOCK_X, band = block / (8 * wide), in_band = block - band * 8 * wide;
    const int tall = high - band * 8 < 8 ? high - band * 8 : 8;

    *row0 = (band * 8 + in_band % tall) * rows;
    *col0 = in_band / tall * columns;
}

#define PASTE_(name, kind, sides) name##_##kind##_##sides
#define PASTE(name, kind, sides) PASTE_(name, kind, sides)
#define TILE(name) PASTE(name, KIND, SIDES)

/* 128 x 128 results of four warps, two blocks a multiprocessor: one multiplies while the other waits */
#define KIND f32_large
#define TM 8
#define TN 16
#define WM 4
#define WN 1
#define BK 8
#define STAGES 4
#define BLOCKS 2
#include "kernels/gpu/matmul/matmul_large_sides.inc.h"

/* 128 x 64, three */
#define KIND f32_middle
#define TM 8
#define TN 8
#define WM 4
#define WN 1
#define BK 16
#define STAGES 2
#define BLOCKS 3
#include "kernels/gpu/matmul/matmul_large_sides.inc.h"

#define T float
#define SHARED matmul_shared_f32
#define SOURCE float
#define OF(x) (x)
#define CONVERTED 0
#define VEC 4
#define FMA RP_GPU_FMA_F32
#define COPY_ONE RP_GPU_COPY4

/* 32 x 64, for results that would leave most multiprocessors idle */
#define KIND f32_small
#define TM 4
#define TN 4
#define WM 2
#define WN 2
#define BK 16
#define STAGES 4
#define BLOCKS 6
#define FREE 1
#include "kernels/gpu/matmul/matmul_sides.inc.h"

/* 16 x 128: a few rows, whose speed is that of reading b */
#define KIND f32_thin
#define TM 4
#define TN 4
#define WM 1
#define WN 4
#define BK 16
#define STAGES 4
#define BLOCKS 6
#define FREE 1
#include "kernels/gpu/matmul/matmul_sides.inc.h"

#undef SOURCE
#undef OF
#undef CONVERTED
#define SOURCE uint16_t
#define OF(x) RP_GPU_FROM_BITS_F32((uint32_t)(x) << 16) /* exact: bf16 is the upper half of a binary32 */
#define CONVERTED 1

#define KIND bf16_small
#define TM 4
#define TN 4
#define WM 2
#define WN 2
#define BK 16
#define STAGES 2
#define BLOCKS 5
#define FREE 1
#define ONLY_STRIDED
#include "kernels/gpu/matmul/matmul_sides.inc.h"

#define KIND bf16_thin
#define TM 4
#define TN 4
#define WM 1
#define WN 4
#define BK 16
#define STAGES 2
#define BLOCKS 5
#define FREE 1
#define ONLY_STRIDED
#include "kernels/gpu/matmul/matmul_sides.inc.h"

#undef T
#undef SHARED
#undef SOURCE
#undef OF
#undef CONVERTED
#undef VEC
#undef FMA
#undef COPY_ONE
#define T double
#define SHARED matmul_shared_f64
#define SOURCE double
#define OF(x) (x)
#define CONVERTED 0
#define VEC 2
#define FMA RP_GPU_FMA_F64
#define COPY_ONE RP_GPU_COPY8

/* 64 x 64 of four warps */
#define KIND f64_middle
#define TM 8
#define TN 4
#define WM 2
#define WN 2
#define BK 8
#define STAGES 4
#define BLOCKS 3
#define FREE 1
#include "kernels/gpu/matmul/matmul_sides.inc.h"

/* An operand laid out anew for the tiles: neighbours to rows of `pitch`, a multiple of 16 bytes. */
#define PACK(name, SOURCE, T, VALUE) \
    RP_GPU_KERNEL(256, 4) rp_gpu_matmul_pack_##name(const rp_gpu_matmul_pack p) \
    { \
        const uint64_t step = (uint64_t)RP_GPU_BLOCKS_X * 256; \
\
        RP_GPU_BEGIN(p); \
        for (uint64_t i = (uint64_t)RP_GPU_BLOCK_X * 256 + RP_GPU_THREAD; i < p.count; i += step) { \
            const uint64_t row = i / p.inner; \
            const SOURCE x = ((const SOURCE *)p.from)[pack_place(&p, row) + (int64_t)(i - row * p.inner) * p.stride]; \
\
            ((T *)p.to)[row * p.pitch + (i - row * p.inner)] = VALUE(x); \
        } \
    }

RP_GPU_FN int64_t pack_place(const rp_gpu_matmul_pack *p, uint64_t row)
{
    uint32_t product = (uint32_t)(row / p->rows);
    int64_t at = (int64_t)(row - (uint64_t)product * p->rows) * p->row;

    RP_GPU_UNROLL for (int d = RP_GPU_MATMUL_BATCH_AXES - 1; d >= 0; d--)
    {
        at += product % p->batch[d] * p->stride_batch[d];
        product /= p->batch[d];
    }
    return at;
}

#define SAME(x) (x)
#define WIDENED(x) RP_GPU_FROM_BITS_F32((uint32_t)(x) << 16)
PACK(f32, float, float, SAME)
PACK(bf16, uint16_t, float, WIDENED)

RP_GPU_FN int64_t join_place(const rp_gpu_matmul_join *p, uint64_t i)
{
    const uint32_t in = (uint32_t)(i % ((uint64_t)p->m * p->n));
    uint32_t product = (uint32_t)(i / ((uint64_t)p->m * p->n));
    int64_t at = in / p->n * p->y_row + in % p->n * p->y_col;

    RP_GPU_UNROLL for (int d = RP_GPU_MATMUL_BATCH_AXES - 1; d >= 0; d--)
    {
        at += product % p->batch[d] * p->y_batch[d];
        product /= p->batch[d];
    }
    return at;
}

/* y's `wide` elements at `to`; four chunks are on their way at a time. */
#define ADD(name, T, VEC) \
    RP_GPU_FN void add_##name(const rp_gpu_matmul_join *p, T *to, const T *part) \
    { \
        T sum[VEC], held[4][VEC]; \
        uint32_t c = 0; \
\
        RP_GPU_UNROLL for (int e = 0; e < (VEC); e++) sum[e] = (T)-0.0; \
        if (p->more) \
            TAKE_##name(sum, to); \
        for (; c + 4 <= p->chunks; c += 4) { \
            RP_GPU_UNROLL for (int h = 0; h < 4; h++, part += p->part) TAKE_##name(held[h], part); \
            RP_GPU_UNROLL for (int h = 0; h < 4; h++) RP_GPU_UNROLL for (int e = 0; e < (VEC); e++) sum[e] = \
                sum[e] + held[h][e]; \
        } \
        for (; c < p->chunks; c++, part += p->part) { \
            TAKE_##name(held[0], part); \
            RP_GPU_UNROLL for (int e = 0; e < (VEC); e++) sum[e] = sum[e] + held[0][e]; \
        } \
        PUT_##name(to, sum); \
    }

#define TAKE_f32(to, from) rp_gpu_take16(to, from)
#define PUT_f32(to, from) rp_gpu_put16(to, from)
#define TAKE_f32_one(to, from) (*(to) = *(from))
#define PUT_f32_one(to, from) (*(to) = *(from))
#define TAKE_f64 TAKE_f32
#define PUT_f64 PUT_f32
#define TAKE_f64_one TAKE_f32_one
#define PUT_f64_one PUT_f32_one
ADD(f32, float, 4)
ADD(f32_one, float, 1)
ADD(f64, double, 2)
ADD(f64_one, double, 1)

/* The chunks that blocks made apart, added left to right: -0 + c is c. */
#define JOIN(name, T) \
    RP_GPU_KERNEL(256, 4) rp_gpu_matmul_join_##name(const rp_gpu_matmul_join p) \
    { \
        const uint32_t vec = p.wide ? 16 / (uint32_t)sizeof(T) : 1; \
        const uint64_t step = (uint64_t)RP_GPU_BLOCKS_X * 256 * vec; \
\
        RP_GPU_BEGIN(p); \
        for (uint64_t i = ((uint64_t)RP_GPU_BLOCK_X * 256 + RP_GPU_THREAD) * vec; i < p.count; i += step) { \
            T *const to = (T *)p.y + join_place(&p, i); \
\
            if (p.wide) \
                add_##name(&p, to, (const T *)p.parts + i); \
            else \
                add_##name##_one(&p, to, (const T *)p.parts + i); \
        } \
    }

JOIN(f32, float)
JOIN(f64, double)
