/* SPDX-License-Identifier: Apache-2.0
 * What a program takes in memory, told by its plan before anything is allocated. */
#include "base/handle.h"
#include "base/memory.h"
#include "core/program/function.h"
#include "core/run/recompute/recompute.h"

/* Bytes of inputs of a kind. */
static uint64_t inputs(const rp_program *p, rp_input_kind kind)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->n_inputs; i++)
        bytes += p->input[i].kind == kind ? rp_type_bytes(&p->value[p->input[i].value]) : 0;
    return bytes;
}

size_t rp_plan_again(const rp_plan *plan)
{
    size_t n = 0;

    for (size_t k = 0; k < plan->program->n_instrs && plan->late; k++)
        n += plan->late[k];
    return n;
}

static uint64_t work_again(const rp_plan *plan)
{
    uint64_t work = 0;

    for (size_t k = 0; k < plan->program->n_instrs && plan->late; k++)
        work += plan->late[k] ? rp_instr_work(plan->program, &plan->program->instr[k]) : 0;
    return work;
}

static rp_status look(const rp_program *program, rp_device *device, rp_memory_needed *out, size_t left, rp_error *err)
{
    static char stands_in[64];    /* for the memory of states and data: only whether there is some is asked */
    static const uint64_t writes; /* none: nothing is run */
    const rp_plan_options options = {
        .passes = RP_PASSES, .stored = RP_PLAN_STORED_MAX, .memory = left, .writes = &writes};
    void **memory = rp_calloc(program->n_inputs, sizeof *memory);
    rp_plan *plan = NULL;
    rp_status status = memory ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < program->n_inputs && memory; i++)
        memory[i] = program->input[i].kind == RP_INPUT_FEED ? NULL : stands_in;
    if (status == RP_OK)
        status = rp_plan_look(&plan, program, device, memory, &options, err);
    if (status == RP_OK) {
        out->own = plan->own_bytes;
        out->values = plan->arena_bytes;
        out->total = out->states + out->data + out->own + out->values;
        out->work_again = work_again(plan);
    }
    rp_plan_free(plan);
    rp_free(memory);
    return status;
}

rp_status rp_program_memory(const rp_program *program, const rp_run_options *options, rp_memory_needed *out,
                            rp_error *err)
{
    const uint64_t budget = options ? options->memory : 0;
    rp_device *device = NULL;
    uint64_t held;
    rp_status status;

    *out = (rp_memory_needed){0};
    if (!program)
        return rp_no_handle(err, __func__, "program");
    out->states = inputs(program, RP_INPUT_STATE);
    out->data = inputs(program, RP_INPUT_DATA);
    held = out->states + out->data;
    if (budget && held >= budget)
        return rp_fail(err, RP_ENOMEM, "states and data take %llu bytes, and the budget is %llu",
                       (unsigned long long)held, (unsigned long long)budget);
    status = rp_device_open(&device, options ? options->device : NULL, options ? options->level : NULL, 1, err);
    if (status == RP_OK)
        status = look(program, device, out, budget ? (size_t)(budget - held) : 0, err);
    rp_device_free(device);
    return status == RP_ENOMEM ? rp_fail_at(err, status, "memory of the program") : status;
}
