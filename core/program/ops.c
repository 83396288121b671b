/* SPDX-License-Identifier: Apache-2.0
 * The public operations: thin calls that append one instruction each. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/program/graph.h"
#include "rp/composite.h"

static rp_tensor apply(rp_op_id id, const rp_attr *attr, const rp_tensor *in, size_t n)
{
    rp_tensor out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, n), id, attr, in, n, out);
    return out[0];
}

static rp_tensor unary(rp_op_id id, rp_tensor x)
{
    return apply(id, NULL, &x, 1);
}

static rp_tensor binary(rp_op_id id, rp_tensor a, rp_tensor b)
{
    return apply(id, NULL, (rp_tensor[]){a, b}, 2);
}

/* Attribute i holds the list; n is checked against RP_MAX_RANK by the callers. */
static void set_list(rp_attr *attr, const size_t *list, int n)
{
    attr->n = n;
    for (int i = 0; i < n; i++)
        attr->list[i] = list[i] <= (size_t)INT64_MAX ? (int64_t)list[i] : -1;
}

static bool rank_fits(rp_graph *g, int rank)
{
    if (rank >= 0 && rank <= RP_MAX_RANK)
        return true;
    if (g)
        rp_graph_fail(g, RP_ESHAPE, "rank %d: expected 0 to %d", rank, RP_MAX_RANK);
    return false;
}

rp_tensor rp_fill(rp_graph *g, rp_dtype dtype, int rank, const size_t *shape, double value)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor out[RP_MAX_OUT];

    if (!rank_fits(g, rank) || !rp_graph_given(g, "shape", shape, (size_t)rank))
        return rp_no_tensor();
    RP_AT(attr, fill, value).r = value;
    set_list(&RP_AT(attr, fill, shape), shape, rank);
    RP_AT(attr, fill, dtype).i = dtype;
    rp_emit(g, RP_OP_fill, attr, NULL, 0, out);
    return out[0];
}

rp_tensor rp_iota(rp_graph *g, rp_dtype dtype, size_t n)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor out[RP_MAX_OUT];

    RP_AT(attr, iota, n).i = n <= (size_t)INT64_MAX ? (int64_t)n : -1;
    RP_AT(attr, iota, dtype).i = dtype;
    rp_emit(g, RP_OP_iota, attr, NULL, 0, out);
    return out[0];
}

/* The elementwise rows; rp/tensor.h declares each, or the compiler complains. */
#define MAP1(name, ...) \
    rp_tensor rp_##name(rp_tensor x) \
    { \
        return unary(RP_OP_##name, x); \
    }
#define MAP1P(name, cost, way, domain, p, ...) \
    rp_tensor rp_##name(rp_tensor x, double p) \
    { \
        return apply(RP_OP_##name, (rp_attr[RP_MAX_ATTR]){{.r = p}}, &x, 1); \
    }
#define MAP1Q(name, cost, way, domain, p, p0, q, ...) \
    rp_tensor rp_##name(rp_tensor x, double p, double q) \
    { \
        return apply(RP_OP_##name, (rp_attr[RP_MAX_ATTR]){{.r = p}, {.r = q}}, &x, 1); \
    }
#define NUM1 MAP1
#define LOGIC1 MAP1
#define MAP2(name, ...) \
    rp_tensor rp_##name(rp_tensor a, rp_tensor b) \
    { \
        return binary(RP_OP_##name, a, b); \
    }
#define NUM2 MAP2
#define LOGIC2 MAP2
#define COMPARE MAP2
#define INT2 MAP2
#include "kernels/operations.def"

rp_tensor rp_softmax(rp_tensor x)
{
    return unary(RP_OP_softmax, x);
}
rp_tensor rp_log_softmax(rp_tensor x)
{
    return unary(RP_OP_log_softmax, x);
}
rp_tensor rp_matmul(rp_tensor a, rp_tensor b)
{
    return binary(RP_OP_matmul, a, b);
}
rp_tensor rp_embedding(rp_tensor table, rp_tensor index)
{
    return rp_gather(table, index, 0);
}

rp_tensor rp_pow_int(rp_tensor x, int64_t exponent)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = exponent}};

    return apply(RP_OP_pow_int, attr, &x, 1);
}

rp_tensor rp_cast(rp_tensor x, rp_dtype dtype)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = dtype}};

    return apply(RP_OP_cast, attr, &x, 1);
}

rp_tensor rp_bitcast(rp_tensor x, rp_dtype dtype)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = dtype}};

    return apply(RP_OP_bitcast, attr, &x, 1);
}

rp_tensor rp_where(rp_tensor condition, rp_tensor a, rp_tensor b)
{
    return apply(RP_OP_where, NULL, (rp_tensor[]){condition, a, b}, 3);
}

static rp_tensor scalar_like(rp_tensor x, double c)
{
    return rp_tensor_ok(x) ? rp_fill(x.graph, rp_tensor_type(x)->dtype, 0, NULL, c) : rp_no_tensor();
}

rp_tensor rp_add_scalar(rp_tensor x, double c)
{
    return rp_add(x, scalar_like(x, c));
}

rp_tensor rp_scale(rp_tensor x, double c)
{
    return rp_mul(x, scalar_like(x, c));
}

static rp_tensor shaped(rp_op_id id, rp_tensor x, int rank, const size_t *shape)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    if (!rank_fits(x.graph, rank) || !rp_graph_given(x.graph, "shape", shape, (size_t)rank))
        return rp_no_tensor();
    set_list(&RP_AT(attr, reshape, shape), shape, rank);
    return apply(id, attr, &x, 1);
}

rp_tensor rp_reshape(rp_tensor x, int rank, const size_t *shape)
{
    return shaped(RP_OP_reshape, x, rank, shape);
}

rp_tensor rp_broadcast_to(rp_tensor x, int rank, const size_t *shape)
{
    return shaped(RP_OP_broadcast_to, x, rank, shape);
}

rp_tensor rp_stop_gradient(rp_tensor x)
{
    rp_tensor out;

    rp_emit(x.graph, RP_OP_stop_gradient, NULL, &x, 1, &out);
    return out;
}

rp_tensor rp_transpose(rp_tensor x, const int *permutation)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    int rank;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    rank = rp_tensor_type(x)->rank;
    RP_AT(attr, transpose, permutation).n = rank;
    for (int i = 0; i < rank; i++)
        RP_AT(attr, transpose, permutation).list[i] = permutation ? permutation[i] : i;
    if (!permutation && rank < 2) {
        rp_graph_fail(x.graph, RP_ESHAPE, "transpose: expected rank 2 or more, found %d", rank);
        return rp_no_tensor();
    }
    if (!permutation) {
        RP_AT(attr, transpose, permutation).list[rank - 2] = rank - 1;
        RP_AT(attr, transpose, permutation).list[rank - 1] = rank - 2;
    }
    return apply(RP_OP_transpose, attr, &x, 1);
}

/* Slices and padding: two lists as long as the rank. */
static rp_tensor two_lists(rp_op_id id, rp_tensor x, const size_t *first, const size_t *second)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const rp_attr_spec *name = rp_op_get(id)->attr;

    if (!rp_tensor_ok(x) || !rp_graph_given(x.graph, name[0].name, first, (size_t)rp_tensor_type(x)->rank) ||
        !rp_graph_given(x.graph, name[1].name, second, (size_t)rp_tensor_type(x)->rank))
        return rp_no_tensor();
    set_list(&RP_AT(attr, slice, begin), first, rp_tensor_type(x)->rank);
    set_list(&RP_AT(attr, slice, end), second, rp_tensor_type(x)->rank);
    return apply(id, attr, &x, 1);
}

rp_tensor rp_slice(rp_tensor x, const size_t *begin, const size_t *end)
{
    return two_lists(RP_OP_slice, x, begin, end);
}

rp_tensor rp_pad(rp_tensor x, const size_t *before, const size_t *after)
{
    return two_lists(RP_OP_pad, x, before, after);
}

/* Counts a negative axis from the end; out of range stays as it was given, for the shape rule to refuse and name. */
static int64_t axis_of(rp_tensor x, int axis, int extra)
{
    int64_t counted = rp_tensor_ok(x) ? (int64_t)axis + rp_tensor_type(x)->rank + extra : axis;

    return axis < 0 && counted >= 0 ? counted : axis;
}

rp_tensor rp_concat(const rp_tensor *x, size_t n, int axis)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    if (n == 0 || !x)
        return rp_no_tensor();
    RP_AT(attr, concat, axis).i = axis_of(x[0], axis, 0);
    return apply(RP_OP_concat, attr, x, n);
}

rp_tensor rp_gather(rp_tensor x, rp_tensor index, int axis)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = axis_of(x, axis, 0)}};

    return apply(RP_OP_gather, attr, (rp_tensor[]){x, index}, 2);
}

rp_tensor rp_scatter_add(rp_tensor g, rp_tensor index, int axis, size_t size)
{
    int lost = rp_tensor_ok(index) ? rp_tensor_type(index)->rank - 1 : 0; /* axes of g that the result has not */
    rp_attr attr[RP_MAX_ATTR] = {{.i = axis_of(g, axis, -lost)}, {.i = size <= (size_t)INT64_MAX ? (int64_t)size : -1}};

    return apply(RP_OP_scatter_add, attr, (rp_tensor[]){g, index}, 2);
}

/* What was made on the way to y, of which nobody else has a handle. */
static rp_tensor without(rp_tensor y, rp_tensor on_the_way)
{
    rp_tensor_release(on_the_way);
    return y;
}

rp_tensor rp_one_hot(rp_tensor index, size_t depth, rp_dtype dtype)
{
    const rp_dtype real = dtype == RP_F64 ? RP_F64 : RP_F32;
    rp_attr attr[RP_MAX_ATTR] = {{.i = depth <= (size_t)INT64_MAX ? (int64_t)depth : -1}, {.i = real}};
    const rp_tensor hot = apply(RP_OP_one_hot, attr, &index, 1);

    return dtype == real ? hot : without(rp_cast(hot, dtype), hot);
}

/* The reduced axes with length 1 are dropped by a reshape when they are not kept. */
static rp_tensor drop_axes(rp_tensor reduced, unsigned axes)
{
    size_t shape[RP_MAX_RANK];
    int rank = 0;

    if (!rp_tensor_ok(reduced))
        return rp_no_tensor();
    for (int i = 0; i < rp_tensor_type(reduced)->rank; i++)
        if (!(axes & 1u << i))
            shape[rank++] = rp_tensor_type(reduced)->shape[i];
    return without(rp_reshape(reduced, rank, shape), reduced);
}

/* Axis bad of the axes as they were given, negative ones and too many among them. */
static void refuse_axes(rp_op_id id, rp_tensor x, const int *axes, int n, int bad)
{
    const int shown = n <= RP_MAX_RANK ? n : RP_MAX_RANK;
    char list[16 * RP_MAX_RANK] = "", type[192];
    size_t used = 0;

    for (int i = 0; i < shown; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", i ? "," : "", axes[i]);
    rp_type_text(rp_tensor_type(x), type, sizeof type);
    rp_graph_fail(x.graph, RP_ESHAPE,
                  "%s: axes [%s%s]: axis %d is out of range or repeated in %s, expected axes from %d to %d",
                  rp_op_get(id)->name, list, shown < n ? ",.." : "", axes[bad], type, -rp_tensor_type(x)->rank,
                  rp_tensor_type(x)->rank - 1);
}

/* second: the attribute behind the axes, of an operation that has one */
static rp_tensor reduce_with(rp_op_id id, rp_tensor x, const int *axes, int n, bool keep, int64_t second)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}, {.i = second}};
    unsigned mask = 0;
    int rank;
    rp_tensor y;

    if (!rp_tensor_ok(x) || !rp_graph_given(x.graph, "axes", axes, n > 0 ? (size_t)n : 0))
        return rp_no_tensor();
    rank = rp_tensor_type(x)->rank;
    for (int i = 0; i < n; i++) {
        int axis = axes[i] < 0 ? axes[i] + rank : axes[i];

        if (axis < 0 || axis >= rank || mask & 1u << axis) {
            refuse_axes(id, x, axes, n, i);
            return rp_no_tensor();
        }
        mask |= 1u << axis;
    }
    if (n == 0)
        mask = (1u << rank) - 1;
    for (int i = 0; i < rank; i++)
        if (mask & 1u << i)
            RP_AT(attr, sum, axes).list[RP_AT(attr, sum, axes).n++] = i;
    y = apply(id, attr, &x, 1);
    return keep ? y : drop_axes(y, mask);
}

static rp_tensor reduce(rp_op_id id, rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce_with(id, x, axes, n, keep, 0);
}

rp_tensor rp_sum(rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce(RP_OP_sum, x, axes, n, keep);
}

rp_tensor rp_mean(rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce(RP_OP_mean, x, axes, n, keep);
}

rp_tensor rp_max(rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce(RP_OP_max, x, axes, n, keep);
}

rp_tensor rp_min(rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce(RP_OP_min, x, axes, n, keep);
}

rp_tensor rp_prod(rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce(RP_OP_prod, x, axes, n, keep);
}

static rp_tensor place_along(rp_op_id id, rp_tensor x, int axis, bool keep)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = axis_of(x, axis, 0)}};
    rp_tensor y = apply(id, attr, &x, 1);

    return keep ? y : drop_axes(y, rp_tensor_ok(y) ? 1u << RP_AT(attr, argmax, axis).i : 0);
}

rp_tensor rp_argmax(rp_tensor x, int axis, bool keep)
{
    return place_along(RP_OP_argmax, x, axis, keep);
}

rp_tensor rp_argmin(rp_tensor x, int axis, bool keep)
{
    return place_along(RP_OP_argmin, x, axis, keep);
}

rp_tensor rp_var(rp_tensor x, const int *axes, int n, int64_t correction, bool keep)
{
    return reduce_with(RP_OP_var, x, axes, n, keep, correction);
}

rp_tensor rp_logsumexp(rp_tensor x, const int *axes, int n, bool keep)
{
    return reduce(RP_OP_logsumexp, x, axes, n, keep);
}

void rp_fft(rp_tensor re, rp_tensor im, bool inverse, rp_tensor *out_re, rp_tensor *out_im)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = inverse}};
    rp_tensor out[RP_MAX_OUT] = {rp_no_tensor(), rp_no_tensor()};

    if (out_re)
        *out_re = rp_no_tensor();
    if (out_im)
        *out_im = rp_no_tensor();
    if (!rp_graph_given(re.graph, "out_re", out_re, 1) || !rp_graph_given(re.graph, "out_im", out_im, 1) ||
        !rp_tensor_ok(re))
        return;
    if (!im.graph) {
        const rp_type *type = rp_tensor_type(re);

        im = rp_fill(re.graph, type->dtype, 0, NULL, 0);
        im = rp_broadcast_to(im, rp_tensor_type(re)->rank, rp_tensor_type(re)->shape);
    }
    rp_emit(re.graph, RP_OP_fft, attr, (rp_tensor[]){re, im}, 2, out);
    *out_re = out[0];
    *out_im = out[1];
}

rp_tensor rp_cumsum(rp_tensor x, int axis, bool reverse)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = axis_of(x, axis, 0)}, {.i = reverse}};

    return apply(RP_OP_cumsum, attr, &x, 1);
}

rp_tensor rp_cumprod(rp_tensor x, int axis, bool reverse)
{
    rp_attr attr[RP_MAX_ATTR] = {{.i = axis_of(x, axis, 0)}, {.i = reverse}};

    return apply(RP_OP_cumprod, attr, &x, 1);
}

rp_tensor rp_cholesky(rp_tensor a, double tolerance)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = tolerance}};

    return apply(RP_OP_cholesky, attr, &a, 1);
}

rp_tensor rp_triangular_solve(rp_tensor a, rp_tensor b, bool upper, bool transposed)
{
    rp_attr attr[RP_MAX_ATTR];

    memset(attr, 0, sizeof attr);
    RP_AT(attr, triangular_solve, transposed).i = transposed;
    RP_AT(attr, triangular_solve, upper).i = upper;
    return apply(RP_OP_triangular_solve, attr, (rp_tensor[]){a, b}, 2);
}

rp_tensor rp_layer_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, double eps)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = eps}};

    return apply(RP_OP_layer_norm, attr, (rp_tensor[]){x, gamma, beta}, 3);
}

rp_tensor rp_rms_norm(rp_tensor x, rp_tensor gamma, double eps)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = eps}};

    return apply(RP_OP_rms_norm, attr, (rp_tensor[]){x, gamma}, 2);
}

/* All rows as those of one matrix, so that the gradient of w is one product too; a row's bits do not depend on how many
 * there are. */
static rp_tensor rows_times(rp_tensor x, rp_tensor w)
{
    rp_type type;
    size_t flat[2] = {1, 0};
    rp_tensor rows, product;

    if (!rp_tensor_ok(x) || !rp_tensor_ok(w) || rp_tensor_type(x)->rank < 3 || rp_tensor_type(w)->rank != 2)
        return rp_matmul(x, w);
    type = *rp_tensor_type(x);
    for (int i = 0; i + 1 < type.rank; i++)
        flat[0] *= type.shape[i];
    flat[1] = type.shape[type.rank - 1];
    rows = rp_reshape(x, 2, flat);
    product = without(rp_matmul(rows, w), rows);
    type.shape[type.rank - 1] = rp_tensor_type(w)->shape[1];
    return without(rp_reshape(product, type.rank, type.shape), product);
}

rp_tensor rp_linear(rp_tensor x, rp_tensor w, rp_tensor b)
{
    rp_tensor y = rows_times(x, w), sum;

    if (!b.graph || !y.graph)
        return b.graph ? rp_add(y, b) : y;
    y.graph->spent = y.value + 1;
    sum = rp_add(y, b);
    y.graph->spent = 0;
    return without(sum, y);
}

/* x is not used any more. */
static rp_tensor mean_all(rp_tensor x)
{
    return without(rp_mean(x, NULL, 0, false), x);
}

rp_tensor rp_mse(rp_tensor prediction, rp_tensor target)
{
    rp_tensor d;

    if (!rp_tensor_beside("mse", "a target", prediction, target))
        return rp_no_tensor();
    d = rp_sub(prediction, target);
    return without(mean_all(rp_mul(d, d)), d);
}

rp_tensor rp_bce_with_logits(rp_tensor logits, rp_tensor target)
{
    if (!rp_tensor_beside("bce_with_logits", "a target", logits, target))
        return rp_no_tensor();
    return mean_all(rp_bce_logits(logits, target));
}

rp_tensor rp_cross_entropy(rp_tensor logits, rp_tensor labels)
{
    return mean_all(binary(RP_OP_cross_entropy, logits, labels));
}

rp_tensor rp_dropout(rp_tensor x, double rate, rp_tensor rng, int64_t stream)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = rate}, {.i = stream}};

    return apply(RP_OP_dropout, attr, (rp_tensor[]){x, rng}, 2);
}

static rp_tensor random_tensor(rp_op_id id, rp_tensor rng, int64_t stream, rp_dtype dtype, int rank,
                               const size_t *shape, double a, double b)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = a}, {.r = b}, {.i = stream}, {0}, {.i = dtype}};

    if (!rank_fits(rng.graph, rank) || !rp_graph_given(rng.graph, "shape", shape, (size_t)rank))
        return rp_no_tensor();
    set_list(&RP_AT(attr, uniform, shape), shape, rank);
    return apply(id, attr, &rng, 1);
}

rp_tensor rp_uniform(rp_tensor rng, int64_t stream, rp_dtype dtype, int rank, const size_t *shape, double low,
                     double high)
{
    return random_tensor(RP_OP_uniform, rng, stream, dtype, rank, shape, low, high);
}

rp_tensor rp_normal(rp_tensor rng, int64_t stream, rp_dtype dtype, int rank, const size_t *shape, double mean,
                    double deviation)
{
    return random_tensor(RP_OP_normal, rng, stream, dtype, rank, shape, mean, deviation);
}

rp_tensor rp_sgd(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double momentum, bool nesterov,
                 double weight_decay)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = momentum}, {.i = nesterov}, {.r = weight_decay}};
    rp_tensor out[RP_MAX_OUT];

    if (!rp_moments_given("sgd", p, m, m))
        return rp_no_tensor();
    rp_emit(p.graph, RP_OP_sgd, attr, (rp_tensor[]){p, *m, g, lr}, 4, out);
    *m = out[1];
    return out[0];
}

rp_tensor rp_adam(rp_tensor p, rp_tensor *m, rp_tensor *v, rp_tensor g, rp_tensor lr, rp_tensor c1, rp_tensor c2,
                  const rp_adam_options *options)
{
    static const rp_adam_options usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    const rp_adam_options *o = options ? options : &usual;
    rp_attr attr[RP_MAX_ATTR] = {{.r = o->beta1}, {.r = o->beta2}, {.r = o->eps}, {.r = o->weight_decay}};
    rp_tensor out[RP_MAX_OUT];

    if (!rp_moments_given("adam", p, m, v))
        return rp_no_tensor();
    rp_emit(p.graph, o->decoupled ? RP_OP_adamw : RP_OP_adam, attr, (rp_tensor[]){p, *m, *v, g, lr, c1, c2}, 7, out);
    *m = out[1];
    *v = out[2];
    return out[0];
}

rp_tensor rp_rmsprop(rp_tensor p, rp_tensor *v, rp_tensor *m, rp_tensor g, rp_tensor lr, double alpha, double eps,
                     double momentum, double weight_decay)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = alpha}, {.r = eps}, {.r = momentum}, {.r = weight_decay}};
    rp_tensor out[RP_MAX_OUT];

    if (!rp_moments_given("rmsprop", p, m, v))
        return rp_no_tensor();
    rp_emit(p.graph, RP_OP_rmsprop, attr, (rp_tensor[]){p, *v, *m, g, lr}, 5, out);
    *v = out[1];
    *m = out[2];
    return out[0];
}

rp_tensor rp_lion(rp_tensor p, rp_tensor *m, rp_tensor g, rp_tensor lr, double beta1, double beta2, double weight_decay)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = beta1}, {.r = beta2}, {.r = weight_decay}};
    rp_tensor out[RP_MAX_OUT];

    if (!rp_moments_given("lion", p, m, m))
        return rp_no_tensor();
    rp_emit(p.graph, RP_OP_lion, attr, (rp_tensor[]){p, *m, g, lr}, 4, out);
    *m = out[1];
    return out[0];
}

rp_tensor rp_adagrad(rp_tensor p, rp_tensor *s, rp_tensor g, rp_tensor lr, double eps, double weight_decay)
{
    rp_attr attr[RP_MAX_ATTR] = {{.r = eps}, {.r = weight_decay}};
    rp_tensor out[RP_MAX_OUT];

    if (!rp_moments_given("adagrad", p, s, s))
        return rp_no_tensor();
    rp_emit(p.graph, RP_OP_adagrad, attr, (rp_tensor[]){p, *s, g, lr}, 4, out);
    *s = out[1];
    return out[0];
}

/* CONTRACT 8: norm = sqrt of the gradients' sums of squares added in order; every gradient times
 * min(1, limit / (norm + 1e-6)). */
rp_tensor rp_clip_by_norm(rp_tensor *grad, size_t n, double limit)
{
    rp_tensor total = rp_no_tensor(), norm, one, most, ratio, factor;

    if (!grad && n > 0)
        return rp_no_tensor();
    for (size_t i = 0; i < n; i++) {
        rp_tensor squares = rp_mul(grad[i], grad[i]), square = without(rp_sum(squares, NULL, 0, false), squares);

        total = i ? rp_add(total, square) : square;
    }
    norm = rp_sqrt(total);
    one = scalar_like(norm, 1);
    most = scalar_like(norm, limit);
    ratio = rp_div(most, rp_add_scalar(norm, 1e-6));
    factor = rp_minimum(one, ratio);
    for (size_t i = 0; i < n; i++)
        grad[i] = without(rp_mul(grad[i], factor), grad[i]);
    return norm;
}
