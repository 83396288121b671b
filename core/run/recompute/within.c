/* SPDX-License-Identifier: Apache-2.0
 * A plan within a budget: it is looked at where it holds most, written with something made again, planned in its turn
 * and looked at once more, until it needs no more than it may. */
#include "base/memory.h"
#include "core/run/recompute/recompute.h"

enum { ROUNDS = 48, FRUITLESS = 8 };
/* A text of so many instructions is not looked at again: rounds cost time. */
enum { INSTRUCTIONS_MOST = 1 << 22 };

void rp_plan_written_free(const rp_plan_written *written)
{
    if (!written)
        return;
    rp_program_free(written->program);
    rp_free(written->number);
    rp_free(written->late);
}

static size_t needs(const rp_plan *plan)
{
    return plan->own_bytes + plan->arena_bytes;
}

/* The next plan; NULL where nothing more can be made again. *aim: bytes of the arena that may be alive. */
static rp_status next(rp_plan **out, const rp_plan *plan, const rp_program *program, void *const *input_memory,
                      const rp_plan_options *options, size_t aim, rp_error *err)
{
    rp_plan_written written = {0};
    rp_again again;
    rp_status status = rp_again_choose(&again, plan, aim, err);

    *out = NULL;
    if (status == RP_OK && again.n)
        status = rp_again_write(plan, &again, &written.program, &written.number, &written.late, err);
    if (status == RP_OK && again.n)
        status = rp_plan_lay_out(out, program, plan->device, input_memory, options, &written, err);
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

static void say_what_it_needs(const rp_plan *plan, const rp_plan_options *options, size_t before, rp_error *err)
{
    (void)rp_fail(err, RP_ENOMEM,
                  "memory: a step's values, feeds and results take %zu bytes as they are, %zu at the least, with values "
                  "computed again; %zu are left of the budget",
                  before, needs(plan), options->memory);
}

rp_status rp_plan_within(rp_plan **plan, const rp_program *program, void *const *input_memory,
                         const rp_plan_options *options, rp_error *err)
{
    const size_t before = needs(*plan), most = 3 * (*plan)->program->n_instrs + 64;
    rp_plan *best = *plan, *last = best;
    size_t looked = 0, fruitless = 0;
    rp_status status = RP_OK;

    for (size_t r = 0; r < ROUNDS && status == RP_OK && needs(best) > options->memory && fruitless < FRUITLESS; r++) {
        rp_plan *better = NULL;
        size_t aim;

        looked += last->program->n_instrs;
        if (looked > INSTRUCTIONS_MOST || last->program->n_instrs > most)
            break;
        status = aim_of(last, options->memory, &aim, err);
        if (status == RP_OK)
            status = next(&better, last, program, input_memory, options, aim, err);
        if (last != best && last != better)
            rp_plan_free(last);
        last = best;
        if (!better)
            break;
        fruitless++;
        last = better;
        if (status == RP_OK && needs(better) < needs(best)) {
            rp_plan_free(best);
            best = better;
            fruitless = 0;
        }
    }
    if (last != best)
        rp_plan_free(last);
    *plan = best;
    if (status == RP_OK && needs(best) > options->memory) {
        say_what_it_needs(best, options, before, err);
        return RP_ENOMEM;
    }
    return status;
}
