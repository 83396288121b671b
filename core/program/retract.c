/* SPDX-License-Identifier: Apache-2.0
 * Taking back what a call appended that failed: a graph's errors are sticky, which suits C, where the step is then
 * over; a binding raises an exception, and whoever catches it goes on with the same graph. */
#include "base/handle.h"
#include "core/program/graph.h"

size_t rp_graph_length(const rp_graph *graph)
{
    return graph ? graph->program->n_instrs : 0;
}

/* The first value that instructions from the length-th on made; all values where they made none. */
static size_t first_value(const rp_program *p, size_t length)
{
    for (size_t i = length; i < p->n_instrs; i++)
        if (p->instr[i].n_out > 0)
            return p->instr[i].out[0];
    return p->n_values;
}

/* Whether nothing else names these values. */
static bool only_theirs(const rp_program *p, size_t first)
{
    if (p->n_inputs > 0 && first < p->n_values && p->input[p->n_inputs - 1].value >= first)
        return false;
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output[i].value >= first)
            return false;
    for (size_t i = 0; i < p->n_prints; i++)
        if (p->print[i].value >= first)
            return false;
    return true;
}

/* Their memory goes: views first, which stand behind what they are views of. */
static void release_from(rp_graph *graph, size_t first)
{
    while (graph->n_views > first) {
        rp_value_memory *m = &graph->memory[--graph->n_views];

        if (graph->view[graph->n_views].data && m->owner != RP_NO_OWNER && m->owner < first &&
            --graph->memory[m->owner].users == 0 && graph->memory[m->owner].piece) {
            rp_device_cache_give(graph->cache, graph->memory[m->owner].piece);
            graph->memory[m->owner].piece = NULL;
        }
        if (m->piece)
            rp_device_cache_give(graph->cache, m->piece);
    }
    for (size_t v = 0; v < graph->n_views; v++) /* what lay in a concat that has gone is made again where it is read */
        if (graph->memory[v].owner != RP_NO_OWNER && graph->memory[v].owner >= first) {
            graph->view[v].data = NULL;
            graph->memory[v].owner = RP_NO_OWNER;
        }
}

rp_status rp_graph_retract(rp_graph *graph, size_t length, rp_error *err)
{
    size_t first;

    if (!graph)
        return rp_no_handle(err, __func__, "graph");
    (void)rp_graph_status(graph, NULL); /* what was launched may still write to them */
    if (graph->faulty && graph->faulty <= length)
        return rp_fail(err, RP_EARG, "instruction %zu stays, and has failed: what follows it was not computed",
                       graph->faulty - 1);
    if (length > graph->program->n_instrs)
        return rp_fail(err, RP_EARG, "the graph has %zu instructions, fewer than %zu", graph->program->n_instrs,
                       length);
    first = first_value(graph->program, length);
    if (!only_theirs(graph->program, first))
        return rp_fail(err, RP_EARG,
                       "what was appended after instruction %zu has become an output or an input came after it: it "
                       "stays",
                       length);
    if (graph->device)
        release_from(graph, first);
    while (graph->n_late > 0 && graph->late[graph->n_late - 1] >= length)
        graph->n_late--;
    if (graph->regions.cut)
        graph->regions.cut(graph->regions.self, length);
    rp_program_cut(graph->program, length);
    if (graph->marked > length)
        graph->marked = length;
    graph->status = RP_OK;
    graph->placed = false;
    graph->faulty = 0;
    return RP_OK;
}
