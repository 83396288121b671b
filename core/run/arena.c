/* SPDX-License-Identifier: Apache-2.0
 * The old memory goes before the new comes: between steps nothing in it counts. */
#include "core/run/arena.h"

rp_status rp_arena_admit(rp_arena *arena, size_t bytes, size_t own, rp_error *err)
{
    const size_t more = own + (bytes > arena->bytes ? bytes - arena->bytes : 0);
    rp_status status =
        rp_device_room(arena->device, arena->untouched + more, "a step's values, feeds and results take", err);

    if (status == RP_OK)
        arena->untouched += more;
    return status;
}

rp_status rp_arena_reserve(rp_arena *arena, size_t bytes, rp_error *err)
{
    void *memory;
    rp_status status;

    if (bytes <= arena->bytes)
        return RP_OK;
    rp_arena_release(arena);
    status = rp_device_allocate(arena->device, &memory, bytes, err);
    if (status != RP_OK)
        return status;
    arena->memory = memory;
    arena->bytes = bytes;
    return RP_OK;
}

void rp_arena_release(rp_arena *arena)
{
    if (arena->memory)
        rp_device_release(arena->device, arena->memory);
    arena->memory = NULL;
    arena->bytes = 0;
}
