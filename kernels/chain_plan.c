/* SPDX-License-Identifier: Apache-2.0
 * Planning how a chain runs. */
#include "kernels/chain_plan.h"

#include <string.h>

enum { NO_SLOT = RP_CHAIN_SLOTS, LONG_RUN = 128 /* elements */ };

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
    if (s->period == 0 && s->bytes[s->rank - 1] == (ptrdiff_t)size && s->shape[s->rank - 1] >= LONG_RUN)
        return false;
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

/* The slot of the scratch that a view is in. */
static size_t slot_of(const rp_chain *chain, size_t v)
{
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].view == v)
            return chain->scratch[i].slot;
    return NO_SLOT;
}

static bool same_place(const rp_chain *chain, size_t a, size_t b)
{
    const size_t slot = slot_of(chain, a);

    return slot == slot_of(chain, b) && (slot != NO_SLOT || chain->view[a].data == chain->view[b].data);
}

/* Whether the step's kernel has a place among the fused operations. */
static bool operation(const rp_chain_step *step, rp_fused_op *op)
{
    switch (step->kernel) {
    case RP_K_add:
        *op = RP_FUSED_ADD;
        return true;
    case RP_K_sub:
        *op = RP_FUSED_SUB;
        return true;
    case RP_K_mul:
        *op = RP_FUSED_MUL;
        return true;
    case RP_K_div:
        *op = RP_FUSED_DIV;
        return true;
    case RP_K_maximum:
        *op = RP_FUSED_MAXIMUM;
        return true;
    case RP_K_minimum:
        *op = RP_FUSED_MINIMUM;
        return true;
    case RP_K_relu:
        *op = RP_FUSED_RELU;
        return true;
    case RP_K_abs:
        *op = RP_FUSED_ABS;
        return true;
    case RP_K_neg:
        *op = RP_FUSED_NEG;
        return true;
    default:
        return false;
    }
}

/* Fills the part of step k when operand `held` (0 or 1) is in the register. */
static bool plan_part(rp_chain_plan *plan, size_t k, size_t held)
{
    const rp_chain_step *step = &plan->chain->step[k];
    rp_chain_part *part = &plan->part[k];
    rp_fused_op op;

    if (!operation(step, &op) || plan->view[step->out].dtype != RP_F32)
        return false;
    *part = (rp_chain_part){4 * (unsigned)op, step->in + held, step->in + held, true, NULL};
    if (plan->view[part->first].stride[0] != 1)
        return false;
    if (step->n_in == 1)
        return true;
    part->x = step->in + 1 - held;
    if (held == 1)
        part->code += RP_FUSED_SECOND;
    if (plan->view[part->x].stride[0] == 0)
        part->code += RP_FUSED_SCALAR;
    return true;
}

/* Whether step k can take the result of the step before it from the register, as one of its operands. */
static bool follows(rp_chain_plan *plan, size_t k)
{
    const rp_chain_step *step = &plan->chain->step[k];
    const size_t made = plan->chain->step[k - 1].out;
    const bool first = same_place(plan->chain, step->in, made);
    const bool second = step->n_in > 1 && same_place(plan->chain, step->in + 1, made);

    return first != second && plan_part(plan, k, second);
}

/* Whether the output of step k is wanted by others than step `next`, which takes it from the register. */
static bool wanted(const rp_chain *chain, size_t k, size_t next)
{
    const size_t made = chain->step[k].out;

    if (slot_of(chain, made) == NO_SLOT)
        return true;
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].view == made && chain->scratch[i].stream != NULL)
            return true;
    for (size_t j = k + 1; j < chain->n_steps; j++) {
        const rp_chain_step *step = &chain->step[j];

        for (size_t v = step->in; j != next && v < step->in + step->n_in; v++)
            if (same_place(chain, v, made))
                return true;
        for (size_t v = step->out; v < step->out + step->n_out; v++)
            if (same_place(chain, v, made))
                return false;
    }
    return false;
}

/* Where step k's output is streamed to, if no later step reads it; else NULL. */
static float *streamed_only(const rp_chain *chain, size_t k)
{
    const size_t made = chain->step[k].out;
    float *to = NULL;

    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].view == made)
            to = chain->scratch[i].stream;
    for (size_t j = k + 1; j < chain->n_steps; j++)
        for (size_t v = chain->step[j].in; v < chain->step[j].in + chain->step[j].n_in; v++)
            if (same_place(chain, v, made))
                return NULL;
    return to;
}

bool rp_chain_past(const rp_chain_plan *plan, size_t view)
{
    for (size_t k = 0; k < plan->chain->n_steps; k = plan->end[k])
        if (plan->end[k] > k + 1 && plan->chain->step[plan->end[k] - 1].out == view)
            return plan->part[plan->end[k] - 1].past != NULL;
    return false;
}

void rp_chain_plan_make(rp_chain_plan *plan, const rp_chain *chain, bool fuse)
{
    bool flat[RP_CHAIN_STEPS];

    plan->chain = chain;
    plan->n_spreads = plan->spread_size = 0;
    memset(plan->spread_of, -1, sizeof plan->spread_of);
    memcpy(plan->view, chain->view, chain->n_views * sizeof *plan->view);
    for (size_t k = 0; k < chain->n_steps; k++)
        flat[k] = flatten(plan, chain, &chain->step[k]);
    for (size_t k = 0, end; k < chain->n_steps; k = end) {
        end = k + 1;
        if (fuse && flat[k] && plan_part(plan, k, 0))
            while (end < chain->n_steps && flat[end] && follows(plan, end)) {
                plan->part[end - 1].store = wanted(chain, end - 1, end);
                end++;
            }
        if (end > k + 1)
            plan->part[end - 1].past = streamed_only(chain, end - 1);
        plan->end[k] = end;
    }
}

/* Address arithmetic in integers, as element 0 may lie before a scratch. */
static float *element(const rp_view *view, size_t i)
{
    return (float *)((uintptr_t)view->data + i * (size_t)view->stride[0] * sizeof(float));
}

rp_fused rp_chain_fused(const rp_chain_plan *plan, const rp_view *view, size_t k, size_t first)
{
    rp_fused fused;

    fused.first = element(&view[plan->part[k].first], first);
    fused.n = plan->end[k] - k;
    for (size_t i = 0; i < fused.n; i++) {
        const rp_chain_part *part = &plan->part[k + i];

        fused.step[i] = (rp_fused_step){part->code, element(&view[part->x], first),
                                        part->past    ? part->past + first
                                        : part->store ? element(&view[plan->chain->step[k + i].out], first)
                                                      : NULL,
                                        part->past != NULL};
    }
    return fused;
}
