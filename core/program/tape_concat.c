/* SPDX-License-Identifier: Apache-2.0
 * Concats of concats in a call that is written in others, on a tape that executes, as a pad of several axes is: they
 * and the views that are taken of them wait for the last one, and each is then made where it lies in the next, so what
 * is padded is copied once and not once an axis. */
#include "core/program/graph.h"
#include "kernels/chain.h"
#include "kernels/walk.h"

/* A large concat of the call that appends now. */
static bool is_concat(const rp_graph *graph, uint32_t k)
{
    const rp_instr *instr = &graph->program->instr[k];

    return k >= graph->call_first && instr->op->role == RP_PLAYS_CONCAT && instr->n_in > 1 &&
           rp_type_count(&graph->program->value[instr->out[0]]) > RP_CHAIN_BLOCK;
}

static bool is_made_by_concat(const rp_graph *graph, uint32_t value)
{
    const uint32_t maker = graph->program->maker[value];

    return maker != RP_NO_INSTR && is_concat(graph, maker);
}

bool rp_graph_concat_waits(const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;
    uint32_t value = instr->out[0];

    while (p->maker[value] != RP_NO_INSTR && p->maker[value] >= graph->call_first &&
           p->instr[p->maker[value]].op->alias) /* a view, perhaps of views */
        value = p->instr[p->maker[value]].in[0];
    return is_made_by_concat(graph, value);
}

/* The concat's value has its place, in the memory of the owner. */
static rp_status lay(rp_graph *graph, const rp_instr *instr, uint32_t owner)
{
    const size_t axis = (size_t)RP_AT(instr->attr, concat, axis).i;
    rp_view part = graph->view[instr->out[0]];
    rp_status status = RP_OK;

    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++) {
        const uint32_t value = instr->in[i];

        part.shape[axis] = graph->program->value[value].shape[axis];
        if (rp_graph_is_late(graph, value) && is_made_by_concat(graph, value)) {
            rp_graph_lie_in(graph, value, owner);
            graph->view[value] = part;
            status = lay(graph, &graph->program->instr[graph->program->maker[value]], owner);
        }
        part.data = rp_view_at(&part, (ptrdiff_t)part.shape[axis] * part.stride[axis]);
    }
    return status == RP_OK ? rp_graph_execute(graph, instr) : status;
}

rp_status rp_graph_make_concat(rp_graph *graph, uint32_t value, bool *made)
{
    rp_status status;

    *made = is_made_by_concat(graph, value);
    if (!*made)
        return RP_OK;
    status = rp_graph_allocate(graph, value);
    return status == RP_OK ? lay(graph, &graph->program->instr[graph->program->maker[value]], value) : status;
}
