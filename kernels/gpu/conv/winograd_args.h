/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of winograd.cu. Tiles [first, first + tiles) are made at once; for each of the 36
 * points v is [tiles, channels], u [channels, pitch] and m [tiles, pitch]. */
#ifndef KERNELS_GPU_CONV_WINOGRAD_ARGS_H
#define KERNELS_GPU_CONV_WINOGRAD_ARGS_H

#include "kernels/gpu/gpu.h"
#include "kernels/kernel.h"

typedef struct rp_gpu_winograd {
    rp_gpu_head head;
    rp_view x, weight, y;
    u64 pad_h, pad_w;
    u32 first, tiles, across, down; /* across, down: tiles of an image */
    u32 channels, filters, pitch;
    void *v, *u, *m;
} rp_gpu_winograd;

#endif
