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

    if (b->place == PLACE_OWN && b->joined)
        b = &plan->block[b->with];
    if (b->place == PLACE_GIVEN || (b->place == PLACE_OWN && b->shared != NOT_LENT))
        return rp_plan_follow_base(plan, at, b->shared, err);
    return b->place == PLACE_ARENA || b->place == PLACE_SHARED ? rp_plan_follow_base(plan, at, BASE_ARENA, err) : RP_OK;
}

/* An output that is all of a block, and the only result in it. */
static bool is_whole(const rp_plan *plan, size_t o, const block *b)
{
    const uint32_t value = plan->program->output[o].value;

    return b->made && !b->joined && rp_view_contiguous(&plan->view[value]) &&
           rp_type_bytes(&plan->program->value[value]) == b->bytes;
}

void rp_plan_find_lent(rp_plan *plan)
{
    const rp_program *p = plan->program;
    const bool none = plan->start || !rp_device_shares_memory(plan->device) || rp_device_repeats(plan->device);

    for (uint32_t v = 0; v < p->n_values; v++)
        if (plan->block[v].place == PLACE_OWN)
            plan->block[v].shared = NOT_LENT;
    for (size_t i = 0; i < p->n_inputs && !none; i++)
        if (plan->block[p->input[i].value].place == PLACE_OWN)
            plan->block[p->input[i].value].shared = (uint32_t)(BASE_PARAMETERS + i);
    for (size_t o = 0; o < p->n_outputs && !none; o++) {
        block *b = &plan->block[plan->root[p->output[o].value]];
        const uint32_t base = (uint32_t)(BASE_PARAMETERS + p->n_inputs + o);

        if (p->output[o].kind == RP_OUTPUT_RESULT && b->place == PLACE_OWN)
            b->shared = b->shared == NOT_LENT && is_whole(plan, o, b) ? base : NOT_LENT;
    }
    for (size_t o = 0; o < p->n_outputs && !none; o++) { /* of two results in one block neither, nor of three */
        const block *b = &plan->block[plan->root[p->output[o].value]];
        const uint32_t base = (uint32_t)(BASE_PARAMETERS + p->n_inputs + o);

        if (p->output[o].kind == RP_OUTPUT_RESULT && b->place == PLACE_OWN && b->shared != base)
            plan->block[plan->root[p->output[o].value]].shared = NOT_LENT;
    }
    for (uint32_t v = 0; v < p->n_values; v++)
        if (plan->block[v].place == PLACE_OWN && plan->block[v].shared != NOT_LENT)
            plan->bases.at[plan->block[v].shared] = plan->own + plan->block[v].offset;
}

static const block *lent_block(const rp_plan *plan, bool output, size_t i)
{
    const rp_program *p = plan->program;

    return &plan->block[output ? plan->root[p->output[i].value] : p->input[i].value];
}

static uint32_t lent_base(const rp_plan *plan, bool output, size_t i)
{
    return (uint32_t)(BASE_PARAMETERS + (output ? plan->program->n_inputs : 0) + i);
}

bool rp_plan_may_lend(const rp_plan *plan, bool output, size_t i)
{
    const block *b = lent_block(plan, output, i);

    return b->place == PLACE_OWN && !b->joined && b->shared == lent_base(plan, output, i);
}

void rp_plan_lend(rp_plan *plan, bool output, size_t i, void *memory)
{
    void *const to = memory ? memory : plan->own + lent_block(plan, output, i)->offset;

    rp_plan_move(plan, lent_base(plan, output, i), to);
    if (output)
        plan->output[i] = to;
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
