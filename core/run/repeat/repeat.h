/* SPDX-License-Identifier: Apache-2.0
 * Calls of a plan that a device repeats as one sequence (kernels/device.h): from a plan's second run on, where its
 * memory is what it was. */
#ifndef CORE_RUN_REPEAT_REPEAT_H
#define CORE_RUN_REPEAT_REPEAT_H

#include "kernels/device.h"

enum { RP_REPEAT_MAX = 1 << 14 /* launches of a sequence: the driver holds all that each one is given */ };

/* Calls [begin, end) of a plan, as they were when the arena lay at `arena`. */
typedef struct rp_repeat {
    struct rp_repeat *next;
    rp_device *device;     /* borrowed */
    rp_sequence *sequence; /* NULL: not made yet */
    size_t begin, end;
    const void *arena;
    bool launched; /* one by one, all of them, with the arena there */
    bool plain;    /* there was no memory for a sequence */
} rp_repeat;

/* Launches calls [*i, end), as launch_calls of core/run/plan_run.c does; *i: the one that failed. */
typedef rp_status rp_repeat_launch(void *plan, size_t *i, size_t end, rp_error *err);

/* The same through a sequence where there is one; else by `launch`, the second time into a sequence, if there is memory
 * for one. *list is the plan's. A call of a sequence that fails is not known one by one: *i is then the first. */
rp_status rp_repeat_calls(rp_repeat **list, rp_device *device, const void *arena, size_t *i, size_t end,
                          rp_repeat_launch *launch, void *plan, rp_error *err);
void rp_repeat_free(rp_repeat *list); /* all of the list */

#endif
