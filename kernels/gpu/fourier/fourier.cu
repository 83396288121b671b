/* SPDX-License-Identifier: Apache-2.0
 * Fourier transforms as device code: by the reference's text, a thread a line; and stage by stage in place, a thread a
 * pair, where stages of stretches that fit shared memory are one launch. */
#include "kernels/gpu/fourier/fourier_args.h"
#include "kernels/gpu/reference.h"

#include "kernels/gpu/device_begin.h"

#include "kernels/walk.c"
#define FOURIER_OF_TWOS
#include "kernels/ref/fourier/fourier.c"

#include "kernels/gpu/device_end.h"

#define FOURIER(type, T) \
    RP_GPU_KERNEL(RP_GPU_FOURIER_THREADS, 2) rp_gpu_fourier_turns_##type(const RP_GPU_PARAMETER rp_gpu_fourier p) \
    { \
        const u64 step = (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS; \
\
        RP_GPU_BEGIN(p); \
        for (u64 i = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; i < p.n / 2; i += step) \
            turn_by_##type((T *)p.c + i, (T *)p.d + i, i, p.n, p.inverse != 0); \
    } \
\
    /* Pair t of a stage of transforms of 2 m elements; u and v begin at one. */ \
    RP_GPU_FN void stage_pair_##type(const rp_gpu_fourier *p, T *u, T *v, u64 t, u64 m) \
    { \
        const u64 i = t / m * 2 * m + t % m, turn = t % m * (p->n / 2 / m); \
        const T c = ((const T *)p->c)[turn], d = ((const T *)p->d)[turn]; \
\
        if (p->transposed == 0) \
            part_##type(u + i, v + i, (ptrdiff_t)m, (ptrdiff_t)m, c, d); \
        else { \
            const T none = 2 * m == p->n ? (T)0 : (T)-0.0; \
\
            join_##type(u + i, v + i, (ptrdiff_t)m, (ptrdiff_t)m, c, d); \
            u[i] += none; \
            v[i] += none; \
            u[i + m] += none; \
            v[i + m] += none; \
        } \
    } \
\
    RP_GPU_KERNEL(RP_GPU_FOURIER_THREADS, 2) rp_gpu_fourier_near_##type(const RP_GPU_PARAMETER rp_gpu_fourier p) \
    { \
        RP_GPU_SHARED(T, fourier_u_##type, RP_GPU_FOURIER_NEAR); \
        RP_GPU_SHARED(T, fourier_v_##type, RP_GPU_FOURIER_NEAR); \
        T *const u = (T *)p.u + (u64)RP_GPU_BLOCK_X * p.near, *const v = (T *)p.v + (u64)RP_GPU_BLOCK_X * p.near; \
\
        RP_GPU_BEGIN(p); \
        for (u64 i = RP_GPU_THREAD; i < p.near; i += RP_GPU_FOURIER_THREADS) { \
            fourier_u_##type[i] = u[i]; \
            fourier_v_##type[i] = v[i]; \
        } \
        RP_GPU_BARRIER(); \
        for (u64 done = 1; done < p.near; done *= 2) { \
            for (u64 t = RP_GPU_THREAD; t < p.near / 2; t += RP_GPU_FOURIER_THREADS) \
                stage_pair_##type(&p, fourier_u_##type, fourier_v_##type, t, \
                                  p.transposed != 0 ? done : p.near / 2 / done); \
            RP_GPU_BARRIER(); \
        } \
        for (u64 i = RP_GPU_THREAD; i < p.near; i += RP_GPU_FOURIER_THREADS) { \
            u[i] = fourier_u_##type[i]; \
            v[i] = fourier_v_##type[i]; \
        } \
    } \
\
    RP_GPU_KERNEL(RP_GPU_FOURIER_THREADS, 2) rp_gpu_fourier_far_##type(const RP_GPU_PARAMETER rp_gpu_fourier p) \
    { \
        const u64 step = (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS, pairs = p.n / 2; \
\
        RP_GPU_BEGIN(p); \
        for (u64 t = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; t < p.lines * pairs; t += step) { \
            const u64 line = t / pairs * p.n; \
\
            stage_pair_##type(&p, (T *)p.u + line, (T *)p.v + line, t % pairs, p.m); \
        } \
    } \
\
    /* Exchanges each place with the one of its bits in reverse. */ \
    RP_GPU_KERNEL(RP_GPU_FOURIER_THREADS, 2) rp_gpu_fourier_places_##type(const RP_GPU_PARAMETER rp_gpu_fourier p) \
    { \
        const u64 step = (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS; \
        const T share = p.inverse != 0 ? (T)(1 / (double)p.n) : (T)1; \
\
        RP_GPU_BEGIN(p); \
        for (u64 t = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; t < p.lines * p.n; t += step) { \
            T *const u = (T *)p.u + t / p.n * p.n, *const v = (T *)p.v + t / p.n * p.n; \
            const u64 i = t % p.n; \
            u64 j = 0; \
\
            for (u32 bit = 0; bit < p.bits; bit++) \
                j = j << 1 | (i >> bit & 1); \
            if (i <= j) { \
                const T re = u[i] * share, im = v[i] * share; \
\
                u[i] = u[j] * share; \
                v[i] = v[j] * share; \
                u[j] = re; \
                v[j] = im; \
            } \
        } \
    }
FOURIER(f32, float)
FOURIER(f64, double)
