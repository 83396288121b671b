/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels as device code: what kernels/ref/functions/map.h is for the host's templates, so that these give
 * a kernel a row and type, rp_gpu_NAME_TYPE. */
#ifndef KERNELS_GPU_DEVICE_MAP_H
#define KERNELS_GPU_DEVICE_MAP_H

#include "kernels/gpu/contract.h"
#include "kernels/gpu/args.h"

#define KERNELS_REF_FUNCTIONS_MAP_H /* the templates include it; these are its names */

typedef void rp_map(const rp_walk *walk);

/* The elements of a thread. */
#define RP_GPU_EACH(p, i) \
    for (u64 i = (p).first + (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; i < (p).count; \
         i += (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS)

/* *rest / by, and the remainder; of 32 bits where that does, which is several times as fast. */
RP_GPU_FN u64 rp_gpu_split(u64 *rest, u64 by)
{
    const u64 n = *rest;

    if (((n | by) >> 32) == 0) {
        *rest = (u32)n / (u32)by;
        return (u32)n % (u32)by;
    }
    *rest = n / by;
    return n % by;
}

/* An address so many bytes on; of a view whose address is 0, the distance itself. */
RP_GPU_FN void *rp_gpu_beyond(const void *at, i64 bytes)
{
    return (void *)((uintptr_t)at + (uintptr_t)bytes);
}

/* An index, of the type that the map says. */
RP_GPU_FN i64 rp_gpu_index_at(const rp_gpu_map *p, const void *at)
{
    return p->wide != 0 ? *(const i64 *)at : (i64) * (const int32_t *)at;
}

/* A walk of element i alone, in the first n views. */
RP_GPU_FN void rp_gpu_walk_to(rp_walk *walk, const rp_gpu_map *p, u64 i, int n)
{
    u64 rest = i;

    walk->run = 1;
    walk->first = i;
    walk->n_views = (size_t)n;
    walk->attr = p->attr;
    RP_GPU_UNROLL for (int v = 0; v < n; v++)
    {
        walk->at[v] = p->at[v];
        walk->step[v] = 1;
    }
    RP_GPU_NO_UNROLL for (int d = p->rank - 1; d > 0; d--)
    {
        const u64 at = rp_gpu_split(&rest, p->shape[d]);

        RP_GPU_UNROLL for (int v = 0; v < n; v++) walk->at[v] = rp_gpu_beyond(walk->at[v], (i64)at * p->bytes[v][d]);
    }
    RP_GPU_UNROLL for (int v = 0; v < n; v++) walk->at[v] = rp_gpu_beyond(walk->at[v], (i64)rest * p->bytes[v][0]);
}

/* Kernel rp_gpu_NAME of n views; the statements have a walk of each element. */
#define RP_GPU_MAP(name, n, ...) \
    RP_GPU_KERNEL(RP_GPU_BLOCK, 1) name(const RP_GPU_PARAMETER rp_gpu_map p) \
    { \
        RP_GPU_BEGIN(p); \
        RP_GPU_EACH(p, i) \
        { \
            rp_walk w; \
            const rp_walk *const walk = &w; \
\
            rp_gpu_walk_to(&w, &p, i, n); \
            __VA_ARGS__ \
        } \
    }

#define RP_MAP1(name, OUT) RP_GPU_MAP(FN(rp_gpu_##name), 2, *(OUT *)walk->at[0] = FN(name)(*(const T *)walk->at[1]);)
#define RP_MAP1_WITH(name, let, ...) \
    RP_GPU_MAP(FN(rp_gpu_##name), 2, let *(T *)walk->at[0] = FN(name)(*(const T *)walk->at[1], __VA_ARGS__);)
#define RP_MAP2(name, OUT) \
    RP_GPU_MAP(FN(rp_gpu_##name), 3, *(OUT *)walk->at[0] = FN(name)(*(const T *)walk->at[1], *(const T *)walk->at[2]);)
#define RP_CONVERSION(from, FROM, to, TO, value) \
    RP_GPU_MAP(rp_gpu_cast_##from##_##to, 2, const FROM x = *(const FROM *)walk->at[1]; \
               *(TO *)walk->at[0] = (TO)(value);)

/* What a template would make of them is here a kernel already. */
#define RP_ELEMENTWISE(name, ...) typedef int rp_gpu_##name##_semicolon
#undef RP_DEFINE_KERNEL
#define RP_DEFINE_KERNEL(name, ...) typedef int rp_gpu_##name##_semicolon
#define RP_REALS(name)

#endif
