/* SPDX-License-Identifier: Apache-2.0
 * What a chain's operands are to each other, and its steps as programs. */
#ifndef KERNELS_GPU_CHAIN_PLAN_H
#define KERNELS_GPU_CHAIN_PLAN_H

#include "kernels/gpu/chain/program.h"

enum { RP_GPU_MADE_BEFORE = RP_CHAIN_VIEWS, RP_GPU_NO_SLOT = 255 };

/* A chain as a GPU runs it: an output that is streamed lies in its own memory at once, and who reads it reads it there;
 * it is nobody else's while the chain runs. */
typedef struct rp_gpu_chain_plan {
    const rp_chain *chain;
    rp_view view[RP_CHAIN_VIEWS]; /* the chain's; what is in scratch has no memory yet */
    uint8_t slot[RP_CHAIN_VIEWS]; /* of the scratch, the chain's own numbers; or RP_GPU_NO_SLOT */
    uint8_t made[RP_CHAIN_VIEWS]; /* of an operand: the output of a step that it is, or RP_GPU_MADE_BEFORE */
    uint8_t by[RP_CHAIN_VIEWS];   /* of an output: its step, */
    uint8_t last[RP_CHAIN_VIEWS]; /* and the last step that reads it: its own where none does */
} rp_gpu_chain_plan;

void rp_gpu_chain_plan_make(rp_gpu_chain_plan *plan, const rp_chain *chain);

/* The kernels that there are, in the order in which they are preferred. */
typedef enum rp_gpu_chain_kernel { RP_GPU_CHAIN_NARROW, RP_GPU_CHAIN_WIDE, RP_GPU_CHAIN_NONE } rp_gpu_chain_kernel;
enum { RP_GPU_CHAIN_WAYS = 3 }; /* and the narrow one for single elements; an rp_chain's way is 1 to this */

/* As many steps from k as one kernel takes, as a program for it: *end is the first that it does not have. Outputs that
 * later steps read in scratch are stored to plan->view's memory there. One step, or RP_GPU_CHAIN_NONE, is for the
 * step's own kernel. */
rp_gpu_chain_kernel rp_gpu_chain_program(rp_gpu_chain *program, const rp_gpu_chain_plan *plan, size_t k, size_t *end);

#endif
