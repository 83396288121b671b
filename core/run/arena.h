/* SPDX-License-Identifier: Apache-2.0
 * Memory of a device that all plans of a run use in turn: what a step computes on its way lies here and is nobody's
 * when the step is done. */
#ifndef CORE_RUN_ARENA_H
#define CORE_RUN_ARENA_H

#include "kernels/device.h"

typedef struct rp_arena {
    rp_device *device; /* borrowed */
    char *memory;
    size_t bytes;
    size_t untouched; /* bytes that plans have got since one ran: the device may not count them as taken yet */
    uint64_t runs;    /* of its plans: what was got before the last one is touched */
} rp_arena;

/* That the device has room for a plan's part of the arena and for what is its own, together with all that has not been
 * touched. Errors: RP_ENOMEM, with figures. */
rp_status rp_arena_admit(rp_arena *arena, size_t bytes, size_t own, rp_error *err);

/* Makes the arena at least so large; its contents are lost when it grows. Errors: RP_ENOMEM; it is then empty. */
rp_status rp_arena_reserve(rp_arena *arena, size_t bytes, rp_error *err);
void rp_arena_release(rp_arena *arena);

#endif
