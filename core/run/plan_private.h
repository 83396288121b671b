/* SPDX-License-Identifier: Apache-2.0
 * What the passes of a plan work on. A pass is a function of one file, core/run/plan_*.c, linear in the program's size;
 * core/run/plan.c runs them in the order in which they are declared here. None looks at the elements of a tensor. */
#ifndef CORE_RUN_PLAN_PRIVATE_H
#define CORE_RUN_PLAN_PRIVATE_H

#include "core/run/plan.h"
#include "kernels/chain.h"

/* One launch with everything bound. */
typedef struct call {
    rp_chain *chain; /* owned; NULL: one kernel */
    const rp_op *op; /* NULL: a copy */
    const rp_attr *attr;
    size_t instr; /* the operation's place in the program */
    rp_view *in, *out;
    size_t n_in, n_out;
    const rp_instr *region; /* functions are executed frame by frame; NULL: none */
} call;

/* A call that writes to a state, of the program's inputs. */
typedef struct state_write {
    size_t call, input;
} state_write;

/* Where the elements of a value are. */
typedef enum block_place {
    PLACE_ARENA,
    PLACE_OWN,     /* feeds and results: they outlive a run */
    PLACE_FIXED,   /* of an input, or made in a state's memory */
    PLACE_SCRATCH, /* of a chain */
    PLACE_SHARED   /* in the block of an operand that is not read again */
} block_place;

/* A piece of memory. */
typedef struct block {
    size_t bytes, offset;
    uint32_t first, last; /* positions between which it is alive */
    uint32_t shared;      /* PLACE_SHARED: the value whose block it is */
    block_place place;
    bool made; /* by an instruction */
    void *fixed;
} block;

/* Instructions in the order of their execution: those that only make a view, are equal to another or dead are left out.
 */
typedef struct plan_order {
    uint32_t *instr; /* by position */
    uint32_t *first; /* the first position of the chain that a position is in; the position itself outside chains */
    size_t n;
} plan_order;

struct rp_plan {
    const rp_program *program; /* the caller's, or `written` */
    rp_program *written;       /* owned; NULL: nothing was written out */
    uint32_t *number;          /* of each instruction of `written`: what an error calls it */
    rp_device *device;
    unsigned passes;
    rp_arena *arena, alone; /* alone: when none was given */
    size_t arena_bytes, own_bytes;
    char *own;

    rp_view *view;       /* of each value */
    uint32_t *same;      /* the first value that is equal to it; itself outside equal ones */
    uint32_t *root;      /* the value whose block holds this value's elements */
    unsigned char *kind; /* of each value: an rp_input_kind, or VALUE_MADE */
    bool *executed;      /* of each instruction */
    unsigned char *mark; /* of each instruction: what the order says of it */
    plan_order order;
    block *block; /* of each root value */

    call *call;
    size_t n_calls;
    state_write *write; /* in the order of the calls */
    size_t n_writes;
    bool mixed;        /* the last run failed when a state had been written */
    rp_view *operands; /* all calls' views */
    void **output;     /* contiguous memory of each output */
    uint64_t bound;    /* arena->moves when the calls were bound */
};

enum { VALUE_MADE = 255 };
/* Taken before its turn in the program; it ends the life of a gradient, say, so a chain should not wait for more. */
enum { MARK_EARLY = 1, MARK_UPDATE = 2 };

/* Before all others: outputs that are inputs or views become copies, where something could spoil them. Errors:
 * RP_EFORMAT (rp_program_check_states), RP_ENOMEM. */
rp_status rp_plan_outputs(rp_plan *plan, rp_error *err);
/* Which values are views, on whose memory, with which strides. */
void rp_plan_views(rp_plan *plan);
/* Finds equal instructions. Errors: RP_ENOMEM. */
rp_status rp_plan_common(rp_plan *plan, rp_error *err);
/* Says which instructions are executed. Errors: RP_ENOMEM. */
rp_status rp_plan_dead(rp_plan *plan, rp_error *err);
/* Puts them in order. Errors: RP_ENOMEM. */
rp_status rp_plan_order(rp_plan *plan, rp_error *err);
/* Gathers chains, which changes the order. Errors: RP_ENOMEM. */
rp_status rp_plan_fuse(rp_plan *plan, rp_error *err);
/* From when to when each value is needed, which are made in a state's memory, which only in a chain's scratch. */
void rp_plan_lifetimes(rp_plan *plan, void *const *input_memory);
/* Gives the others their places. Errors: RP_ENOMEM. */
rp_status rp_plan_place(rp_plan *plan, rp_error *err);
/* Views on memory, calls in order, final copies; again when the arena has moved. Errors: RP_ENOMEM. */
rp_status rp_plan_bind(rp_plan *plan, rp_error *err);
void rp_plan_unbind(rp_plan *plan);

/* Whether executing the instruction can be an error of the step: such are never left out, and keep their order. */
static inline bool rp_plan_can_fail(const rp_instr *instr)
{
    return instr->region || instr->op->flags & RP_OP_INDEXED;
}

/* The instruction at a position. */
static inline const rp_instr *rp_plan_at(const rp_plan *plan, size_t position)
{
    return &plan->program->instr[plan->order.instr[position]];
}

/* The position after the chain that begins at `first`. */
size_t rp_plan_chain_end(const rp_plan *plan, size_t first);
/* Whether a view has its elements in the places of a contiguous tensor of this type. */
bool rp_view_is_whole(const rp_view *view, const rp_type *type);

#endif
