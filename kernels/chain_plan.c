/* SPDX-License-Identifier: Apache-2.0
 * Planning how a chain runs. */
#include "kernels/chain_plan.h"

#include <string.h>

#include "kernels/chain/registers.h"
#include "kernels/chain/shared.h"

enum { LONG_RUN = 128 /* elements */ };

bool rp_chain_whole(const rp_view *view, size_t count)
{
    size_t stride = 1;

    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->stride[d] != (ptrdiff_t)stride)
            return false;
        stride *= view->shape[d];
    }
    return stride == count;
}

/* Whether the view repeats one element. */
static bool repeats(const rp_view *view, size_t count)
{
    for (int d = 0; d < view->rank; d++)
        if (view->shape[d] != 1 && view->stride[d] != 0)
            return false;
    return rp_view_count(view) == count;
}

static bool same_layout(const rp_view *a, const rp_view *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
           memcmp(a->stride, b->stride, (size_t)a->rank * sizeof *a->stride) == 0;
}

/* Has view v of the chain written out, if it has an element for each of the outputs, is not one of long runs that a
 * kernel takes as they are, and there is room for another. */
static bool spread(rp_chain_plan *plan, const rp_chain *chain, size_t v)
{
    const size_t size = rp_dtype_size(chain->view[v].dtype);
    rp_spread *s = &plan->spread[plan->n_spreads];

    if (rp_view_count(&chain->view[v]) != chain->count)
        return false;
    for (size_t i = 0; i < v; i++)
        if (plan->spread_of[i] >= 0 && same_layout(&chain->view[i], &chain->view[v])) {
            plan->spread_of[v] = plan->spread_of[i];
            return true;
        }
    if (plan->n_spreads == RP_CHAIN_SPREADS)
        return false;
    rp_spread_begin(s, &chain->view[v]);
    if (s->shape[s->rank - 1] >= LONG_RUN && ((s->period == 0 && s->bytes[s->rank - 1] == (ptrdiff_t)size) ||
                                              (s->bytes[s->rank - 1] == 0 && size > sizeof(float))))
        return false; /* one element all along is a constant of its loop, but in registers, which hold binary32 */
    plan->spread_of[v] = (signed char)plan->n_spreads++;
    plan->spread_size = size > plan->spread_size ? size : plan->spread_size;
    return true;
}

/* The views of a step as vectors, where each is whole, repeats one element or is written out: a kernel begins sooner on
 * one axis than on several, and blocks are short. Positions stay what they are. */
static bool flatten(rp_chain_plan *plan, const rp_chain *chain, const rp_chain_step *step)
{
    const size_t count = chain->count, from = step->in, to = step->out + step->n_out;
    const size_t n_spreads = plan->n_spreads;
    bool once[RP_CHAIN_VIEWS], all = true;

    for (size_t v = from; v < to; v++) {
        const bool whole = rp_chain_whole(&plan->view[v], count);

        once[v] = !whole && repeats(&plan->view[v], count);
        all = all && (whole || once[v] || spread(plan, chain, v));
    }
    if (!all) { /* as they were */
        memset(plan->spread_of + from, -1, to - from);
        plan->n_spreads = n_spreads;
        return false;
    }
    for (size_t v = from; v < to; v++) {
        plan->view[v].rank = 1;
        plan->view[v].shape[0] = count;
        plan->view[v].stride[0] = once[v] ? 0 : 1;
    }
    return true;
}

bool rp_chain_past(const rp_chain_plan *plan, size_t view)
{
    for (size_t k = 0; k < plan->chain->n_steps; k = plan->end[k])
        if (plan->end[k] > k + 1 && plan->chain->step[plan->end[k] - 1].out == view)
            return plan->part[plan->begin[plan->end[k]] - 1].past != NULL;
    return false;
}

static void keep_slot(rp_chain_plan *plan, bool *kept, size_t view)
{
    const size_t slot = view == RP_CHAIN_VIEWS ? RP_CHAIN_SLOTS : plan->slot[view];

    if (slot == RP_CHAIN_SLOTS || kept[slot])
        return;
    kept[slot] = true;
    plan->compact[slot] = plan->n_compact++;
}

/* The slots that steps in registers read or store, as if there were no others. */
static void make_compact(rp_chain_plan *plan)
{
    const rp_chain *chain = plan->chain;
    bool kept[RP_CHAIN_SLOTS] = {false};

    for (size_t i = 0; i < plan->begin[chain->n_steps]; i++) {
        keep_slot(plan, kept, plan->part[i].load);
        keep_slot(plan, kept, plan->part[i].x);
        keep_slot(plan, kept, plan->part[i].store);
    }
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].stream != NULL)
            keep_slot(plan, kept, chain->scratch[i].view);
}

void rp_chain_plan_make(rp_chain_plan *plan, const rp_chain *chain, bool fuse)
{
    bool flat[RP_CHAIN_STEPS];

    plan->chain = chain;
    plan->n_spreads = plan->spread_size = 0;
    plan->n_compact = 0;
    memset(plan->compact, 0, sizeof plan->compact);
    memset(plan->spread_of, -1, sizeof plan->spread_of);
    memcpy(plan->view, chain->view, chain->n_views * sizeof *plan->view);
    for (size_t v = 0; v < chain->n_views; v++)
        plan->slot[v] = RP_CHAIN_SLOTS;
    for (size_t i = 0; i < chain->n_scratch; i++)
        plan->slot[chain->scratch[i].view] = chain->scratch[i].slot;
    for (size_t k = 0; k < chain->n_steps; k++)
        flat[k] = flatten(plan, chain, &chain->step[k]);
    rp_chain_shared_plan(plan);
    plan->begin[0] = 0;
    for (size_t k = 0; k < chain->n_steps; k = plan->end[k]) {
        plan->end[k] = k + 1;
        plan->begin[k + 1] = plan->begin[k];
        if (fuse)
            rp_chain_registers_plan(plan, k, flat);
    }
    if (chain->n_steps > 1 && plan->end[0] == chain->n_steps)
        make_compact(plan);
}

/* Address arithmetic in integers, as element 0 may lie before a scratch. */
static void *element(const rp_view *view, size_t i)
{
    return (void *)((uintptr_t)view->data + i * (size_t)view->stride[0] * rp_dtype_size(view->dtype));
}

void rp_chain_fused(rp_fused *fused, const rp_chain_plan *plan, const rp_view *view, size_t k, size_t first)
{
    fused->n = plan->begin[plan->end[k]] - plan->begin[k];
    fused->n_streams = 0;
    for (size_t i = 0; i < fused->n; i++) {
        const rp_chain_part *part = &plan->part[plan->begin[k] + i];
        rp_fused_step *step = &fused->step[i];

        *step = (rp_fused_step){.code = part->code, .mask = part->mask, .a = part->a, .b = part->b};
        memcpy(step->attr, part->attr, sizeof step->attr);
        step->stores_mask = part->is_mask;
        step->past = part->past != NULL;
        if (part->load != RP_CHAIN_VIEWS)
            step->load = element(&view[part->load], first);
        if (part->x != RP_CHAIN_VIEWS)
            step->x = element(&view[part->x], first);
        if (part->past)
            step->store = part->past + first;
        else if (part->store != RP_CHAIN_VIEWS)
            step->store = element(&view[part->store], first);
    }
}
