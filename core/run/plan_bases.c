/* SPDX-License-Identifier: Apache-2.0
 * Bases: memory that a plan is told of, and the pointers into it. A plan is bound once; when the arena moves, or a
 * body's next frame has its parameters elsewhere, only the pointers that follow what moved are written. */
#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

rp_status rp_plan_follow_base(rp_plan *plan, void **at, uint32_t base, rp_error *err)
{
    bases *s = &plan->bases;

    if (s->n_followers == s->cap_followers) {
        const size_t cap = s->cap_followers ? 2 * s->cap_followers : 64;
        follower *bigger = rp_reallocarray(s->follower, cap, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        s->follower = bigger;
        s->cap_followers = cap;
    }
    s->follower[s->n_followers++] = (follower){at, (size_t)((char *)*at - s->at[base]), base};
    return RP_OK;
}

rp_status rp_plan_follow(rp_plan *plan, void **at, uint32_t root, rp_error *err)
{
    const block *b = &plan->block[root];

    if (b->place == PLACE_GIVEN)
        return rp_plan_follow_base(plan, at, b->shared, err);
    return b->place == PLACE_ARENA || b->place == PLACE_SHARED ? rp_plan_follow_base(plan, at, BASE_ARENA, err) : RP_OK;
}

rp_status rp_plan_bases_ready(rp_plan *plan, rp_error *err)
{
    bases *s = &plan->bases;
    follower *sorted = rp_reallocarray(NULL, s->n_followers, sizeof *sorted);

    if (!sorted)
        return rp_no_memory(err);
    memset(s->first, 0, (s->n + 2) * sizeof *s->first);
    for (size_t i = 0; i < s->n_followers; i++)
        s->first[s->follower[i].base + 2]++;
    for (size_t i = 2; i < s->n + 2; i++)
        s->first[i] += s->first[i - 1];
    for (size_t i = 0; i < s->n_followers; i++)
        sorted[s->first[s->follower[i].base + 1]++] = s->follower[i];
    rp_free(s->follower);
    s->follower = sorted;
    s->cap_followers = s->n_followers;
    return RP_OK;
}

void rp_plan_move(rp_plan *plan, size_t base, void *to)
{
    bases *s = &plan->bases;

    if (s->at[base] == to)
        return;
    s->at[base] = to;
    for (uint32_t i = s->first[base]; i < s->first[base + 1]; i++)
        *s->follower[i].at = (char *)to + s->follower[i].offset;
}

rp_status rp_plan_follow_arena(rp_plan *plan, rp_error *err)
{
    rp_status status = rp_arena_reserve(plan->arena, plan->arena_bytes, err);

    if (status == RP_OK)
        rp_plan_move(plan, BASE_ARENA, plan->arena->memory);
    return status;
}
