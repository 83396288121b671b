/* SPDX-License-Identifier: Apache-2.0
 * Products that are made for one sum alone (core/program/composed/dots.h): the sum's call makes both, and the product
 * is nobody's work. One that is in a chain with others stays there. */
#include "core/program/composed/dots.h"
#include "core/run/plan_private.h"

enum { BEHIND = 64 /* positions in which the product is looked for */ };

/* The position of an instruction that is alone in its chain; k: it is not, or far away. */
static size_t alone_before(const rp_plan *plan, size_t k, uint32_t instr)
{
    const size_t least = k < BEHIND ? 0 : k - BEHIND;

    for (size_t q = k; q-- > least;)
        if (plan->order.instr[q] == instr)
            return plan->order.first[q] == q && rp_plan_chain_end(plan, q) == q + 1 ? q : k;
    return k;
}

static bool lie_in_order(const rp_plan *plan, const rp_instr *product)
{
    bool all = true;

    for (size_t i = 0; i < product->n_in; i++)
        all = all && rp_view_contiguous(&plan->view[product->in[i]]);
    return all;
}

rp_status rp_plan_dots(rp_plan *plan, uint32_t **readers, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_status status = RP_OK;

    if (!(plan->passes & RP_PASS_FUSE) || !rp_device_shares_memory(plan->device) || !rp_device_has_dots(plan->device) ||
        !rp_program_has(p, RP_PLAYS_SUM) || !rp_program_has(p, RP_PLAYS_MUL))
        return RP_OK;
    for (size_t k = 0; k < plan->order.n && status == RP_OK; k++) {
        const rp_instr *sum = rp_plan_at(plan, k);
        const uint32_t maker = sum->op->role == RP_PLAYS_SUM ? p->maker[sum->in[0]] : RP_NO_INSTR;

        if (maker == RP_NO_INSTR || !rp_dots_fit(p, &p->instr[maker], sum) || plan->root[sum->in[0]] != sum->in[0] ||
            alone_before(plan, k, maker) == k || !lie_in_order(plan, &p->instr[maker]))
            continue;
        status = rp_plan_count_readers(plan, readers, err);
        if (status != RP_OK || (*readers)[sum->in[0]] != 1)
            continue;
        plan->mark[maker] |= MARK_PRODUCT;
        plan->mark[plan->order.instr[k]] |= MARK_DOTS;
    }
    return status;
}
