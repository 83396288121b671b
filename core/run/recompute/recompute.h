/* SPDX-License-Identifier: Apache-2.0
 * Values computed again where they are read late, so that a step fits into less memory: a plan is looked at where it
 * holds most, what is alive there and cheap to make is left out, and a program in which late readers have their own is
 * planned in its turn. It is again only another program: operations are functions, so no bit can change. */
#ifndef CORE_RUN_RECOMPUTE_H
#define CORE_RUN_RECOMPUTE_H

#include "core/run/plan_private.h"

/* What is computed again behind the position where a plan holds most. */
typedef struct rp_again {
    uint32_t end; /* that position, or the last of its chain */
    bool *made;   /* of each root value that is made until then: readers behind it find none, and have it made again */
    size_t n;     /* values that are left out; 0: there is nothing more to leave out */
} rp_again;

/* Chooses so that at most `bytes` of the arena are alive there, if that can be. Errors: RP_ENOMEM. */
rp_status rp_again_choose(rp_again *again, const rp_plan *plan, size_t bytes, rp_error *err);
void rp_again_free(rp_again *again);
/* The plan's instructions in the order of its execution, and what is made again before its first late reader. number,
 * late: of each instruction, as in rp_plan. Errors: RP_ENOMEM. */
rp_status rp_again_write(const rp_plan *plan, const rp_again *again, rp_program **out, uint32_t **number, bool **late,
                         rp_error *err);

/* Bytes of the arena that are alive at most, and at which position. Errors: RP_ENOMEM. */
rp_status rp_plan_fullest(const rp_plan *plan, size_t *bytes, uint32_t *position, rp_error *err);

#endif
