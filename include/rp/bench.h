/* SPDX-License-Identifier: Apache-2.0
 * How fast this host runs the kernels, against what it can do at most, measured in the same minute. */
#ifndef RP_BENCH_H
#define RP_BENCH_H

#include <stdbool.h>

#include "rp/error.h"

typedef struct rp_bench_options {
    unsigned threads;   /* 0: every CPU of the process */
    const char *level;  /* kernels: NULL for RP_ISA or the best of the host */
    const char *only;   /* only works whose name contains this text; NULL: all */
    const char *device; /* as in rp_run_options */
} rp_bench_options;

typedef struct rp_bench_row {
    size_t index, count; /* of the works asked for */
    const char *work;    /* e.g. "matmul f32 1024 x 1024 x 1024" */
    double seconds;      /* one call, the median of at least 7 */
    double amount;       /* of unit, in one call */
    const char *unit;    /* "flop", "byte" (must be moved at least), "element" */
    const char *limit;   /* "fma", "memory"; NULL: none */
    double fraction;     /* amount / seconds, as a part of that limit of the CPU on as many threads; 0 without */
    const char *level;   /* kernels of the processor: "avx2" */
    const char *device;  /* what computed where that is not the processor: "cuda-sm90 ..."; else NULL */
} rp_bench_row;

/* Measures one work after the other and hands each row to row(), which returns false to stop. rows are borrowed for the
 * call. Takes about half a second a work and 0.6 GiB. Errors: RP_EARG (no such work, level), RP_EUNSUPPORTED,
 * RP_ENOMEM. */
RP_API rp_status rp_bench(const rp_bench_options *options, bool (*row)(void *self, const rp_bench_row *row), void *self,
                          rp_error *err);

#endif
