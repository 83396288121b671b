/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of conv_weight.cu. A row is (r, s, c) of a group's weight, a column one of its
 * filters, a term a pixel (n, oh, ow) of the gradient. Block z takes chunk first + z of 512 pixels. */
#ifndef KERNELS_GPU_CONV_CONV_WEIGHT_ARGS_H
#define KERNELS_GPU_CONV_CONV_WEIGHT_ARGS_H

#include "kernels/gpu/conv/conv_args.h"

enum { RP_GPU_WEIGHT_ROWS = 128, RP_GPU_WEIGHT_STEPS = 8, RP_GPU_WEIGHT_STAGES = 4, RP_GPU_WEIGHT_EVEN_THREADS = 128 };
#define RP_GPU_WEIGHT_THREADS(width) (2 * (width))
/* 32-bit words of shared memory: of stages, pixels, bits, flags where rows are uneven */
#define RP_GPU_WEIGHT_SHARED(width, uneven) \
    (RP_GPU_WEIGHT_STAGES * RP_GPU_WEIGHT_STEPS * \
         (RP_GPU_WEIGHT_ROWS + 4 + (width) + 4 + ((uneven) ? RP_GPU_WEIGHT_ROWS : 0)) + \
     4 * RP_GPU_CONV_CHUNK + RP_GPU_WEIGHT_ROWS / 32 * (RP_GPU_CONV_CHUNK / RP_GPU_WEIGHT_STEPS))
/* the same of the even tiles: stages, pixels, bits */
#define RP_GPU_WEIGHT_EVEN_SHARED(width, steps, stages) \
    ((stages) * (steps) * (RP_GPU_WEIGHT_ROWS + 4 + (width) + 4) + 4 * RP_GPU_CONV_CHUNK + \
     RP_GPU_WEIGHT_ROWS / 32 * (RP_GPU_CONV_CHUNK / (steps)))

typedef struct rp_gpu_conv_weight {
    rp_gpu_head head;
    const float *x, *g;
    float *parts; /* [chunks here, groups, rows, columns] */
    i64 x_stride[4], g_stride[4];
    rp_gpu_conv_axis h, w;
    int taps, groups, c, k;
    u32 pixels, chunks, first, here; /* chunks in all; the first of this launch, and how many it has */
    u32 uneven; /* some terms of some rows do not exist, and the rows of a warp have several taps */
} rp_gpu_conv_weight;

#endif
