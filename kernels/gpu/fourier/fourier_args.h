/* SPDX-License-Identifier: Apache-2.0
 * Parameters of the kernels of fourier.cu: what both sides of a launch see. */
#ifndef KERNELS_GPU_FOURIER_FOURIER_ARGS_H
#define KERNELS_GPU_FOURIER_FOURIER_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_FOURIER_NEAR = 1024, RP_GPU_FOURIER_THREADS = 256 };

/* Lines of n elements of u and v, one after the other. */
typedef struct rp_gpu_fourier {
    rp_gpu_head head;
    void *u, *v;
    void *c, *d; /* turns by 2 pi p / n, p < n / 2 */
    u64 lines, n;
    u64 m;          /* far: the stage's */
    u64 near;       /* near: elements of a stretch, at most RP_GPU_FOURIER_NEAR */
    u32 bits;       /* n = 2^bits */
    u32 inverse;    /* turns: the other way; places: each element over n */
    u32 transposed; /* stages the other way, the last with + 0 */
} rp_gpu_fourier;

#endif
