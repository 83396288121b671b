/* SPDX-License-Identifier: Apache-2.0
 * The products that bench/gemm times, and the two libraries it times beside ours. */
#ifndef BENCH_GEMM_PEERS_H
#define BENCH_GEMM_PEERS_H

#include <stdbool.h>

#include "kernels/device.h"

typedef struct bench_product {
    const char *name;
    size_t batch, m, n, k;
    bool ta, tb; /* the operand lies transposed */
} bench_product;

enum { BENCH_OURS, BENCH_BLAS, BENCH_DNNL, BENCH_DNNL_GEMM, BENCH_CONTENDERS };

typedef struct bench_data {
    const bench_product *s;
    size_t size;        /* of an element: 4 or 8 */
    void *a, *b, *y[3]; /* results: ours, OpenBLAS, oneDNN */
    rp_view in[2], out;
    rp_device *device;
    void *primitive; /* oneDNN's, NULL where it has none */
} bench_data;

typedef void bench_call(bench_data *d);

/* Loads OpenBLAS with the core type that is fastest here and makes oneDNN's engine; false if one is missing. */
bool bench_peers_open(void);
void bench_peers_threads(unsigned threads);
const char *bench_peers_names(void);

/* oneDNN computes binary32 alone. */
void bench_dnnl_make(bench_data *d);
void bench_dnnl_free(bench_data *d);
/* NULL where the contender does not do this product. */
bench_call *bench_peer(const bench_data *d, int contender);

#endif
