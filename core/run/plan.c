/* SPDX-License-Identifier: Apache-2.0
 * Planning: (1) which values share memory as views, (2) the order and its chains, (3) lifetimes, (4) which outputs may
 * overwrite a state in place, (5) first-fit placement in one arena, (6) bound calls (core/run/bind.c). */
#include <string.h>

#include "base/memory.h"
#include "core/program/graph.h"
#include "core/run/plan_private.h"
#include "determinism/fpenv.h"

enum { ALIGN = 64 };

void rp_plan_free(rp_plan *plan)
{
    if (!plan)
        return;
    if (plan->arena)
        rp_device_release(plan->device, plan->arena);
    rp_free(plan->view);
    rp_free(plan->root);
    rp_free(plan->block);
    rp_order_free(&plan->order);
    for (size_t i = 0; i < plan->n_calls; i++)
        rp_free(plan->call[i].chain);
    rp_free(plan->call);
    rp_free(plan->operands);
    rp_free(plan->output);
    rp_free(plan);
}

/* Strides decide whether a reshape needs a copy, and strides do not depend on where memory is: a dry run on offsets
 * from a stand-in base tells views from copies before the arena exists. */
static void dry_run(rp_plan *plan)
{
    const rp_program *p = plan->program;
    /* never dereferenced: it only has to be a pointer that offsets can be added to */
    char *base = (char *)plan->view;

    for (size_t v = 0; v < p->n_values; v++) {
        plan->root[v] = (uint32_t)v;
        plan->view[v] = rp_view_of(&p->value[v], base);
    }
    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];
        rp_view in, out;

        if (!instr->op->alias)
            continue;
        in = plan->view[instr->in[0]];
        in.data = base;
        if (instr->op->flags & RP_OP_PART) {
            /* offsets from the base are irrelevant here, and might leave the stand-in */
            out = rp_view_of(&p->value[instr->out[0]], base);
            memcpy(out.stride, in.stride, sizeof out.stride);
            plan->view[instr->out[0]] = out;
            plan->root[instr->out[0]] = plan->root[instr->in[0]];
        } else if (instr->op->alias(instr->attr, &in, &p->value[instr->out[0]], &out)) {
            plan->view[instr->out[0]] = out;
            plan->root[instr->out[0]] = plan->root[instr->in[0]];
        }
    }
}

/* Lifetimes in positions; outputs live to the end. */
static void lifetimes(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++) {
        plan->block[v] = (block){.bytes = rp_type_bytes(&p->value[v])};
        if (plan->block[v].bytes == 0)
            plan->block[v].bytes = 1;
    }
    for (size_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = &p->instr[plan->order.instr[k]];

        for (int i = 0; i < instr->n_out; i++) {
            block *b = &plan->block[instr->out[i]];

            b->first = b->last = k;
            b->made = true;
        }
        for (size_t i = 0; i < instr->n_in; i++)
            plan->block[plan->root[instr->in[i]]].last = k;
    }
    for (size_t i = 0; i < p->n_outputs; i++)
        plan->block[plan->root[p->output[i].value]].last = plan->order.n;
}

/* A chain's instructions take turns block by block, so they count as one: what lives within a chain only goes to its
 * scratch, and everything else that a chain touches lives as long as the chain. */
static void widen_lifetimes(rp_plan *plan)
{
    const rp_order *order = &plan->order;

    for (size_t v = 0; v < plan->program->n_values; v++) {
        block *b = &plan->block[v];

        if (plan->root[v] != v || b->fixed || b->first >= order->n)
            continue;
        b->first = order->first[b->first];
        if (b->last < order->n) {
            size_t end = rp_order_end(order, order->first[b->last]);

            b->scratch = b->made && b->first == order->first[b->last] && end - b->first > 1;
            b->last = end - 1;
        }
    }
}

/* Whether an instruction before position k in the same chain reads the state by other than its own element: it would
 * find elements that k overwrote in an earlier block. */
static bool read_across(const rp_plan *plan, size_t k, uint32_t state)
{
    for (size_t i = plan->order.first[k]; i < k; i++) {
        const rp_instr *instr = &plan->program->instr[plan->order.instr[i]];

        for (size_t n = 0; n < instr->n_in; n++)
            if (plan->root[instr->in[n]] == state &&
                !rp_view_is_whole(&plan->view[instr->in[n]], &plan->program->value[instr->out[0]]))
                return true;
    }
    return false;
}

/* A state output may be written over the state's own memory when the instruction that makes it is the last to read the
 * state, reads it only as the operand of the same position, and nothing else keeps the old value. */
static void overwrite_states(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_input *state;
        uint32_t value = p->output[o].value;

        if (p->output[o].kind != RP_OUTPUT_STATE || plan->block[value].fixed)
            continue;
        state = rp_program_find_input(p, RP_INPUT_STATE, p->output[o].name);
        if (!state)
            continue;
        for (size_t k = plan->order.n; k-- > 0;) {
            const rp_instr *instr = &p->instr[plan->order.instr[k]];
            int at = -1;

            for (int i = 0; i < instr->n_out; i++)
                if (instr->out[i] == value)
                    at = i;
            if (at < 0)
                continue;
            if (instr->op->flags & RP_OP_INPLACE && (size_t)at < instr->n_in && instr->in[at] == state->value &&
                plan->block[state->value].last == k && rp_type_equal(&p->value[value], &p->value[state->value])) {
                bool elsewhere = read_across(plan, k, state->value);

                for (size_t i = 0; i < instr->n_in; i++)
                    elsewhere = elsewhere || ((int)i != at && plan->root[instr->in[i]] == state->value);
                if (!elsewhere) {
                    plan->block[value].fixed = plan->block[state->value].fixed;
                    plan->block[state->value].last = plan->order.n;
                }
            }
            break;
        }
    }
}

/* The living blocks, sorted by offset. */
typedef struct fit {
    uint32_t *placed;
    size_t n;
} fit;

/* Puts value v's block at the lowest offset where no living block overlaps. */
static void place_block(rp_plan *plan, fit *f, uint32_t v)
{
    block *b = &plan->block[v];
    size_t offset = 0, kept = 0, at = 0;

    for (size_t i = 0; i < f->n; i++)
        if (plan->block[f->placed[i]].last >= b->first)
            f->placed[kept++] = f->placed[i];
    f->n = kept;
    for (; at < f->n; at++) {
        const block *other = &plan->block[f->placed[at]];

        if (offset + b->bytes <= other->offset)
            break;
        offset = other->offset + (other->bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    memmove(f->placed + at + 1, f->placed + at, (f->n - at) * sizeof *f->placed);
    f->placed[at] = v;
    f->n++;
    b->offset = offset;
    if (offset + b->bytes > plan->arena_bytes)
        plan->arena_bytes = offset + b->bytes;
}

/* First fit by lifetimes. Feeds come first: they are written before the first instruction, wherever the eager tape
 * first mentioned them; then values in order of birth, so that a block dropped as dead stays dead. */
static rp_status place(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    fit f = {rp_malloc(p->n_values * sizeof *f.placed), 0};

    if (!f.placed)
        return rp_no_memory(err);
    for (size_t i = 0; i < p->n_inputs; i++)
        if (!plan->block[p->input[i].value].fixed)
            place_block(plan, &f, p->input[i].value);
    for (size_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = &p->instr[plan->order.instr[k]];

        for (int i = 0; i < instr->n_out; i++)
            if (!plan->block[instr->out[i]].fixed && !plan->block[instr->out[i]].scratch)
                place_block(plan, &f, instr->out[i]);
    }
    rp_free(f.placed);
    return plan->arena_bytes ? rp_device_allocate(plan->device, &plan->arena, plan->arena_bytes, err) : RP_OK;
}

/* Two states that exchange values would be overwritten before they are read: the copies at the end run one after
 * another, so a new value that lives in another state's memory is refused. Results must be contiguous to be hashed.
 * Programs made by rp_run satisfy both (core/run/run.c copies where needed). */
static rp_status check_outputs(const rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        uint32_t root = plan->root[p->output[o].value];
        bool is_input = plan->block[root].fixed != NULL && root < p->n_values && plan->block[root].first == 0;
        const rp_input *state =
            p->output[o].kind == RP_OUTPUT_STATE ? rp_program_find_input(p, RP_INPUT_STATE, p->output[o].name) : NULL;

        if (p->output[o].kind == RP_OUTPUT_STATE &&
            (!state || !rp_type_equal(&p->value[state->value], &p->value[p->output[o].value])))
            return rp_fail(err, RP_EFORMAT, "program: state %s has no input of the same type", p->output[o].name);
        for (size_t i = 0; is_input && i < p->n_inputs; i++)
            if (p->input[i].kind == RP_INPUT_STATE && p->input[i].value == root)
                return rp_fail(err, RP_EFORMAT, "program: output %s is a state itself, expected a computed value",
                               p->output[o].name);
        if (!rp_view_contiguous(&plan->view[p->output[o].value]))
            return rp_fail(err, RP_EFORMAT, "program: output %s is not contiguous", p->output[o].name);
    }
    return RP_OK;
}

rp_status rp_plan_new(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                      rp_error *err)
{
    rp_plan *plan = rp_calloc(1, sizeof *plan);
    rp_status status;

    *out = NULL;
    if (!plan)
        return rp_no_memory(err);
    plan->program = program;
    plan->device = device;
    plan->view = rp_malloc(program->n_values * sizeof *plan->view);
    plan->root = rp_malloc(program->n_values * sizeof *plan->root);
    plan->block = rp_malloc(program->n_values * sizeof *plan->block);
    if (!plan->view || !plan->root || !plan->block) {
        rp_plan_free(plan);
        return rp_no_memory(err);
    }
    dry_run(plan);
    status = rp_order_new(&plan->order, program, plan->root, plan->view, err);
    if (status != RP_OK) {
        rp_plan_free(plan);
        return status;
    }
    lifetimes(plan);
    for (size_t i = 0; i < program->n_inputs; i++) {
        block *b = &plan->block[program->input[i].value];

        b->fixed = input_memory[i];
        b->first = 0;
        if (!b->fixed) /* feeds are written before the first instruction and must survive until read */
            b->last = plan->order.n;
    }
    overwrite_states(plan);
    widen_lifetimes(plan);
    status = check_outputs(plan, err);
    if (status == RP_OK)
        status = place(plan, err);
    if (status == RP_OK)
        status = rp_plan_bind(plan, err);
    if (status != RP_OK)
        rp_plan_free(plan);
    else
        *out = plan;
    return status;
}

void *rp_plan_feed(const rp_plan *plan, size_t input)
{
    return plan->view[plan->program->input[input].value].data;
}

rp_status rp_plan_run(rp_plan *plan, rp_error *err)
{
    return rp_plan_run_settling(plan, NULL, NULL, err);
}

rp_status rp_plan_run_settling(rp_plan *plan, rp_status (*settle)(void *arg, rp_error *err), void *arg, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err), settled;

    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < plan->n_calls && status == RP_OK; i++) {
        const call *c = &plan->call[i];

        if (settle && i == plan->first_write)
            status = settle(arg, err);
        if (status != RP_OK)
            break;
        if (c->region)
            status = rp_frames_eager(plan->device, plan->program, c->region, c->in, c->in + c->n_in, err);
        else if (c->chain)
            status = rp_device_launch_chain(plan->device, c->chain, NULL, err);
        else
            status = c->op ? rp_execute(plan->device, c->op,
                                        &(rp_kernel_args){c->in, c->n_in, c->out, (size_t)c->op->n_out, c->attr},
                                        c->instr, err)
                           : rp_execute_copy(plan->device, &c->in[0], &c->out[0], err);
    }
    settled = rp_execute_settle(plan->device, plan->program, status == RP_OK ? err : NULL);
    rp_fpenv_leave(&saved);
    return status == RP_OK ? settled : status;
}

void *rp_plan_output(const rp_plan *plan, size_t output)
{
    return plan->output[output];
}

size_t rp_plan_arena_bytes(const rp_plan *plan)
{
    return plan->arena_bytes;
}

size_t rp_plan_launches(const rp_plan *plan)
{
    return plan->n_calls;
}
