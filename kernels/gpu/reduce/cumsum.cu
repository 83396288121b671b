/* SPDX-License-Identifier: Apache-2.0
 * Running sums (CONTRACT 4.3): each is the one before plus the element, so a line belongs to one thread. A warp takes 32
 * lines and brings 32 elements of each at a time through shared memory, so that neighbours read and write neighbours however
 * the lines lie. */
#include "kernels/gpu/reduce/strided.h"

enum { LINES = 32, STEPS = 32, WARPS = 4 };

/* x and y of rp_gpu_reduce: `kept` are the lines, x_reduced[0] and other_reduced[0] the steps along one in x and y, negative
 * in reverse, whose ends x and y are; n its length; other_kept: lines in y. `wide`: the elements of a line are neighbours. */
#define CUMSUM(name, T, SUM) \
    RP_GPU_KERNEL(32 * WARPS, 4) rp_gpu_cumsum_##name(const RP_GPU_PARAMETER rp_gpu_reduce p) \
    { \
        RP_GPU_SHARED(T, cumsum_##name, WARPS * LINES * (STEPS + 1)); \
        T *const tile = cumsum_##name + RP_GPU_THREAD / 32 * LINES * (STEPS + 1); \
        const u32 lane = RP_GPU_THREAD % 32, first = (RP_GPU_BLOCK_X * WARPS + RP_GPU_THREAD / 32) * LINES; \
        T sum = 0; \
\
        RP_GPU_BEGIN(p); \
        for (u32 begin = 0; begin < p.n; begin += STEPS) { \
            RP_GPU_NO_UNROLL for (u32 turn = 0; turn < LINES; turn++) \
            { \
                const u32 line = p.wide ? turn : lane, i = p.wide ? lane : turn; \
\
                if (first + line < p.outputs && begin + i < p.n) \
                    tile[line * (STEPS + 1) + i] = \
                        ((const T *)p.x)[rp_gpu_offset(&p.kept, p.x_kept, first + line) + (i64)(begin + i) * p.x_reduced[0]]; \
            } \
            RP_GPU_BARRIER(); \
            for (u32 i = 0; i < STEPS && begin + i < p.n; i++) { \
                const T x = tile[lane * (STEPS + 1) + i]; \
\
                sum = begin + i == 0 ? x : SUM(sum, x); \
                tile[lane * (STEPS + 1) + i] = sum; \
            } \
            RP_GPU_BARRIER(); \
            RP_GPU_NO_UNROLL for (u32 turn = 0; turn < LINES; turn++) \
            { \
                const u32 line = p.wide ? turn : lane, i = p.wide ? lane : turn; \
\
                if (first + line < p.outputs && begin + i < p.n) \
                    ((T *)p.y)[rp_gpu_offset(&p.kept, p.other_kept, first + line) + (i64)(begin + i) * p.other_reduced[0]] = \
                        tile[line * (STEPS + 1) + i]; \
            } \
            RP_GPU_BARRIER(); \
        } \
    }

#define REALS(a, b) ((a) + (b))
#define I32(a, b) ((int32_t)((u32)(a) + (u32)(b)))
#define I64(a, b) ((i64)((u64)(a) + (u64)(b)))
CUMSUM(f32, float, REALS)
CUMSUM(f64, double, REALS)
CUMSUM(i32, int32_t, I32)
CUMSUM(i64, i64, I64)
