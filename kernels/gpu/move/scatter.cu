/* SPDX-License-Identifier: Apache-2.0
 * scatter_add on the device (CONTRACT 7.7): each place of the output is a plain sum, in ascending position of the
 * index. A block has some places beside each other along the axis, for neighbouring items, the elements of a slice
 * across it: it looks through the whole index, a tile at a time, notes in order which are its own, and each thread adds
 * these to its item's sums in shared memory. So nothing is sorted, and no launch waits for another. */
#include "kernels/gpu/device_map.h"
#include "kernels/gpu/move/move_args.h"

enum { THREADS = RP_GPU_SCATTER_ITEMS, EACH = 8, TILE = EACH * THREADS, APART = THREADS + 1 };

/* A tile's indices that are the block's: where what is added lies from the item's address, and to which sum it goes. */
typedef struct rp_gpu_scatter_list {
    i64 *from;
    u32 *to, *counts; /* [TILE], and a warp's */
} rp_gpu_scatter_list;

/* Of indices [j, j + TILE) those of [begin, begin + width), in order. How many there are. */
RP_GPU_FN u32 rp_gpu_scatter_select(const rp_gpu_scatter &p, const rp_gpu_scatter_list &list, u64 j, u64 begin,
                                    u32 width)
{
    const u32 warp = RP_GPU_THREAD / 32;
    u32 sum = 0, before = 0, all = 0;
    u64 to[EACH];
    i64 from[EACH];

    j += EACH * RP_GPU_THREAD;
    RP_GPU_UNROLL for (u32 e = 0; e < EACH; e++)
    {
        rp_walk source;

        rp_gpu_walk_to(&source, &p.index, j + e < p.index.count ? j + e : p.index.count - 1, 2);
        to[e] = (u64)rp_gpu_index_at(&p.items, source.at[0]);
        from[e] = (i64)source.at[1];
    }
    RP_GPU_UNROLL for (u32 e = 0; e < EACH; e++)
    {
        to[e] = j + e < p.index.count ? to[e] - begin : width;
        sum += to[e] < width;
    }
    RP_GPU_UNROLL for (u32 half = 1; half < 32; half *= 2)
    { /* of the threads before this one in ever larger halves of the warp */
        const u32 beside = RP_GPU_SHUFFLE_XOR_U32(sum, half);

        before += (RP_GPU_THREAD & half) != 0 ? beside : 0;
        sum += beside;
    }
    if (RP_GPU_THREAD % 32 == 0)
        list.counts[warp] = sum;
    RP_GPU_BARRIER();
    RP_GPU_UNROLL for (u32 w = 0; w < THREADS / 32; w++)
    {
        before += w < warp ? list.counts[w] : 0;
        all += list.counts[w];
    }
    RP_GPU_UNROLL for (u32 e = 0; e < EACH; e++) if (to[e] < width)
    {
        list.from[before] = from[e];
        list.to[before++] = (u32)to[e];
    }
    RP_GPU_BARRIER();
    return all;
}

/* AHEAD elements are asked for before the first is added. */
#define SCATTER_ADD(type, T, WIDE) \
    RP_GPU_FN void rp_gpu_scatter_join_##type(T *sums, const rp_gpu_scatter_list &list, u32 n, const void *in) \
    { \
        enum { AHEAD = 64 / sizeof(T) }; \
\
        RP_GPU_NO_UNROLL for (u32 k = 0; k < n; k += AHEAD) \
        { \
            T v[AHEAD]; \
\
            RP_GPU_UNROLL for (u32 e = 0; e < AHEAD; e++) v[e] = \
                *(const T *)rp_gpu_beyond(in, list.from[k + e < n ? k + e : n - 1]); \
            RP_GPU_UNROLL for (u32 e = 0; e < AHEAD; e++) if (k + e < n) \
            { \
                T *const to = sums + list.to[k + e] * APART + RP_GPU_THREAD; \
\
                *to = (T)((WIDE)*to + (WIDE)v[e]); \
            } \
        } \
    } \
\
    /* By neighbours along whichever of items and places lie closer. */ \
    RP_GPU_FN void rp_gpu_scatter_put_##type(const rp_gpu_scatter &p, const T *sums, u64 *out, u64 begin, u32 width) \
    { \
        const i64 step = p.items.own[0]; \
\
        if (step != (i64)sizeof(T)) { \
            for (u32 d = 0; d < width && out[RP_GPU_THREAD] != 0; d++) \
                *(T *)(uintptr_t)(out[RP_GPU_THREAD] + (begin + d) * (u64)step) = sums[d * APART + RP_GPU_THREAD]; \
            return; \
        } \
        for (u32 e = RP_GPU_THREAD; e < THREADS * p.places; e += THREADS) { \
            const u32 item = e / p.places, d = e - item * p.places; \
\
            if (d < width && out[item] != 0) \
                ((T *)(uintptr_t)out[item])[begin + d] = sums[d * APART + item]; \
        } \
    } \
\
    RP_GPU_KERNEL(RP_GPU_SCATTER_ITEMS, 4) rp_gpu_scatter_add_##type(const RP_GPU_PARAMETER rp_gpu_scatter p) \
    { \
        RP_GPU_SHARED(T, scatter_sums_##type, RP_GPU_SCATTER_PLACES *APART); \
        RP_GPU_SHARED(i64, scatter_from_##type, TILE); \
        RP_GPU_SHARED(u32, scatter_to_##type, TILE); \
        RP_GPU_SHARED(u32, scatter_counts_##type, THREADS / 32); \
        RP_GPU_SHARED(u64, scatter_out_##type, THREADS); \
        const rp_gpu_scatter_list list = {scatter_from_##type, scatter_to_##type, scatter_counts_##type}; \
        const u64 size = (u64)p.items.own[1], blocks = (p.items.count + THREADS - 1) / THREADS; \
\
        RP_GPU_BEGIN(p.items); \
        for (u64 block = RP_GPU_BLOCK_X; block < blocks * p.ranges; block += RP_GPU_BLOCKS_X) { \
            const u64 range = block / blocks, item = (block - range * blocks) * THREADS + RP_GPU_THREAD; \
            const u64 begin = range * p.places; \
            const u32 width = size - begin < p.places ? (u32)(size - begin) : p.places; \
            const bool there = item < p.items.count; \
            rp_walk at; \
\
            rp_gpu_walk_to(&at, &p.items, there ? item : 0, 2); \
            scatter_out_##type[RP_GPU_THREAD] = there ? (u64)(uintptr_t)at.at[0] : 0; \
            for (u32 d = 0; d < width; d++) \
                scatter_sums_##type[d * APART + RP_GPU_THREAD] = 0; \
            for (u64 j = 0; j < p.index.count; j += TILE) { \
                const u32 n = rp_gpu_scatter_select(p, list, j, begin, width); \
\
                if (there) \
                    rp_gpu_scatter_join_##type(scatter_sums_##type, list, n, at.at[1]); \
                RP_GPU_BARRIER(); \
            } \
            RP_GPU_BARRIER(); \
            rp_gpu_scatter_put_##type(p, scatter_sums_##type, scatter_out_##type, begin, width); \
            RP_GPU_BARRIER(); \
        } \
    }

SCATTER_ADD(f32, float, float)
SCATTER_ADD(f64, double, double)
SCATTER_ADD(i32, int32_t, uint32_t)
SCATTER_ADD(i64, int64_t, uint64_t)
