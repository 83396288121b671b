/* SPDX-License-Identifier: Apache-2.0
 * Two executions of programs that are alike, side by side, down to the first value that differs. */
#ifndef AUDIT_REPLAY_DIFF_WALK_H
#define AUDIT_REPLAY_DIFF_WALK_H

#include "core/program/function.h"
#include "kernels/device.h"

/* One execution of a function. */
typedef struct rp_diff_frame {
    size_t instr; /* the region, in the body around it */
    rp_region_kind kind;
    uint64_t number; /* scan, while: the iteration; map: the shard; cond: the branch; call: 0 */
    bool predicate;  /* while: what decides whether the iteration is executed */
    const rp_function *function[2];
} rp_diff_frame;

/* The first value that differs. */
typedef struct rp_diff_value {
    bool found;
    rp_diff_frame frame[RP_CALL_DEPTH_MAX]; /* from the outside in */
    size_t depth;
    bool gathered;             /* a region's value differs, but nothing in its frames */
    const rp_program *body[2]; /* the innermost; they live as long as the programs */
    uint32_t value;            /* of that body */
    size_t element;            /* the first that differs, in row-major order */
    unsigned char bits[2][8];
} rp_diff_value;

/* Where a program is executed, and its inputs there: contiguous, in the order of the program. */
typedef struct rp_diff_side {
    rp_device *device;
    rp_program *program;
    void *const *input;
} rp_diff_side;

/* The programs are alike (rp_diff_programs); same: they are equal. An instruction is executed on both sides before the
 * next, all elements of its values are compared, and nothing is executed after the first that differs. A region is
 * executed as a whole, and entered where its values differ: then its frames are executed once more, one by one, but for
 * those that rows of the region's values show to be equal. Both sides keep the values of one frame a level. Errors:
 * those of executing, told by the side; RP_ENOMEM. */
rp_status rp_diff_walk(rp_diff_value *out, const rp_diff_side side[2], bool same, rp_error *err);

/* An error of side 0, A, or 1, B. RP_OK stays. */
rp_status rp_diff_failed(int side, rp_status status, rp_error *err);

#endif
