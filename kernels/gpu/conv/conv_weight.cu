/* SPDX-License-Identifier: Apache-2.0
 * Convolution's gradient by the weight (CONTRACT 4.5), binary32: a sum over all pixels, so blocks take a chunk each,
 * and another kernel adds what the chunks gave in ascending order. Which pixels of a stage a warp's rows meet is eight
 * bits where all have one tap; else a stage says beside each value of x whether it exists. */
#include "kernels/gpu/conv/conv_weight_args.h"
#include "kernels/gpu/vectors.h"

#define ROWS RP_GPU_WEIGHT_ROWS
#define CHUNK RP_GPU_CONV_CHUNK
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

/* A row's tap, as what it adds to where a window begins. */
typedef struct offset {
    int r, s;
} offset;

RP_GPU_FN offset offset_of(const rp_gpu_conv_weight &p, int row)
{
    const int tap = row / p.c;
    offset at;

    at.r = tap / p.w.taps * p.h.dilation;
    at.s = tap % p.w.taps * p.w.dilation;
    return at;
}

RP_GPU_FN bool is_met(const rp_gpu_conv_weight &p, const pixel &at, const offset &tap)
{
    return at.h + tap.r >= 0 && at.h + tap.r < p.h.in && at.w + tap.s >= 0 && at.w + tap.s < p.w.in;
}

/* Whether some output meets an input in a tap `along` behind the window's beginning. */
RP_GPU_FN bool is_ever_met(const rp_gpu_conv_axis &axis, int along)
{
    const int before = axis.pad - along, first = before > 0 ? (before + axis.stride - 1) / axis.stride : 0;

    return first < axis.out && first * axis.stride - before < axis.in;
}

/* bits[warp of rows][stage]: bit l, pixel l exists and, unless rows are uneven, is met in the tap of the warp's rows;
 * bit steps, all of its pixels exist and are met in all taps of these rows. The i-th of these words. */
RP_GPU_FN void make_bits(const rp_gpu_conv_weight &p, const pixel *pixels, u32 *bits, int i, int steps, int row0,
                         int rows, int k)
{
    const int row = row0 + i / (CHUNK / steps) * 32, first = i % (CHUNK / steps) * steps;
    const int last = (row + 31 < rows ? row + 31 : rows - 1) / p.c;
    const int count = k - first < steps ? k - first : steps;
    const u32 exist = count > 0 ? (1u << count) - 1 : 0;
    u32 met = exist;

    for (int tap = (row < rows ? row : rows - 1) / p.c; tap <= last; tap++) {
        const offset at = offset_of(p, tap * p.c);

        for (int l = 0; l < count; l++)
            if (!is_met(p, pixels[first + l], at))
                met &= ~(1u << l);
    }
    bits[i] = (p.uneven ? exist : met) | (u32)(met == (1u << steps) - 1) << steps;
}

#define WIDTH 128
#define WIDE 0
#define TILE(name) name##_128_s
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define WIDTH 128
#define WIDE 1
#define TILE(name) name##_128_w
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define WIDTH 64
#define WIDE 0
#define TILE(name) name##_64_s
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define WIDTH 64
#define WIDE 1
#define TILE(name) name##_64_w
#include "kernels/gpu/conv/conv_weight_tile.inc.h"
#define TN 16
#define BK 8
#define STAGES 4
#define BLOCKS 2
#define TILE(name) name##_128_e
#include "kernels/gpu/conv/conv_weight_even.inc.h"
#define TN 8
#define BK 16
#define STAGES 2
#define BLOCKS 3
#define TILE(name) name##_64_e
#include "kernels/gpu/conv/conv_weight_even.inc.h"
