/* SPDX-License-Identifier: Apache-2.0
 * Running sums and products (CONTRACT 4.3): each is the one before joined with the element, so a line belongs to one
 * thread. A warp takes 32 lines and brings 32 elements of each at a time through shared memory, so that neighbours read
 * and write neighbours however the lines lie. */
#include "kernels/gpu/reduce/strided.h"

enum { LINES = 32, STEPS = 32, WARPS = 4 };

/* x and y of rp_gpu_reduce: `kept` are the lines, x_reduced[0] and other_reduced[0] the steps along one in x and y,
 * negative in reverse, whose ends x and y are; n its length; other_kept: lines in y. `wide`: the elements of a line are
 * neighbours. */
#define RUNNING(run, name, T, JOIN) \
    RP_GPU_KERNEL(32 * WARPS, 4) rp_gpu_##run##_##name(const RP_GPU_PARAMETER rp_gpu_reduce p) \
    { \
        RP_GPU_SHARED(T, run##_##name, WARPS * LINES * (STEPS + 1)); \
        T *const tile = run##_##name + RP_GPU_THREAD / 32 * LINES * (STEPS + 1); \
        const u32 lane = RP_GPU_THREAD % 32, first = (RP_GPU_BLOCK_X * WARPS + RP_GPU_THREAD / 32) * LINES; \
        T so_far = 0; \
\
        RP_GPU_BEGIN(p); \
        for (u32 begin = 0; begin < p.n; begin += STEPS) { \
            RP_GPU_NO_UNROLL for (u32 turn = 0; turn < LINES; turn++) \
            { \
                const u32 line = p.wide ? turn : lane, i = p.wide ? lane : turn; \
\
                if (first + line < p.outputs && begin + i < p.n) \
                    tile[line * (STEPS + 1) + i] = \
                        ((const T *)p.x)[rp_gpu_offset(&p.kept, p.x_kept, first + line) + \
                                         (i64)(begin + i) * p.x_reduced[0]]; \
            } \
            RP_GPU_BARRIER(); \
            for (u32 i = 0; i < STEPS && begin + i < p.n; i++) { \
                const T x = tile[lane * (STEPS + 1) + i]; \
\
                so_far = begin + i == 0 ? x : JOIN(so_far, x); \
                tile[lane * (STEPS + 1) + i] = so_far; \
            } \
            RP_GPU_BARRIER(); \
            RP_GPU_NO_UNROLL for (u32 turn = 0; turn < LINES; turn++) \
            { \
                const u32 line = p.wide ? turn : lane, i = p.wide ? lane : turn; \
\
                if (first + line < p.outputs && begin + i < p.n) \
                    ((T *)p.y)[rp_gpu_offset(&p.kept, p.other_kept, first + line) + \
                               (i64)(begin + i) * p.other_reduced[0]] = tile[line * (STEPS + 1) + i]; \
            } \
            RP_GPU_BARRIER(); \
        } \
    }

#define SUM(a, b) ((a) + (b))
#define SUM_I32(a, b) ((int32_t)((u32)(a) + (u32)(b)))
#define SUM_I64(a, b) ((i64)((u64)(a) + (u64)(b)))
#define PRODUCT(a, b) ((a) * (b))
#define PRODUCT_I32(a, b) ((int32_t)((u32)(a) * (u32)(b)))
#define PRODUCT_I64(a, b) ((i64)((u64)(a) * (u64)(b)))
RUNNING(cumsum, f32, float, SUM)
RUNNING(cumsum, f64, double, SUM)
RUNNING(cumsum, i32, int32_t, SUM_I32)
RUNNING(cumsum, i64, i64, SUM_I64)
RUNNING(cumprod, f32, float, PRODUCT)
RUNNING(cumprod, f64, double, PRODUCT)
RUNNING(cumprod, i32, int32_t, PRODUCT_I32)
RUNNING(cumprod, i64, i64, PRODUCT_I64)
