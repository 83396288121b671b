/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of the norms along the last axis and of group norm (CONTRACT 11.4; batch norm's are in grads_image.c).
 * No argument list has two calls that append. */
#include <string.h>

#include "core/program/grads.h"
#include "core/program/graph.h"
#include "determinism/sum.h"

#define X (a->in[0])
#define G (a->grad_out[0])

static rp_tensor row_mean(rp_tensor x)
{
    return rp_mean(x, (int[]){-1}, 1, true);
}

/* ---- layer norm and RMS norm ---- */

/* The sum over the rows of which there are lanes [chunks, lanes, n]: those of a chunk, then the chunks. */
static rp_tensor folded(rp_tensor lanes, rp_tensor like)
{
    rp_tensor chunks = rp_sum(lanes, (int[]){1}, 1, true);
    rp_tensor total = rp_sum(chunks, (int[]){0}, 1, true);

    return rp_tensor_ok(total) ? rp_reshape(total, 1, rp_tensor_type(like)->shape) : rp_no_tensor();
}

/* The same lanes of v's rows in elementary operations, the rows filled up with zeros. */
static rp_tensor lanes_of(rp_tensor v, const rp_type *lanes)
{
    const size_t chunks = lanes->shape[0], width = lanes->shape[1], n = lanes->shape[2];
    size_t rows, turns, whole;

    if (!rp_tensor_ok(v))
        return rp_no_tensor();
    rows = rp_type_count(rp_tensor_type(v)) / n;
    turns = chunks > 1 ? RP_CHUNK / RP_LANES : width > 0 ? (rows + width - 1) / width : 0;
    whole = chunks * turns * width;
    v = rp_reshape(v, 2, (size_t[]){rows, n});
    v = rp_pad(v, (size_t[]){0, 0}, (size_t[]){whole - rows, 0});
    v = rp_reshape(v, 4, (size_t[]){chunks, turns, width, n});
    return rp_sum(v, (int[]){1}, 1, false);
}

void vjp_layer_norm(const rp_vjp_args *a)
{
    rp_tensor gamma = a->in[1], d[RP_MAX_OUT];

    if (!a->need[1] && !a->need[2]) {
        a->grad_in[0] = grad_emit(RP_OP_layer_norm_grad, a->attr, (rp_tensor[]){G, X, gamma}, 3);
        return;
    }
    rp_emit(X.graph, RP_OP_layer_norm_backward, a->attr, (rp_tensor[]){G, X, gamma}, 3, d);
    a->grad_in[0] = d[0];
    if (a->need[1])
        a->grad_in[1] = folded(d[1], gamma);
    if (a->need[2])
        a->grad_in[2] = folded(d[2], gamma);
}

/* dx = r (h - mean(h) - xhat mean(h xhat)), h = g gamma */
static rp_tensor layer_norm_slope(const rp_vjp_args *a, rp_tensor *xhat)
{
    rp_tensor x = a->in[1], h = rp_mul(X, a->in[2]);
    rp_tensor d = rp_sub(x, row_mean(x));
    rp_tensor variance = row_mean(rp_mul(d, d));
    rp_tensor s = rp_sqrt(rp_add_scalar(variance, RP_AT(a->attr, layer_norm_grad, eps).r)), shifted, centred;

    *xhat = rp_div(d, s);
    shifted = rp_sub(h, row_mean(h));
    centred = rp_sub(shifted, rp_mul(*xhat, row_mean(rp_mul(h, *xhat))));
    return rp_div(centred, s);
}

void vjp_layer_norm_grad(const rp_vjp_args *a)
{
    size_t first = G.graph->program->n_instrs;
    rp_tensor xhat, dx = layer_norm_slope(a, &xhat);

    grad_through(a, first, &dx, 1);
}

void vjp_layer_norm_backward(const rp_vjp_args *a)
{
    size_t first = X.graph->program->n_instrs;
    const rp_type lanes = *rp_tensor_type(a->out[1]);
    rp_tensor xhat, out[RP_MAX_OUT];

    out[0] = layer_norm_slope(a, &xhat);
    out[1] = lanes_of(rp_mul(X, xhat), &lanes);
    out[2] = lanes_of(X, &lanes);
    grad_through(a, first, out, 3);
}

void vjp_rms_norm(const rp_vjp_args *a)
{
    rp_tensor d[RP_MAX_OUT];

    rp_emit(X.graph, RP_OP_rms_norm_grad, a->attr, (rp_tensor[]){G, X, a->in[1]}, 3, d);
    a->grad_in[0] = d[0];
    if (a->need[1])
        a->grad_in[1] = folded(d[1], a->in[1]);
}

/* dx = r (h - xhat mean(h xhat)), h = g gamma */
void vjp_rms_norm_grad(const rp_vjp_args *a)
{
    size_t first = X.graph->program->n_instrs;
    const rp_type lanes = *rp_tensor_type(a->out[1]);
    rp_tensor x = a->in[1], h = rp_mul(X, a->in[2]);
    rp_tensor square = row_mean(rp_mul(x, x));
    rp_tensor s = rp_sqrt(rp_add_scalar(square, RP_AT(a->attr, rms_norm_grad, eps).r));
    rp_tensor xhat = rp_div(x, s), centred = rp_sub(h, rp_mul(xhat, row_mean(rp_mul(h, xhat)))), out[2];

    out[0] = rp_div(centred, s);
    out[1] = lanes_of(rp_mul(X, xhat), &lanes);
    grad_through(a, first, out, 2);
}

/* ---- group norm, in the shape [samples, positions, groups, width] ---- */

typedef struct grouped {
    rp_type x;
    size_t shape[4];
} grouped;

static grouped grouped_of(rp_tensor x, const rp_attr *attr)
{
    grouped s = {.x = *rp_tensor_type(x)};
    const size_t groups = (size_t)RP_AT(attr, group_norm, groups).i;

    s.shape[0] = s.x.shape[0];
    s.shape[1] = 1;
    for (int d = 1; d + 1 < s.x.rank; d++)
        s.shape[1] *= s.x.shape[d];
    s.shape[2] = groups;
    s.shape[3] = s.x.shape[s.x.rank - 1] / groups;
    return s;
}

/* The number of a group's elements, as a value of x's type. */
static rp_tensor group_count(rp_tensor x, const grouped *s)
{
    return rp_fill(x.graph, s->x.dtype, 0, NULL, (double)(s->shape[1] * s->shape[3]));
}

/* [samples, groups] beside elements in that shape */
static rp_tensor beside(rp_tensor moments, const grouped *s)
{
    return rp_reshape(moments, 4, (size_t[]){s->shape[0], 1, s->shape[2], 1});
}

static void add_to(rp_tensor *sum, rp_tensor g)
{
    *sum = sum->graph ? rp_add(*sum, g) : g;
}

/* y through the kernel; dmean/dx = 1 / N; dvar/dx = 2 (x - mean) / N. */
void vjp_group_norm(const rp_vjp_args *a)
{
    const grouped s = grouped_of(X, a->attr);
    rp_tensor mean = a->out[1], d[RP_MAX_OUT];

    if (G.graph) {
        rp_emit(X.graph, RP_OP_group_norm_grad, a->attr, (rp_tensor[]){G, X, a->in[1], mean, a->out[2]}, 5, d);
        a->grad_in[0] = d[0];
        if (a->need[1])
            a->grad_in[1] = grad_back(d[1], a->in[1]);
        if (a->need[2])
            a->grad_in[2] = grad_back(d[2], a->in[1]);
    }
    if (a->need[0] && a->grad_out[1].graph) {
        rp_tensor share = beside(rp_div(a->grad_out[1], group_count(X, &s)), &s);

        add_to(&a->grad_in[0], rp_reshape(rp_broadcast_to(share, 4, s.shape), s.x.rank, s.x.shape));
    }
    if (a->need[0] && a->grad_out[2].graph) {
        rp_tensor share = beside(rp_div(a->grad_out[2], group_count(X, &s)), &s), twice = rp_scale(share, 2);
        rp_tensor x = rp_reshape(X, 4, s.shape), deviation = rp_sub(x, beside(mean, &s));

        add_to(&a->grad_in[0], rp_reshape(rp_mul(deviation, twice), s.x.rank, s.x.shape));
    }
}

/* The formulas of CONTRACT 7.11 in elementary operations, mean and var being operands like the others. */
void vjp_group_norm_grad(const rp_vjp_args *a)
{
    size_t first = X.graph->program->n_instrs;
    const grouped s = grouped_of(a->in[1], a->attr);
    rp_tensor g = rp_reshape(X, 4, s.shape), x = rp_reshape(a->in[1], 4, s.shape);
    rp_tensor gamma = rp_reshape(a->in[2], 2, &s.shape[2]), mean = beside(a->in[3], &s), var = beside(a->in[4], &s);
    rp_tensor root = rp_sqrt(rp_add_scalar(var, RP_AT(a->attr, group_norm_grad, eps).r));
    rp_tensor z = rp_div(rp_sub(x, mean), root), q = rp_sum(rp_mul(g, z), (int[]){1}, 1, true);
    rp_tensor p = rp_sum(g, (int[]){1}, 1, true), n = group_count(x, &s), shift, slope, centred, out[RP_MAX_OUT];

    shift = rp_div(rp_sum(rp_mul(p, gamma), (int[]){3}, 1, true), n);
    slope = rp_div(rp_sum(rp_mul(q, gamma), (int[]){3}, 1, true), n);
    centred = rp_sub(rp_mul(g, gamma), shift);
    centred = rp_sub(centred, rp_mul(z, slope));
    out[0] = rp_reshape(rp_div(centred, root), s.x.rank, s.x.shape);
    out[1] = rp_reshape(q, 2, (size_t[]){s.shape[0], s.shape[2] * s.shape[3]});
    out[2] = rp_reshape(p, 2, (size_t[]){s.shape[0], s.shape[2] * s.shape[3]});
    grad_through(a, first, out, 3);
}
