/* SPDX-License-Identifier: Apache-2.0
 * What the cases of large.c share: a device's tensors and their views, and the cases themselves, a function a family.
 */
#ifndef BENCH_GPU_LARGE_CASES_H
#define BENCH_GPU_LARGE_CASES_H

#include "windows.h"

extern large l;
extern size_t half, full, more, side; /* 2^31, 2^32, a few beyond, 2^16 + 1; side squared is above 2^32 */
/* Elements: full and more than side squared; `flat` of half and more. All made on the device. */
extern float *a, *o, *positive, *third;
extern uint16_t *narrow; /* a as bf16 */
extern bool *truth;      /* a > what is beside it */
extern int64_t *rng;
extern float *host; /* a */

static inline rp_view flat(rp_dtype dtype, const void *data, size_t count)
{
    return (rp_view){(void *)data, dtype, 1, {count}, {1}};
}

static inline rp_view tensor(rp_dtype dtype, const void *data, int rank, const size_t *shape)
{
    rp_view v = {(void *)data, dtype, rank, {0}, {0}};
    size_t count = 1;

    for (int d = rank - 1; d >= 0; count *= shape[d--]) {
        v.shape[d] = shape[d];
        v.stride[d] = (ptrdiff_t)count;
    }
    return v;
}

static inline rp_view matrix(rp_dtype dtype, const void *data, size_t rows, size_t cols)
{
    return tensor(dtype, data, 2, (const size_t[]){rows, cols});
}

static inline rp_view turned(rp_view v)
{
    const rp_view old = v;

    for (int d = 0; d < 2; d++) {
        v.shape[d] = old.shape[1 - d];
        v.stride[d] = old.stride[1 - d];
    }
    return v;
}

#define ALONG(v) ((large_operand){(v), 1, 0})
#define WHOLE(v) ((large_operand){(v), 0, 0})

static inline void one(const char *name, rp_kernel_id kernel, rp_view in, rp_view out, const rp_attr *attr)
{
    large_run(&l, &(large_case){.name = name,
                                .kernel = kernel,
                                .in = {ALONG(in)},
                                .n_in = 1,
                                .out = {ALONG(out)},
                                .n_out = 1,
                                .attr = attr});
}

static inline void two(const char *name, rp_kernel_id kernel, rp_view in, rp_view second, rp_view out)
{
    large_run(&l, &(large_case){.name = name,
                                .kernel = kernel,
                                .in = {ALONG(in), ALONG(second)},
                                .n_in = 2,
                                .out = {ALONG(out)},
                                .n_out = 1});
}

/* Inputs, each the result of a case; elementwise kernels, an optimizer, a chain. */
void large_randoms(void);
void large_elementwise(void);
void large_adamw(void);
void large_chain(void);
/* What goes from place to place. */
void large_moves(void);
void large_takes(void);
void large_gathers(void);
/* Reductions and orders of rows, products, images; those whose whole operand this CPU reads too, from host. */
void large_rows(void);
void large_products(void);
void large_convolutions(void);
void large_images(void);
void large_wholes(void);
/* Bytes: SHA-256, and copies, which make host. */
void large_digests(void);
void large_copies(void);

#endif
