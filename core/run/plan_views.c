/* SPDX-License-Identifier: Apache-2.0
 * Views: strides decide whether a reshape needs a copy, and strides do not depend on where memory is, so a dry run on
 * offsets from a stand-in base tells views from copies before there is memory. */
#include <string.h>

#include "core/run/plan_private.h"

static void view_of(rp_plan *plan, const rp_instr *instr, char *base)
{
    const rp_program *p = plan->program;
    const uint32_t from = instr->in[0], to = instr->out[0];
    rp_view in = plan->view[from], out;

    in.data = base;
    if (instr->op->flags & RP_OP_PART) {
        in.data = NULL; /* strides alone: where it begins is irrelevant here, and might leave the stand-in */
        (void)instr->op->alias(instr->attr, &in, &p->value[to], &out);
        out.data = base;
    } else if (!instr->op->alias(instr->attr, &in, &p->value[to], &out)) {
        return;
    }
    plan->view[to] = out;
    plan->root[to] = plan->root[from];
}

void rp_plan_views(rp_plan *plan)
{
    const rp_program *p = plan->program;
    /* never dereferenced: it only has to be a pointer that offsets can be added to */
    char *base = (char *)plan->view;

    for (size_t v = 0; v < p->n_values; v++) {
        plan->same[v] = plan->root[v] = (uint32_t)v;
        plan->view[v] = rp_view_of(&p->value[v], base);
        plan->kind[v] = VALUE_MADE;
    }
    for (size_t i = 0; i < p->n_inputs; i++)
        plan->kind[p->input[i].value] = (unsigned char)p->input[i].kind;
    for (size_t k = 0; k < p->n_instrs; k++)
        if (p->instr[k].op->alias)
            view_of(plan, &p->instr[k], base);
}
