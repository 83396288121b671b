/* SPDX-License-Identifier: Apache-2.0
 * Constants of a function that runs frame after frame in the same memory: small ones come first and keep their place to
 * the end, so that the first frame's are all frames'. What makes its outputs is none of them, and is marked for the
 * passes that follow, also where constants stay. */
#include <string.h>

#include "core/run/plan_private.h"

enum { SMALL = 64 /* bytes: what lives for the whole frame should not be missed elsewhere */ };

static void mark_outputs(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t maker = p->maker[plan->root[p->output[o].value]];

        if (maker != RP_NO_INSTR) /* a view of a parameter */
            plan->mark[maker] |= MARK_GIVEN;
    }
}

static bool is_constant(const rp_plan *plan, uint32_t k)
{
    const rp_instr *instr = &plan->program->instr[k];

    return instr->n_in == 0 && !instr->region && instr->n_out == 1 && !(plan->mark[k] & MARK_GIVEN) &&
           rp_type_bytes(&plan->program->value[instr->out[0]]) <= SMALL;
}

void rp_plan_constants(rp_plan *plan)
{
    uint32_t *instr = plan->order.instr, *rest = plan->order.first; /* which nobody has filled yet */
    size_t others = 0;

    if (!plan->function)
        return;
    mark_outputs(plan);
    if (!(plan->passes & RP_PASS_COMMON))
        return;
    for (size_t k = 0; k < plan->order.n; k++)
        if (is_constant(plan, instr[k]))
            instr[plan->constants++] = instr[k];
        else
            rest[others++] = instr[k];
    memcpy(instr + plan->constants, rest, others * sizeof *rest);
}
