/* SPDX-License-Identifier: Apache-2.0
 * A plan within a budget: it is looked at where it holds most, written with something made again, planned in its turn
 * and looked at once more, until it needs no more than it may. */
#include "base/memory.h"
#include "core/run/recompute/recompute.h"

enum { ROUNDS = 48, FRUITLESS = 8 };
/* Rounds cost the time of a plan each, about a microsecond for an instruction: all together plan no more of them. */
enum { INSTRUCTIONS_MOST = 1 << 21 };

/* What is planned. */
typedef struct search {
    const rp_program *program;
    void *const *input_memory;
    const rp_plan_options *options;
    rp_plan *whole; /* with nothing computed again */
    size_t memory;  /* that it may take */
    size_t goal;    /* that rounds aim at: this or less */
    size_t planned; /* instructions so far */
} search;

static size_t needs(const rp_plan *plan)
{
    return plan->own_bytes + plan->arena_bytes;
}

/* The next plan, in which at most `aim` bytes of the arena are alive where this one holds most; NULL where nothing more
 * can be made again: a program that a limit of programs refuses is none. */
static rp_status next(rp_plan **out, const rp_plan *plan, size_t aim, search *s, rp_error *err)
{
    rp_plan_written written = {.stored = plan->to_bodies};
    rp_again again;
    rp_error refused;
    rp_status status = rp_again_choose(&again, plan, aim, err);

    *out = NULL;
    if (status == RP_OK && again.n)
        status = rp_again_write(plan, &again, &written.program, &written.number, &written.late, &refused);
    if (status == RP_ENOMEM)
        status = rp_no_memory(err);
    else if (status != RP_OK)
        status = RP_OK;
    if (status == RP_OK && written.program)
        status = rp_plan_lay_out(out, s->program, plan->device, s->input_memory, s->options, &written, err);
    rp_again_free(&again);
    return status;
}

/* What may be alive so that all finds its place: gaps between values are as large as they were in this plan. */
static rp_status aim_of(const rp_plan *plan, size_t memory, size_t *aim, rp_error *err)
{
    const size_t arena = memory > plan->own_bytes ? memory - plan->own_bytes : 0;
    size_t alive, gaps;
    uint32_t at;
    rp_status status = rp_plan_fullest(plan, &alive, &at, err);

    gaps = plan->arena_bytes - alive;
    *aim = arena > gaps ? arena - gaps : 0;
    if (*aim >= alive) /* it lies in order, and does not fit */
        *aim = alive ? alive - 1 : 0;
    return status;
}

/* Rounds from a plan on, each aiming at `memory` bytes in all, until one needs no more than `enough`. *out: the plan
 * that needs least; NULL: none needs less than that one. */
static rp_status descend(rp_plan **out, const rp_plan *from, size_t memory, size_t enough, search *s, rp_error *err)
{
    const size_t most = 3 * s->whole->program->n_instrs + 64;
    const rp_plan *last = from;
    rp_plan *best = NULL, *found = NULL;
    rp_status status = RP_OK;

    for (size_t round = 0, fruitless = 0; round < ROUNDS && fruitless < FRUITLESS; round++) {
        const bool over = last->program->n_instrs > most || s->planned > INSTRUCTIONS_MOST;
        rp_plan *before = found == best ? NULL : found; /* freed when the next is written */
        size_t aim = 0;

        s->planned += last->bodies.numbered; /* its functions' too */
        found = NULL;
        if (!over)
            status = aim_of(last, memory, &aim, err);
        if (!over && status == RP_OK)
            status = next(&found, last, aim, s, err);
        rp_plan_free(before);
        if (!found || status != RP_OK)
            break;
        last = found;
        fruitless++;
        if (needs(found) < needs(best ? best : from)) {
            rp_plan_free(best);
            best = found;
            fruitless = 0;
        }
        if (needs(found) <= enough)
            break;
    }
    if (found != best)
        rp_plan_free(found);
    *out = best;
    return status;
}

/* Takes a plan if it needs less than the best, which it frees. */
static void prefer(rp_plan **best, rp_plan *found, const search *s)
{
    if (found && needs(found) < needs(*best)) {
        if (*best != s->whole)
            rp_plan_free(*best);
        *best = found;
    } else {
        rp_plan_free(found);
    }
}

/* From the whole plan at once, and a little lower: what leaves out more at a time now and then comes further. */
static rp_status at_once(rp_plan **best, search *s, rp_error *err)
{
    static const double part[] = {1, 0.95, 0.88, 0.8};
    rp_status status = RP_OK;

    for (size_t i = 0; i < sizeof part / sizeof *part && status == RP_OK && needs(*best) > s->memory; i++) {
        rp_plan *found;

        status = descend(&found, s->whole, (size_t)(part[i] * (double)s->goal), s->memory, s, err);
        prefer(best, found, s);
    }
    return status;
}

/* In small steps down from the whole plan: so little at a time is left out where it is cheap that the next plan may
 * leave out something else. */
static rp_status by_steps(rp_plan **best, search *s, rp_error *err)
{
    const rp_plan *from = s->whole;
    rp_plan *found = NULL, *before = NULL;
    rp_status status = RP_OK;

    while (status == RP_OK && needs(*best) > s->memory) {
        const size_t lower = needs(from) - needs(from) / 16, aim = lower > s->goal ? lower : s->goal;

        status = descend(&found, from, aim, aim > s->memory ? aim : s->memory, s, err);
        rp_plan_free(before);
        before = found;
        from = found;
        if (!found)
            break;
        if (needs(found) < needs(*best)) {
            if (*best != s->whole)
                rp_plan_free(*best);
            *best = found;
            before = NULL;
        }
    }
    rp_plan_free(before);
    return status;
}

/* The plan that needs least; what aims lower than it must now and then gets there where what does not ends above. */
static rp_status look_for(rp_plan **best, search *s, rp_error *err)
{
    static const double part[] = {1, 0.9, 0.7, 0.4};
    rp_status status = RP_OK;

    *best = s->whole;
    for (size_t i = 0; i < sizeof part / sizeof *part && status == RP_OK && needs(*best) > s->memory; i++) {
        s->goal = (size_t)(part[i] * (double)s->memory);
        status = at_once(best, s, err);
        if (status == RP_OK && needs(*best) > s->memory)
            status = by_steps(best, s, err);
    }
    return status;
}

/* What the search would be content with: what a plan needs, if with so much that plan, or one as small, is found again,
 * as another aim leads another way; else somewhat more. */
static rp_status least_of(size_t *least, const search *s, size_t found, rp_error *err)
{
    enum { TRIES = 8 };
    rp_status status = RP_OK;

    *least = found;
    for (int i = 0; i < TRIES && status == RP_OK && *least < needs(s->whole); i++) {
        search again = {s->program, s->input_memory, s->options, s->whole, *least, *least, 0};
        rp_plan *best;

        status = look_for(&best, &again, err);
        found = needs(best);
        if (best != s->whole)
            rp_plan_free(best);
        if (status != RP_OK || found <= *least)
            return status;
        *least += *least / 64;
        *least = found > *least ? found : *least;
    }
    *least = needs(s->whole);
    return status;
}

static rp_status refuse(const search *s, const rp_plan *best, rp_error *err)
{
    size_t least;
    rp_status status = least_of(&least, s, needs(best), err);

    if (status != RP_OK)
        return status;
    return rp_fail(err, RP_ENOMEM,
                   "a step's values, feeds and results take %zu bytes at the least, with values computed again, "
                   "and the budget leaves %zu beside states and data",
                   least, s->memory);
}

rp_status rp_plan_within(rp_plan **plan, const rp_program *program, void *const *input_memory,
                         const rp_plan_options *options, rp_error *err)
{
    search s = {program, input_memory, options, *plan, options->memory, options->memory, 0};
    rp_plan *best;
    rp_status status = look_for(&best, &s, err);

    if (status == RP_OK && needs(best) > s.memory)
        status = refuse(&s, best, err);
    best->stores = s.whole->stores;
    if (best != s.whole)
        rp_plan_free(s.whole);
    *plan = best;
    return status;
}
