/* SPDX-License-Identifier: Apache-2.0
 * Runs of a chain's steps whose values stay in registers: one value is loaded, each step changes it, with one operand
 * from memory at most, and it is stored where a later step or the user wants it. Each step is the operation of its
 * kernel and rounds as that does, so the bits are the same. */
#ifndef KERNELS_FUSED_H
#define KERNELS_FUSED_H

#include <stdbool.h>
#include <stddef.h>

enum { RP_FUSED_STEPS = 16, RP_FUSED_ELEMENTS = 256 /* a multiple of what is computed at a time */ };

/* Binary operations first. */
typedef enum rp_fused_op {
    RP_FUSED_ADD,
    RP_FUSED_SUB,
    RP_FUSED_MUL,
    RP_FUSED_DIV,
    RP_FUSED_MAXIMUM,
    RP_FUSED_MINIMUM,
    RP_FUSED_RELU,
    RP_FUSED_ABS,
    RP_FUSED_NEG
} rp_fused_op;

/* How the operand comes: added to 4 op. */
enum { RP_FUSED_SECOND = 1 /* the register is the second operand */, RP_FUSED_SCALAR = 2 };

typedef struct rp_fused_step {
    unsigned code;  /* 4 op + how */
    const float *x; /* the other operand */
    float *store;   /* NULL: only the next step wants it */
    bool past;      /* store is aligned to 64 bytes and nobody reads it soon: it goes past the caches */
} rp_fused_step;

typedef struct rp_fused {
    const float *first; /* what is loaded */
    size_t n;
    rp_fused_step step[RP_FUSED_STEPS];
} rp_fused;

/* Elements [begin, end), both multiples of RP_FUSED_ELEMENTS. A store may be where an operand is. */
typedef void rp_fused_run(const rp_fused *fused, size_t begin, size_t end);

#endif
