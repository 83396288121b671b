/* SPDX-License-Identifier: Apache-2.0
 * Who makes and who reads what in a chain. */
#include "kernels/gpu/chain/plan.h"

#include <string.h>

#include "kernels/chain_plan.h"

static size_t after_inputs(const rp_chain_step *step)
{
    return step->in + step->n_in;
}

static size_t after_outputs(const rp_chain_step *step)
{
    return step->out + step->n_out;
}

/* Of an operand in memory: the output of a step before k that lies there. */
static uint8_t made_in_memory(const rp_gpu_chain_plan *plan, size_t k, size_t v)
{
    const rp_view *view = &plan->view[v];

    if (!rp_chain_whole(view, plan->chain->count))
        return RP_GPU_MADE_BEFORE;
    while (k-- > 0) {
        const rp_chain_step *step = &plan->chain->step[k];

        for (size_t o = step->out; o < after_outputs(step); o++)
            if (plan->slot[o] == RP_GPU_NO_SLOT && plan->view[o].data == view->data &&
                plan->view[o].dtype == view->dtype)
                return (uint8_t)o;
    }
    return RP_GPU_MADE_BEFORE;
}

/* owner: of each slot, the output that is in it. */
static void add_operands(rp_gpu_chain_plan *plan, size_t k, const uint8_t *owner)
{
    const rp_chain_step *step = &plan->chain->step[k];

    for (size_t v = step->in; v < after_inputs(step); v++) {
        if (plan->slot[v] != RP_GPU_NO_SLOT) {
            plan->made[v] = owner[plan->slot[v]];
            plan->view[v].data = plan->view[plan->made[v]].data;
            plan->slot[v] = plan->slot[plan->made[v]];
        } else {
            plan->made[v] = made_in_memory(plan, k, v);
        }
        if (plan->made[v] != RP_GPU_MADE_BEFORE)
            plan->last[plan->made[v]] = (uint8_t)k;
    }
}

static void add_outputs(rp_gpu_chain_plan *plan, size_t k, uint8_t *owner, void *const *stream)
{
    const rp_chain_step *step = &plan->chain->step[k];

    for (size_t v = step->out; v < after_outputs(step); v++) {
        plan->by[v] = plan->last[v] = (uint8_t)k;
        if (plan->slot[v] == RP_GPU_NO_SLOT)
            continue;
        owner[plan->slot[v]] = (uint8_t)v;
        if (stream[v] != NULL) {
            plan->view[v].data = stream[v];
            plan->slot[v] = RP_GPU_NO_SLOT;
        }
    }
}

void rp_gpu_chain_plan_make(rp_gpu_chain_plan *plan, const rp_chain *chain)
{
    void *stream[RP_CHAIN_VIEWS] = {NULL};
    uint8_t owner[RP_CHAIN_SLOTS] = {0};

    plan->chain = chain;
    memcpy(plan->view, chain->view, chain->n_views * sizeof *plan->view);
    memset(plan->slot, RP_GPU_NO_SLOT, sizeof plan->slot);
    memset(plan->made, RP_GPU_MADE_BEFORE, sizeof plan->made);
    for (size_t i = 0; i < chain->n_scratch; i++) {
        plan->slot[chain->scratch[i].view] = (uint8_t)chain->scratch[i].slot;
        stream[chain->scratch[i].view] = chain->scratch[i].stream;
    }
    for (size_t k = 0; k < chain->n_steps; k++) {
        add_operands(plan, k, owner);
        add_outputs(plan, k, owner, stream);
    }
}
