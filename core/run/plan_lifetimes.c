/* SPDX-License-Identifier: Apache-2.0
 * Lifetimes in positions, and what they allow: a new state made in the old one's memory, values within a chain that are
 * never stored. */
#include <string.h>

#include "core/program/indexing/gathered.h"
#include "core/run/plan_private.h"

static void begin(rp_plan *plan, void *const *input_memory)
{
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++) {
        const size_t bytes = rp_type_bytes(&p->value[v]);

        plan->block[v] = (block){.bytes = bytes ? bytes : 1};
    }
    for (size_t v = p->n_values; v < plan->n_blocks; v++) /* of regions that are executed, as they come */
        plan->block[v] = (block){.bytes = 1};
    for (size_t i = 0; i < p->n_inputs; i++) {
        block *b = &plan->block[p->input[i].value];

        if (plan->function) {
            b->place = PLACE_GIVEN;
            b->shared = (uint32_t)(BASE_PARAMETERS + i);
            continue;
        }
        b->fixed = input_memory[i];
        b->place = b->fixed ? PLACE_FIXED : PLACE_OWN;
    }
}

/* What the region at position k needs while it runs. */
static void hold_region(rp_plan *plan, size_t k, uint32_t at)
{
    const size_t bytes = rp_plan_region_bytes(plan, rp_plan_at(plan, k));

    plan->region_at[plan->order.instr[k]] = at;
    plan->block[at] = (block){
        .bytes = bytes ? bytes : 1, .first = (uint32_t)k, .last = (uint32_t)k, .place = PLACE_ARENA, .made = true};
}

/* An output of a body is made where it goes, if it is a whole value and the first output that is this value. */
static void make_in_place(rp_plan *plan, size_t o)
{
    const rp_program *p = plan->program;
    const uint32_t value = p->output[o].value;
    block *b = &plan->block[plan->root[value]];

    if (b->made && b->place == PLACE_ARENA && rp_view_contiguous(&plan->view[value]) &&
        rp_type_bytes(&p->value[value]) == rp_type_bytes(&p->value[plan->root[value]])) {
        b->place = PLACE_GIVEN;
        b->shared = (uint32_t)(BASE_PARAMETERS + p->n_inputs + o);
    }
}

/* What another instruction gathers, or multiplies, is read at position k. */
static void read_late(rp_plan *plan, size_t k, const rp_instr *made)
{
    for (size_t i = 0; i < made->n_in; i++)
        plan->block[plan->root[made->in[i]]].last = (uint32_t)k;
}

static void read_and_made(rp_plan *plan)
{
    const rp_program *p = plan->program;
    uint32_t region = (uint32_t)p->n_values;

    for (size_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        for (int i = 0; i < instr->n_out; i++) {
            block *b = &plan->block[instr->out[i]];

            b->first = b->last = (uint32_t)k;
            b->made = true;
        }
        for (size_t i = 0; i < instr->n_in; i++)
            plan->block[plan->root[instr->in[i]]].last = (uint32_t)k;
        if (instr->region)
            hold_region(plan, k, region++);
        if (plan->mark[plan->order.instr[k]] & MARK_GATHERED)
            plan->block[instr->out[0]].bytes = rp_gathered_bytes(&p->value[instr->out[0]]);
        if (plan->mark[plan->order.instr[k]] & MARK_PRODUCT)
            plan->block[instr->out[0]].bytes = 1;
        if (plan->mark[plan->order.instr[k]] & (MARK_GATHERS | MARK_DOTS))
            read_late(plan, k, &p->instr[p->maker[instr->in[0]]]);
    }
    for (size_t k = 0; k < plan->constants; k++)
        plan->block[rp_plan_at(plan, k)->out[0]].last = (uint32_t)plan->order.n;
    for (size_t o = 0; o < p->n_outputs; o++) {
        block *b = &plan->block[plan->root[p->output[o].value]];

        b->last = (uint32_t)plan->order.n;
        if (p->output[o].kind == RP_OUTPUT_RESULT && b->place == PLACE_ARENA)
            b->place = PLACE_OWN;
        if (plan->function)
            make_in_place(plan, o);
    }
}

/* ---- states ---- */

/* Whether an instruction before position k in the same chain reads the state by other than its own element: it would
 * find elements that k overwrote in an earlier block. */
static bool read_across(const rp_plan *plan, size_t k, uint32_t state)
{
    for (size_t i = plan->order.first[k]; i < k; i++) {
        const rp_instr *instr = rp_plan_at(plan, i);

        for (size_t n = 0; n < instr->n_in; n++)
            if (plan->root[instr->in[n]] == state &&
                !rp_view_is_whole(&plan->view[instr->in[n]], &plan->program->value[instr->out[0]]))
                return true;
    }
    return false;
}

/* Whether the instruction at position k, which makes the value as output `at`, may make it in the state's memory: it is
 * the last to read the state, and reads it as the operand of the same position only. */
static bool may_overwrite(const rp_plan *plan, size_t k, size_t at, uint32_t state)
{
    const rp_instr *instr = rp_plan_at(plan, k);

    if (!(instr->op->flags & RP_OP_INPLACE) || at >= instr->n_in || instr->in[at] != state ||
        plan->block[state].last != k ||
        !rp_type_equal(&plan->program->value[instr->out[at]], &plan->program->value[state]) ||
        read_across(plan, k, state))
        return false;
    for (size_t i = 0; i < instr->n_in; i++)
        if (i != at && plan->root[instr->in[i]] == state)
            return false;
    return true;
}

static void overwrite_state(rp_plan *plan, const rp_output *output)
{
    const rp_program *p = plan->program;
    const rp_input *state = rp_program_state_of(p, output);
    const uint32_t value = plan->same[output->value];
    block *b = &plan->block[value];
    size_t at = 0;

    if (!state || !b->made || b->place == PLACE_FIXED || !(rp_plan_at(plan, b->first)->op->flags & RP_OP_INPLACE))
        return;
    while (rp_plan_at(plan, b->first)->out[at] != value)
        at++;
    if (!may_overwrite(plan, b->first, at, state->value))
        return;
    b->place = PLACE_FIXED;
    b->fixed = plan->block[state->value].fixed;
    plan->block[state->value].last = (uint32_t)plan->order.n;
}

/* ---- chains ---- */

/* A chain's instructions take turns block by block, so they count as one: what lives within a chain only goes to its
 * scratch, and everything else that a chain touches lives as long as the chain. */
static void widen(rp_plan *plan)
{
    const plan_order *order = &plan->order;

    for (size_t v = 0; v < plan->program->n_values; v++) {
        block *b = &plan->block[v];

        if (plan->root[v] != v || !b->made)
            continue;
        b->first = order->first[b->first];
        if (b->last < order->n) {
            const size_t end = rp_plan_chain_end(plan, order->first[b->last]);

            if (b->place == PLACE_ARENA && b->first == order->first[b->last] && end - b->first > 1)
                b->place = PLACE_SCRATCH;
            b->last = (uint32_t)end - 1;
        }
    }
}

/* Feeds of a program that does nothing but make them states. */
static void feed_states(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs && plan->order.n == 0; o++) {
        const rp_input *state = rp_program_state_of(p, &p->output[o]);
        block *b = &plan->block[plan->root[p->output[o].value]];

        if (!state || b->place != PLACE_OWN)
            continue;
        b->place = PLACE_FIXED;
        b->fixed = plan->block[state->value].fixed;
    }
}

void rp_plan_lifetimes(rp_plan *plan, void *const *input_memory)
{
    const rp_program *p = plan->program;

    begin(plan, input_memory);
    if (plan->start)
        feed_states(plan);
    read_and_made(plan);
    for (size_t o = 0; o < p->n_outputs; o++)
        if (p->output[o].kind == RP_OUTPUT_STATE && plan->passes & RP_PASS_INPLACE)
            overwrite_state(plan, &p->output[o]);
    widen(plan);
    rp_plan_hold_epilogues(plan);
}
