/* SPDX-License-Identifier: Apache-2.0
 * cuBLAS as a peer of bench/gpu.c: found at run time, in its pedantic mode (binary32 products and sums, no TF32). */
#ifndef BENCH_GPU_PEER_H
#define BENCH_GPU_PEER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gpu_peer gpu_peer;

/* y [m, n] = a b, row-major in the device's memory; a_turned: a lies as [k, m], b_turned: b as [n, k]. */
typedef struct gpu_product {
    gpu_peer *peer;
    const void *a, *b;
    void *y;
    size_t m, n, k;
    bool a_turned, b_turned;
} gpu_product;

gpu_peer *gpu_peer_open(void); /* NULL: its library is not here */
void gpu_peer_close(gpu_peer *peer);
const char *gpu_peer_name(const gpu_peer *peer);
/* Puts the gpu_product on the device's legacy stream and waits for it. */
void gpu_peer_multiply(void *product);

#endif
