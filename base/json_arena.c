/* SPDX-License-Identifier: Apache-2.0
 * Owners of the memory that a parsed text's values lie in: the last one to go frees it. */
#include "base/json_private.h"
#include "base/memory.h"

void rp_json_arena_share(rp_json_arena *arena)
{
    atomic_fetch_add_explicit(&arena->owners, 1, memory_order_relaxed);
}

void rp_json_arena_free(rp_json_arena *arena)
{
    if (atomic_fetch_sub_explicit(&arena->owners, 1, memory_order_acq_rel) != 1)
        return;
    while (arena->blocks != NULL) {
        rp_json_block *next = arena->blocks->next;

        rp_free(arena->blocks);
        arena->blocks = next;
    }
    rp_free(arena);
}
