/* SPDX-License-Identifier: Apache-2.0
 * Gradient rules of convolution, pooling and batch norm, which append the instructions of CONTRACT 11.4. Convolution is
 * linear in both operands, so it and its two gradients are one another's gradients, as average pooling and its are. */
#include "core/program/grads.h"

#include <string.h>

#include "core/program/graph.h"

#define X (a->in[0])
#define G (a->grad_out[0])

/* The operation on two operands with a's attributes; like: whose axes from `axis` on are the size, NULL for none. */
static rp_tensor with_size(rp_op_id id, const rp_vjp_args *a, rp_tensor left, rp_tensor right, const rp_tensor *like,
                           int axis)
{
    rp_attr attr[RP_MAX_ATTR];
    size_t n_in = (size_t)rp_op_get(id)->n_in;

    /* an instruction holds no more than its operation has */
    memcpy(attr, a->attr, RP_AT_conv2d_grad_input_size * sizeof *attr);
    RP_AT(attr, conv2d_grad_input, size) = (rp_attr){0};
    if (like) {
        RP_AT(attr, conv2d_grad_input, size).n = 2;
        for (int d = 0; d < 2; d++)
            RP_AT(attr, conv2d_grad_input, size).list[d] = (int64_t)rp_tensor_type(*like)->shape[axis + d];
    }
    return grad_emit(id, attr, (rp_tensor[]){left, right}, n_in);
}

/* ---- convolution: of x and weight, of a gradient g of y ---- */

static rp_tensor conv2d(const rp_vjp_args *a, rp_tensor x, rp_tensor weight)
{
    return with_size(RP_OP_conv2d, a, x, weight, NULL, 0);
}

static rp_tensor input_gradient(const rp_vjp_args *a, rp_tensor g, rp_tensor weight, rp_tensor x)
{
    return with_size(RP_OP_conv2d_grad_input, a, g, weight, &x, 1);
}

static rp_tensor weight_gradient(const rp_vjp_args *a, rp_tensor x, rp_tensor g, rp_tensor weight)
{
    return with_size(RP_OP_conv2d_grad_weight, a, x, g, &weight, 0);
}

void vjp_conv2d(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = input_gradient(a, G, a->in[1], X);
    if (a->need[1])
        a->grad_in[1] = weight_gradient(a, X, G, a->in[1]);
}

void vjp_conv2d_winograd(const rp_vjp_args *a)
{
    vjp_conv2d(a);
}

/* operands g and weight; what arrives is like x */
void vjp_conv2d_grad_input(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = conv2d(a, G, a->in[1]);
    if (a->need[1])
        a->grad_in[1] = weight_gradient(a, G, X, a->in[1]);
}

/* operands x and g; what arrives is like weight */
void vjp_conv2d_grad_weight(const rp_vjp_args *a)
{
    if (a->need[0])
        a->grad_in[0] = input_gradient(a, a->in[1], G, X);
    if (a->need[1])
        a->grad_in[1] = conv2d(a, X, G);
}

/* ---- pooling ---- */

void vjp_max_pool(const rp_vjp_args *a)
{
    a->grad_in[0] = grad_emit(RP_OP_max_pool_grad, a->attr, (rp_tensor[]){G, X}, 2);
}

void vjp_avg_pool(const rp_vjp_args *a)
{
    a->grad_in[0] = with_size(RP_OP_avg_pool_grad, a, G, rp_no_tensor(), &X, 1);
}

void vjp_avg_pool_grad(const rp_vjp_args *a)
{
    a->grad_in[0] = with_size(RP_OP_avg_pool, a, G, rp_no_tensor(), NULL, 0);
}

/* [outputs, taps]: which pixel of the padded height (d 0) or width (d 1) a tap meets. */
static rp_tensor meeting(const rp_vjp_args *a, size_t outputs, int d)
{
    rp_tensor o = rp_scale(rp_iota(X.graph, RP_I64, outputs), (double)RP_AT(a->attr, max_pool, stride).list[d]);
    rp_tensor t = rp_scale(rp_iota(X.graph, RP_I64, (size_t)RP_AT(a->attr, max_pool, window).list[d]),
                           (double)RP_AT(a->attr, max_pool, dilation).list[d]);

    return rp_add(rp_reshape(o, 2, (size_t[]){outputs, 1}), t);
}

/* [n, h, w, c] -> [n, oh, ow, taps, c]: every window's elements; those of the padding are 0. */
static rp_tensor windows(const rp_vjp_args *a, rp_tensor image, rp_tensor rows, rp_tensor columns)
{
    const int64_t *padding = RP_AT(a->attr, max_pool, padding).list;
    rp_tensor padded = rp_pad(image, (size_t[]){0, (size_t)padding[0], (size_t)padding[1], 0},
                              (size_t[]){0, (size_t)padding[2], (size_t)padding[3], 0});
    rp_tensor high = rp_gather(padded, rows, 1), wide = rp_gather(high, columns, 3);
    rp_tensor turned = rp_transpose(wide, (int[]){0, 1, 3, 2, 4, 5});
    rp_type type;

    if (!rp_tensor_ok(turned))
        return rp_no_tensor();
    type = *rp_tensor_type(turned);
    return rp_reshape(
        turned, 5,
        (size_t[]){type.shape[0], type.shape[1], type.shape[2], type.shape[3] * type.shape[4], type.shape[5]});
}

/* max_pool_grad(g, x) is linear in g: what arrives is read where each window has its first greatest element. That is
 * the first that equals the window's maximum, or the first NaN; what is only padding does not count. */
void vjp_max_pool_grad(const rp_vjp_args *a)
{
    rp_tensor x = a->in[1], rows, columns, y, taken, inside, seen, same, nan, first, position, zero;
    rp_type image, out;
    size_t taps = (size_t)RP_AT(a->attr, max_pool, window).list[0] * (size_t)RP_AT(a->attr, max_pool, window).list[1];

    if (!a->need[0])
        return;
    image = *rp_tensor_type(x);
    out = *rp_tensor_type(X);
    rows = meeting(a, out.shape[1], 0);
    columns = meeting(a, out.shape[2], 1);
    taken = windows(a, G, rows, columns);
    seen = windows(a, x, rows, columns);
    inside = rp_fill(x.graph, RP_BOOL, 4, (size_t[]){1, image.shape[1], image.shape[2], 1}, 1);
    inside = windows(a, inside, rows, columns);
    y = grad_emit(RP_OP_max_pool, a->attr, &x, 1);
    y = rp_reshape(y, 5, (size_t[]){out.shape[0], out.shape[1], out.shape[2], 1, out.shape[3]});
    same = rp_eq(seen, y);
    nan = rp_ne(seen, seen);
    same = rp_logical_or(same, nan);
    same = rp_logical_and(same, inside);
    first = rp_argmax(rp_cast(same, RP_I32), 3, true);
    position = rp_reshape(rp_iota(x.graph, RP_I64, taps), 2, (size_t[]){taps, 1});
    same = rp_eq(position, first);
    zero = rp_fill(x.graph, image.dtype, 0, NULL, 0);
    a->grad_in[0] = rp_sum(rp_where(same, taken, zero), (int[]){3}, 1, false);
}

/* ---- resizing ---- */

/* Linear: it and its gradient are one another's. Of a gradient like the output, with the operand's length. */
static rp_tensor resized_back(rp_op_id id, const rp_vjp_args *a)
{
    rp_attr attr[RP_MAX_ATTR];

    memcpy(attr, a->attr, (RP_AT_resize_rounding + 1) * sizeof *attr);
    RP_AT(attr, resize, size).i = (int64_t)rp_tensor_type(X)->shape[RP_AT(attr, resize, axis).i];
    return grad_emit(id, attr, &G, 1);
}

void vjp_resize(const rp_vjp_args *a)
{
    a->grad_in[0] = resized_back(RP_OP_resize_grad, a);
}

void vjp_resize_grad(const rp_vjp_args *a)
{
    a->grad_in[0] = resized_back(RP_OP_resize, a);
}

/* ---- batch norm ---- */

/* The number of a channel's elements, as a value of x's type. */
static rp_tensor channel_count(rp_tensor x)
{
    rp_type type = *rp_tensor_type(x);
    size_t n = 1;

    for (int i = 0; i + 1 < type.rank; i++)
        n *= type.shape[i];
    return rp_fill(x.graph, type.dtype, 0, NULL, (double)n);
}

/* y = (x - mean) / s * gamma + beta, s = sqrt(var + eps), u = s^2 */
void vjp_batch_norm(const rp_vjp_args *a)
{
    rp_tensor gamma = a->in[1], mean = a->in[3], var = a->in[4];
    rp_tensor u = rp_add_scalar(var, RP_AT(a->attr, batch_norm, eps).r), s = rp_sqrt(u);

    if (a->need[0] || a->need[3]) {
        rp_tensor dx = rp_mul(G, rp_div(gamma, s));

        a->grad_in[0] = dx;
        if (a->need[3])
            a->grad_in[3] = rp_neg(grad_back(dx, mean));
    }
    if (a->need[1] || a->need[4]) {
        rp_tensor z = rp_div(rp_sub(X, mean), s);
        rp_tensor total = grad_back(rp_mul(G, z), gamma);

        a->grad_in[1] = total;
        if (a->need[4])
            a->grad_in[4] = rp_scale(rp_div(rp_mul(total, gamma), u), -0.5);
    }
    if (a->need[2])
        a->grad_in[2] = grad_back(G, a->in[2]);
}

static void add_to(rp_tensor *sum, rp_tensor g)
{
    *sum = sum->graph ? rp_add(*sum, g) : g;
}

/* y through the kernel; dmean/dx = 1 / N; dvar/dx = 2 (x - mean) / N, since the deviations from the mean add up to 0.
 */
void vjp_batch_norm_train(const rp_vjp_args *a)
{
    rp_tensor mean = a->out[1], var = a->out[2], d[RP_MAX_OUT];

    if (G.graph) {
        rp_emit(X.graph, RP_OP_batch_norm_grad, a->attr, (rp_tensor[]){G, X, a->in[1], mean, var}, 5, d);
        memcpy(a->grad_in, d, sizeof d);
    }
    if (a->need[0] && a->grad_out[1].graph) {
        rp_type type = *rp_tensor_type(X);
        rp_tensor share = rp_div(a->grad_out[1], channel_count(X));

        add_to(&a->grad_in[0], rp_broadcast_to(share, type.rank, type.shape));
    }
    if (a->need[0] && a->grad_out[2].graph) {
        rp_tensor share = rp_div(a->grad_out[2], channel_count(X));
        rp_tensor twice = rp_scale(share, 2), deviation = rp_sub(X, mean);

        add_to(&a->grad_in[0], rp_mul(deviation, twice));
    }
}

/* The formulas of CONTRACT 7.8 in elementary operations, mean and var being operands like the others. */
void vjp_batch_norm_grad(const rp_vjp_args *a)
{
    size_t first = X.graph->program->n_instrs;
    rp_tensor g = X, x = a->in[1], gamma = a->in[2];
    rp_tensor s = rp_sqrt(rp_add_scalar(a->in[4], RP_AT(a->attr, batch_norm, eps).r));
    rp_tensor z = rp_div(rp_sub(x, a->in[3]), s), product = rp_mul(g, z);
    rp_tensor out[RP_MAX_OUT], n, shift, slope, centred, factor;

    out[1] = grad_back(product, gamma);
    out[2] = grad_back(g, gamma);
    n = channel_count(x);
    shift = rp_div(out[2], n);
    slope = rp_div(out[1], n);
    centred = rp_sub(g, shift);
    slope = rp_mul(z, slope);
    centred = rp_sub(centred, slope);
    factor = rp_div(gamma, s);
    out[0] = rp_mul(centred, factor);
    grad_through(a, first, out, 3);
}
