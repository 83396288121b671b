/* SPDX-License-Identifier: Apache-2.0
 * Plans: the passes of core/run/plan_private.h one after another, and executing what they made. */
#include "core/run/plan_private.h"

#include "base/memory.h"
#include "core/program/graph.h"
#include "determinism/fpenv.h"

void rp_plan_free(rp_plan *plan)
{
    if (!plan)
        return;
    rp_plan_unbind(plan);
    rp_arena_release(&plan->alone);
    if (plan->own)
        rp_device_release(plan->device, plan->own);
    rp_free(plan->view);
    rp_free(plan->same);
    rp_free(plan->root);
    rp_free(plan->kind);
    rp_free(plan->executed);
    rp_free(plan->mark);
    rp_free(plan->order.instr);
    rp_free(plan->order.first);
    rp_free(plan->block);
    rp_free(plan->number);
    rp_program_free(plan->written);
    rp_free(plan);
}

/* The passes work on calls and maps written out, where that is not too much. */
static rp_status write_out(rp_plan *plan, rp_error *err)
{
    rp_status status = RP_OK;

    if (plan->passes & RP_PASS_WRITE_OUT)
        status = rp_program_write_out(plan->program, RP_PLAN_WRITTEN_MAX, &plan->written, &plan->number, err);
    if (plan->written)
        plan->program = plan->written;
    return status;
}

static rp_status allocate(rp_plan *plan, rp_error *err)
{
    const size_t n = plan->program->n_values;

    plan->view = rp_malloc(n * sizeof *plan->view);
    plan->same = rp_malloc(n * sizeof *plan->same);
    plan->root = rp_malloc(n * sizeof *plan->root);
    plan->kind = rp_malloc(n * sizeof *plan->kind);
    plan->block = rp_malloc(n * sizeof *plan->block);
    plan->executed = rp_malloc(plan->program->n_instrs * sizeof *plan->executed);
    plan->mark = rp_calloc(plan->program->n_instrs, sizeof *plan->mark);
    return plan->view && plan->same && plan->root && plan->kind && plan->block && plan->executed && plan->mark
               ? RP_OK
               : rp_no_memory(err);
}

static rp_status run_passes(rp_plan *plan, void *const *input_memory, rp_error *err)
{
    rp_status status = RP_OK;

    rp_plan_views(plan);
    if (plan->passes & RP_PASS_COMMON)
        status = rp_plan_common(plan, err);
    if (status == RP_OK)
        status = rp_plan_dead(plan, err);
    if (status == RP_OK)
        status = rp_plan_order(plan, err);
    if (status == RP_OK)
        status = rp_plan_fuse(plan, err);
    if (status != RP_OK)
        return status;
    rp_plan_lifetimes(plan, input_memory);
    return rp_plan_place(plan, err);
}

static rp_status hold_memory(rp_plan *plan, rp_error *err)
{
    void *own = NULL;
    rp_status status = rp_arena_admit(plan->arena, plan->arena_bytes, plan->own_bytes, err);

    if (status == RP_OK && plan->own_bytes)
        status = rp_device_allocate(plan->device, &own, plan->own_bytes, err);
    plan->own = own;
    return status == RP_OK ? rp_arena_reserve(plan->arena, plan->arena_bytes, err) : status;
}

rp_status rp_plan_new_in(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                         rp_arena *arena, unsigned passes, rp_error *err)
{
    rp_plan *plan = rp_calloc(1, sizeof *plan);
    rp_status status;

    *out = NULL;
    if (!plan)
        return rp_no_memory(err);
    plan->program = program;
    plan->device = plan->alone.device = device;
    plan->arena = arena ? arena : &plan->alone;
    plan->passes = passes;
    status = write_out(plan, err);
    if (status == RP_OK)
        status = rp_plan_outputs(plan, err);
    if (status == RP_OK)
        status = allocate(plan, err);
    if (status == RP_OK)
        status = run_passes(plan, input_memory, err);
    if (status == RP_OK)
        status = hold_memory(plan, err);
    if (status == RP_OK)
        status = rp_plan_bind(plan, err);
    if (status != RP_OK)
        rp_plan_free(plan);
    else
        *out = plan;
    return status;
}

rp_status rp_plan_new(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                      rp_error *err)
{
    return rp_plan_new_in(out, program, device, input_memory, NULL, RP_PASSES, err);
}

void *rp_plan_feed(const rp_plan *plan, size_t input)
{
    return plan->own + plan->block[plan->program->input[input].value].offset;
}

rp_status rp_plan_run(rp_plan *plan, rp_error *err)
{
    return rp_plan_run_settling(plan, NULL, NULL, err);
}

/* The arena as large as the plan needs it, and the calls bound to where it is: another plan may have moved it. */
static rp_status follow_arena(rp_plan *plan, rp_error *err)
{
    rp_status status = rp_arena_reserve(plan->arena, plan->arena_bytes, err);

    if (status == RP_OK && (plan->bound != plan->arena->moves || !plan->call))
        status = rp_plan_bind(plan, err);
    return status;
}

static rp_status launch(const rp_plan *plan, const call *c, rp_error *err)
{
    if (c->region) {
        rp_status status = rp_execute_settle(plan->device, plan->program, plan->number, err);

        return status == RP_OK ? rp_frames_eager(plan->device, plan->program, c->region, c->in, c->out, err) : status;
    }
    if (c->chain)
        return rp_device_launch_chain(plan->device, c->chain, NULL, err);
    if (!c->op)
        return rp_execute_copy(plan->device, &c->in[0], &c->out[0], err);
    return rp_execute(plan->device, c->op, &(rp_kernel_args){c->in, c->n_in, c->out, c->n_out, c->attr}, c->instr, err);
}

rp_status rp_plan_run_settling(rp_plan *plan, rp_plan_settle *settle, void *arg, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = follow_arena(plan, err), settled;
    size_t where, i = 0, write = 0;

    plan->mixed = false;
    plan->arena->untouched = 0;

    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    for (; i < plan->n_calls && status == RP_OK; i++) {
        for (; settle && write < plan->n_writes && plan->write[write].call == i && status == RP_OK; write++)
            status = settle(arg, plan->write[write].input, err);
        if (status == RP_OK)
            status = launch(plan, &plan->call[i], err);
    }
    settled = rp_execute_settle_at(plan->device, plan->program, plan->number, &where, status == RP_OK ? err : NULL);
    rp_fpenv_leave(&saved);
    if (status == RP_OK && settled != RP_OK) /* nothing ran that was launched after a wrong index */
        for (i = 0; where != SIZE_MAX && i < plan->n_calls && plan->call[i].instr != where; i++)
            ;
    status = status == RP_OK ? settled : status;
    plan->mixed = status != RP_OK && plan->n_writes && i > plan->write[0].call;
    return status;
}

bool rp_plan_mixed(const rp_plan *plan)
{
    return plan->mixed;
}

void *rp_plan_output(const rp_plan *plan, size_t output)
{
    return plan->output ? plan->output[output] : NULL;
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
