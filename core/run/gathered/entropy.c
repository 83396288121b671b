/* SPDX-License-Identifier: Apache-2.0
 * Cross entropy of rows whose logsumexp is wanted too, as by a loss whose labels are smoothed: both are made of the
 * row's maximum and the sum of its exponentials, so the first call makes both, and the second is nobody's work. */
#include "core/run/plan_private.h"

enum { AHEAD = 64 /* positions in which the logsumexp is looked for */ };

/* Whether `sum` is the logsumexp of each row of what the cross entropy takes. */
static bool of_same_rows(const rp_plan *plan, const rp_instr *entropy, const rp_instr *sum)
{
    const rp_attr *axes = &RP_AT(sum->attr, logsumexp, axes);

    return sum->op == entropy->op->also && plan->same[sum->in[0]] == plan->same[entropy->in[0]] && axes->n == 1 &&
           axes->list[0] == 1;
}

void rp_plan_entropies(rp_plan *plan)
{
    if (!(plan->passes & RP_PASS_FUSE) || !rp_device_shares_memory(plan->device))
        return;
    for (size_t k = plan->constants; k < plan->order.n; k++) {
        if (!rp_plan_at(plan, k)->op->also)
            continue;
        for (size_t q = k + 1; q < plan->order.n && q < k + AHEAD; q++) {
            uint16_t *mark = &plan->mark[plan->order.instr[q]];

            if (*mark & MARK_BOTH || !of_same_rows(plan, rp_plan_at(plan, k), rp_plan_at(plan, q)))
                continue;
            *mark |= MARK_BOTH;
            plan->mark[plan->order.instr[k]] |= MARK_BOTH;
            plan->block[rp_plan_at(plan, q)->out[0]].first = (uint32_t)k;
            break;
        }
    }
}

const rp_instr *rp_plan_made_with(const rp_plan *plan, const rp_instr *entropy)
{
    const uint32_t at = plan->block[entropy->out[0]].first;
    size_t k = at + 1;

    /* Where equal instructions stay several, another cross entropy's may come before its own. */
    while (!of_same_rows(plan, entropy, rp_plan_at(plan, k)) || plan->block[rp_plan_at(plan, k)->out[0]].first != at)
        k++;
    return rp_plan_at(plan, k);
}
