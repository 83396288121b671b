/* SPDX-License-Identifier: Apache-2.0
 * Steps of a chain as a program for one kernel, rp_gpu_chain_run_narrow, _single or _wide: what both sides of its
 * launch see. A thread computes every step for its elements; what a step makes is in the thread's registers for the
 * next one, in its own part of the block's shared memory for later ones, and in memory where somebody else reads it. */
#ifndef KERNELS_GPU_CHAIN_PROGRAM_H
#define KERNELS_GPU_CHAIN_PROGRAM_H

#include "kernels/chain.h"
#include "kernels/gpu/args.h"

/* What a step computes: RP_GPU_STEP_NAME_TYPE for each row of kernels/operations.def and type that the kernels know. */
typedef enum rp_gpu_step_code {
#define STEP_cast(from, to, ...) RP_GPU_STEP_cast##from##to,
#define STEP_where(...) RP_GPU_STEP_where,
#define STEP_dropout() FN(RP_GPU_STEP_dropout),
#define STEP_light(name, ...) FN(RP_GPU_STEP_##name),
#define STEP_function STEP_light
#include "kernels/gpu/chain/steps_narrow.inc.h"
#include "kernels/gpu/chain/steps_wide.inc.h"
    RP_GPU_STEPS
#undef STEP_cast
#undef STEP_where
#undef STEP_dropout
#undef STEP_light
#undef STEP_function
} rp_gpu_step_code;

enum {
    RP_GPU_STEP_IN = 3,
    RP_GPU_CHAIN_VIEWS = RP_CHAIN_STEPS * (RP_GPU_STEP_IN + 1),
    RP_GPU_CHAIN_AXES = 32, /* of all operands that do not lie in order */
    RP_GPU_CHAIN_KEPT = 8,  /* values in shared memory at once */
    RP_GPU_NARROW = 8,      /* elements that a thread takes at once, in registers of 32 bits, */
    RP_GPU_SINGLE = 1,      /* the same where there are few, */
    RP_GPU_WIDE = 2,        /* and of 64 */
    RP_GPU_NOWHERE = 255
};

/* Where an operand comes from: what the step before made, a kept value, memory where element i is the i-th, memory by
 * axes. */
enum { RP_GPU_FROM_LAST, RP_GPU_FROM_KEPT, RP_GPU_FROM_WHOLE, RP_GPU_FROM_AXES };

typedef struct rp_gpu_step {
    double real[2]; /* its attributes that are reals, */
    i64 whole;      /* and the one that is an integer */
    uint16_t code;
    /* at: number of the kept value, or of the view; of dropout the second is the random state, which n_in leaves out */
    uint8_t n_in, from[RP_GPU_STEP_IN], at[RP_GPU_STEP_IN];
    uint8_t keep, store; /* the same of the result; or RP_GPU_NOWHERE */
} rp_gpu_step;

typedef struct rp_gpu_step_view {
    void *at; /* element 0 */
    u32 size; /* of an element */
    uint16_t axis, axes;
} rp_gpu_step_view;

typedef struct rp_gpu_step_axis {
    u64 length;
    i64 bytes; /* from one to the next */
} rp_gpu_step_axis;

typedef struct rp_gpu_chain {
    rp_gpu_head head;
    u64 first, count; /* elements [first, count) */
    u32 n_steps, n_kept;
    rp_gpu_step step[RP_CHAIN_STEPS];
    rp_gpu_step_view view[RP_GPU_CHAIN_VIEWS];
    rp_gpu_step_axis axis[RP_GPU_CHAIN_AXES];
} rp_gpu_chain;

#endif
