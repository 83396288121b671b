/* SPDX-License-Identifier: Apache-2.0
 * Dead code: what no output needs is not executed. What can fail is executed all the same, since an index out of its
 * range is an error of the step, whoever reads the value (CONTRACT 11.1). */
#include "base/memory.h"
#include "core/run/plan_private.h"

static bool is_wanted(const rp_plan *plan, const bool *needed, const rp_instr *instr)
{
    bool wanted = !(plan->passes & RP_PASS_DEAD) || rp_plan_can_fail(instr);

    for (int i = 0; i < instr->n_out; i++)
        wanted = wanted || needed[instr->out[i]];
    return wanted;
}

rp_status rp_plan_dead(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    bool *needed = rp_calloc(p->n_values, sizeof *needed);

    if (!needed)
        return rp_no_memory(err);
    for (size_t o = 0; o < p->n_outputs; o++)
        needed[plan->same[p->output[o].value]] = true;
    for (size_t k = p->n_instrs; k-- > 0;) {
        const rp_instr *instr = &p->instr[k];
        const uint32_t out = instr->out[0];

        plan->executed[k] = false;
        if (plan->same[out] != out || !is_wanted(plan, needed, instr))
            continue;
        plan->executed[k] = plan->root[out] == out;
        for (size_t i = 0; i < instr->n_in; i++)
            needed[plan->same[instr->in[i]]] = true;
    }
    rp_free(needed);
    return RP_OK;
}
