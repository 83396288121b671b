/* SPDX-License-Identifier: Apache-2.0
 * Plans: the passes of core/run/plan_private.h one after another, for a program and for the functions that its regions
 * execute. A function is planned once; its values lie in a part of the arena that belongs to the region while it runs,
 * its parameters and outputs where each frame says (core/run/plan_bases.c). */
#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

/* What only the passes look at: a plan that is bound goes on without, and the next one finds the memory warm. Roots and
 * order stay: a profile says of each call which instructions it executes. */
static void forget_passes(rp_plan *plan)
{
    rp_free(plan->view);
    rp_free(plan->same);
    rp_free(plan->kind);
    rp_free(plan->executed);
    rp_free(plan->mark);
    rp_free(plan->region_at);
    plan->view = NULL;
    plan->same = plan->region_at = NULL;
    plan->kind = NULL;
    plan->mark = NULL;
    plan->executed = NULL;
}

void rp_plan_free(rp_plan *plan)
{
    if (!plan)
        return;
    if (plan->admitted && plan->runs == plan->arena->runs) /* else a run has counted them as touched */
        plan->arena->untouched -= plan->own_bytes;
    rp_repeat_free(plan->repeat);
    rp_plan_unbind(plan);
    rp_arena_release(&plan->alone);
    if (plan->own)
        rp_device_release(plan->device, plan->own);
    forget_passes(plan);
    rp_free(plan->root);
    rp_free(plan->order.instr);
    rp_free(plan->order.first);
    rp_free(plan->block);
    rp_free(plan->twin);
    rp_free(plan->bases.at);
    rp_free(plan->bases.first);
    rp_free(plan->bases.follower);
    for (size_t i = 0; i < plan->bodies.n; i++)
        rp_plan_free(plan->bodies.plan[i]);
    rp_free(plan->bodies.plan);
    rp_index_free(&plan->bodies.by_function);
    rp_free(plan->number);
    rp_free(plan->late);
    rp_program_free(plan->written);
    rp_free(plan);
}

/* Calls and maps are written out where that is not too much: in a program, and in all bodies together. */
static rp_status write_out(rp_plan *plan, rp_error *err)
{
    size_t *budget = &plan->top->bodies.budget;
    rp_status status =
        rp_program_write_out(plan->program, plan->function ? plan->function->number : NULL,
                             plan->function ? *budget : RP_PLAN_WRITTEN_MAX, &plan->written, &plan->number, err);

    if (plan->written) {
        plan->program = plan->written;
        *budget -= plan->function ? plan->written->n_instrs : 0;
    }
    return status;
}

/* A function that a plan made calls its instructions what the text calls them. */
static rp_status name_instructions(rp_plan *plan, rp_error *err)
{
    const size_t n = plan->program->n_instrs;

    if (!plan->function || !plan->function->number || plan->number)
        return RP_OK;
    plan->number = rp_reallocarray(NULL, n, sizeof *plan->number);
    if (!plan->number)
        return rp_no_memory(err);
    memcpy(plan->number, plan->function->number, n * sizeof *plan->number);
    return RP_OK;
}

/* The program that the passes work on, in place of the text's. */
static rp_status rewrite(rp_plan *plan, rp_error *err)
{
    rp_status status = plan->passes & RP_PASS_WRITE_OUT ? write_out(plan, err) : RP_OK;

    if (status == RP_OK)
        status = name_instructions(plan, err);
    if (status == RP_OK)
        status = rp_plan_scans(plan, err);
    if (status == RP_OK && plan->passes & RP_PASS_PADS)
        status = rp_plan_pads(plan, err);
    if (status == RP_OK)
        status = rp_plan_attention(plan, err);
    if (status == RP_OK && plan->passes & RP_PASS_TURNED)
        status = rp_plan_turned(plan, err);
    if (status == RP_OK && !plan->function)
        status = rp_plan_outputs(plan, err);
    return status;
}

static rp_status allocate(rp_plan *plan, rp_error *err)
{
    const size_t n = plan->program->n_values;
    size_t regions = 0;

    plan->view = rp_malloc(n * sizeof *plan->view);
    plan->same = rp_malloc(n * sizeof *plan->same);
    plan->root = rp_malloc(n * sizeof *plan->root);
    plan->kind = rp_malloc(n * sizeof *plan->kind);
    for (size_t k = 0; k < plan->program->n_instrs; k++)
        regions += plan->program->instr[k].region != NULL;
    plan->n_blocks = n + regions;
    plan->block = rp_malloc(plan->n_blocks * sizeof *plan->block);
    plan->region_at = rp_malloc(plan->program->n_instrs * sizeof *plan->region_at);
    plan->bases.n = BASE_PARAMETERS + plan->program->n_inputs + plan->program->n_outputs;
    plan->bases.at = rp_malloc(plan->bases.n * sizeof *plan->bases.at);
    plan->bases.first = rp_malloc((plan->bases.n + 2) * sizeof *plan->bases.first);
    plan->executed = rp_malloc(plan->program->n_instrs * sizeof *plan->executed);
    plan->mark = rp_calloc(plan->program->n_instrs, sizeof *plan->mark);
    return plan->view && plan->same && plan->root && plan->kind && plan->block && plan->executed && plan->mark &&
                   plan->region_at && plan->bases.at && plan->bases.first
               ? RP_OK
               : rp_no_memory(err);
}

static rp_status run_passes(rp_plan *plan, void *const *input_memory, rp_error *err)
{
    uint32_t *readers = NULL;
    rp_status status = rp_plan_views(plan, err);

    if (status == RP_OK && plan->passes & RP_PASS_COMMON &&
        !plan->settled) /* what is made again is equal to what was */
        status = rp_plan_common(plan, err);
    if (status == RP_OK && plan->start)
        rp_plan_join_copies(plan);
    if (status == RP_OK)
        status = rp_plan_dead(plan, err);
    if (status == RP_OK)
        status = rp_plan_order(plan, err);
    if (status == RP_OK)
        rp_plan_constants(plan);
    if (status == RP_OK)
        status = rp_plan_fuse(plan, err);
    if (status != RP_OK)
        return status;
    status = rp_plan_gathered(plan, &readers, err);
    if (status == RP_OK)
        status = rp_plan_dots(plan, &readers, err);
    if (status == RP_OK)
        status = rp_plan_epilogues(plan, err);
    if (status == RP_OK)
        status = rp_plan_prologues(plan, &readers, err);
    rp_free(readers);
    if (status == RP_OK)
        status = rp_plan_rows(plan, err);
    if (status != RP_OK)
        return status;
    rp_plan_lifetimes(plan, input_memory);
    rp_plan_entropies(plan);
    return rp_plan_place(plan, err);
}

static rp_status hold_own(rp_plan *plan, rp_error *err)
{
    void *own = NULL;
    rp_status status = plan->function ? RP_OK : rp_arena_admit(plan->arena, plan->arena_bytes, plan->own_bytes, err);

    if (status == RP_OK && !plan->function) {
        plan->admitted = true;
        plan->runs = plan->arena->runs;
    }
    if (status == RP_OK && plan->own_bytes)
        status = rp_device_allocate(plan->device, &own, plan->own_bytes, err);
    plan->own = own;
    return status;
}

static rp_status lay_out(rp_plan *plan, void *const *input_memory, rp_error *err);

/* What a function executes is planned before it is: there is no recursion, and calls are at most 32 deep. */
static rp_status plan_body(rp_plan *top, const rp_function *function, rp_error *err)
{
    rp_plan *body = rp_calloc(1, sizeof *body);
    rp_status status = body ? RP_OK : rp_no_memory(err);

    if (status != RP_OK)
        return status;
    body->program = function->body;
    body->function = function;
    body->device = top->device;
    body->passes = top->passes;
    body->top = top;
    status = lay_out(body, NULL, err);
    if (status == RP_OK)
        body->over = rp_plan_over(body);
    if (status == RP_OK)
        status = rp_plan_bind(body, err);
    if (status == RP_OK)
        forget_passes(body);
    if (status == RP_OK)
        status = rp_plan_bodies_add(top, body, err);
    if (status != RP_OK)
        rp_plan_free(body);
    return status;
}

/* The functions that regions of a program or body execute, where they are not planned yet. */
static rp_status plan_bodies_of(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_status status = RP_OK;

    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_region *r = p->instr[k].region;

        for (size_t i = 0; r && rp_plan_is_executed(r) && i < r->n_functions && status == RP_OK; i++)
            if (!rp_plan_body(plan, r->function[i]))
                status = plan_body(plan->top, r->function[i], err);
    }
    return status;
}

static rp_status lay_out(rp_plan *plan, void *const *input_memory, rp_error *err)
{
    rp_status status = plan->settled ? RP_OK : rewrite(plan, err);

    if (plan == plan->top)
        plan->to_bodies = plan->stored;
    plan->numbered = plan->top->bodies.numbered;
    plan->top->bodies.numbered += plan->program->n_instrs;
    if (status == RP_OK)
        status = allocate(plan, err);
    if (status == RP_OK)
        status = plan_bodies_of(plan, err);
    return status == RP_OK ? run_passes(plan, input_memory, err) : status;
}

void rp_plan_written_free(const rp_plan_written *written)
{
    if (!written)
        return;
    rp_program_free(written->program);
    rp_free(written->number);
    rp_free(written->late);
}

rp_status rp_plan_lay_out(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                          const rp_plan_options *options, const rp_plan_written *written, rp_error *err)
{
    rp_plan *plan = rp_calloc(1, sizeof *plan);

    *out = plan;
    if (!plan) {
        rp_plan_written_free(written);
        return rp_no_memory(err);
    }
    plan->program = program;
    if (written) {
        plan->program = plan->written = written->program;
        plan->number = written->number;
        plan->late = written->late;
        plan->settled = true;
    }
    plan->top = plan;
    plan->bodies.budget = RP_PLAN_WRITTEN_MAX;
    plan->device = plan->alone.device = device;
    plan->arena = options->arena ? options->arena : &plan->alone;
    plan->passes = options->passes;
    plan->stored = written ? written->stored : options->stored;
    plan->every = options->every;
    plan->start = options->start;
    if (options->memory == 0 && device && rp_device_shares_memory(device))
        plan->writes = options->writes;
    return lay_out(plan, input_memory, err);
}

rp_status rp_plan_settle_in(rp_plan *plan, rp_error *err)
{
    rp_status status = hold_own(plan, err);

    if (status == RP_OK)
        status = rp_plan_bind(plan, err);
    if (status == RP_OK)
        forget_passes(plan);
    return status == RP_OK ? rp_plan_follow_arena(plan, err) : status;
}

rp_status rp_plan_new_function(rp_plan **out, const rp_function *function, rp_device *device, size_t stored,
                               rp_error *err)
{
    rp_plan *plan = rp_calloc(1, sizeof *plan);
    rp_status status;

    *out = NULL;
    if (!plan)
        return rp_no_memory(err);
    plan->program = function->body;
    plan->function = function;
    plan->top = plan;
    plan->bodies.budget = RP_PLAN_WRITTEN_MAX;
    plan->device = device;
    plan->passes = RP_PASSES;
    plan->stored = stored;
    status = lay_out(plan, NULL, err);
    if (status == RP_OK)
        status = rp_plan_bind(plan, err);
    if (status == RP_OK)
        forget_passes(plan);
    if (status != RP_OK)
        rp_plan_free(plan);
    else
        *out = plan;
    return status;
}

void *rp_plan_feed(const rp_plan *plan, size_t input)
{
    const block *b = &plan->block[plan->program->input[input].value];

    if (b->place == PLACE_FIXED)
        return b->fixed;
    return b->shared != NOT_LENT ? plan->bases.at[b->shared] : plan->own + b->offset;
}

void *rp_plan_output(const rp_plan *plan, size_t output)
{
    return plan->output ? plan->output[output] : NULL;
}

size_t rp_plan_unstored(const rp_plan *plan)
{
    return plan->top->stored;
}

size_t rp_plan_own_bytes(const rp_plan *plan)
{
    return plan->own_bytes;
}

size_t rp_plan_arena_bytes(const rp_plan *plan)
{
    return plan->arena_bytes;
}

size_t rp_plan_launches(const rp_plan *plan)
{
    return plan->n_calls;
}
