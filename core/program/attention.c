/* SPDX-License-Identifier: Apache-2.0
 * Attention (CONTRACT 7.13): the public call, the shape rules, and the gradient rules, which for the mask and for
 * second derivatives write the operation again in products and softmax. */
#include "core/program/grads.h"
#include "core/program/graph.h"
#include "core/program/infer_check.h"

#define G (a->grad_out[0])

/* ---- the call ---- */

rp_tensor rp_attention(rp_tensor q, rp_tensor k, rp_tensor v, const rp_attention_options *options)
{
    static const rp_attention_options usual;
    const rp_attention_options *o = options ? options : &usual;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor in[5] = {q, k, v}, out[RP_MAX_OUT];
    size_t n = 3;

    if (o->mask.graph)
        in[n++] = o->mask;
    if (o->rng.graph && o->rate != 0)
        in[n++] = o->rng;
    RP_AT(attr, attention, scale).r = o->scale;
    if (o->scale == 0 && rp_tensor_ok(q)) {
        const rp_type *type = rp_tensor_type(q);
        const size_t d = type->rank > 0 ? type->shape[type->rank - 1] : 0;

        RP_AT(attr, attention, scale).r = 1 / __builtin_sqrt(d > 0 ? (double)d : 1);
    }
    RP_AT(attr, attention, causal).i = o->causal;
    RP_AT(attr, attention, window).i = o->window <= rp_elements_max ? (int64_t)o->window : -1;
    RP_AT(attr, attention, rate).r = o->rate;
    RP_AT(attr, attention, stream).i = o->stream;
    rp_emit(rp_graph_of(in, n), RP_OP_attention, attr, in, n, out);
    return out[0];
}

/* ---- shapes ---- */

static bool is_rng(const rp_type *t)
{
    return t->dtype == RP_I64 && t->rank == 1 && (t->shape[0] == 2 || t->shape[0] == 3);
}

/* Leading axes of q, but for the heads, of which k may have a divisor. */
static bool heads_fit(const rp_type *q, const rp_type *k)
{
    const int heads = q->rank - 3;

    if (k->dtype != q->dtype || k->rank != q->rank)
        return false;
    for (int axis = 0; axis <= heads; axis++)
        if (k->shape[axis] != q->shape[axis] &&
            (axis < heads || k->shape[axis] == 0 || q->shape[axis] % k->shape[axis] != 0))
            return false;
    /* told apart by one more axis where they are written out */
    return heads < 0 || k->shape[heads] == q->shape[heads] || q->rank < RP_MAX_RANK;
}

static bool mask_fits(const rp_type *mask, const rp_type *scores)
{
    const int lead = scores->rank - mask->rank;

    if ((mask->dtype != RP_BOOL && mask->dtype != scores->dtype) || lead < 0)
        return false;
    for (int axis = 0; axis < mask->rank; axis++)
        if (mask->shape[axis] != 1 && mask->shape[axis] != scores->shape[axis + lead])
            return false;
    return true;
}

static rp_status check_attributes(const rp_op *op, const rp_attr *attr, bool rng, rp_error *err)
{
    const double rate = RP_AT(attr, attention, rate).r;
    const int64_t window = RP_AT(attr, attention, window).i, stream = RP_AT(attr, attention, stream).i;

    if (window < 0 || (uint64_t)window > rp_elements_max)
        return rp_fail(err, RP_ESHAPE, "%s: found window %lld, expected 0 (none) to 2^40", op->name, (long long)window);
    if (!(rate >= 0 && rate < 1) || stream < 0 || stream > 0xFFFFFFFFll)
        return rp_fail(err, RP_ESHAPE, "%s: expected 0 <= rate < 1 and a stream below 2^32", op->name);
    if (rng != (rate > 0))
        return rp_fail(err, RP_ESHAPE,
                       "%s: found %s, expected rng as the last operand where the rate is above 0, else none", op->name,
                       rng ? "rng and a rate of 0" : "a rate above 0 without rng");
    return RP_OK;
}

/* in: q, k, v, mask, rng, the last two as they are there; scores: the type that they have where written out. */
static rp_status check_attention(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *scores,
                                 rp_error *err)
{
    const rp_type *q = &in[0], *k = &in[1], *v = &in[2];
    const int r = q->rank - 2;
    const bool rng = n_in > 3 && is_rng(&in[n_in - 1]);
    const size_t masks = n_in - 3 - rng;

    if (r < 0 || !heads_fit(q, k) || k->shape[r + 1] != q->shape[r + 1] || k->shape[r] == 0)
        return refuse(op, q, k, "q [.., h, m, d] and k [.., h / groups, n, d] of one dtype, n of 1 or more", err);
    if (!heads_fit(k, v) || k->shape[r] != v->shape[r] || (r > 0 && k->shape[r - 1] != v->shape[r - 1]))
        return refuse(op, k, v, "k [.., n, d] and v [.., n, e] of one dtype and as many heads", err);
    *scores = *q;
    scores->shape[r + 1] = k->shape[r];
    if (masks > 1)
        return rp_fail(err, RP_ESHAPE, "%s: found %zu operands after v, expected a mask and rng at most", op->name,
                       n_in - 3);
    if (masks == 1 && !mask_fits(&in[3], scores))
        return refuse(op, &in[3], scores, "a mask, bool or of q's dtype, that stretches to the scores", err);
    if (bounded(op, scores, NULL) != RP_OK)
        return refuse(op, scores, NULL, "scores of at most 2^40 elements, lengths of 0 counted as 1", err);
    return check_attributes(op, attr, rng, err);
}

static rp_status few(const rp_op *op, size_t n_in, const char *expected, rp_error *err)
{
    return rp_fail(err, RP_ESHAPE, "%s: found %zu operands, expected %s and at most a mask and rng", op->name, n_in,
                   expected);
}

rp_status infer_attention(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                          rp_error *err)
{
    rp_type scores;
    rp_status status = n_in < 3 ? few(op, n_in, "q, k, v", err) : check_attention(op, attr, in, n_in, &scores, err);

    if (status != RP_OK)
        return status;
    out[0] = in[0];
    out[0].shape[in[0].rank - 1] = in[2].shape[in[2].rank - 1];
    return bounded(op, out, err);
}

/* The gradients of k and v are those of each head of q. */
rp_status infer_attention_grad(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out,
                               rp_error *err)
{
    rp_type scores, y;
    rp_status status =
        n_in < 4 ? few(op, n_in, "g, q, k, v", err) : check_attention(op, attr, in + 1, n_in - 1, &scores, err);

    if (status != RP_OK)
        return status;
    y = in[1];
    y.shape[y.rank - 1] = in[3].shape[y.rank - 1];
    if (!rp_type_equal(&in[0], &y))
        return refuse(op, &in[0], &y, "a gradient like the output", err);
    out[0] = out[1] = out[2] = in[1];
    out[1].shape[y.rank - 2] = out[2].shape[y.rank - 2] = in[2].shape[y.rank - 2];
    out[2].shape[y.rank - 1] = y.shape[y.rank - 1];
    status = bounded(op, &out[1], err);
    return status == RP_OK ? bounded(op, &out[2], err) : status;
}

/* ---- written out ---- */

typedef struct written {
    const rp_attr *attr;
    rp_tensor q, k, v, mask, rng, seen; /* k and v with the heads of q; mask, rng and seen may be none */
    rp_tensor weights, dropped;
} written;

/* Each matrix of k as often in a row as heads of q share it. */
static rp_tensor repeated(rp_tensor k, rp_tensor q)
{
    const rp_type *type = rp_tensor_type(k), *of = rp_tensor_type(q);
    size_t shape[RP_MAX_RANK], heads, group;
    const int at = of->rank - 3, rank = type->rank;

    if (at < 0 || type->shape[at] == of->shape[at])
        return k;
    heads = of->shape[at];
    group = heads / type->shape[at];
    for (int axis = 0; axis < rank; axis++)
        shape[axis + (axis > at)] = type->shape[axis];
    shape[at + 1] = 1;
    k = rp_reshape(k, rank + 1, shape);
    shape[at + 1] = group;
    k = rp_broadcast_to(k, rank + 1, shape);
    for (int axis = at + 1; axis < rank; axis++)
        shape[axis] = shape[axis + 1];
    shape[at] = heads;
    return rp_reshape(k, rank, shape);
}

/* Which places are seen, bool [m, n]; none where all are. */
static rp_tensor seen_places(const written *w)
{
    const int64_t window = RP_AT(w->attr, attention, window).i;
    const rp_type *q = rp_tensor_type(w->q), *k = rp_tensor_type(w->k);
    const size_t m = q->shape[q->rank - 2], n = k->shape[k->rank - 2];
    const bool causal = RP_AT(w->attr, attention, causal).i != 0;
    rp_tensor i, j, past, near, ahead;

    if (!causal && window == 0)
        return rp_no_tensor();
    i = rp_iota(w->q.graph, RP_I64, m);
    i = rp_reshape(i, 2, (size_t[]){m, 1});
    j = rp_iota(w->q.graph, RP_I64, n);
    past = rp_sub(i, j);
    near = rp_ge(past, grad_constant(past, causal ? 0 : 1 - (double)window));
    if (window == 0)
        return near;
    ahead = rp_lt(past, grad_constant(past, (double)window));
    return rp_logical_and(near, ahead);
}

static rp_tensor hidden(const written *w, rp_tensor x, double value)
{
    if (w->mask.graph && rp_tensor_ok(w->mask) && rp_tensor_type(w->mask)->dtype == RP_BOOL)
        x = rp_where(w->mask, x, grad_constant(x, value));
    return w->seen.graph ? rp_where(w->seen, x, grad_constant(x, value)) : x;
}

static rp_tensor dropped(const written *w, rp_tensor x)
{
    if (!w->rng.graph)
        return x;
    return rp_dropout(x, RP_AT(w->attr, attention, rate).r, w->rng, RP_AT(w->attr, attention, stream).i);
}

/* The weights of operands q, k, v ... */
static written write_weights(const rp_attr *attr, const rp_tensor *in, size_t n_in)
{
    written w = {.attr = attr, .q = in[0]};
    rp_tensor t, z;

    for (size_t i = 3; i < n_in; i++)
        *(rp_tensor_type(in[i])->dtype == RP_I64 ? &w.rng : &w.mask) = in[i];
    w.k = repeated(in[1], in[0]);
    w.v = repeated(in[2], in[0]);
    t = rp_transpose(w.k, NULL);
    z = rp_matmul(w.q, t);
    z = rp_scale(z, RP_AT(attr, attention, scale).r);
    if (w.mask.graph && rp_tensor_type(w.mask)->dtype != RP_BOOL)
        z = rp_add(z, w.mask);
    w.seen = seen_places(&w);
    z = hidden(&w, z, -__builtin_inf());
    w.weights = rp_softmax(z);
    w.dropped = dropped(&w, w.weights);
    return w;
}

/* ---- gradients ---- */

/* The gradient of each head brought to the heads of k: a sum over those that share one. */
static rp_tensor gathered(rp_tensor g, rp_tensor k)
{
    const rp_type *to, *from;
    size_t shape[RP_MAX_RANK];
    int at;

    if (!rp_tensor_ok(g))
        return rp_no_tensor();
    to = rp_tensor_type(k);
    from = rp_tensor_type(g);
    at = to->rank - 3;
    if (at < 0 || to->shape[at] == from->shape[at])
        return g;
    for (int axis = 0; axis < to->rank; axis++)
        shape[axis + (axis > at)] = to->shape[axis];
    shape[at + 1] = from->shape[at] / to->shape[at];
    g = rp_reshape(g, to->rank + 1, shape);
    g = rp_sum(g, (int[]){at + 1}, 1, true);
    to = rp_tensor_type(k);
    return rp_reshape(g, to->rank, to->shape);
}

void vjp_attention(const rp_vjp_args *a)
{
    const bool of_mask = a->n_in > 3 && a->need[3];
    const size_t first = G.graph->program->n_instrs;
    rp_tensor in[6] = {G}, out[RP_MAX_OUT], y;
    written w;

    if (of_mask) {
        w = write_weights(a->attr, a->in, a->n_in);
        y = rp_matmul(w.dropped, w.v);
        grad_through(a, first, &y, 1);
        return;
    }
    for (size_t i = 0; i < a->n_in; i++)
        in[i + 1] = a->in[i];
    rp_emit(G.graph, RP_OP_attention_grad, a->attr, in, a->n_in + 1, out);
    if (a->need[0])
        a->grad_in[0] = out[0];
    for (size_t i = 1; i < 3; i++)
        if (a->need[i])
            a->grad_in[i] = gathered(out[i], a->in[i]);
}

void vjp_attention_grad(const rp_vjp_args *a)
{
    const size_t first = G.graph ? G.graph->program->n_instrs : a->in[0].graph->program->n_instrs;
    const rp_tensor g = a->in[0];
    written w = write_weights(a->attr, a->in + 1, a->n_in - 1);
    rp_tensor out[3], t, ds;

    t = rp_transpose(w.v, NULL);
    ds = rp_matmul(g, t);
    ds = dropped(&w, ds);
    ds = grad_emit(RP_OP_softmax_grad, NULL, (rp_tensor[]){ds, w.weights}, 2);
    ds = hidden(&w, ds, 0);
    ds = rp_scale(ds, RP_AT(a->attr, attention_grad, scale).r);
    out[0] = rp_matmul(ds, w.k);
    t = rp_transpose(ds, NULL);
    out[1] = rp_matmul(t, w.q);
    t = rp_transpose(w.dropped, NULL);
    out[2] = rp_matmul(t, g);
    grad_through(a, first, out, 3);
}
