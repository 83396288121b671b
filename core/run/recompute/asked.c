/* SPDX-License-Identifier: Apache-2.0
 * Plans as they are asked for: with what scans may store, within a budget where there is one, and with less stored
 * where there is no room. */
#include "core/program/function.h"
#include "core/run/plan_private.h"

/* The root of the longest scan's iterations: where so many rows are kept, as many lie between them. 0: no scan. */
static uint64_t rows_kept(const rp_program *p)
{
    uint64_t times = 0, root = 0;

    for (size_t k = 0; k < p->n_instrs; k++)
        if (p->instr[k].region && p->instr[k].region->kind == RP_SCAN && p->instr[k].region->times > times)
            times = p->instr[k].region->times;
    while (root * root < times)
        root++;
    return root;
}

static bool is_over(const rp_plan *plan, const rp_plan_options *options)
{
    return options->memory && plan->own_bytes + plan->arena_bytes > options->memory;
}

/* What only saves time goes before anything is computed again, where the plan is then smaller: the copy of a matrix,
 * and calls of several instructions, which need at once what these need one after another. */
static rp_status leave_out(rp_plan **plan, const rp_program *program, rp_device *device, void *const *input_memory,
                           rp_plan_options *options, rp_error *err)
{
    static const unsigned saving[] = {RP_PASS_PANELS, RP_PASS_ROWS | RP_PASS_EPILOGUES};
    rp_status status = RP_OK;

    for (size_t i = 0; i < 2 && status == RP_OK && is_over(*plan, options); i++) {
        rp_plan_options less = *options;
        rp_plan *smaller = NULL;

        less.passes &= ~saving[i];
        if (less.passes == options->passes || (saving[i] == RP_PASS_PANELS && !(*plan)->lays))
            continue;
        status = rp_plan_lay_out(&smaller, program, device, input_memory, &less, NULL, err);
        if (status == RP_OK && smaller->own_bytes + smaller->arena_bytes < (*plan)->own_bytes + (*plan)->arena_bytes) {
            rp_plan *larger = *plan;

            *plan = smaller;
            smaller = larger;
            *options = less;
        }
        rp_plan_free(smaller);
    }
    return status;
}

/* Where there is no room for what gradients of scans read, they compute it again; where that is not enough, from some
 * rows of the history. */
rp_status rp_plan_look(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                       const rp_plan_options *options, rp_error *err)
{
    rp_plan_options less = *options;
    rp_status status = rp_plan_lay_out(out, program, device, input_memory, options, NULL, err);

    if (status == RP_OK)
        status = leave_out(out, program, device, input_memory, &less, err);
    if (status == RP_OK && options->memory)
        status = rp_plan_within(out, program, input_memory, &less, err);
    if (status != RP_ENOMEM || !*out)
        return status;
    less.passes = options->passes;
    if (options->stored && (*out)->stores)
        less.stored = 0;
    else if (options->memory && options->every < 2)
        less.every = rows_kept(program);
    if (less.stored == options->stored && less.every == options->every)
        return status;
    rp_plan_free(*out);
    return rp_plan_look(out, program, device, input_memory, &less, err);
}

static rp_status plan_new(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                          const rp_plan_options *options, rp_error *err)
{
    rp_status status = rp_plan_look(out, program, device, input_memory, options, err);

    return status == RP_OK ? rp_plan_settle_in(*out, err) : status;
}

rp_status rp_plan_new_with(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                           const rp_plan_options *options, rp_error *err)
{
    rp_plan_options less = *options;
    rp_status status = plan_new(out, program, device, input_memory, options, err);

    less.stored = 0;
    if (status == RP_ENOMEM && *out && (*out)->stores && options->stored) {
        rp_plan_free(*out);
        status = plan_new(out, program, device, input_memory, &less, err);
    }
    if (status != RP_OK) {
        rp_plan_free(*out);
        *out = NULL;
    }
    return status;
}

rp_status rp_plan_new_in(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                         rp_arena *arena, unsigned passes, rp_error *err)
{
    return rp_plan_new_with(out, program, device, input_memory,
                            &(rp_plan_options){.arena = arena, .passes = passes, .stored = RP_PLAN_STORED_MAX}, err);
}

rp_status rp_plan_new(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                      rp_error *err)
{
    return rp_plan_new_in(out, program, device, input_memory, NULL, RP_PASSES, err);
}
