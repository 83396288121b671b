/* SPDX-License-Identifier: Apache-2.0
 * Convolution's gradient by the weight (CONTRACT 4.5), binary32: a sum over all pixels, so blocks take a chunk each, and
 * another kernel adds what the chunks gave in ascending order. Where there is padding a stage says beside each value of x
 * whether it exists. */
#include "kernels/gpu/conv/conv_weight_args.h"
#include "kernels/gpu/vectors.h"

#define ROWS RP_GPU_WEIGHT_ROWS
#define BK RP_GPU_WEIGHT_STEPS
#define STAGES RP_GPU_WEIGHT_STAGES
#define CHUNK RP_GPU_CONV_CHUNK
#define THREADS 256
#define TM 8
#define SA (ROWS + 4)

/* A chunk's pixels: where their windows begin in x, perhaps outside, and where they lie in g. */
typedef struct pixel {
    int x, h, w, g;
} pixel;

RP_GPU_FN pixel pixel_of(const rp_gpu_conv_weight &p, u32 index)
{
    const int line = (int)(index / (u32)p.w.out), ow = (int)(index - (u32)line * (u32)p.w.out);
    const int n = line / p.h.out, oh = line - n * p.h.out;
    pixel at;

    at.h = oh * p.h.stride - p.h.pad;
    at.w = ow * p.w.stride - p.w.pad;
    at.x = (int)(n * p.x_stride[0] + at.h * p.x_stride[1] + at.w * p.x_stride[2]);
    at.g = (int)(n * p.g_stride[0] + oh * p.g_stride[1] + ow * p.g_stride[2]);
    return at;
}

/* A thread a chunk and tap. */
RP_GPU_KERNEL(THREADS, 4) rp_gpu_conv_weight_has(const RP_GPU_PARAMETER rp_gpu_conv_weight p)
{
    const u32 i = RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD, chunk = i / (u32)p.taps;
    const int tap = (int)(i - chunk * (u32)p.taps), r = tap / p.w.taps * p.h.dilation, s = tap % p.w.taps * p.w.dilation;
    u32 has = 0;

    RP_GPU_BEGIN(p);
    if (chunk >= p.chunks)
        return;
    for (u32 l = chunk * CHUNK; l < p.pixels && l < (chunk + 1) * CHUNK && has == 0; l++) {
        const pixel at = pixel_of(p, l);
        const int h = at.h + r, w = at.w + s;

        has = h >= 0 && h < p.h.in && w >= 0 && w < p.w.in;
    }
    p.has[i] = has;
}

RP_GPU_KERNEL(THREADS, 4) rp_gpu_conv_weight_begun(const RP_GPU_PARAMETER rp_gpu_conv_weight p)
{
    const u32 tap = RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD;
    u32 chunk = 0;

    RP_GPU_BEGIN(p);
    if (tap >= (u32)p.taps)
        return;
    while (chunk < p.chunks && p.has[chunk * (u32)p.taps + tap] == 0)
        chunk++;
    p.begun[tap] = chunk;
}

/* weight = weight + part for the chunks that have a term of the element's tap, left to right. */
RP_GPU_KERNEL(THREADS, 4) rp_gpu_conv_weight_join(const RP_GPU_PARAMETER rp_gpu_conv_weight p)
{
    const u64 i = (u64)RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD;
    const u32 rows = (u32)(p.taps * p.c), filters = (u32)(p.groups * p.k);

    RP_GPU_BEGIN(p);
    if (i >= (u64)rows * filters)
        return;
    const u32 row = (u32)(i / filters), filter = (u32)(i - (u64)row * filters), group = filter / (u32)p.k;
    const u32 tap = row / (u32)p.c, begun = p.begun[tap];
    const u64 size = (u64)p.groups * rows * (u32)p.k;
    const float *part = p.parts + ((u64)group * rows + row) * (u32)p.k + (filter - group * (u32)p.k);
    float *to = p.weight + tap / (u32)p.w.taps * p.weight_stride[0] + tap % (u32)p.w.taps * p.weight_stride[1] +
                row % (u32)p.c * p.weight_stride[2] + filter * p.weight_stride[3];
    float sum = p.first > begun ? *to : -0.0f; /* -0 + c is c */

    for (u32 c = 0; c < p.here; c++, part += size)
        if (p.has[(p.first + c) * (u32)p.taps + tap] != 0)
            sum = sum + *part;
    if (p.first + p.here > begun)
        *to = sum;
    else if (p.first + p.here == p.chunks) /* no term at all */
        *to = 0.0f;
}

#define TN 8
#define WIDTH 128
#define WIDE 0
#define TILE(name) name##_128_s
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define TN 8
#define WIDTH 128
#define WIDE 1
#define TILE(name) name##_128_w
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define TN 4
#define WIDTH 64
#define WIDE 0
#define TILE(name) name##_64_s
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define TN 4
#define WIDTH 64
#define WIDE 1
#define TILE(name) name##_64_w
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
