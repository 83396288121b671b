/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of order, places along an axis and slices with steps (CONTRACT 11.4). No argument list here has two
 * calls that append. */
#include "core/program/grads.h"
#include "core/program/graph.h"
#include "rp/indexing.h"

#define X (a->in[0])
#define Y (a->out[0])
#define G (a->grad_out[0])

/* A zero of g's dtype, stretched to the shape of `like`. */
static rp_tensor zeros(rp_tensor g, rp_tensor like)
{
    rp_type type = *rp_tensor_type(like);

    return rp_broadcast_to(grad_constant(g, 0), type.rank, type.shape);
}

/* Places along the last axis, each once. */
static rp_tensor put_back(const rp_vjp_args *a)
{
    return rp_scatter_along(zeros(G, X), a->out[1], G, -1, RP_SCATTER_SET);
}

void vjp_sort(const rp_vjp_args *a)
{
    if (G.graph)
        a->grad_in[0] = put_back(a);
}

void vjp_topk(const rp_vjp_args *a)
{
    vjp_sort(a);
}

void vjp_take_along(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] =
            rp_scatter_along(zeros(G, X), a->in[1], G, (int)RP_AT(a->attr, take_along, axis).i, RP_SCATTER_ADD);
}

/* ---- scatter_along ---- */

/* What was overwritten has no gradient: the last source of a place is the one whose number is found there. */
static void vjp_set(const rp_vjp_args *a, int axis)
{
    if (a->need[0])
        a->grad_in[0] = rp_scatter_along(G, a->in[1], zeros(G, a->in[2]), axis, RP_SCATTER_SET);
    if (a->need[2]) {
        const rp_type index = *rp_tensor_type(a->in[1]), whole = *rp_tensor_type(X);
        size_t line[RP_MAX_RANK];
        rp_tensor number, none, last, kept, taken;

        for (int i = 0; i < index.rank; i++)
            line[i] = i == axis ? index.shape[i] : 1;
        number = rp_reshape(rp_iota(G.graph, RP_I64, index.shape[axis]), index.rank, line);
        number = rp_broadcast_to(number, index.rank, index.shape);
        none = rp_broadcast_to(rp_fill(G.graph, RP_I64, 0, NULL, 0), whole.rank, whole.shape);
        last = rp_scatter_along(none, a->in[1], number, axis, RP_SCATTER_SET);
        kept = rp_eq(rp_take_along(last, a->in[1], axis), number);
        taken = rp_take_along(G, a->in[1], axis);
        a->grad_in[2] = rp_where(kept, taken, grad_constant(G, 0));
    }
}

static void vjp_multiply(const rp_vjp_args *a, int axis)
{
    if (a->need[0])
        a->grad_in[0] = rp_mul(G, rp_div(Y, X));
    if (a->need[2])
        a->grad_in[2] = rp_div(rp_take_along(rp_mul(G, Y), a->in[1], axis), a->in[2]);
}

/* Those equal to the extreme share its gradient evenly. */
static void vjp_extreme(const rp_vjp_args *a, int axis)
{
    const rp_dtype dtype = rp_tensor_type(X)->dtype;
    rp_tensor e = rp_cast(rp_eq(rp_take_along(Y, a->in[1], axis), a->in[2]), dtype);
    rp_tensor m = rp_cast(rp_eq(X, Y), dtype);
    rp_tensor n = rp_scatter_along(m, a->in[1], e, axis, RP_SCATTER_ADD);
    rp_tensor q = rp_div(G, n);

    if (a->need[0])
        a->grad_in[0] = rp_mul(m, q);
    if (a->need[2])
        a->grad_in[2] = rp_mul(e, rp_take_along(q, a->in[1], axis));
}

void vjp_scatter_along(const rp_vjp_args *a)
{
    const int axis = (int)RP_AT(a->attr, scatter_along, axis).i;

    switch (RP_AT(a->attr, scatter_along, mode).i) {
    case RP_SCATTER_SET:
        vjp_set(a, axis);
        break;
    case RP_SCATTER_ADD:
        if (a->need[0])
            a->grad_in[0] = G;
        if (a->need[2])
            a->grad_in[2] = rp_take_along(G, a->in[1], axis);
        break;
    case RP_SCATTER_MULTIPLY:
        vjp_multiply(a, axis);
        break;
    default:
        vjp_extreme(a, axis);
    }
}

/* ---- slice_step ---- */

/* `step - 1` zeros behind each element along the axis. */
static rp_tensor spread(rp_tensor g, int axis, size_t step)
{
    rp_type type = *rp_tensor_type(g);
    size_t outer = 1, inner = 1;

    for (int i = 0; i < type.rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : type.shape[i];
    g = rp_reshape(g, 4, (size_t[]){outer, type.shape[axis], 1, inner});
    g = rp_pad(g, (size_t[]){0, 0, 0, 0}, (size_t[]){0, 0, step - 1, 0});
    type.shape[axis] *= step;
    return rp_reshape(g, type.rank, type.shape);
}

static size_t magnitude(int64_t step)
{
    return step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
}

/* Turned where the step is negative, spread where it is not one, and put where the first element was. */
void vjp_slice_step(const rp_vjp_args *a)
{
    const rp_attr *begin = &RP_AT(a->attr, slice_step, begin), *size = &RP_AT(a->attr, slice_step, size);
    const rp_attr *step = &RP_AT(a->attr, slice_step, step);
    const rp_type whole = *rp_tensor_type(X);
    size_t zero[RP_MAX_RANK] = {0}, kept[RP_MAX_RANK], before[RP_MAX_RANK], after[RP_MAX_RANK];
    int turned[RP_MAX_RANK], n_turned = 0;
    bool cut = false;
    rp_tensor g = G;

    for (int i = 0; i < whole.rank; i++)
        if (step->list[i] < 0 && size->list[i] > 1)
            turned[n_turned++] = i;
    if (n_turned)
        g = rp_flip(g, turned, n_turned);
    for (int i = 0; i < whole.rank; i++) {
        const size_t m = (size_t)size->list[i], apart = m > 1 ? magnitude(step->list[i]) : 1;
        const int64_t back = step->list[i] < 0 && m > 1 ? (int64_t)(m - 1) * step->list[i] : 0;
        const int64_t first = begin->list[i] + back;

        before[i] = m > 0 ? (size_t)first : 0;
        kept[i] = m > 0 ? (m - 1) * apart + 1 : 0;
        after[i] = whole.shape[i] - before[i] - kept[i];
        if (apart > 1) {
            g = spread(g, i, apart);
            cut = true;
        }
        if (!rp_tensor_ok(g))
            return;
    }
    if (cut)
        g = rp_slice(g, zero, kept);
    a->grad_in[0] = rp_pad(g, before, after);
}
