/* SPDX-License-Identifier: Apache-2.0
 * Convolution by minimal filtering (CONTRACT 4.6): the transforms, by the reference's text, a thread for each tile and
 * channel, channel and filter, tile and filter. Between them are 36 matrix products (matmul.cu). */
#include "kernels/gpu/contract.h"
#include "kernels/gpu/conv/winograd_args.h"

#if defined(__CUDACC__)
#pragma nv_diag_suppress 177 /* of the reference's text the whole tile is not used */
#endif

#include "kernels/gpu/device_begin.h"

#include "kernels/ref/conv/winograd.h"

enum { IN = RP_WINOGRAD_IN, OUT = RP_WINOGRAD_OUT, THREADS = 256 };

#include "kernels/type_f32.h"
#include "kernels/ref/conv/winograd_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/winograd_type.inc.h"

static rp_conv winograd_conv(const rp_gpu_winograd *p)
{
    rp_conv conv;

    conv.h.in = p->x.shape[1], conv.w.in = p->x.shape[2];
    conv.h.out = p->y.shape[1], conv.w.out = p->y.shape[2];
    conv.h.taps = conv.w.taps = 3;
    conv.h.stride = conv.w.stride = conv.h.dilation = conv.w.dilation = 1;
    conv.h.pad = (int64_t)p->pad_h, conv.w.pad = (int64_t)p->pad_w;
    conv.images = p->x.shape[0], conv.groups = 1;
    conv.c = p->channels, conv.k = p->filters;
    conv.x = &p->x, conv.weight = &p->weight, conv.y = &p->y;
    return conv;
}

#include "kernels/gpu/device_end.h"

/* Of `count` pairs (row, column) this thread's. */
#define PAIR(rows, columns) \
    const u64 i = (u64)RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD; \
    const u32 row = (u32)(i / (columns)), column = (u32)(i - (u64)row * (columns)); \
\
    RP_GPU_BEGIN(p); \
    if (i >= (u64)(rows) * (columns)) \
        return

#define WINOGRAD(T, name) \
    RP_GPU_KERNEL(THREADS, 1) rp_gpu_winograd_input_##name(const RP_GPU_PARAMETER rp_gpu_winograd p) \
    { \
        PAIR(p.tiles, p.channels); \
        const u32 tile = p.first + row, n = tile / p.across / p.down; \
        const rp_conv conv = winograd_conv(&p); \
        T v[IN][IN]; \
\
        input_points_##name(&conv, v, n, tile / p.across % p.down * OUT, tile % p.across * OUT, column); \
        RP_GPU_UNROLL for (int a = 0; a < IN; a++) RP_GPU_UNROLL for (int b = 0; b < IN; b++) \
            ((T *)p.v)[((u64)(a * IN + b) * p.tiles + row) * p.channels + column] = v[a][b]; \
    } \
\
    RP_GPU_KERNEL(THREADS, 1) rp_gpu_winograd_weight_##name(const RP_GPU_PARAMETER rp_gpu_winograd p) \
    { \
        PAIR(p.channels, p.filters); \
        const rp_conv conv = winograd_conv(&p); \
        T u[IN][IN]; \
\
        weight_points_##name(&conv, u, row, column); \
        RP_GPU_UNROLL for (int a = 0; a < IN; a++) RP_GPU_UNROLL for (int b = 0; b < IN; b++) \
            ((T *)p.u)[((u64)(a * IN + b) * p.channels + row) * p.pitch + column] = u[a][b]; \
    } \
\
    RP_GPU_KERNEL(THREADS, 1) rp_gpu_winograd_output_##name(const RP_GPU_PARAMETER rp_gpu_winograd p) \
    { \
        PAIR(p.tiles, p.filters); \
        const u32 tile = p.first + row, n = tile / p.across / p.down; \
        const u32 h = tile / p.across % p.down * OUT, w = tile % p.across * OUT; \
        const u32 high = (u32)p.y.shape[1], wide = (u32)p.y.shape[2]; \
        T m[IN][IN], half[OUT][IN], y[OUT][OUT]; \
\
        RP_GPU_UNROLL for (int a = 0; a < IN; a++) RP_GPU_UNROLL for (int b = 0; b < IN; b++) m[a][b] = \
            ((const T *)p.m)[((u64)(a * IN + b) * p.tiles + row) * p.pitch + column]; \
        RP_GPU_UNROLL for (int b = 0; b < IN; b++) turn_output_##name(&half[0][b], IN, &m[0][b], IN); \
        RP_GPU_UNROLL for (int a = 0; a < OUT; a++) turn_output_##name(y[a], 1, half[a], 1); \
        RP_GPU_UNROLL for (int a = 0; a < OUT; a++) RP_GPU_UNROLL for (int b = 0; b < OUT; b++) \
            if (h + a < high && w + b < wide) *element_##name(&p.y, n, h + a, w + b, column) = y[a][b]; \
    }

WINOGRAD(float, f32)
WINOGRAD(double, f64)
