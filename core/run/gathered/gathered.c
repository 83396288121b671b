/* SPDX-License-Identifier: Apache-2.0
 * Rows that are gathered for one reduction alone (core/program/indexing/gathered.h): the gather only looks at its
 * indices, where it stands, and the reduction's call does both. The rows' block is a piece of them. */
#include "base/memory.h"
#include "core/program/indexing/gathered.h"
#include "core/run/plan_private.h"

rp_status rp_plan_count_readers(const rp_plan *plan, uint32_t **readers, rp_error *err)
{
    const rp_program *p = plan->program;

    if (*readers)
        return RP_OK;
    *readers = rp_calloc(p->n_values, sizeof **readers);
    if (!*readers)
        return rp_no_memory(err);
    for (size_t k = 0; k < plan->order.n; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++)
            (*readers)[plan->root[rp_plan_at(plan, k)->in[i]]]++;
    for (size_t o = 0; o < p->n_outputs; o++)
        (*readers)[plan->root[p->output[o].value]]++;
    return RP_OK;
}

rp_status rp_plan_gathered(rp_plan *plan, uint32_t **readers, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_status status = RP_OK;

    if (!(plan->passes & RP_PASS_FUSE) || !rp_device_shares_memory(plan->device) || !rp_program_has(p, RP_PLAYS_GATHER))
        return RP_OK;
    for (size_t k = 0; k < plan->order.n && status == RP_OK; k++) {
        const rp_instr *reduce = rp_plan_at(plan, k);
        const uint32_t maker = reduce->op->flags & RP_OP_REDUCES ? p->maker[reduce->in[0]] : RP_NO_INSTR;

        if (maker == RP_NO_INSTR || !rp_gathered_fits(p, &p->instr[maker], reduce) ||
            plan->root[reduce->in[0]] != reduce->in[0])
            continue;
        status = rp_plan_count_readers(plan, readers, err);
        if (status != RP_OK || (*readers)[reduce->in[0]] != 1)
            continue;
        plan->mark[maker] |= MARK_GATHERED;
        plan->mark[plan->order.instr[k]] |= MARK_GATHERS;
    }
    return status;
}
