/* SPDX-License-Identifier: Apache-2.0
 * A program with some instructions replaced. */
#include "core/run/rewrites/rewrites.h"

#include <string.h>

#include "base/memory.h"

rp_status rp_changes_begin(rp_changes *c, const rp_program *p, rp_error *err)
{
    *c = (rp_changes){.of = rp_reallocarray(NULL, p->n_instrs, sizeof *c->of)};
    if (!c->of)
        return rp_no_memory(err);
    for (size_t k = 0; k < p->n_instrs; k++)
        c->of[k] = RP_NO_INSTR;
    return RP_OK;
}

void rp_changes_free(rp_changes *c)
{
    for (size_t i = 0; i < c->n; i++)
        rp_free(c->changed[i].in);
    rp_free(c->changed);
    rp_free(c->of);
}

rp_changed *rp_changes_at(rp_changes *c, uint32_t k, size_t n_in)
{
    uint32_t *in;

    if (c->n == c->cap) {
        const size_t cap = c->cap ? 2 * c->cap : 16;
        rp_changed *bigger = rp_reallocarray(c->changed, cap, sizeof *bigger);

        if (!bigger)
            return NULL;
        c->changed = bigger;
        c->cap = cap;
    }
    in = rp_calloc(n_in, sizeof *in);
    if (!in && n_in)
        return NULL;
    c->of[k] = (uint32_t)c->n;
    c->changed[c->n] = (rp_changed){.in = in, .n_in = n_in};
    return &c->changed[c->n++];
}

uint32_t *rp_readers(const rp_program *p)
{
    uint32_t *reader = rp_reallocarray(NULL, p->n_values, sizeof *reader);

    if (!reader)
        return NULL;
    memset(reader, 0xFF, p->n_values * sizeof *reader);
    for (uint32_t k = 0; k < p->n_instrs; k++)
        for (size_t i = 0; i < p->instr[k].n_in; i++)
            reader[p->instr[k].in[i]] = reader[p->instr[k].in[i]] == RP_NOBODY ? k : RP_SEVERAL;
    for (size_t o = 0; o < p->n_outputs; o++)
        reader[p->output[o].value] = RP_SEVERAL;
    return reader;
}

static rp_status put_instr(rp_program *to, const rp_program *p, size_t k, const rp_changes *c, rp_error *err)
{
    uint32_t out[RP_MAX_OUT];
    const rp_changed *changed = c->of[k] == RP_NO_INSTR ? NULL : &c->changed[c->of[k]];

    rp_status status = changed
                           ? rp_program_add_instr(to, changed->op, changed->attr, changed->in, changed->n_in, out, err)
                           : rp_program_copy_instr(to, p, &p->instr[k], err);

    rp_program_mark_like(to, to->n_instrs - (status == RP_OK), p->instr[k].mark);
    return status;
}

/* What an error calls an instruction stays what it was. */
static rp_status keep_numbers(rp_plan *plan, rp_error *err)
{
    const size_t n = plan->program->n_instrs;

    if (plan->number)
        return RP_OK;
    plan->number = rp_reallocarray(NULL, n, sizeof *plan->number);
    if (!plan->number)
        return rp_no_memory(err);
    for (size_t k = 0; k < n; k++)
        plan->number[k] = (uint32_t)k;
    return RP_OK;
}

rp_status rp_plan_change(rp_plan *plan, const rp_changes *c, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_program *to = rp_program_new_like(p);
    rp_status status = to ? keep_numbers(plan, err) : rp_no_memory(err);

    for (size_t k = 0, inputs = 0; status == RP_OK && (inputs < p->n_inputs || k < p->n_instrs);) {
        if (inputs < p->n_inputs && p->input[inputs].value == to->n_values)
            status = rp_program_copy_input(to, p, &p->input[inputs++], err);
        else
            status = put_instr(to, p, k++, c, err);
    }
    for (size_t o = 0; o < p->n_outputs && status == RP_OK; o++)
        status = rp_program_copy_output(to, &p->output[o], err);
    if (status != RP_OK) {
        rp_program_free(to);
        return status;
    }
    rp_program_free(plan->written);
    plan->program = plan->written = to;
    return RP_OK;
}
