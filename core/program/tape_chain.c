/* SPDX-License-Identifier: Apache-2.0
 * Calls that are written in others, on a tape that executes: their large elementwise instructions wait until one of
 * them is read or the call ends, and run as one chain (kernels/chain.h). The values in between have no handle outside
 * the call and are not stored, but for those of elementary functions, of what depends on a state, that gradients may
 * read: a value that was not kept is like one that has gone, so what reads it makes it, and an addition costs no more
 * to make again than to store. */
#include <string.h>

#include "core/program/graph.h"
#include "determinism/fpenv.h"
#include "kernels/chain.h"

enum { NONE = UINT32_MAX };

/* What costs no more to make than to read, by the column of kernels/operations.def. */
static const bool cheap[RP_K_COUNT] = {
    [RP_K_where] = true,
    [RP_K_cast] = true,
#define function false
#define light true
#define MAP1(name, cost, ...) [RP_K_##name] = cost,
#define MAP1P(name, cost, ...) [RP_K_##name] = cost,
#define MAP1Q(name, cost, ...) [RP_K_##name] = cost,
#define NUM1(name, cost, ...) [RP_K_##name] = cost,
#define MAP2(name, cost, ...) [RP_K_##name] = cost,
#define NUM2(name, cost, ...) [RP_K_##name] = cost,
#define COMPARE(name, ...) [RP_K_##name] = true,
#define LOGIC1(name, ...) [RP_K_##name] = true,
#define LOGIC2(name, ...) [RP_K_##name] = true,
#include "kernels/operations.def"
#undef function
#undef light
};

/* The instructions that are to run, the last ones first. */
typedef struct members {
    rp_graph *graph;
    uint32_t instr[RP_CHAIN_STEPS];
    size_t n;
} members;

rp_graph *rp_graph_call_begins(rp_tensor x)
{
    rp_graph *g = x.graph;

    if (g == NULL || !rp_tensor_ok(x) || !g->device || !g->defers || g->watch || !rp_device_shares_memory(g->device))
        return NULL;
    if (g->calls++ == 0)
        g->call_first = g->program->n_instrs;
    return g;
}

/* Whether the call that ends has left the value to be made. */
static bool waits(const rp_graph *graph, uint32_t value)
{
    const uint32_t maker = graph->program->maker[value];

    return maker != RP_NO_INSTR && maker >= graph->call_first && rp_graph_is_late(graph, value) &&
           rp_graph_may_wait(graph, &graph->program->instr[maker]);
}

rp_tensor rp_graph_call_ends(rp_graph *graph, rp_tensor y)
{
    rp_fpenv saved;

    if (graph == NULL)
        return y;
    if (graph->calls == 1 && y.graph == graph && graph->status == RP_OK && waits(graph, y.value)) {
        graph->status = rp_fpenv_enter(&saved, NULL, &graph->error);
        if (graph->status == RP_OK) {
            graph->status = rp_graph_make(graph, y.value);
            rp_fpenv_leave(&saved);
        }
    }
    graph->calls--;
    return graph->status == RP_OK ? y : rp_no_tensor();
}

bool rp_graph_may_wait(const rp_graph *graph, const rp_instr *instr)
{
    if (graph->calls == 0 || instr->region || instr->n_out != 1)
        return false;
    return ((instr->op->flags & RP_OP_ELEMENTWISE || instr->op->role == RP_PLAYS_GATHER) &&
            rp_type_count(&graph->program->value[instr->out[0]]) > RP_CHAIN_BLOCK) ||
           rp_graph_concat_waits(graph, instr);
}

static const rp_instr *instr_at(const members *m, size_t i)
{
    return &m->graph->program->instr[m->instr[i]];
}

static bool same_shape(const rp_type *a, const rp_type *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* Which of the first `n` members reads the value last in the order of execution; NONE. */
static size_t last_reader(const members *m, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < instr_at(m, i)->n_in; k++)
            if (instr_at(m, i)->in[k] == value)
                return i;
    return NONE;
}

static bool joins(const members *m, const rp_instr *instr)
{
    const rp_program *p = m->graph->program;

    return instr->op->flags & RP_OP_ELEMENTWISE && rp_graph_may_wait(m->graph, instr) &&
           rp_graph_is_late(m->graph, instr->out[0]) &&
           same_shape(&p->value[instr->out[0]], &p->value[instr_at(m, 0)->out[0]]) &&
           last_reader(m, m->n, instr->out[0]) != NONE;
}

/* What has to run for the value: instructions of the call, from the last one to the first. False: too many. */
static bool find_members(members *m, uint32_t value)
{
    const rp_program *p = m->graph->program;

    m->instr[0] = p->maker[value];
    m->n = 1;
    for (uint32_t k = p->maker[value]; k-- > m->graph->call_first;) {
        if (!joins(m, &p->instr[k]))
            continue;
        if (m->n == RP_CHAIN_STEPS)
            return false;
        m->instr[m->n++] = k;
    }
    return true;
}

static bool is_member(const members *m, uint32_t value)
{
    for (size_t i = 0; i < m->n; i++)
        if (instr_at(m, i)->out[0] == value)
            return true;
    return false;
}

/* What the members read and others make. */
static rp_status make_operands(const members *m)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < instr_at(m, i)->n_in && status == RP_OK; k++) {
            const uint32_t value = instr_at(m, i)->in[k];

            if (rp_graph_is_late(m->graph, value) && !is_member(m, value))
                status = rp_graph_make(m->graph, value);
        }
    return status;
}

/* ---- the chain ---- */

typedef struct links {
    rp_chain chain;
    uint32_t held[RP_CHAIN_SLOTS]; /* the value in each slot; NONE: free */
    size_t size[RP_CHAIN_SLOTS];   /* of an element, always */
} links;

static size_t slot_of(const links *l, uint32_t value)
{
    size_t slot = 0;

    while (slot < l->chain.slots && l->held[slot] != value)
        slot++;
    return slot;
}

static void take_slot(links *l, uint32_t value, size_t size)
{
    size_t slot = 0;

    while (slot < l->chain.slots && (l->held[slot] != NONE || l->size[slot] != size))
        slot++;
    if (slot == l->chain.slots)
        l->size[l->chain.slots++] = size;
    l->held[slot] = value;
    l->chain.size = size > l->chain.size ? size : l->chain.size;
}

static void add_view(links *l, const rp_graph *graph, uint32_t value)
{
    const size_t slot = slot_of(l, value);
    rp_view *view = &l->chain.view[l->chain.n_views];

    if (slot < l->chain.slots) {
        *view = rp_view_of(&graph->program->value[value], NULL);
        l->chain.scratch[l->chain.n_scratch++] = (rp_chain_scratch){l->chain.n_views, slot, NULL};
    } else {
        *view = graph->view[value];
    }
    l->chain.n_views++;
}

/* Member i; those after it, of lower numbers, are still to come. */
static rp_status add_step(links *l, const members *m, size_t i)
{
    const rp_instr *instr = instr_at(m, i);
    const uint32_t made = instr->out[0];
    rp_graph *graph = m->graph;
    rp_chain_step *step = &l->chain.step[l->chain.n_steps++];
    rp_status status = RP_OK;

    *step = (rp_chain_step){instr->op->kernel, l->chain.n_views, instr->n_in, 0, 1, instr->attr};
    for (size_t k = 0; k < instr->n_in; k++)
        add_view(l, graph, instr->in[k]);
    step->out = l->chain.n_views;
    if (i == 0 || graph->memory[made].mark & RP_VALUE_PINNED ||
        (graph->memory[made].mark & RP_VALUE_NEEDED && graph->memory[made].mark & RP_VALUE_TRAINED &&
         !cheap[instr->op->kernel]))
        status = rp_graph_allocate(graph, made);
    else
        take_slot(l, made, rp_dtype_size(graph->program->value[made].dtype));
    if (status != RP_OK)
        return status;
    add_view(l, graph, made);
    rp_bind_operands(instr->op, &l->chain.view[step->in], step->n_in, &l->chain.view[step->out]);
    for (size_t s = 0; s < l->chain.slots; s++)
        if (l->held[s] != NONE && last_reader(m, i, l->held[s]) == NONE)
            l->held[s] = NONE;
    return RP_OK;
}

static bool has_kernels(const members *m)
{
    bool all = rp_device_has_all(m->graph->device);

    for (size_t i = 0; i < m->n && !all; i++)
        if (!rp_device_has(m->graph->device, instr_at(m, i)->op->kernel,
                           m->graph->program->value[instr_at(m, i)->out[0]].dtype))
            return false;
    return true;
}

rp_status rp_graph_make_together(rp_graph *graph, uint32_t value, bool *made)
{
    const rp_program *p = graph->program;
    members m = {.graph = graph};
    links l = {.chain = {.count = rp_type_count(&p->value[value])}};
    rp_status status;

    *made = false;
    if (p->maker[value] == RP_NO_INSTR || p->maker[value] < graph->call_first ||
        !(p->instr[p->maker[value]].op->flags & RP_OP_ELEMENTWISE) ||
        !rp_graph_may_wait(graph, &p->instr[p->maker[value]]) || !find_members(&m, value) || m.n < 2 ||
        !has_kernels(&m))
        return RP_OK;
    *made = true;
    status = make_operands(&m);
    for (size_t i = m.n; i-- > 0 && status == RP_OK;)
        status = add_step(&l, &m, i);
    return status == RP_OK ? rp_device_launch_chain(graph->device, &l.chain, NULL, &graph->error) : status;
}
