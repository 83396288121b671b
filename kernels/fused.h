/* SPDX-License-Identifier: Apache-2.0
 * Runs of a chain's steps whose values stay in registers: one value in binary32, and masks, which are what comparisons
 * say. Each step changes the value or a mask, with one operand from memory at most, and is stored where a later step or
 * the user wants it. Each is the operation of its kernel and rounds as that does, so the bits are the same. */
#ifndef KERNELS_FUSED_H
#define KERNELS_FUSED_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/kernel.h"

enum {
    RP_FUSED_STEPS = 48,     /* three for each step of a chain */
    RP_FUSED_ELEMENTS = 256, /* a multiple of what is computed at a time */
    RP_FUSED_MASKS = 4,
    RP_FUSED_STREAMS = 8 /* operands that are fetched ahead, at most */
};

/* What a step does with the value y, another operand x, and mask m. */
typedef enum rp_fused_op {
    /* of the value and an operand; RELU_GRAD, .. as the derivatives of kernels/operations.def, a the first operand */
    RP_FUSED_ADD,
    RP_FUSED_SUB,
    RP_FUSED_MUL,
    RP_FUSED_DIV,
    RP_FUSED_MAXIMUM,
    RP_FUSED_MINIMUM,
    RP_FUSED_RELU_GRAD,
    RP_FUSED_TANH_GRAD,
    RP_FUSED_SIGMOID_GRAD,
    RP_FUSED_SELECT, /* the first operand where m is set, else the second */
    RP_FUSED_LOAD,   /* y is x, one element for all */
    /* the same where m is set, or is not, while y stays elsewhere: the two sides of a selection */
    RP_FUSED_IF_ADD,
    RP_FUSED_IF_MUL,
    RP_FUSED_ELSE_ADD,
    RP_FUSED_ELSE_MUL,
    RP_FUSED_IF_SQUARE, /* of the value alone */
    RP_FUSED_ELSE_SQUARE,
    /* masks of the value and an operand; y stays */
    RP_FUSED_EQ,
    RP_FUSED_NE,
    RP_FUSED_LT,
    RP_FUSED_LE,
    RP_FUSED_GT,
    RP_FUSED_GE,
    /* of the value alone */
    RP_FUSED_SQUARE,
    RP_FUSED_RELU,
    RP_FUSED_ABS,
    RP_FUSED_NEG,
    RP_FUSED_SIGN,
    RP_FUSED_FLOOR,
    RP_FUSED_CEIL,
    RP_FUSED_ROUND,
    RP_FUSED_TRUNC,
    RP_FUSED_LEAKY_RELU,
    RP_FUSED_HARDTANH,
    /* m of the masks a and b; x is bytes of bool */
    RP_FUSED_MASK_LOAD,
    RP_FUSED_MASK_NOT,
    RP_FUSED_MASK_AND,
    RP_FUSED_MASK_OR,
    RP_FUSED_MASK_XOR,
    RP_FUSED_OF_MASK /* y is 1 where m is set, else 0 */
} rp_fused_op;

/* How the operand comes: added to 4 op. */
enum { RP_FUSED_SECOND = 1 /* the register is the second operand */, RP_FUSED_SCALAR = 2 };

typedef struct rp_fused_step {
    unsigned code;            /* 4 op + how */
    unsigned char mask, a, b; /* m, and the masks that a step of masks makes it of */
    bool past;                /* store is aligned to 64 bytes and nobody reads it soon: it goes past the caches */
    bool stores_mask;         /* store is m in bytes, not y */
    float attr[2];
    const void *load; /* NULL, or what y is before the step: one step for both */
    const void *x;    /* the other operand */
    void *store;      /* NULL: only later steps want it */
} rp_fused_step;

/* rp_fused_run takes elements from and up to multiples of RP_FUSED_ELEMENTS. A store may be where an operand is. */
struct rp_fused {
    size_t n, n_streams;
    rp_fused_step step[RP_FUSED_STEPS];
    struct {
        const void *x; /* an operand, read in order from memory that no near cache holds: fetched a little ahead */
        size_t size;   /* of an element */
    } stream[RP_FUSED_STREAMS];
};

#endif
