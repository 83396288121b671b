/* SPDX-License-Identifier: Apache-2.0
 * Compiled steps: a program bound to a run's slots through a plan, executed any number of times. */
#include <stdatomic.h>

#include "base/memory.h"
#include "core/run/run_private.h"

struct rp_compiled {
    uint64_t serial; /* from 1, never reused in a process, unlike addresses */
    rp_run *run;
    rp_program *program;
    rp_plan *plan;
};

void rp_compiled_free(rp_compiled *c)
{
    if (!c)
        return;
    rp_plan_free(c->plan);
    rp_program_free(c->program);
    rp_free(c);
}

rp_status rp_run_compile(rp_compiled **out, rp_run *run, rp_program *program, rp_error *err)
{
    static atomic_uint_fast64_t serial;
    rp_compiled *c = rp_calloc(1, sizeof *c);
    void **memory = rp_calloc(program->n_inputs, sizeof *memory);
    rp_status status = RP_OK;

    *out = NULL;
    if (!c || !memory) {
        rp_free(c);
        rp_free(memory);
        rp_program_free(program);
        return rp_no_memory(err);
    }
    *c = (rp_compiled){atomic_fetch_add(&serial, 1) + 1, run, program, NULL};
    for (size_t i = 0; i < program->n_inputs && status == RP_OK; i++) {
        const rp_input *in = &program->input[i];
        const rp_device_tensor *slot;

        if (in->kind == RP_INPUT_FEED)
            continue;
        slot = rp_slots_find(in->kind == RP_INPUT_STATE ? &run->states : &run->data, in->name);
        if (!slot || !rp_type_equal(&slot->type, &program->value[in->value]))
            status =
                rp_fail(err, RP_EFORMAT, "program: input %s is not in the run with that shape and dtype", in->name);
        else
            memory[i] = slot->memory;
    }
    if (status == RP_OK)
        status = rp_plan_new(&c->plan, program, run->device, memory, err);
    rp_free(memory);
    if (status != RP_OK)
        rp_compiled_free(c);
    else
        *out = c;
    return status;
}

size_t rp_compiled_arena_bytes(const rp_compiled *c)
{
    return rp_plan_arena_bytes(c->plan);
}

const rp_program *rp_compiled_program(const rp_compiled *c)
{
    return c->program;
}

bool rp_compiled_feed(const rp_compiled *c, const char *name, rp_device_tensor *out)
{
    const rp_input *feed = rp_program_find_input(c->program, RP_INPUT_FEED, name);

    if (feed)
        *out = (rp_device_tensor){feed->name, c->program->value[feed->value], c->run->device,
                                  rp_plan_feed(c->plan, (size_t)(feed - c->program->input))};
    return feed != NULL;
}

bool rp_compiled_result(const rp_compiled *c, const char *name, rp_device_tensor *out)
{
    const rp_output *result = rp_program_find_output(c->program, RP_OUTPUT_RESULT, name);

    if (result)
        *out = (rp_device_tensor){result->name, c->program->value[result->value], c->run->device,
                                  rp_plan_output(c->plan, (size_t)(result - c->program->output))};
    return result != NULL;
}

static void *compiled_memory(const void *arg, size_t index, bool output)
{
    const rp_compiled *c = arg;

    return output ? rp_plan_output(c->plan, index) : rp_plan_feed(c->plan, index);
}

rp_status rp_compiled_step(rp_compiled *c, rp_error *err)
{
    rp_status status;

    if (c->run->in_step)
        return rp_fail(err, RP_EARG, "an eager step is in progress");
    if (c->run->given_up)
        return rp_run_given_up(err);
    status = rp_plan_run_settling(c->plan, rp_run_settle, c->run, err);
    if (status == RP_OK)
        status = rp_run_tell(c->run, c->program, c->serial, compiled_memory, c, err);
    if (status == RP_OK)
        c->run->steps++;
    return status;
}
