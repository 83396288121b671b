/* SPDX-License-Identifier: Apache-2.0
 * What laying out memory (core/run/plan.c) and binding calls (core/run/bind.c) share of a plan. */
#ifndef CORE_RUN_PLAN_PRIVATE_H
#define CORE_RUN_PLAN_PRIVATE_H

#include "core/run/fuse.h"
#include "core/run/plan.h"
#include "kernels/chain.h"

/* One launch with everything bound. */
typedef struct call {
    rp_chain *chain; /* owned; NULL: one kernel */
    const rp_op *op; /* NULL: a copy */
    const rp_attr *attr;
    size_t instr; /* the operation's place in the program */
    rp_view *in;
    size_t n_in;
    rp_view out[RP_MAX_OUT];
    const rp_instr *region; /* its outputs' views come after in[n_in]; NULL: none */
} call;

/* A piece of memory: of an input (fixed), in the arena, or in the scratch of a chain. */
typedef struct block {
    size_t bytes, offset;
    size_t first, last; /* positions between which it is alive */
    void *fixed;
    bool made; /* by an instruction */
    bool scratch;
} block;

struct rp_plan {
    const rp_program *program;
    rp_device *device;
    rp_order order;
    void *arena;
    size_t arena_bytes;
    rp_view *view;  /* of each value */
    uint32_t *root; /* the value whose block holds this value's elements */
    block *block;   /* of each root value */
    call *call;
    size_t n_calls;
    size_t first_write; /* the first call that writes to a state */
    rp_view *operands;  /* all calls' input views */
    void **output;      /* contiguous memory of each output */
};

/* Views on memory, calls in order, final copies. */
rp_status rp_plan_bind(rp_plan *plan, rp_error *err);

#endif
