/* SPDX-License-Identifier: Apache-2.0
 * Eager steps: what an application writes between rp_step_begin and rp_step_end. */
#include <stdio.h>
#include <string.h>

#include "core/run/run_private.h"
#include "base/handle.h"

rp_status rp_step_begin(rp_run *run, rp_error *err)
{
    if (!run)
        return rp_no_handle(err, __func__, "run");
    if (run->in_step)
        return rp_fail(err, RP_EARG, "a step is already in progress: call rp_step_end first");
    if (run->given_up)
        return rp_run_given_up(err);
    rp_slots_clear(&run->feeds, run->device);
    rp_eager_turn(run->eager);
    rp_graph_reset(run->graph);
    run->in_step = true;
    run->reads = 0;
    rp_profile_step_begins(run->profile, 0, run->steps);
    return RP_OK;
}

rp_graph *rp_step_graph(rp_run *run)
{
    if (!run)
        return NULL;
    return run->graph;
}

static bool stepping(rp_run *run)
{
    rp_graph_at_work(run->graph);
    if (!run->in_step)
        rp_graph_fail(run->graph, RP_EARG, "no step is in progress: call rp_step_begin first");
    return run->in_step;
}

rp_tensor rp_state(rp_run *run, const char *name)
{
    if (!run)
        return rp_no_tensor();
    return stepping(run) ? rp_graph_state(run->graph, run, name) : rp_no_tensor();
}

rp_tensor rp_data(rp_run *run, const char *name)
{
    if (!run)
        return rp_no_tensor();
    return stepping(run) ? rp_graph_data(run->graph, run, name) : rp_no_tensor();
}

rp_tensor rp_feed(rp_run *run, const char *name, rp_dtype dtype, int rank, const size_t *shape, const void *bytes)
{
    if (!run)
        return rp_no_tensor();

    rp_graph *graph = run->graph;
    rp_type type;

    if (!stepping(run) || graph->status != RP_OK)
        return rp_no_tensor();
    graph->status = rp_type_make(&type, dtype, rank, shape, &graph->error);
    if (graph->status == RP_OK)
        graph->status = rp_slots_add(&run->feeds, run->device, name, &type, bytes, &graph->error);
    if (graph->status != RP_OK)
        return rp_no_tensor();
    return rp_graph_input(graph, RP_INPUT_FEED, name, &type, run->feeds.tensor[run->feeds.n - 1].memory);
}

void rp_set_state(rp_run *run, const char *name, rp_tensor value)
{
    if (!run)
        return;

    const rp_device_tensor *slot = rp_slots_find(&run->states, name);

    if (!stepping(run) || run->graph->status != RP_OK)
        return;
    if (!slot)
        rp_graph_fail(run->graph, RP_EARG, "there is no state %.96s", name);
    else if (rp_tensor_ok(value) && !rp_type_equal(rp_tensor_type(value), &slot->type))
        rp_graph_fail(run->graph, RP_ESHAPE, "state %.96s: the new value has another shape or dtype", name);
    /* the program must know the old value to be complete on its own */
    (void)rp_state(run, name);
    rp_graph_set(run->graph, RP_OUTPUT_STATE, name, value);
}

void rp_result(rp_run *run, const char *name, rp_tensor value)
{
    if (!run)
        return;
    if (!stepping(run))
        return;
    if (strncmp(name, "read.", 5) == 0)
        rp_graph_fail(run->graph, RP_EARG, "result %.96s: names that begin with \"read.\" are those of rp_read", name);
    rp_graph_set(run->graph, RP_OUTPUT_RESULT, name, value);
}

rp_status rp_read(rp_run *run, rp_tensor x, void *bytes, size_t size, rp_error *err)
{
    if (!run)
        return rp_no_handle(err, __func__, "run");

    rp_graph *graph = run->graph;
    char name[32];
    rp_tensor own;

    if (!stepping(run))
        return rp_graph_status(graph, err);
    own = x.graph == graph ? rp_graph_own(x) : x;
    (void)snprintf(name, sizeof name, "read.%u", run->reads++);
    rp_graph_output(graph, RP_OUTPUT_RESULT, name, own);
    if (graph->status == RP_OK && size != rp_type_bytes(rp_tensor_type(own)))
        rp_graph_fail(graph, RP_EARG, "rp_read: expected room for exactly %zu bytes, found %zu",
                      rp_type_bytes(rp_tensor_type(own)), size);
    if (rp_graph_status(graph, err) != RP_OK)
        return graph->status;
    if (rp_graph_is_late(graph, own.value) && rp_run_make(run, own.value, err) != RP_OK)
        return graph->status;
    return rp_read_out(run->device, bytes, graph->view[own.value].data, rp_tensor_type(own), err);
}

rp_status rp_step_read_result(rp_run *run, const char *name, void *bytes, size_t size, rp_error *err)
{
    const rp_graph *graph = run->graph;
    const rp_output *result = rp_program_find_output(graph->program, RP_OUTPUT_RESULT, name);
    const rp_type *type = result ? &graph->program->value[result->value] : NULL;

    if (!result || run->in_step)
        return rp_fail(err, RP_EARG, "the last step has no result %.96s", name);
    if (size != rp_type_bytes(type))
        return rp_fail(err, RP_EARG, "result %s: expected room for exactly %zu bytes, found %zu", name,
                       rp_type_bytes(type), size);
    return rp_read_out(run->device, bytes, graph->view[result->value].data, type, err);
}

static void *eager_memory(const void *arg, size_t index, bool output)
{
    const rp_graph *graph = arg;
    const rp_program *p = graph->program;

    return graph->view[output ? p->output[index].value : p->input[index].value].data;
}

/* Which step, and how far it came: what its program holds by then. */
static rp_status graph_status(const rp_run *run, rp_error *err)
{
    rp_error found;
    rp_status status = rp_graph_status(run->graph, &found);

    if (status == RP_OK)
        return RP_OK;
    return rp_fail(err, status, "%s (step %llu, after %zu instructions)", found.text, (unsigned long long)run->steps,
                   run->graph->program->n_instrs);
}

rp_status rp_step_end(rp_run *run, rp_error *err)
{
    rp_status status;

    if (!run)
        return rp_no_handle(err, __func__, "run");
    if (!run->in_step)
        return rp_fail(err, RP_EARG, "no step is in progress: call rp_step_begin first");
    run->in_step = false;
    status = graph_status(run, err);
    if (status == RP_OK)
        status = rp_run_commit(run, err);
    rp_eager_turn(run->eager);
    if (status == RP_OK)
        status = rp_run_tell(run, &(rp_step_event){.program = run->graph->program}, eager_memory, run->graph, err);
    rp_profile_step_ends(run->profile);
    if (status == RP_OK)
        run->steps++;
    run->graph->epoch++; /* tensors live until their step ends */
    return status;
}
