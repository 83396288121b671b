/* SPDX-License-Identifier: Apache-2.0
 * One region: whether two execute the same, and a plan of one. An application makes its functions anew in every step,
 * and gradients make theirs, so functions are compared by their instructions. */
#include <string.h>

#include "base/memory.h"
#include "core/run/eager/pattern.h"
#include "core/run/plan_private.h"

/* ---- equal ---- */

enum { COMPARED_MAX = 1 << 16 }; /* instructions: functions that call others twice each would take for ever */

static bool same_functions(const rp_region *a, const rp_region *b, size_t *left);

static bool same_region(const rp_region *a, const rp_region *b, size_t *left)
{
    return a->kind == b->kind && a->n_functions == b->n_functions && a->carried == b->carried &&
           a->sliced == b->sliced && a->times == b->times && a->history == b->history && a->reverse == b->reverse &&
           a->first == b->first && a->n_cuts == b->n_cuts && a->n_combine == b->n_combine &&
           (!a->n_cuts || memcmp(a->cuts, b->cuts, a->n_cuts * sizeof *a->cuts) == 0) &&
           (!a->n_combine || memcmp(a->combine, b->combine, a->n_combine) == 0) && same_functions(a, b, left);
}

static bool same_instr(const rp_instr *a, const rp_instr *b, size_t *left)
{
    if ((*left)-- == 0 || a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || !a->region != !b->region ||
        memcmp(a->in, b->in, a->n_in * sizeof *a->in) != 0)
        return false;
    if (a->region)
        return same_region(a->region, b->region, left);
    for (int i = 0; i < RP_MAX_ATTR && a->op->attr[i].kind != RP_ATTR_NONE; i++)
        if (!rp_plan_same_attr(a->op->attr[i].kind, &a->attr[i], &b->attr[i]))
            return false;
    return true;
}

/* Values are numbered in order, so equal instructions on equal parameters have equal values. */
static bool same_body(const rp_program *a, const rp_program *b, size_t *left)
{
    if (a->n_inputs != b->n_inputs || a->n_instrs != b->n_instrs || a->n_values != b->n_values ||
        a->n_outputs != b->n_outputs)
        return false;
    for (size_t i = 0; i < a->n_inputs; i++)
        if (!rp_type_equal(&a->value[i], &b->value[i]))
            return false;
    for (size_t i = 0; i < a->n_outputs; i++)
        if (a->output[i].value != b->output[i].value)
            return false;
    for (size_t k = 0; k < a->n_instrs; k++)
        if (!same_instr(&a->instr[k], &b->instr[k], left))
            return false;
    return true;
}

static bool same_functions(const rp_region *a, const rp_region *b, size_t *left)
{
    for (size_t i = 0; i < a->n_functions; i++)
        if (a->function[i] != b->function[i] && !same_body(a->function[i]->body, b->function[i]->body, left))
            return false;
    return true;
}

bool rp_region_equal(const rp_region *a, const rp_region *b)
{
    size_t left = COMPARED_MAX;

    return same_region(a, b, &left);
}

/* ---- plans ---- */

static rp_status wrap(rp_function **out, const rp_program *p, const rp_instr *instr, rp_error *err)
{
    rp_program *body = rp_program_new();
    uint32_t *value = rp_reallocarray(NULL, instr->n_in + (size_t)instr->n_out, sizeof *value), *made;
    rp_status status = body && value ? RP_OK : rp_no_memory(err);

    made = value ? value + instr->n_in : NULL;
    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        status = rp_program_add_parameter(body, &p->value[instr->in[i]], &value[i], err);
    if (status == RP_OK)
        status = rp_program_add_region(body, instr->region, value, instr->n_in, made, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        status = rp_program_add_return(body, made[i], err);
    rp_free(value);
    if (status != RP_OK) {
        rp_program_free(body);
        return status;
    }
    status = rp_function_new(out, body, err);
    if (status == RP_OK && !((*out)->number = rp_calloc(1, sizeof *(*out)->number))) /* told when it is executed */
        status = rp_no_memory(err);
    return status;
}

rp_status rp_planned_new(planned *out, const rp_program *p, const rp_instr *instr, rp_device *device, size_t stored,
                         rp_error *err)
{
    rp_status status;

    *out = (planned){0};
    status = wrap(&out->function, p, instr, err);
    if (status == RP_OK)
        status = rp_plan_new_function(&out->plan, out->function, device, stored, err);
    if (status != RP_OK)
        rp_planned_free(out);
    return status;
}

void rp_planned_free(planned *p)
{
    rp_plan_free(p->plan);
    rp_function_release(p->function);
    *p = (planned){0};
}
