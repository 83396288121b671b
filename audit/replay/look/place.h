/* SPDX-License-Identifier: Apache-2.0
 * Places as docs/diff.md writes them: 12/37/5 is instruction 5 in frame 37 of the region that is instruction 12. */
#ifndef AUDIT_REPLAY_LOOK_PLACE_H
#define AUDIT_REPLAY_LOOK_PLACE_H

#include "core/program/function.h"

typedef struct rp_place_frame {
    uint64_t instr;  /* the region, in the body around it */
    uint64_t number; /* scan, while: the iteration; map: the shard; cond: the branch; call: 0 */
    char mark;       /* 'b': a cond's branch; 'p': a while's predicate; 0: none */
} rp_place_frame;

typedef struct rp_place {
    rp_place_frame frame[RP_CALL_DEPTH_MAX]; /* from the outside in */
    size_t depth;
    uint64_t instr; /* of the innermost body */
} rp_place;

/* Errors: RP_EARG: what is no place. */
rp_status rp_place_read(rp_place *out, const char *text, rp_error *err);
/* The function that a region's frame executes; NULL with an error where the region has no such frame, whatever it
 * computes. Errors: RP_EARG. */
const rp_function *rp_place_function(const rp_instr *region, const rp_place_frame *frame, rp_error *err);
/* The instruction there, and the body that it is in. Errors: RP_EARG: the program has no such place. */
rp_status rp_place_find(const rp_instr **out, const rp_program **body, const rp_place *place, const rp_program *program,
                        rp_error *err);

#endif
