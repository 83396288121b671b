/* SPDX-License-Identifier: Apache-2.0
 * Arguments for any kernel, made from Philox: what the conformance vectors and the tests run. A plan names the kernel,
 * element type, sizes, memory layout and kind of data; the same plan always gives the same bits. */
#ifndef KERNELS_CONFORMANCE_SPECIMEN_H
#define KERNELS_CONFORMANCE_SPECIMEN_H

#include "kernels/kernel.h"

typedef enum rp_specimen_layout {
    RP_LAYOUT_PLAIN,     /* row-major */
    RP_LAYOUT_UNALIGNED, /* row-major, one element past an aligned address */
    RP_LAYOUT_STRIDED,   /* first axis innermost, every second element */
    RP_LAYOUT_BROADCAST, /* inputs: stride 0 along the first axis, odd inputs along the last too */
    RP_LAYOUT_GAPS,      /* row-major with three unused elements after each row */
    RP_LAYOUT_COUNT
} rp_specimen_layout;

typedef enum rp_specimen_data {
    RP_DATA_NORMAL,    /* -2 .. 2 */
    RP_DATA_WIDE,      /* every exponent */
    RP_DATA_SUBNORMAL, /* at the lower end of the range */
    RP_DATA_SPECIAL,   /* zeros, infinities, NaN, limits, among normal values */
    RP_DATA_COUNT
} rp_specimen_data;

enum { RP_SPECIMEN_VIEWS = 12 };

/* Blocks for one specimen after another, so that the system does not hand the same pages out again for each.
 * Zero-initialised; for one specimen at a time. */
typedef struct rp_specimen_memory {
    void *block[RP_SPECIMEN_VIEWS];
    size_t room[RP_SPECIMEN_VIEWS];
} rp_specimen_memory;
void rp_specimen_memory_free(rp_specimen_memory *memory);

typedef struct rp_specimen_plan {
    rp_kernel_id kernel;
    rp_dtype dtype;
    size_t shape[3];
    int option; /* >= 0: picks axes, attributes and further sizes; see specimen.c */
    rp_specimen_layout layout;
    rp_specimen_data data;
    uint64_t seed;
    struct rp_specimen_cache *cache; /* of specimen_data.h, or NULL: only saves time */
    rp_specimen_memory *memory;      /* or NULL, and each block is of its own exact size, whose ends sanitizers see */
} rp_specimen_plan;

typedef struct rp_specimen {
    rp_view in[8], out[4];
    rp_attr attr[RP_MAX_ATTR];
    rp_kernel_args args;             /* points into this struct: do not copy it */
    void *block[RP_SPECIMEN_VIEWS];  /* all memory of the inputs, then of the outputs */
    size_t count[RP_SPECIMEN_VIEWS]; /* its elements, more than the view's */
    size_t n_blocks;
    rp_specimen_memory *memory; /* whose the blocks are, where not the specimen's */
    bool failed;                /* out of memory while being built */
} rp_specimen;

/* Whether the kernel takes this element type. */
bool rp_specimen_fits(rp_kernel_id kernel, rp_dtype dtype);
/* Outputs are filled with a pattern. Errors: RP_ENOMEM; the specimen is then freed. */
rp_status rp_specimen_make(rp_specimen *specimen, const rp_specimen_plan *plan, rp_error *err);
/* The pattern again, for another run of the kernel. */
void rp_specimen_reset(rp_specimen *specimen);
void rp_specimen_free(rp_specimen *specimen);
/* The block of output i and its elements. */
void *rp_specimen_output(const rp_specimen *specimen, size_t i, size_t *count);

#endif
