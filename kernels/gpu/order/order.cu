/* SPDX-License-Identifier: Apache-2.0
 * Order, and scattering along an axis, as device code by the reference's text: a thread takes a line, or of
 * searchsorted an element. And lines in order by a network of comparisons, which many threads take part in: as the
 * order leaves no two elements open (CONTRACT 4.8), it has one result. */
#include "kernels/gpu/order/order_args.h"
#include "kernels/gpu/reference.h"

#include "kernels/gpu/device_begin.h"

#include "kernels/walk.c"
#include "kernels/ref/order/order.c"
#include "kernels/ref/order/along.c"
#include "kernels/ref/order/non_max.c"

#include "kernels/gpu/device_end.h"

/* The bitonic network in the form in which every comparison puts the first element first: blocks of twice a width are
 * merged by comparing their halves, the second turned round, and then halves of halves. What lies behind a line's end
 * would be last of all and stay there, so comparisons with it are left out. */
#define SORT(type, T) \
    RP_GPU_FN void compare_##type(T *y, i64 *place, u64 i, u64 j, bool descending) \
    { \
        const T a = y[i], b = y[j]; \
        const i64 at = place[i], other = place[j]; \
\
        if (precedes_##type(b, other, a, at, descending)) { \
            y[i] = b; \
            y[j] = a; \
            place[i] = other; \
            place[j] = at; \
        } \
    } \
\
    /* Pair t of halves of blocks of `width`, within n elements. */ \
    RP_GPU_FN void compare_pair_##type(T *y, i64 *place, u64 t, u64 width, bool turned, u64 n, bool descending) \
    { \
        const u64 half = width / 2, begin = t / half * width, r = t % half; \
        const u64 i = begin + r, j = turned ? begin + width - 1 - r : i + half; \
\
        if (j < n) \
            compare_##type(y, place, i, j, descending); \
    } \
\
    RP_GPU_KERNEL(RP_GPU_SORT_THREADS, 2) rp_gpu_sort_near_##type(const RP_GPU_PARAMETER rp_gpu_sort p) \
    { \
        RP_GPU_SHARED(T, sort_y_##type, RP_GPU_SORT_NEAR); \
        RP_GPU_SHARED(i64, sort_place_##type, RP_GPU_SORT_NEAR); \
        const u64 line = RP_GPU_BLOCK_X / p.parts, begin = RP_GPU_BLOCK_X % p.parts * RP_GPU_SORT_NEAR; \
        const u64 n = p.n - begin < RP_GPU_SORT_NEAR ? p.n - begin : RP_GPU_SORT_NEAR; \
        T *const y = (T *)p.y + line * p.n + begin; \
        i64 *const place = p.place + line * p.n + begin; \
        const bool descending = p.descending != 0; \
\
        RP_GPU_BEGIN(p); \
        for (u64 i = RP_GPU_THREAD; i < n; i += RP_GPU_SORT_THREADS) { \
            sort_y_##type[i] = y[i]; \
            sort_place_##type[i] = p.fresh != 0 ? (i64)(begin + i) : place[i]; \
        } \
        RP_GPU_BARRIER(); \
        for (u64 width = p.fresh != 0 ? 2 : 2 * RP_GPU_SORT_NEAR; width / 2 < n || width > RP_GPU_SORT_NEAR; \
             width *= 2) { \
            for (u64 part = width > RP_GPU_SORT_NEAR ? RP_GPU_SORT_NEAR : width; part >= 2; part /= 2) { \
                for (u64 t = RP_GPU_THREAD; t < RP_GPU_SORT_NEAR / 2; t += RP_GPU_SORT_THREADS) \
                    compare_pair_##type(sort_y_##type, sort_place_##type, t, part, part == width, n, descending); \
                RP_GPU_BARRIER(); \
            } \
            if (width >= RP_GPU_SORT_NEAR) \
                break; \
        } \
        for (u64 i = RP_GPU_THREAD; i < n; i += RP_GPU_SORT_THREADS) { \
            y[i] = sort_y_##type[i]; \
            place[i] = sort_place_##type[i]; \
        } \
    } \
\
    RP_GPU_KERNEL(RP_GPU_SORT_THREADS, 2) rp_gpu_sort_far_##type(const RP_GPU_PARAMETER rp_gpu_sort p) \
    { \
        const u64 step = (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS; \
\
        RP_GPU_BEGIN(p); \
        for (u64 t = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; t < p.lines * p.pairs; t += step) { \
            const u64 line = t / p.pairs * p.n; \
\
            compare_pair_##type((T *)p.y + line, p.place + line, t % p.pairs, p.width, p.turned != 0, p.n, \
                                p.descending != 0); \
        } \
    }
SORT(f32, float)
SORT(f64, double)
SORT(i32, int32_t)
SORT(i64, i64)
