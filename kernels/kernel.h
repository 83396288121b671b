/* SPDX-License-Identifier: Apache-2.0
 * What a kernel is: a function over strided views that computes items [begin, end) of an operation's independent
 * work items. Any cut of [0, items) gives the same bits, so threads (and later devices) are circumstance.
 * Kernels cannot fail: core has validated shapes, dtypes and index ranges before the call. */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/fused.h"
#include "rp/dtype.h"

typedef struct rp_view {
    void *data; /* element 0, on the device the kernel runs on */
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
    ptrdiff_t stride[RP_MAX_RANK]; /* in elements; 0 along a broadcast axis */
} rp_view;

/* One attribute of an instruction. Which members count is fixed by the operation's row in core/program/optable.c. */
typedef struct rp_attr {
    int64_t i;                 /* integer, boolean, dtype or axis */
    double r;                  /* real */
    int n;                     /* length of list */
    int64_t list[RP_MAX_RANK]; /* axes, shape, begin, end, permutation */
} rp_attr;

enum { RP_MAX_ATTR = 5 };

typedef struct rp_kernel_args {
    const rp_view *in;
    size_t n_in;
    const rp_view *out; /* never overlaps an input, except that elementwise kernels may run in place */
    size_t n_out;
    const rp_attr *attr; /* those that the operation has */
} rp_kernel_args;

typedef struct rp_kernel {
    /* The number of independent items, e.g. output elements or rows. */
    size_t (*items)(const rp_kernel_args *args);
    /* Computes items [begin, end). */
    void (*run)(const rp_kernel_args *args, size_t begin, size_t end);
    /* Rough cost of one item in elementary operations: decides only whether threads are worth waking. */
    size_t (*cost)(const rp_kernel_args *args);
} rp_kernel;

/* Kernel identifiers; kernels.def has one line each: X(name). */
typedef enum rp_kernel_id {
#define X(name) RP_K_##name,
#include "kernels/kernels.def"
#undef X
    RP_K_COUNT
} rp_kernel_id;

/* One kernel an identifier; a level without its own variant points at the reference, visibly. */
typedef struct rp_kernel_table {
    const char *level; /* "ref", "sse2", "avx2", "avx512", "neon" */
    const rp_kernel *kernel[RP_K_COUNT];
    rp_fused_run *fused; /* steps of a chain in registers, kernels/fused.h; NULL at "ref" */
} rp_kernel_table;

/* The table for a level: NULL or "" asks RP_ISA in the environment, else the best the host has.
 * Errors: RP_EARG for an unknown level, RP_EUNSUPPORTED when this host or build lacks it. Never a silent fallback. */
rp_status rp_kernel_table_get(const rp_kernel_table **out, const char *level, rp_error *err);
/* The levels this host can run, best last; returns how many. "ref" is always the first. */
size_t rp_kernel_levels(const char *const **names);

#endif
