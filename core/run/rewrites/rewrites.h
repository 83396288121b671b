/* SPDX-License-Identifier: Apache-2.0
 * Passes that put other instructions in the place of some, with the same bits: a program of the plan's own in which
 * every instruction and value keeps its number, so that errors and positions mean what they mean in the text. */
#ifndef CORE_RUN_REWRITES_H
#define CORE_RUN_REWRITES_H

#include "core/run/plan_private.h"

enum { RP_NOBODY = UINT32_MAX, RP_SEVERAL = UINT32_MAX - 1 };

/* What stands in an instruction's place: it makes one value. */
typedef struct rp_changed {
    const rp_op *op;
    rp_attr attr[RP_MAX_ATTR];
    uint32_t *in; /* owned */
    size_t n_in;
} rp_changed;

typedef struct rp_changes {
    rp_changed *changed;
    size_t n, cap;
    uint32_t *of; /* of each instruction: its place among them; RP_NO_INSTR */
} rp_changes;

/* Nothing changed yet. Errors: RP_ENOMEM. */
rp_status rp_changes_begin(rp_changes *c, const rp_program *p, rp_error *err);
void rp_changes_free(rp_changes *c);
/* What is to stand in the place of instruction k, with n_in operands, to be filled before the next call; NULL: out of
 * memory. */
rp_changed *rp_changes_at(rp_changes *c, uint32_t k, size_t n_in);
/* Of each value the instruction that reads it; RP_NOBODY, or RP_SEVERAL where it is more than one or an output. For
 * rp_free; NULL: out of memory. */
uint32_t *rp_readers(const rp_program *p);
/* The plan's program with the changes. Errors: RP_ENOMEM. */
rp_status rp_plan_change(rp_plan *plan, const rp_changes *c, rp_error *err);

#endif
