/* SPDX-License-Identifier: Apache-2.0
 * Fourier transforms as device code. Of powers of two by the reference's text, a thread a line, and stage by stage in
 * place, a thread a pair, where stages of stretches that fit shared memory are one launch; of other lengths stage by
 * stage to and fro, in the clause's layout, a thread for result 0 of a group and for each two that lie opposite. */
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
        for (u64 i = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; i < p.turns; i += step) \
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
/* Other lengths: turns are never those of the inverse here, and `back` turns the other way. */
#define FOURIER_STAGES(type, T) \
    typedef struct fourier_group_##type { \
        const rp_gpu_fourier *a; \
        u64 line, p, q; \
        bool back; \
    } fourier_group_##type; \
\
    /* By turn p h s. */ \
    RP_GPU_FN void turned_##type(const fourier_group_##type *g, u64 h, T *re, T *im) \
    { \
        const u64 k = g->p * h * g->a->s; \
        const T c = ((const T *)g->a->c)[k], d = ((const T *)g->a->d)[k], x = *re, y = *im; \
\
        *re = g->back ? x * c + y * d : x * c - y * d; \
        *im = g->back ? y * c - x * d : x * d + y * c; \
    } \
\
    /* Where element i of the group is in [r, m, s], or in [m, r, s]. */ \
    RP_GPU_FN u64 place_##type(const fourier_group_##type *g, u64 i, bool parted) \
    { \
        const u64 row = parted ? g->p * g->a->r + i : i * g->a->m + g->p; \
\
        return g->line * g->a->n + row * g->a->s + g->q; \
    } \
\
    RP_GPU_FN void element_##type(const fourier_group_##type *g, u64 j, T *re, T *im) \
    { \
        const u64 at = place_##type(g, j, g->a->transposed != 0); \
\
        *re = ((const T *)g->a->x)[at]; \
        *im = ((const T *)g->a->y)[at]; \
        if (g->a->transposed != 0 && j > 0) \
            turned_##type(g, j, re, im); \
    } \
\
    RP_GPU_FN void result_##type(const fourier_group_##type *g, u64 h, T re, T im) \
    { \
        const u64 at = place_##type(g, h, g->a->transposed == 0); \
\
        if (g->a->transposed == 0 && h > 0) \
            turned_##type(g, h, &re, &im); \
        ((T *)g->a->u)[at] = re; \
        ((T *)g->a->v)[at] = im; \
    } \
\
    RP_GPU_FN void result_two_##type(const fourier_group_##type *g) \
    { \
        T re[2], im[2]; \
\
        element_##type(g, 0, &re[0], &im[0]); \
        element_##type(g, 1, &re[1], &im[1]); \
        result_##type(g, 0, re[0] + re[1], im[0] + im[1]); \
        result_##type(g, 1, re[0] - re[1], im[0] - im[1]); \
    } \
\
    RP_GPU_FN void result_sum_##type(const fourier_group_##type *g) \
    { \
        T re, im; \
\
        element_##type(g, 0, &re, &im); \
        for (u64 j = 1; j <= g->a->r / 2; j++) { \
            T x[2], y[2]; \
\
            element_##type(g, j, &x[0], &y[0]); \
            element_##type(g, g->a->r - j, &x[1], &y[1]); \
            re = re + (x[0] + x[1]); \
            im = im + (y[0] + y[1]); \
        } \
        result_##type(g, 0, re, im); \
    } \
\
    RP_GPU_FN void results_##type(const fourier_group_##type *g, u64 h) \
    { \
        const u64 r = g->a->r, root = g->a->n / r; \
        T a, b, by_re = 0, by_im = 0; \
\
        element_##type(g, 0, &a, &b); \
        for (u64 j = 1; j <= r / 2; j++) { \
            const u64 k = h * j % r * root; \
            const T c = ((const T *)g->a->c)[k], d = ((const T *)g->a->d)[k]; \
            T x[2], y[2]; \
\
            element_##type(g, j, &x[0], &y[0]); \
            element_##type(g, r - j, &x[1], &y[1]); \
            a = a + c * (x[0] + x[1]); \
            b = b + c * (y[0] + y[1]); \
            by_re = j == 1 ? d * (x[0] - x[1]) : by_re + d * (x[0] - x[1]); \
            by_im = j == 1 ? d * (y[0] - y[1]) : by_im + d * (y[0] - y[1]); \
        } \
        result_##type(g, g->back ? r - h : h, a - by_im, b + by_re); \
        result_##type(g, g->back ? h : r - h, a + by_im, b - by_re); \
    } \
\
    RP_GPU_KERNEL(RP_GPU_FOURIER_THREADS, 2) rp_gpu_fourier_stage_##type(const RP_GPU_PARAMETER rp_gpu_fourier p) \
    { \
        const u64 step = (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS, parts = (p.r + 1) / 2; \
        const u64 count = p.lines * p.m * p.s * parts; \
        fourier_group_##type g; \
\
        RP_GPU_BEGIN(p); \
        g.a = &p; \
        g.back = (p.inverse != 0) != (p.transposed != 0); \
        for (u64 t = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; t < count; t += step) { \
            const u64 h = t / p.s % parts; \
\
            g.q = t % p.s; \
            g.p = t / p.s / parts % p.m; \
            g.line = t / p.s / parts / p.m; \
            if (p.r == 2) \
                result_two_##type(&g); \
            else if (h == 0) \
                result_sum_##type(&g); \
            else \
                results_##type(&g, h); \
        } \
    } \
\
    RP_GPU_KERNEL(RP_GPU_FOURIER_THREADS, 2) rp_gpu_fourier_ends_##type(const RP_GPU_PARAMETER rp_gpu_fourier p) \
    { \
        const u64 step = (u64)RP_GPU_BLOCKS_X * RP_GPU_THREADS; \
        const T share = (T)(1 / (double)p.n); \
        T *const u = (T *)p.u, *const v = (T *)p.v; \
\
        RP_GPU_BEGIN(p); \
        for (u64 i = (u64)RP_GPU_BLOCK_X * RP_GPU_THREADS + RP_GPU_THREAD; i < p.lines * p.n; i += step) { \
            u[i] = p.adds != 0 ? u[i] + 0 : u[i] * share; \
            v[i] = p.adds != 0 ? v[i] + 0 : v[i] * share; \
        } \
    }
FOURIER(f32, float)
FOURIER(f64, double)
FOURIER_STAGES(f32, float)
FOURIER_STAGES(f64, double)
