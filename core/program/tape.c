/* SPDX-License-Identifier: Apache-2.0
 * Executing the instructions of a graph: the memory of its values, and updates of states that wait. */
#include "base/memory.h"
#include "core/program/graph.h"
#include "determinism/fpenv.h"

void rp_graph_release_values(rp_graph *graph)
{
    for (size_t i = 0; i < graph->n_views; i++)
        if (graph->memory[i])
            rp_device_cache_give(graph->cache, graph->memory[i]);
    graph->n_views = graph->n_late = 0;
}

/* Room for the views of all the program's values. */
rp_status rp_graph_hold_views(rp_graph *graph)
{
    size_t wanted = graph->program->cap_values;

    if (graph->cap_views < wanted) {
        rp_view *view = rp_reallocarray(graph->view, wanted, sizeof *view);
        rp_cached **memory;

        if (!view)
            return rp_no_memory(&graph->error);
        graph->view = view;
        memory = rp_reallocarray(graph->memory, wanted, sizeof *memory);
        if (!memory)
            return rp_no_memory(&graph->error);
        graph->memory = memory;
        graph->cap_views = wanted;
    }
    while (graph->n_views < graph->program->n_values) {
        graph->view[graph->n_views].data = NULL;
        graph->memory[graph->n_views++] = NULL;
    }
    return RP_OK;
}

static rp_status allocate(rp_graph *graph, uint32_t value)
{
    const rp_type *type = &graph->program->value[value];
    rp_status status = RP_OK;

    if (!graph->memory[value]) /* a frame uses again what the one before it had */
        status = rp_device_cache_take(graph->cache, &graph->memory[value], rp_type_bytes(type), &graph->error);
    if (status == RP_OK)
        graph->view[value] = rp_view_of(type, graph->memory[value]->memory);
    return status;
}

static rp_status execute_alias(rp_graph *graph, const rp_instr *instr)
{
    const rp_view *in = &graph->view[instr->in[0]];
    const rp_type *type = &graph->program->value[instr->out[0]];
    rp_view out;
    rp_status status;

    if (instr->op->alias(instr->attr, in, type, &out)) {
        graph->view[instr->out[0]] = out;
        return RP_OK;
    }
    status = allocate(graph, instr->out[0]);
    if (status != RP_OK)
        return status;
    out = graph->view[instr->out[0]];
    rp_bind_copy(in, &out);
    return rp_execute_copy(graph->device, in, &out, &graph->error);
}

static rp_status execute_kernel(rp_graph *graph, const rp_instr *instr)
{
    rp_view few[8], *in = instr->n_in <= 8 ? few : rp_malloc(instr->n_in * sizeof *in);
    rp_view out[RP_MAX_OUT];
    rp_status status = RP_OK;

    if (!in)
        return rp_no_memory(&graph->error);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++) {
        status = allocate(graph, instr->out[i]);
        if (status == RP_OK)
            out[i] = graph->view[instr->out[i]];
    }
    if (status == RP_OK) {
        for (size_t i = 0; i < instr->n_in; i++)
            in[i] = graph->view[instr->in[i]];
        rp_bind_operands(instr->op, in, instr->n_in, &out[0]);
        status = rp_execute(graph->device, instr->op,
                            &(rp_kernel_args){in, instr->n_in, out, (size_t)instr->n_out, instr->attr},
                            (size_t)(instr - graph->program->instr), &graph->error);
    }
    if (in != few)
        rp_free(in);
    return status;
}

static rp_status execute_region(rp_graph *graph, const rp_instr *instr)
{
    rp_view *view = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out, sizeof *view), *out;
    rp_status status = RP_OK;

    if (!view)
        return rp_no_memory(&graph->error);
    out = view + instr->n_in;

    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        view[i] = graph->view[instr->in[i]];
    for (int i = 0; i < instr->n_out && status == RP_OK; i++) {
        status = allocate(graph, instr->out[i]);
        if (status == RP_OK)
            out[i] = graph->view[instr->out[i]];
    }
    if (status == RP_OK)
        status = rp_frames_eager(graph, instr, view, out);
    rp_free(view);
    return status;
}

rp_status rp_graph_execute(rp_graph *graph, const rp_instr *instr)
{
    for (size_t i = 0; i < instr->n_in; i++)
        if (rp_graph_is_late(graph, instr->in[i])) {
            rp_status status = rp_graph_make(graph, instr->in[i]);

            if (status != RP_OK)
                return status;
        }
    return instr->region      ? execute_region(graph, instr)
           : instr->op->alias ? execute_alias(graph, instr)
                              : execute_kernel(graph, instr);
}

rp_status rp_graph_make(rp_graph *graph, uint32_t value)
{
    return rp_graph_execute(graph, &graph->program->instr[graph->program->maker[value]]);
}

/* Whether the instruction updates states: it could be made in their memory, which only the step's end may do. */
static bool is_update(const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;

    if (!graph->defers || !(instr->op->flags & RP_OP_INPLACE) || (uint32_t)instr->n_out > instr->n_in)
        return false;
    for (int i = 0; i < instr->n_out; i++) {
        const rp_input *state = rp_program_input_of(p, instr->in[i]);

        if (!state || state->kind != RP_INPUT_STATE ||
            !rp_type_equal(&p->value[instr->in[i]], &p->value[instr->out[i]]))
            return false;
    }
    return true;
}

static rp_status defer(rp_graph *graph)
{
    if (graph->n_late == graph->cap_late) {
        const size_t wanted = graph->cap_late ? 2 * graph->cap_late : 16;
        uint32_t *bigger = rp_reallocarray(graph->late, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(&graph->error);
        graph->late = bigger;
        graph->cap_late = wanted;
    }
    graph->late[graph->n_late++] = (uint32_t)graph->program->n_instrs - 1;
    return RP_OK;
}

void rp_graph_execute_last(rp_graph *graph)
{
    rp_fpenv saved;

    if (graph->status != RP_OK || !graph->device)
        return;
    graph->status = rp_graph_hold_views(graph);
    if (graph->status == RP_OK && is_update(graph, &graph->program->instr[graph->program->n_instrs - 1])) {
        graph->status = defer(graph);
        return;
    }
    if (graph->status != RP_OK)
        return;
    /* at every call: what the application did to the environment since the last one is not known */
    graph->status = rp_fpenv_enter(&saved, NULL, &graph->error);
    if (graph->status != RP_OK)
        return;
    graph->status = rp_graph_execute(graph, &graph->program->instr[graph->program->n_instrs - 1]);
    rp_fpenv_leave(&saved);
}
