/* SPDX-License-Identifier: Apache-2.0
 * Binding a plan: every value gets its view, every position its call or its part in a chain, and states whose new value
 * was made elsewhere get a copy at the end. */
#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

static void *memory_of(const rp_plan *plan, uint32_t root)
{
    const block *b = &plan->block[root];

    switch (b->place) {
    case PLACE_FIXED:
        return b->fixed;
    case PLACE_OWN:
        return plan->own + b->offset;
    case PLACE_ARENA:
    case PLACE_SHARED:                                                       /* the same offset */
        return plan->arena->memory ? plan->arena->memory + b->offset : NULL; /* nothing of it is executed */
    default:
        return NULL;
    }
}

/* Roots first, then views of them in the program's order. What is in scratch gets its memory block by block: its views
 * keep the strides of the dry run. */
static void bind_views(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++)
        if (plan->root[v] == v)
            plan->view[v] = rp_view_of(&p->value[v], memory_of(plan, (uint32_t)v));
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];
        const uint32_t value = instr->out[0];
        rp_view out;

        if (plan->same[value] != value) {
            for (int i = 0; i < instr->n_out; i++)
                plan->view[instr->out[i]] = plan->view[plan->same[instr->out[i]]];
        } else if (plan->root[value] == value) {
            continue;
        } else if (plan->block[plan->root[value]].place == PLACE_SCRATCH) {
            plan->view[value].data = NULL;
        } else {
            (void)instr->op->alias(instr->attr, &plan->view[instr->in[0]], &p->value[value], &out);
            plan->view[value] = out;
        }
    }
}

/* The next n views of the calls. */
static rp_view *take_views(rp_view **next, size_t n)
{
    rp_view *first = *next;

    *next += n;
    return first;
}

static void bind_call(const rp_plan *plan, const rp_instr *instr, call *c, rp_view **next)
{
    c->n_in = instr->n_in;
    c->n_out = (size_t)instr->n_out;
    c->in = take_views(next, c->n_in);
    c->out = take_views(next, c->n_out);
    for (size_t i = 0; i < c->n_in; i++)
        c->in[i] = plan->view[instr->in[i]];
    for (size_t i = 0; i < c->n_out; i++)
        c->out[i] = plan->view[instr->out[i]];
    c->instr = (size_t)(instr - plan->program->instr);
    if (instr->region) {
        c->region = instr;
    } else if (instr->op->alias) {
        rp_bind_copy(&c->in[0], &c->out[0]);
    } else {
        c->op = instr->op;
        c->attr = instr->attr;
        rp_bind_operands(instr->op, c->in, c->n_in, &c->out[0]);
    }
}

/* ---- chains ---- */

/* Which value each slot of the scratch holds. */
typedef struct slots {
    uint32_t value[RP_CHAIN_SLOTS];
    bool taken[RP_CHAIN_SLOTS];
    size_t n;
} slots;

/* An output that is too large to be found in a cache again is made in the scratch and streamed. */
static bool streamed(const rp_plan *plan, uint32_t value)
{
    const block *b = &plan->block[value];

    return b->made && b->place != PLACE_SCRATCH && b->place != PLACE_FIXED && b->bytes >= RP_CHAIN_STREAM;
}

/* How many operands at positions [from, to) are this value. */
static size_t readers(const rp_plan *plan, size_t from, size_t to, uint32_t value)
{
    size_t n = 0;

    for (size_t k = from; k < to; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        for (size_t i = 0; i < instr->n_in; i++)
            n += plan->root[instr->in[i]] == value;
    }
    return n;
}

/* s->n when the value is not in the scratch. */
static size_t slot_of(const slots *s, uint32_t value)
{
    size_t i = 0;

    while (i < s->n && (!s->taken[i] || s->value[i] != value))
        i++;
    return i;
}

/* Gives output i of position k a slot: that of operand i, when the operation may work in place and nothing else reads
 * the operand from here on, else a free one. */
static void take_slot(const rp_plan *plan, slots *s, size_t k, size_t end, size_t i)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    size_t slot = 0;

    if (instr->op->flags & RP_OP_INPLACE && i < instr->n_in) {
        const uint32_t operand = plan->root[instr->in[i]];

        if (plan->block[operand].place == PLACE_SCRATCH && readers(plan, k, end, operand) == 1 &&
            plan->view[operand].dtype == plan->view[instr->out[i]].dtype) {
            s->value[slot_of(s, operand)] = instr->out[i];
            return;
        }
    }
    while (slot < s->n && s->taken[slot])
        slot++;
    if (slot == s->n)
        s->n++;
    s->taken[slot] = true;
    s->value[slot] = instr->out[i];
}

/* Appends an operand, made here or read; a value in the scratch is noted with its slot. */
static void add_view(const rp_plan *plan, rp_chain *chain, const slots *s, uint32_t value, bool made)
{
    const uint32_t root = plan->root[value];

    if (slot_of(s, root) < s->n) {
        const size_t size = rp_dtype_size(plan->view[value].dtype);

        chain->scratch[chain->n_scratch] = (rp_chain_scratch){chain->n_views, slot_of(s, root), NULL};
        if (made && streamed(plan, root))
            chain->scratch[chain->n_scratch].stream = plan->view[root].data;
        chain->n_scratch++;
        chain->size = size > chain->size ? size : chain->size;
    }
    chain->view[chain->n_views++] = plan->view[value];
}

static void add_step(const rp_plan *plan, rp_chain *chain, slots *s, size_t k, size_t end)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    rp_chain_step *step = &chain->step[chain->n_steps++];

    *step =
        (rp_chain_step){.kernel = instr->op->kernel, .in = chain->n_views, .n_in = instr->n_in, .attr = instr->attr};
    for (size_t i = 0; i < instr->n_in; i++)
        add_view(plan, chain, s, instr->in[i], false);
    rp_bind_operands(instr->op, &chain->view[step->in], step->n_in, &plan->view[instr->out[0]]);
    step->out = chain->n_views;
    step->n_out = (size_t)instr->n_out;
    for (size_t i = 0; i < step->n_out; i++) {
        if (plan->block[instr->out[i]].place == PLACE_SCRATCH || streamed(plan, instr->out[i]))
            take_slot(plan, s, k, end, i);
        add_view(plan, chain, s, instr->out[i], true);
    }
    for (size_t i = 0; i < s->n; i++)
        s->taken[i] = s->taken[i] && (streamed(plan, s->value[i]) || readers(plan, k + 1, end, s->value[i]) > 0);
}

static rp_chain *chain_of(const rp_plan *plan, size_t first, size_t end)
{
    rp_chain *chain = rp_calloc(1, sizeof *chain);
    slots s = {.n = 0};

    if (!chain)
        return NULL;
    chain->count = rp_type_count(&plan->program->value[rp_plan_at(plan, first)->out[0]]);
    for (size_t k = first; k < end; k++)
        add_step(plan, chain, &s, k, end);
    chain->slots = s.n;
    return chain;
}

/* ---- all together ---- */

static rp_status allocate(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    size_t views = 2 * p->n_outputs;

    for (size_t k = 0; k < plan->order.n; k++)
        views += rp_plan_at(plan, k)->n_in + (size_t)rp_plan_at(plan, k)->n_out;
    plan->operands = rp_malloc(views * sizeof *plan->operands);
    plan->call = rp_calloc(plan->order.n + p->n_outputs, sizeof *plan->call);
    plan->output = rp_calloc(p->n_outputs, sizeof *plan->output);
    plan->write = rp_malloc(p->n_outputs * sizeof *plan->write);
    return plan->operands && plan->call && plan->output && plan->write ? RP_OK : rp_no_memory(err);
}

/* Of each value that is made in a state's memory: which input that state is. */
static void find_states(const rp_plan *plan, size_t *state)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t value = plan->same[p->output[o].value];
        const rp_input *in =
            p->output[o].kind == RP_OUTPUT_STATE ? rp_program_find_input(p, RP_INPUT_STATE, p->output[o].name) : NULL;

        if (in && plan->block[value].place == PLACE_FIXED && plan->block[value].fixed == plan->block[in->value].fixed)
            state[value] = (size_t)(in - p->input);
    }
}

/* The states in whose memory the instructions of positions [k, end) make their values; the call is the last one. */
static void note_writes(rp_plan *plan, size_t k, size_t end, const size_t *state)
{
    for (; k < end; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        for (int i = 0; i < instr->n_out; i++)
            if (plan->block[instr->out[i]].place == PLACE_FIXED)
                plan->write[plan->n_writes++] = (state_write){plan->n_calls - 1, state[instr->out[i]]};
    }
}

/* Outputs: a result that is not alone in its memory is still readable as a view; states whose new value was made
 * elsewhere are copied into place after everything has run. */
static void bind_outputs(rp_plan *plan, rp_view **next)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_input *state =
            p->output[o].kind == RP_OUTPUT_STATE ? rp_program_find_input(p, RP_INPUT_STATE, p->output[o].name) : NULL;
        const rp_view *from = &plan->view[p->output[o].value];

        plan->output[o] = from->data;
        if (state && from->data != plan->block[state->value].fixed) {
            call *c = &plan->call[plan->n_calls];

            plan->write[plan->n_writes++] = (state_write){plan->n_calls++, (size_t)(state - p->input)};
            c->n_in = c->n_out = 1;
            c->in = take_views(next, 1);
            c->out = take_views(next, 1);
            c->in[0] = *from;
            c->out[0] = rp_view_of(&p->value[state->value], plan->block[state->value].fixed);
            plan->output[o] = c->out[0].data;
        }
    }
}

void rp_plan_unbind(rp_plan *plan)
{
    for (size_t i = 0; i < plan->n_calls; i++)
        rp_free(plan->call[i].chain);
    rp_free(plan->call);
    rp_free(plan->operands);
    rp_free(plan->output);
    rp_free(plan->write);
    plan->write = NULL;
    plan->n_writes = 0;
    plan->call = NULL;
    plan->operands = NULL;
    plan->output = NULL;
    plan->n_calls = 0;
}

static rp_status bind_calls(rp_plan *plan, rp_view **next, const size_t *state, rp_error *err)
{
    for (size_t k = 0, end; k < plan->order.n; k = end) {
        call *c = &plan->call[plan->n_calls++];

        end = rp_plan_chain_end(plan, k);
        note_writes(plan, k, end, state);
        if (end - k == 1) {
            bind_call(plan, rp_plan_at(plan, k), c, next);
            continue;
        }
        c->chain = chain_of(plan, k, end);
        if (!c->chain)
            return rp_no_memory(err);
    }
    return RP_OK;
}

rp_status rp_plan_bind(rp_plan *plan, rp_error *err)
{
    rp_status status;
    rp_view *next;
    size_t *state = rp_malloc(plan->program->n_values * sizeof *state);

    rp_plan_unbind(plan);
    status = state ? allocate(plan, err) : rp_no_memory(err);
    next = plan->operands;
    if (status == RP_OK) {
        find_states(plan, state);
        bind_views(plan);
        status = bind_calls(plan, &next, state, err);
    }
    rp_free(state);
    if (status != RP_OK) {
        rp_plan_unbind(plan);
        return status;
    }
    bind_outputs(plan, &next);
    plan->bound = plan->arena->moves;
    return RP_OK;
}
