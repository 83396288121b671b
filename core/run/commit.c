/* SPDX-License-Identifier: Apache-2.0
 * The end of an eager step: states take their new values. Updates that nobody has read are only executed now, in the
 * memory of their states, since until here the step could still be abandoned. */
#include "base/memory.h"
#include "core/run/run_private.h"
#include "determinism/fpenv.h"

/* Each deferred update by its instruction's place in graph->late. */
enum { UPDATE_OPERANDS = 8 }; /* of an optimizer's step, in room that needs no allocation */

typedef struct updates {
    rp_graph *graph;
    uint32_t *readers; /* of each value: operands of deferred updates that are it, or views of it */
} updates;

static const rp_instr *late_at(const updates *u, size_t i)
{
    return &u->graph->program->instr[u->graph->late[i]];
}

/* The value whose memory this one is a view of. */
static uint32_t root_of(const rp_graph *graph, uint32_t value)
{
    const rp_program *p = graph->program;

    while (p->maker[value] != RP_NO_INSTR && p->instr[p->maker[value]].op->alias && !graph->memory[value].piece)
        value = p->instr[p->maker[value]].in[0];
    return value;
}

static bool is_done(const updates *u, const rp_instr *instr)
{
    return !rp_graph_is_late(u->graph, instr->out[0]);
}

static bool is_wanted(const bool *wanted, const rp_instr *instr)
{
    bool any = false;

    for (int i = 0; i < instr->n_out; i++)
        any = any || wanted[instr->out[i]];
    return any;
}

/* Whether every output is the new value of the state that is the operand of its position, which nothing else still
 * reads. */
static bool may_overwrite(const updates *u, const rp_instr *instr)
{
    const rp_program *p = u->graph->program;

    if (instr->n_in > UPDATE_OPERANDS)
        return false;
    for (int i = 0; i < instr->n_out; i++) {
        const rp_input *state = rp_program_input_of(p, instr->in[i]);
        const rp_output *output = rp_program_find_output(p, RP_OUTPUT_STATE, state->name);

        if (!output || output->value != instr->out[i] || u->readers[instr->in[i]] != 1)
            return false;
    }
    return true;
}

static rp_status overwrite_unwatched(rp_graph *graph, const rp_instr *instr, rp_error *err)
{
    rp_view in[UPDATE_OPERANDS], out[RP_MAX_OUT];

    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = graph->view[instr->in[i]];
    for (int i = 0; i < instr->n_out; i++)
        out[i] = graph->view[instr->out[i]] = graph->view[instr->in[i]];
    rp_bind_operands(instr->op, in, instr->n_in, &out[0]);
    return rp_execute(graph->device, instr->op,
                      &(rp_kernel_args){in, instr->n_in, out, (size_t)instr->n_out, instr->attr},
                      (size_t)(instr - graph->program->instr), err);
}

static rp_status overwrite(rp_graph *graph, const rp_instr *instr, rp_error *err)
{
    const rp_graph_watch *watch = graph->watch;
    rp_status status;

    if (!watch)
        return overwrite_unwatched(graph, instr, err);
    watch->begin(watch->self, graph, instr);
    status = overwrite_unwatched(graph, instr, err);
    if (status == RP_OK && !rp_device_shares_memory(graph->device))
        status = rp_device_synchronize(graph->device, NULL, err);
    watch->end(watch->self, graph, instr);
    return status;
}

/* First what needs memory of its own, and so can fail while all states are the old ones; then what does not. */
static rp_status make_updates(updates *u, bool *wanted, bool *began, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = u->graph->n_late; i-- > 0;) /* what an update needs of another one is wanted too */
        for (size_t n = 0; n < late_at(u, i)->n_in && is_wanted(wanted, late_at(u, i)); n++)
            wanted[late_at(u, i)->in[n]] = true;
    for (size_t i = 0; i < u->graph->n_late; i++)
        for (size_t n = 0; n < late_at(u, i)->n_in && !is_done(u, late_at(u, i)); n++)
            u->readers[root_of(u->graph, late_at(u, i)->in[n])]++;
    for (size_t i = 0; i < u->graph->n_late && status == RP_OK; i++)
        if (!is_done(u, late_at(u, i)) && is_wanted(wanted, late_at(u, i)) && !may_overwrite(u, late_at(u, i))) {
            status = rp_graph_make(u->graph, late_at(u, i)->out[0]);
            if (status != RP_OK && err)
                *err = u->graph->error;
        }
    *began = status == RP_OK;
    for (size_t i = 0; i < u->graph->n_late && status == RP_OK; i++)
        if (!is_done(u, late_at(u, i)) && is_wanted(wanted, late_at(u, i)))
            status = overwrite(u->graph, late_at(u, i), err);
    return status;
}

/* *began: states may have new values. */
static rp_status update(rp_graph *graph, bool *began, rp_error *err)
{
    const rp_program *p = graph->program;
    updates u = {graph, rp_calloc(p->n_values, sizeof *u.readers)};
    bool *wanted = rp_calloc(p->n_values, sizeof *wanted);
    rp_fpenv saved;
    rp_status status = u.readers && wanted ? rp_fpenv_enter(&saved, NULL, err) : rp_no_memory(err);

    if (status == RP_OK) {
        for (size_t o = 0; o < p->n_outputs; o++)
            wanted[p->output[o].value] = true;
        status = make_updates(&u, wanted, began, err);
        rp_fpenv_leave(&saved);
    }
    rp_free(u.readers);
    rp_free(wanted);
    return status;
}

rp_status rp_run_make(rp_run *run, uint32_t value, rp_error *err)
{
    rp_graph *graph = run->graph;
    rp_fpenv saved;

    graph->status = rp_fpenv_enter(&saved, NULL, &graph->error);
    if (graph->status == RP_OK) {
        graph->status = rp_graph_make(graph, value);
        rp_fpenv_leave(&saved);
    }
    return rp_graph_status(graph, err);
}

/* All new values exist by then, so the order of copying does not matter. */
rp_status rp_run_commit(rp_run *run, rp_error *err)
{
    rp_graph *graph = run->graph;
    const rp_program *p = graph->program;
    rp_status status = rp_run_settle(run, RP_ALL_STATES, err);
    bool began = false;

    if (status == RP_OK && graph->n_late)
        status = update(graph, &began, err);
    began = began || status == RP_OK;
    for (size_t i = 0; i < p->n_outputs && status == RP_OK; i++)
        if (p->output[i].kind == RP_OUTPUT_STATE) {
            const rp_device_tensor *slot = rp_slots_find(&run->states, p->output[i].name);
            rp_view to = rp_view_of(&slot->type, slot->memory);

            if (graph->view[p->output[i].value].data != to.data)
                status = rp_execute_copy(run->device, &graph->view[p->output[i].value], &to, err);
        }
    if (status == RP_OK)
        status = rp_execute_settle(run->device, p, NULL, err);
    /* after a wrong index nothing that was launched later has run, so the states are the old ones */
    run->given_up = run->given_up || (began && status != RP_OK && status != RP_EDATA);
    return status;
}
