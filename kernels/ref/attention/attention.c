/* SPDX-License-Identifier: Apache-2.0
 * Attention and its gradient (CONTRACT 7.13). An item of attention is a row of queries, of the gradient a head. */
#include "kernels/ref/attention/attention.h"
#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/ref/matmul.h"

/* Of shapes alone: a device's host asks before it launches, and cannot read values. */
static size_t heads_of(const rp_view *q)
{
    size_t heads = 1;

    for (int axis = 0; axis < q->rank - 2; axis++)
        heads *= q->shape[axis];
    return heads;
}

RP_KERNEL_FN rp_attending rp_attention_of(const rp_kernel_args *args, size_t first)
{
    const rp_view *q = &args->in[first];
    const int r = q->rank - 2;
    rp_attending a = {.q = q,
                      .k = q + 1,
                      .v = q + 2,
                      .heads = heads_of(q),
                      .m = q->shape[r],
                      .n = q[1].shape[r],
                      .d = q->shape[r + 1],
                      .e = q[2].shape[r + 1],
                      .scale = RP_AT(args->attr, attention, scale).r,
                      .causal = RP_AT(args->attr, attention, causal).i != 0,
                      .window = (size_t)RP_AT(args->attr, attention, window).i,
                      .rate = RP_AT(args->attr, attention, rate).r};

    for (size_t i = first + 3; i < args->n_in; i++)
        if (args->in[i].dtype == RP_I64)
            a.rng = &args->in[i];
        else
            a.mask = &args->in[i];
    if (a.rng) {
        const int64_t *words = (const int64_t *)a.rng->data;
        const uint64_t offset = a.rng->shape[0] > 2 ? (uint64_t)words[2 * a.rng->stride[0]] : 0;

        a.seed = (uint64_t)words[0];
        a.step = (uint64_t)words[a.rng->stride[0]];
        a.stream = (uint32_t)((uint64_t)RP_AT(args->attr, attention, stream).i + offset);
    }
    return a;
}

/* Of a view whose leading axes are q's, or 1, or missing, or in the last of them a divisor: then each of its matrices
 * serves as many heads of q in a row. */
static rp_attention_matrix matrix_of(const rp_view *view, const rp_view *q, size_t head)
{
    const int r = view->rank - 2, lacks = q->rank - view->rank;
    ptrdiff_t at = 0;

    for (int axis = q->rank - 3; axis >= 0; axis--) {
        const size_t length = q->shape[axis], i = head % length;

        head /= length;
        if (axis >= lacks && axis - lacks < r)
            at += (ptrdiff_t)(i / (length / view->shape[axis - lacks])) * view->stride[axis - lacks];
    }
    return (rp_attention_matrix){rp_view_at(view, at), view->stride[r], view->stride[r + 1]};
}

RP_KERNEL_FN rp_attention_matrix rp_attention_matrix_of(const rp_view *view, size_t head)
{
    return matrix_of(view, view, head);
}

/* The mask's last axes stretch too. */
static rp_attention_matrix mask_of(const rp_attending *a, size_t head)
{
    rp_view view = *a->mask;

    while (view.rank < 2) {
        for (int axis = view.rank; axis > 0; axis--) {
            view.shape[axis] = view.shape[axis - 1];
            view.stride[axis] = view.stride[axis - 1];
        }
        view.shape[0] = 1;
        view.stride[0] = 0;
        view.rank++;
    }
    for (int axis = view.rank - 2; axis < view.rank; axis++)
        if (view.shape[axis] == 1)
            view.stride[axis] = 0;
    return matrix_of(&view, a->q, head);
}

RP_KERNEL_FN rp_attention_head rp_attention_head_of(const rp_attending *a, size_t head)
{
    rp_attention_head h = {.a = a, .first = (uint64_t)head * a->m * a->n};

    h.q = matrix_of(a->q, a->q, head);
    h.k = matrix_of(a->k, a->q, head);
    h.v = matrix_of(a->v, a->q, head);
    if (a->mask) {
        h.mask = mask_of(a, head);
        h.chosen = a->mask->dtype == RP_BOOL;
    }
    return h;
}

RP_KERNEL_FN size_t rp_attention_grad_items(const rp_kernel_args *args)
{
    return heads_of(&args->in[1]);
}

/* Of a row of queries: its keys, times what a score and its part of the output take. */
static size_t row_cost(const rp_view *q, size_t a_score, size_t a_multiple)
{
    const rp_view *k = q + 1, *v = q + 2;
    const size_t d = q->shape[q->rank - 1], e = v->shape[v->rank - 1];

    return k->shape[k->rank - 2] * (a_score + (d + e) / a_multiple);
}

RP_KERNEL_FN size_t rp_attention_cost(const rp_kernel_args *args)
{
    return 1 + row_cost(&args->in[0], 2, 4);
}

RP_KERNEL_FN size_t rp_attention_grad_cost(const rp_kernel_args *args)
{
    const rp_view *q = &args->in[1];

    return 1 + q->shape[q->rank - 2] * row_cost(q, 4, 2);
}

#include "kernels/type_f32.h"
#undef SOURCE
#undef OF
#define SOURCE T
#define OF(x) (x)
#include "kernels/ref/matmul_type.inc.h"
#include "kernels/ref/attention/attention_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/matmul_type.inc.h"
#include "kernels/ref/attention/attention_type.inc.h"
#undef SOURCE
#undef OF

static void attention_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_attending a = rp_attention_of(args, 0);

    for (; begin < end; begin++) {
        const rp_attention_head h = rp_attention_head_of(&a, begin / a.m);
        const rp_attention_matrix y = rp_attention_matrix_of(&args->out[0], begin / a.m);

        if (args->out[0].dtype == RP_F32)
            attention_row_f32(&h, begin % a.m, &y);
        else
            attention_row_f64(&h, begin % a.m, &y);
    }
}

static void attention_grad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_attending a = rp_attention_of(args, 1);

    for (; begin < end; begin++) {
        const rp_attention_head h = rp_attention_head_of(&a, begin);
        const rp_attention_matrix g = rp_attention_matrix_of(&args->in[0], begin);
        const rp_attention_matrix out[3] = {rp_attention_matrix_of(&args->out[0], begin),
                                            rp_attention_matrix_of(&args->out[1], begin),
                                            rp_attention_matrix_of(&args->out[2], begin)};

        if (args->out[0].dtype == RP_F32)
            attention_grad_head_f32(&h, &g, out);
        else
            attention_grad_head_f64(&h, &g, out);
    }
}

RP_DEFINE_KERNEL(attention, rp_items_rows, attention_run, rp_attention_cost);
RP_DEFINE_KERNEL(attention_grad, rp_attention_grad_items, attention_grad_run, rp_attention_grad_cost);
