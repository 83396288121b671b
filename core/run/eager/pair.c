/* SPDX-License-Identifier: Apache-2.0
 * A scan and its gradient. A step executes the scan f, then, once it asks for gradients, f again with its history, and
 * a scan d whose function begins with f's instructions. Written as one program, the plans' pass over scans
 * (core/run/scans) makes two of these three: f with history and what the rest of d reads, and that rest. From the next
 * step on these are executed instead: the first when f comes, the second when d does. */
#include <string.h>

#include "base/memory.h"
#include "core/run/eager/pattern.h"
#include "core/run/plan_private.h"

/* What an operand of d is: a value of f, f's operand of that place, or, beyond both, the same as an earlier one of d
 * (itself). A pair fits where all of this is as it was. */
static uint32_t wire(const rp_instr *scan, const rp_instr *again, const rp_instr *d, size_t i)
{
    const uint32_t value = d->in[i];
    size_t before = 0;

    for (uint32_t k = 0; k < (uint32_t)again->n_out; k++)
        if (value == again->out[k] || (k < (uint32_t)scan->n_out && value == scan->out[k]))
            return k;
    for (uint32_t k = 0; k < again->n_in; k++)
        if (value == again->in[k])
            return (uint32_t)again->n_out + k;
    while (d->in[before] != value)
        before++;
    return (uint32_t)((size_t)again->n_out + again->n_in + before);
}

/* The first operand of the scan that is the same value as operand i. */
static uint32_t first_like(const rp_instr *scan, size_t i)
{
    uint32_t k = 0;

    while (scan->in[k] != scan->in[i])
        k++;
    return k;
}

bool rp_pair_fits(const pair *x, const rp_instr *scan, const rp_instr *again, const rp_instr *gradient)
{
    if (x->n_in != gradient->n_in || x->n_scan != again->n_in)
        return false;
    for (size_t i = 0; i < x->n_scan; i++)
        if (x->wiring[x->n_in + i] != first_like(again, i))
            return false;
    for (size_t i = 0; i < x->n_in; i++)
        if (x->wiring[i] != wire(scan, again, gradient, i))
            return false;
    return rp_region_equal(x->gradient, gradient->region);
}

void rp_pair_free(pair *x)
{
    if (!x)
        return;
    rp_planned_free(&x->forward);
    rp_planned_free(&x->backward);
    rp_region_free(x->gradient);
    rp_free(x->wiring);
    rp_free(x->from);
    rp_free(x);
}

/* ---- the two as one program ---- */

#define NOT_THERE UINT32_MAX
#define LATER (UINT32_MAX - 1) /* a value of the scan: no parameter */

/* A function's body under construction; value: of each of the step's values, what it is there. */
typedef struct both {
    const rp_program *p;
    const rp_instr *scan, *again, *gradient;
    rp_program *program;
    uint32_t *value;
} both;

static rp_status add_parameters(both *b, const rp_instr *of, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < of->n_in && status == RP_OK; i++) {
        uint32_t *value = &b->value[of->in[i]];

        if (*value == NOT_THERE)
            status = rp_program_add_parameter(b->program, &b->p->value[of->in[i]], value, err);
    }
    return status;
}

static rp_status add_region(both *b, const rp_instr *instr, rp_error *err)
{
    uint32_t *in = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out, sizeof *in), *out;
    rp_status status;

    if (!in)
        return rp_no_memory(err);
    out = in + instr->n_in;
    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = b->value[instr->in[i]];
    status = rp_program_add_region(b->program, instr->region, in, instr->n_in, out, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++) {
        b->value[instr->out[i]] = out[i];
        status = rp_program_add_return(b->program, out[i], err);
    }
    rp_free(in);
    return status;
}

static rp_status write_both(both *b, rp_error *err)
{
    rp_status status;

    memset(b->value, 0xFF, b->p->n_values * sizeof *b->value);
    for (int i = 0; i < b->again->n_out; i++) {
        b->value[b->again->out[i]] = LATER;
        if (i < b->scan->n_out)
            b->value[b->scan->out[i]] = LATER;
    }
    status = add_parameters(b, b->again, err);
    if (status == RP_OK)
        status = add_parameters(b, b->gradient, err);
    if (status == RP_OK)
        status = add_region(b, b->again, err);
    for (int i = 0; i < b->scan->n_out; i++)
        b->value[b->scan->out[i]] = b->value[b->again->out[i]];
    return status == RP_OK ? add_region(b, b->gradient, err) : status;
}

/* ---- the two that the pass makes of it ---- */

/* Where an operand of `backward` comes from. Parameters and values of the scan are in both programs in the same order,
 * but for what is stored, which stands between the scan's values and its history. */
static bool find_operand(const both *b, pair *x, const rp_instr *forward, uint32_t value, size_t *from)
{
    const uint32_t first = forward->out[0];
    uint32_t there = value;

    if (value >= first + x->outs && value < first + x->outs + x->stored) {
        *from = x->n_in + (value - first - x->outs);
        return true;
    }
    if (value >= first + x->outs)
        there -= (uint32_t)x->stored;
    for (size_t i = 0; i < x->n_in; i++)
        if (b->value[b->gradient->in[i]] == there) {
            *from = i;
            return true;
        }
    return false;
}

/* *fits: they are two scans as they should be. */
static rp_status take_apart(const both *b, pair *x, const rp_program *made, bool *fits, rp_device *device,
                            size_t stored, rp_error *err)
{
    const rp_instr *forward = &made->instr[0], *backward = &made->instr[1];
    const size_t outs = rp_function_outs(b->again->region->function[0]);
    rp_status status;

    *fits = made->n_instrs == 2 && forward->region && backward->region && forward->n_out >= b->again->n_out &&
            forward->out[0] == b->program->n_inputs;
    if (!*fits)
        return RP_OK;
    x->outs = outs;
    x->history = (size_t)b->again->n_out - outs;
    x->stored = (size_t)(forward->n_out - b->again->n_out);
    x->from = rp_reallocarray(NULL, backward->n_in, sizeof *x->from);
    if (!x->from)
        return rp_no_memory(err);
    for (size_t i = 0; i < backward->n_in && *fits; i++)
        *fits = find_operand(b, x, forward, backward->in[i], &x->from[i]);
    status = *fits ? rp_planned_new(&x->forward, made, forward, device, stored, err) : RP_OK;
    return *fits && status == RP_OK ? rp_planned_new(&x->backward, made, backward, device, stored, err) : status;
}

static rp_status note(pair *x, const both *b, rp_error *err)
{
    x->n_in = b->gradient->n_in;
    x->gradient = rp_region_copy(b->gradient->region);
    x->n_scan = b->again->n_in;
    x->wiring = rp_reallocarray(NULL, x->n_in + x->n_scan, sizeof *x->wiring);
    if (!x->gradient || !x->wiring)
        return rp_no_memory(err);
    for (size_t i = 0; i < x->n_in; i++)
        x->wiring[i] = wire(b->scan, b->again, b->gradient, i);
    for (size_t i = 0; i < x->n_scan; i++)
        x->wiring[x->n_in + i] = first_like(b->again, i);
    return RP_OK;
}

rp_status rp_pair_new(pair **out, const rp_program *p, const rp_instr *scan, const rp_instr *again,
                      const rp_instr *gradient, rp_device *device, size_t stored, rp_error *err)
{
    both b = {.p = p, .scan = scan, .again = again, .gradient = gradient, .program = rp_program_new()};
    pair *x = rp_calloc(1, sizeof *x);
    rp_program *made = NULL;
    bool fits = false;
    rp_status status;

    b.value = rp_reallocarray(NULL, p->n_values, sizeof *b.value);
    status = b.program && b.value && x ? note(x, &b, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = write_both(&b, err);
    if (status == RP_OK)
        status = rp_plan_scans_of(&made, b.program, stored, err);
    if (status == RP_OK)
        status = take_apart(&b, x, made ? made : b.program, &fits, device, stored, err);
    rp_program_free(made);
    rp_program_free(b.program);
    rp_free(b.value);
    *out = status == RP_OK && fits ? x : NULL;
    if (!*out)
        rp_pair_free(x);
    return status;
}
