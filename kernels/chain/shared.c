/* SPDX-License-Identifier: Apache-2.0
 * Finding steps that have a function in common. The later one's result is made where the earlier one stands, so
 * nothing in between may have to do with its memory, nor change the operand. */
#include "kernels/chain/shared.h"

#include <string.h>

enum { NO_STEP = RP_CHAIN_STEPS, NO_SLOT = RP_CHAIN_SLOTS };

/* The addresses that a view of memory spans. */
static void span(const rp_view *view, uintptr_t *begin, uintptr_t *end)
{
    const size_t size = rp_dtype_size(view->dtype);

    *begin = *end = (uintptr_t)view->data;
    for (int d = 0; d < view->rank; d++) {
        const ptrdiff_t bytes = (ptrdiff_t)(view->shape[d] - (view->shape[d] != 0)) * view->stride[d] * (ptrdiff_t)size;

        *(bytes < 0 ? begin : end) += (uintptr_t)bytes;
    }
    *end += size;
}

/* Whether two views may have bytes in common. Of what has no memory yet there is one value (kernels/chain/job.h). */
static bool meet(const rp_chain_plan *plan, size_t a, size_t b)
{
    const rp_view *x = &plan->chain->view[a], *y = &plan->chain->view[b];
    uintptr_t x_begin, x_end, y_begin, y_end;

    if (plan->slot[a] != NO_SLOT || plan->slot[b] != NO_SLOT)
        return plan->slot[a] == plan->slot[b];
    if (x->data == NULL || y->data == NULL)
        return x->data == y->data;
    span(x, &x_begin, &x_end);
    span(y, &y_begin, &y_end);
    return x_begin < y_end && y_begin < x_end;
}

static bool same_layout(const rp_view *a, const rp_view *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
           memcmp(a->stride, b->stride, (size_t)a->rank * sizeof *a->stride) == 0;
}

/* Whether two steps read the same elements, and kernels can take their views together. */
static bool same_operand(const rp_chain_plan *plan, const rp_chain_step *a, const rp_chain_step *b)
{
    return plan->slot[a->in] == plan->slot[b->in] && plan->spread_of[a->in] == plan->spread_of[b->in] &&
           (plan->slot[a->in] != NO_SLOT || plan->chain->view[a->in].data == plan->chain->view[b->in].data) &&
           same_layout(&plan->chain->view[a->in], &plan->chain->view[b->in]) &&
           same_layout(&plan->view[a->in], &plan->view[b->in]) &&
           same_layout(&plan->view[a->out], &plan->view[b->out]) && !meet(plan, a->out, b->out);
}

/* Whether step `later` may come where step k is. */
static bool may_come(const rp_chain_plan *plan, size_t k, size_t later)
{
    const rp_chain_step *step = plan->chain->step;

    for (size_t i = k; i < later; i++) {
        for (size_t v = step[i].in; v < step[i].in + step[i].n_in && i != k; v++)
            if (meet(plan, v, step[later].out))
                return false;
        for (size_t v = step[i].out; v < step[i].out + step[i].n_out; v++)
            if (meet(plan, v, step[later].out) || meet(plan, v, step[later].in))
                return false;
    }
    return true;
}

static bool goes_with(rp_kernel_id a, rp_kernel_id b)
{
    return (a == RP_K_silu && b == RP_K_sigmoid) || (a == RP_K_sigmoid && b == RP_K_silu);
}

void rp_chain_shared_plan(rp_chain_plan *plan)
{
    const rp_chain *chain = plan->chain;

    memset(plan->made_with, 0, sizeof plan->made_with);
    for (size_t k = 0; k < chain->n_steps; k++) {
        plan->with[k] = NO_STEP;
        for (size_t i = k + 1; i < chain->n_steps && plan->with[k] == NO_STEP && !plan->made_with[k]; i++)
            if (goes_with(chain->step[k].kernel, chain->step[i].kernel) && !plan->made_with[i] &&
                same_operand(plan, &chain->step[k], &chain->step[i]) && may_come(plan, k, i)) {
                plan->with[k] = i;
                plan->made_with[i] = true;
            }
    }
}
