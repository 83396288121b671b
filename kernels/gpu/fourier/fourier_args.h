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
    void *x, *y; /* stage: what it is made of */
    void *c, *d; /* turns by 2 pi p / n, p < turns */
    u64 lines, n, turns;
    u64 m;          /* far, stage: transforms of so many elements are left */
    u64 r, s;       /* stage: n = m r s, r a prime */
    u64 near;       /* near: elements of a stretch, at most RP_GPU_FOURIER_NEAR */
    u32 bits;       /* n = 2^bits */
    u32 inverse;    /* turns: the other way; places: each element over n; stage, of the inverse: turned back */
    u32 transposed; /* stages the other way, the last with + 0 */
    u32 adds;       /* ends: + 0; else over n */
} rp_gpu_fourier;

#endif
