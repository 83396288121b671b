/* SPDX-License-Identifier: Apache-2.0
 * One execution of a program down to one instruction, in a frame of a region where it is there. */
#ifndef AUDIT_REPLAY_LOOK_WALK_H
#define AUDIT_REPLAY_LOOK_WALK_H

#include "audit/replay/look/place.h"
#include "kernels/device.h"

/* Who is shown the value; the view is good during the call. */
typedef struct rp_look_taker {
    rp_status (*take)(void *self, rp_device *device, const rp_type *type, const rp_view *view, rp_error *err);
    void *self;
} rp_look_taker;

/* input: memory of each of the program's inputs on the device, contiguous. The place is the program's (rp_place_find),
 * output one of the instruction's. Nothing behind the instruction is executed, and of a map only the shard. Memory: the
 * values of one frame a level. Errors: those of executing; RP_EARG: the frame was not executed (a branch that was not
 * taken, a loop that ended before); take's. */
rp_status rp_look_walk(rp_device *device, rp_program *program, void *const *input, const rp_place *place, size_t output,
                       const rp_look_taker *to, rp_error *err);

#endif
