/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of conv.cu. A row is a pixel of what is made, a column one of its channels in a group,
 * a term (tap, inner): inner are the channels of the other image in a group. */
#ifndef KERNELS_GPU_CONV_CONV_TILE_ARGS_H
#define KERNELS_GPU_CONV_CONV_TILE_ARGS_H

#include "kernels/gpu/conv/conv_args.h"

enum { RP_GPU_CONV_ROWS = 128, RP_GPU_CONV_STEPS = 8, RP_GPU_CONV_STAGES = 4, RP_GPU_CONV_TOGETHER = 32 };
enum { RP_GPU_CONV_EVEN_STEPS = 16, RP_GPU_CONV_EVEN_STAGES = 2, RP_GPU_CONV_EVEN_THREADS = 128 };

typedef struct rp_gpu_conv_tile {
    rp_gpu_head head;
    const float *a, *weight;
    float *to;
    i64 a_stride[3], to_stride[4]; /* a: image, row and column of pixels */
    i64 to_chunk;                  /* `apart`: between results of chunks, of which block z makes one; else 0 */
    i64 tap_stride[2];             /* of weight, along r and s */
    i64 a_group, weight_group, to_group;
    int a_inner, weight_inner, weight_column; /* strides */
    rp_gpu_conv_axis h, w;
    int back;             /* rows are inputs, which meet outputs; else outputs, which meet inputs */
    int high, across;     /* pixels of an image of what is made */
    int images, together; /* rows go through so many images before the next pixel: a warp's mostly meet the same taps */
    int rows, columns, inner, taps;
    int apart;
    int to_wide; /* results of neighbouring columns lie in 16 bytes */
} rp_gpu_conv_tile;

#endif
