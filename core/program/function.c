/* SPDX-License-Identifier: Apache-2.0
 * Functions and regions as objects: making, sharing, freeing. */
#include "core/program/function.h"

#include <string.h>

#include "base/memory.h"

/* Outputs are computed and distinct: two names for one value, or a parameter handed through, would be aliases that
 * every plan had to know of. */
static rp_status check_outputs(const rp_program *body, rp_error *err)
{
    unsigned char *taken = rp_calloc(body->n_values, 1);
    rp_status status = taken ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && body->n_outputs == 0)
        status = rp_fail(err, RP_ESHAPE, "function: no output, expected at least one");
    for (size_t i = 0; i < body->n_outputs && status == RP_OK; i++) {
        const uint32_t value = body->output[i].value;

        if (value < body->n_inputs)
            status = rp_fail(err, RP_ESHAPE, "function: output %zu is parameter %u, expected a computed value", i,
                             (unsigned)value);
        else if (taken[value]++)
            status = rp_fail(err, RP_ESHAPE, "function: output %zu is value %u, which is an output already", i,
                             (unsigned)value);
    }
    rp_free(taken);
    return status;
}

static rp_status check_inputs(const rp_program *body, rp_error *err)
{
    for (size_t i = 0; i < body->n_inputs; i++)
        if (body->input[i].kind != RP_INPUT_PARAMETER || body->input[i].value != i)
            return rp_fail(err, RP_ESHAPE,
                           "function: input %zu is not a parameter before all instructions: functions have no "
                           "states, data or feeds",
                           i);
    for (size_t i = 0; i < body->n_outputs; i++)
        if (body->output[i].kind != RP_OUTPUT_VALUE)
            return rp_fail(err, RP_ESHAPE, "function: output %s has a name: functions have no states or results",
                           body->output[i].name);
    return RP_OK;
}

static int depth_of(const rp_program *body)
{
    int depth = 0;

    for (size_t k = 0; k < body->n_instrs; k++)
        for (size_t i = 0; body->instr[k].region && i < body->instr[k].region->n_functions; i++)
            if (body->instr[k].region->function[i]->depth > depth)
                depth = body->instr[k].region->function[i]->depth;
    return depth + 1;
}

static bool reads_first(const rp_program *body)
{
    for (size_t k = 0; k < body->n_instrs && body->n_inputs; k++)
        for (size_t i = 0; i < body->instr[k].n_in; i++)
            if (body->instr[k].in[i] == 0)
                return true;
    return false;
}

rp_status rp_function_new(rp_function **out, rp_program *body, rp_error *err)
{
    rp_function *f = rp_calloc(1, sizeof *f);
    rp_status status = f ? check_inputs(body, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK)
        status = check_outputs(body, err);
    if (status == RP_OK && body->n_prints)
        status = rp_fail(err, RP_ESHAPE,
                         "function: rp_print of %s inside it: return the value, and print what the region gives",
                         body->print[0].name);
    if (status == RP_OK) {
        f->body = body;
        f->depth = depth_of(body);
        f->reads_first = reads_first(body);
        f->price = rp_program_price(body);
        atomic_init(&f->users, 1);
        if (f->depth > RP_CALL_DEPTH_MAX)
            status = rp_fail(err, RP_ESHAPE, "function: calls are %d deep, expected at most %d", f->depth,
                             RP_CALL_DEPTH_MAX);
    }
    if (status == RP_OK) {
        *out = f;
        return RP_OK;
    }
    rp_program_free(body);
    rp_free(f);
    return status;
}

rp_function *rp_function_hold(rp_function *f)
{
    atomic_fetch_add_explicit(&f->users, 1, memory_order_relaxed);
    return f;
}

void rp_function_release(rp_function *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->users, 1, memory_order_acq_rel) != 1)
        return;
    rp_program_free(f->body);
    rp_free(f->number);
    rp_free(f);
}

/* ---- regions ---- */

rp_region *rp_region_copy(const rp_region *r)
{
    rp_region *copy = rp_calloc(1, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *r;
    copy->function = rp_reallocarray(NULL, r->n_functions, sizeof *copy->function);
    copy->cuts = r->n_cuts ? rp_reallocarray(NULL, r->n_cuts, sizeof *copy->cuts) : NULL;
    copy->combine = r->n_combine ? rp_malloc(r->n_combine) : NULL;
    if (!copy->function || (r->n_cuts && !copy->cuts) || (r->n_combine && !copy->combine)) {
        rp_free(copy->function);
        rp_free(copy->cuts);
        rp_free(copy->combine);
        rp_free(copy);
        return NULL;
    }
    for (size_t i = 0; i < r->n_functions; i++)
        copy->function[i] = rp_function_hold(r->function[i]);
    if (r->n_cuts)
        memcpy(copy->cuts, r->cuts, r->n_cuts * sizeof *r->cuts);
    if (r->n_combine)
        memcpy(copy->combine, r->combine, r->n_combine);
    return copy;
}

void rp_region_free(rp_region *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_functions; i++)
        rp_function_release(r->function[i]);
    rp_free(r->function);
    rp_free(r->cuts);
    rp_free(r->combine);
    rp_free(r);
}

static const rp_op row[RP_REGION_KINDS] = {
    [RP_CALL] = {.name = "call", .n_in = RP_MANY, .flags = RP_OP_REGION},
    [RP_SCAN] = {.name = "scan", .n_in = RP_MANY, .flags = RP_OP_REGION},
    [RP_MAP] = {.name = "map", .n_in = RP_MANY, .flags = RP_OP_REGION},
    [RP_COND] = {.name = "cond", .n_in = RP_MANY, .flags = RP_OP_REGION},
    [RP_WHILE] = {.name = "while", .n_in = RP_MANY, .flags = RP_OP_REGION},
};

const rp_op *rp_region_op(rp_region_kind kind)
{
    return &row[kind];
}

rp_region_kind rp_region_find(const char *name)
{
    rp_region_kind kind = RP_CALL;

    while (kind < RP_REGION_KINDS && strcmp(row[kind].name, name) != 0)
        kind++;
    return kind;
}

size_t rp_region_shards(const rp_region *r)
{
    size_t n = 0;

    for (size_t s = 0; s + 1 < r->n_cuts; s++)
        n += rp_shard_rows(r, s) > 0;
    return n;
}
