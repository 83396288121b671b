/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules: each appends the instructions of CONTRACT 11's formula. g is the gradient of the output y; an operand
 * that was broadcast gets the sum over the stretched axes. C leaves the order in which arguments are evaluated open, so
 * no argument list here has two calls that append: the program must not depend on the compiler. */
#include "core/program/grads.h"

#include <string.h>

#include "core/program/graph.h"

#define X (a->in[0])
#define Y (a->out[0])
#define G (a->grad_out[0])

rp_tensor grad_emit(rp_op_id id, const rp_attr *attr, const rp_tensor *in, size_t n)
{
    rp_tensor out[RP_MAX_OUT];

    rp_emit(in[0].graph, id, attr, in, n, out);
    return out[0];
}

static rp_tensor pair(rp_op_id id, rp_tensor g, rp_tensor other)
{
    return grad_emit(id, NULL, (rp_tensor[]){g, other}, 2);
}

rp_tensor grad_constant(rp_tensor x, double c)
{
    return rp_tensor_ok(x) ? rp_fill(x.graph, rp_tensor_type(x)->dtype, 0, NULL, c) : rp_no_tensor();
}

/* Sum over the last axis, kept. */
static rp_tensor row_sum(rp_tensor x)
{
    return rp_sum(x, (int[]){-1}, 1, true);
}

rp_tensor grad_back(rp_tensor g, rp_tensor x)
{
    rp_type from, to;
    int axes[RP_MAX_RANK], n = 0, lead;

    if (!rp_tensor_ok(g) || !rp_tensor_ok(x))
        return rp_no_tensor();
    from = *rp_tensor_type(g);
    to = *rp_tensor_type(x);
    lead = from.rank - to.rank;
    for (int i = 0; i < from.rank; i++)
        if (i < lead || (to.shape[i - lead] == 1 && from.shape[i] != 1))
            axes[n++] = i;
    if (n)
        g = rp_sum(g, axes, n, true);
    return lead ? rp_reshape(g, to.rank, to.shape) : g;
}

static void give(const rp_vjp_args *a, size_t i, rp_tensor g)
{
    a->grad_in[i] = grad_back(g, a->in[i]);
}

void vjp_pow_int(const rp_vjp_args *a)
{
    int64_t n = RP_AT(a->attr, pow_int, exponent).i;

    /* the derivative of x^0 is 0 everywhere, also at 0 and where x^-1 overflows */
    if (n != 0)
        a->grad_in[0] = rp_mul(G, rp_scale(rp_pow_int(X, n - (n != INT64_MIN)), (double)n));
}

/* bf16 and f16 are for storage: the gradient of such a tensor is binary32, as is all that is computed from it. */
rp_dtype rp_gradient_dtype(rp_dtype dtype)
{
    return dtype == RP_BF16 || dtype == RP_F16 ? RP_F32 : dtype;
}

static rp_tensor as_dtype(rp_tensor x, rp_dtype dtype)
{
    return rp_tensor_ok(x) && rp_tensor_type(x)->dtype == dtype ? x : rp_cast(x, dtype);
}

void vjp_cast(const rp_vjp_args *a)
{
    const rp_dtype from = rp_tensor_type(X)->dtype, to = rp_tensor_type(Y)->dtype;

    if (!(RP_D_REAL & 1u << from) || !(RP_D_REAL & 1u << to))
        return;
    a->grad_in[0] =
        (RP_D_FLOAT & 1u << from) && (RP_D_FLOAT & 1u << to) ? rp_cast(G, from) : as_dtype(G, rp_gradient_dtype(from));
}

void vjp_where(const rp_vjp_args *a)
{
    rp_tensor zero = grad_constant(G, 0);

    if (a->need[1])
        give(a, 1, rp_where(X, G, zero));
    if (a->need[2])
        give(a, 2, rp_where(X, zero, G));
}

/* Linear in its first operand; the second derivative of relu is zero. */
void vjp_relu_grad(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = pair(RP_OP_relu_grad, G, a->in[1]);
}

/* gelu'' = phi(x) (2 - x^2), phi(x) = exp(-x^2/2) / sqrt(2 pi) */
void vjp_gelu_grad(const rp_vjp_args *a)
{
    rp_tensor x = a->in[1];

    if (a->need[0])
        a->grad_in[0] = pair(RP_OP_gelu_grad, G, x);
    if (a->need[1]) {
        rp_tensor square = rp_mul(x, x);
        rp_tensor phi = rp_scale(rp_exp(rp_scale(square, -0.5)), 0.3989422804014327);
        rp_tensor second = rp_mul(phi, rp_add_scalar(rp_neg(square), 2));

        a->grad_in[1] = rp_mul(rp_mul(G, X), second);
    }
}

/* g (1 - y^2) */
void vjp_tanh_grad(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = pair(RP_OP_tanh_grad, G, a->in[1]);
    if (a->need[1]) {
        rp_tensor second = rp_scale(a->in[1], -2);

        a->grad_in[1] = rp_mul(rp_mul(G, X), second);
    }
}

/* g y (1 - y) */
void vjp_sigmoid_grad(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = pair(RP_OP_sigmoid_grad, G, a->in[1]);
    if (a->need[1]) {
        rp_tensor second = rp_add_scalar(rp_scale(a->in[1], -2), 1);

        a->grad_in[1] = rp_mul(rp_mul(G, X), second);
    }
}

/* The same draws again: dropout is linear and a pure function of (seed, step, stream, index). */
void vjp_dropout(const rp_vjp_args *a)
{
    a->grad_in[0] = grad_emit(RP_OP_dropout, a->attr, (rp_tensor[]){G, a->in[1]}, 2);
}

void vjp_reshape(const rp_vjp_args *a)
{
    rp_type type = *rp_tensor_type(X);

    a->grad_in[0] = rp_reshape(G, type.rank, type.shape);
}

void vjp_transpose(const rp_vjp_args *a)
{
    int inverse[RP_MAX_RANK];

    for (int i = 0; i < RP_AT(a->attr, transpose, permutation).n; i++)
        inverse[RP_AT(a->attr, transpose, permutation).list[i]] = i;
    a->grad_in[0] = rp_transpose(G, inverse);
}

void vjp_broadcast_to(const rp_vjp_args *a)
{
    give(a, 0, G);
}

void vjp_slice(const rp_vjp_args *a)
{
    size_t before[RP_MAX_RANK], after[RP_MAX_RANK];

    for (int i = 0; i < RP_AT(a->attr, slice, begin).n; i++) {
        before[i] = (size_t)RP_AT(a->attr, slice, begin).list[i];
        after[i] = rp_tensor_type(X)->shape[i] - (size_t)RP_AT(a->attr, slice, end).list[i];
    }
    a->grad_in[0] = rp_pad(G, before, after);
}

void vjp_pad(const rp_vjp_args *a)
{
    size_t begin[RP_MAX_RANK], end[RP_MAX_RANK];

    for (int i = 0; i < RP_AT(a->attr, pad, before).n; i++) {
        begin[i] = (size_t)RP_AT(a->attr, pad, before).list[i];
        end[i] = begin[i] + rp_tensor_type(X)->shape[i];
    }
    a->grad_in[0] = rp_slice(G, begin, end);
}

void vjp_concat(const rp_vjp_args *a)
{
    int64_t axis = RP_AT(a->attr, concat, axis).i;
    rp_type whole = *rp_tensor_type(Y);
    size_t begin[RP_MAX_RANK] = {0}, at = 0;

    for (size_t i = 0; i < a->n_in; i++) {
        size_t length = rp_tensor_type(a->in[i])->shape[axis];

        begin[axis] = at;
        whole.shape[axis] = at + length;
        if (a->need[i])
            a->grad_in[i] = rp_slice(G, begin, whole.shape);
        at += length;
    }
}

void vjp_gather(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = rp_scatter_add(G, a->in[1], (int)RP_AT(a->attr, gather, axis).i,
                                       rp_tensor_type(X)->shape[RP_AT(a->attr, gather, axis).i]);
}

void vjp_scatter_add(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = rp_gather(G, a->in[1], (int)RP_AT(a->attr, scatter_add, axis).i);
}

/* A reduction keeps its axes with length 1, so its gradient stretches. */
static rp_tensor stretch(rp_tensor g, rp_tensor like)
{
    rp_type type = *rp_tensor_type(like);

    return rp_broadcast_to(g, type.rank, type.shape);
}

void vjp_sum(const rp_vjp_args *a)
{
    a->grad_in[0] = stretch(G, X);
}

void vjp_mean(const rp_vjp_args *a)
{
    size_t n = 1;

    for (int i = 0; i < RP_AT(a->attr, mean, axes).n; i++)
        n *= rp_tensor_type(X)->shape[RP_AT(a->attr, mean, axes).list[i]];
    a->grad_in[0] = stretch(rp_div(G, rp_fill(G.graph, rp_tensor_type(G)->dtype, 0, NULL, (double)n)), X);
}

/* Elements equal to the maximum share its gradient evenly. */
void vjp_max(const rp_vjp_args *a)
{
    int axes[RP_MAX_RANK];
    rp_tensor mask;

    for (int i = 0; i < RP_AT(a->attr, max, axes).n; i++)
        axes[i] = (int)RP_AT(a->attr, max, axes).list[i];
    mask = rp_cast(rp_eq(X, Y), rp_tensor_type(X)->dtype);
    if (RP_AT(a->attr, max, axes).n == 0)
        a->grad_in[0] = G;
    else
        a->grad_in[0] = rp_mul(mask, rp_div(G, rp_sum(mask, axes, RP_AT(a->attr, max, axes).n, true)));
}

/* As the maximum: equal minima share. */
void vjp_min(const rp_vjp_args *a)
{
    vjp_max(a);
}

/* The stages the other way; a result that no gradient reaches has zeros. */
void vjp_fft(const rp_vjp_args *a)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor g[2] = {a->grad_out[0], a->grad_out[1]}, d[RP_MAX_OUT];
    const rp_type *type = rp_tensor_type(X);

    RP_AT(attr, fft, inverse) = RP_AT(a->attr, fft, inverse);
    RP_AT(attr, fft, transposed).i = RP_AT(a->attr, fft, transposed).i == 0;
    for (int i = 0; i < 2; i++)
        if (!g[i].graph)
            g[i] = rp_broadcast_to(grad_constant(X, 0), type->rank, type->shape);
    rp_emit(X.graph, RP_OP_fft, attr, g, 2, d);
    for (int i = 0; i < 2; i++)
        if (a->need[i])
            a->grad_in[i] = d[i];
}

/* Element i is in the sums from its own on: the running sum of g the other way. */
void vjp_cumsum(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_cumsum(G, (int)RP_AT(a->attr, cumsum, axis).i, RP_AT(a->attr, cumsum, reverse).i == 0);
}

/* The product of the others is y / x; where x is 0 it is that of the row with a 1 in its place, if no other is 0. */
void vjp_prod(const rp_vjp_args *a)
{
    const rp_attr axes[RP_MAX_ATTR] = {RP_AT(a->attr, prod, axes)};
    rp_tensor one, zero, safe, others, count, alone, at_zero, elsewhere;

    if (axes->n == 0) {
        a->grad_in[0] = G;
        return;
    }
    one = grad_constant(X, 1);
    zero = grad_constant(X, 0);
    at_zero = rp_eq(X, zero);
    safe = rp_where(at_zero, one, X);
    others = grad_emit(RP_OP_prod, axes, &safe, 1);
    count = rp_cast(at_zero, rp_tensor_type(X)->dtype);
    count = grad_emit(RP_OP_sum, axes, &count, 1);
    alone = rp_eq(count, one);
    others = rp_where(alone, rp_mul(G, others), zero);
    elsewhere = rp_div(rp_mul(G, Y), safe);
    a->grad_in[0] = rp_where(at_zero, others, elsewhere);
}

/* s / x, s the sum of g y from x's place on. The first 0 has the sum of g with the products that a 1 in its place
 * gives; further ones have none. */
void vjp_cumprod(const rp_vjp_args *a)
{
    const int axis = (int)RP_AT(a->attr, cumprod, axis).i;
    const bool reverse = RP_AT(a->attr, cumprod, reverse).i != 0;
    rp_tensor one = grad_constant(X, 1), zero = grad_constant(X, 0), at_zero = rp_eq(X, zero), count, first, behind;
    rp_tensor safe, elsewhere;

    count = rp_cumsum(rp_cast(at_zero, rp_tensor_type(X)->dtype), axis, reverse);
    first = rp_logical_and(at_zero, rp_eq(count, one));
    behind = rp_mul(G, rp_cumprod(rp_where(first, one, X), axis, reverse));
    behind = rp_cumsum(behind, axis, !reverse);
    safe = rp_where(at_zero, one, X);
    elsewhere = rp_div(rp_cumsum(rp_mul(G, Y), axis, !reverse), safe);
    elsewhere = rp_where(at_zero, zero, elsewhere);
    a->grad_in[0] = rp_where(first, behind, elsewhere);
}

/* 2 (x - mean) g / (n - correction) */
void vjp_var(const rp_vjp_args *a)
{
    const rp_attr axes[RP_MAX_ATTR] = {RP_AT(a->attr, var, axes)};
    int64_t n = 1;
    rp_tensor d, divisor;

    for (int i = 0; i < axes->n; i++)
        n *= (int64_t)rp_tensor_type(X)->shape[axes->list[i]];
    n -= RP_AT(a->attr, var, correction).i;
    d = rp_scale(rp_sub(X, grad_emit(RP_OP_mean, axes, &a->in[0], 1)), 2);
    divisor = grad_constant(G, n > 0 ? (double)n : 0);
    a->grad_in[0] = rp_mul(d, rp_div(G, divisor));
}

void vjp_logsumexp(const rp_vjp_args *a)
{
    a->grad_in[0] = rp_mul(G, rp_exp(rp_sub(X, Y)));
}

void vjp_softmax(const rp_vjp_args *a)
{
    a->grad_in[0] = pair(RP_OP_softmax_grad, G, Y);
}
void vjp_log_softmax(const rp_vjp_args *a)
{
    a->grad_in[0] = pair(RP_OP_log_softmax_grad, G, Y);
}

/* f = y (g - s), s = sum(g y). With h the gradient of f: df/dg is the same form; df/dy = h (g - s) - g sum(h y). */
void vjp_softmax_grad(const rp_vjp_args *a)
{
    rp_tensor y = a->in[1];

    if (a->need[0])
        a->grad_in[0] = pair(RP_OP_softmax_grad, G, y);
    if (a->need[1]) {
        rp_tensor left = rp_mul(G, rp_sub(X, row_sum(rp_mul(X, y))));

        a->grad_in[1] = rp_sub(left, rp_mul(X, row_sum(rp_mul(G, y))));
    }
}

/* f = g - exp(y) sum(g) */
void vjp_log_softmax_grad(const rp_vjp_args *a)
{
    rp_tensor p = rp_exp(a->in[1]);

    if (a->need[0])
        a->grad_in[0] = rp_sub(G, row_sum(rp_mul(G, p)));
    if (a->need[1]) {
        rp_tensor total = row_sum(X);

        a->grad_in[1] = rp_neg(rp_mul(rp_mul(G, p), total));
    }
}

void grad_through(const rp_vjp_args *a, size_t first, const rp_tensor *expansion, size_t n_out)
{
    rp_tensor wrt[8], grad[8], y[RP_MAX_OUT], seed[RP_MAX_OUT];
    size_t index[8], n = 0, n_y = 0;

    for (size_t i = 0; i < a->n_in; i++) {
        bool known = false;

        /* the gradient of a value that is several operands is whole already */
        for (size_t k = 0; k < n; k++)
            known = known || wrt[k].value == a->in[i].value;
        if (a->need[i] && !known) {
            index[n] = i;
            wrt[n++] = a->in[i];
        }
    }
    for (size_t i = 0; i < n_out; i++)
        if (a->grad_out[i].graph) {
            if (!rp_tensor_ok(expansion[i]))
                return;
            y[n_y] = expansion[i];
            seed[n_y++] = a->grad_out[i];
        }
    if (n == 0 || n_y == 0)
        return;
    rp_vjp_from(a->in[0].graph, first, y, seed, n_y, wrt, n, grad);
    for (size_t i = 0; i < n; i++)
        a->grad_in[index[i]] = grad[i];
}

void vjp_cross_entropy(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = grad_emit(RP_OP_cross_entropy_grad, NULL, (rp_tensor[]){G, X, a->in[1]}, 3);
}

/* g (softmax(logits) - onehot(labels)) */
void vjp_cross_entropy_grad(const rp_vjp_args *a)
{
    size_t first = G.graph->program->n_instrs;
    rp_type type = *rp_tensor_type(a->in[1]);
    rp_tensor row = rp_reshape(X, 2, (size_t[]){type.shape[0], 1});
    rp_tensor hot = rp_one_hot(a->in[2], type.shape[1], type.dtype);
    rp_tensor dx = rp_mul(row, rp_sub(rp_softmax(a->in[1]), hot));

    grad_through(a, first, &dx, 1);
}

/* The product that is the gradient of operand i, in memory in the order in which it is read. */
static void give_product(const rp_vjp_args *a, size_t i, rp_tensor x, rp_tensor y)
{
    G.graph->lays_turned = a->turned[i];
    give(a, i, rp_matmul(x, y));
    G.graph->lays_turned = false;
}

void vjp_matmul(const rp_vjp_args *a)
{
    if (a->need[0])
        give_product(a, 0, G, rp_transpose(a->in[1], NULL));
    if (a->need[1])
        give_product(a, 1, rp_transpose(X, NULL), G);
}
