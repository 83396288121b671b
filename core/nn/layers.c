/* SPDX-License-Identifier: Apache-2.0
 * Layers without a memory of their own, as compositions of operations (CONTRACT 16.4): linear, convolutions, embedding,
 * norms, dropout. Parameters lie in a scope of the layer's name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/nn/nn_private.h"

/* The type of x, which the layer `name` is about to use; false after an error. */
static bool type_of(rp_nn *nn, const char *name, rp_tensor x, int least, rp_type *type)
{
    if (!nn || !nn->graph)
        return false;
    rp_graph_at_work(nn->graph);
    if (!x.graph && nn->graph->status == RP_OK)
        rp_nn_fail(nn, RP_EARG, "%s%.40s: x is no tensor", nn->scope, name);
    if (!rp_tensor_ok(x))
        return false;
    *type = *rp_tensor_type(x);
    if (type->rank >= least)
        return true;
    rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: expected x with at least %d axes, found %d", nn->scope, name, least,
               type->rank);
    return false;
}

/* As torch.nn begins: uniform within 1 / sqrt(fan in). */
static rp_nn_init within(size_t fan_in)
{
    const double bound = 1 / sqrt((double)(fan_in ? fan_in : 1));

    return rp_nn_uniform(-bound, bound);
}

static rp_tensor linear(rp_nn *nn, const char *name, rp_tensor x, size_t out, bool bias)
{
    rp_tensor weight, b = rp_no_tensor();
    size_t in;
    rp_type type;

    if (!type_of(nn, name, x, 1, &type))
        return rp_no_tensor();
    in = type.shape[type.rank - 1];
    rp_nn_scope(nn, "%s", name);
    weight = rp_nn_weight(nn, "weight", 2, (size_t[]){in, out}, within(in), NN_TURNED);
    if (bias)
        b = rp_nn_parameter(nn, "bias", 1, &out, within(in));
    rp_nn_leave(nn);
    return rp_nn_apply_linear(nn, x, weight, b);
}

/* One product, whatever axes x has before the last. An input of the step stays as it is: a copy would only take room.
 */
rp_tensor rp_nn_apply_linear(const rp_nn *nn, rp_tensor x, rp_tensor weight, rp_tensor bias)
{
    rp_type type;
    size_t rows = 1;

    if (nn->mixed && rp_tensor_ok(x) && rp_tensor_type(x)->dtype == RP_F32 &&
        x.graph->program->maker[x.value] != RP_NO_INSTR)
        x = rp_cast(x, RP_BF16);
    if (!rp_tensor_ok(x) || !rp_tensor_ok(weight) || rp_tensor_type(x)->rank <= 2)
        return rp_linear(x, weight, bias);
    type = *rp_tensor_type(x);
    for (int i = 0; i + 1 < type.rank; i++)
        rows *= type.shape[i];
    x = rp_reshape(x, 2, (size_t[]){rows, type.shape[type.rank - 1]});
    type.shape[type.rank - 1] = rp_tensor_type(weight)->shape[1];
    return rp_reshape(rp_linear(x, weight, bias), type.rank, type.shape);
}

rp_tensor rp_nn_linear(rp_nn *nn, const char *name, rp_tensor x, size_t out)
{
    return linear(nn, name, x, out, true);
}

rp_tensor rp_nn_project(rp_nn *nn, const char *name, rp_tensor x, size_t out)
{
    return linear(nn, name, x, out, false);
}

rp_tensor rp_nn_mlp(rp_nn *nn, const char *name, rp_tensor x, const size_t *width, size_t n)
{
    if (!nn || !nn->graph)
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    for (size_t i = 0; i < n; i++) {
        char number[24];

        (void)snprintf(number, sizeof number, "%zu", i);
        x = rp_nn_linear(nn, number, x, width[i]);
        if (i + 1 < n)
            x = rp_relu(x);
    }
    rp_nn_leave(nn);
    return x;
}

/* ---- convolutions ---- */

static bool is_zero(const rp_placement *p)
{
    return p->padding[0] == 0 && p->padding[1] == 0 && p->padding[2] == 0 && p->padding[3] == 0;
}

/* Half of what a kernel covers on each side, on the axes from `first` on. */
static rp_placement placed(const rp_nn_conv *o, const size_t *kernel, int first)
{
    rp_placement place = o->place;

    if (o->valid || !is_zero(&place))
        return place;
    for (int axis = first; axis < 2; axis++) {
        size_t dilation = place.dilation[axis] ? place.dilation[axis] : 1;

        place.padding[axis] = place.padding[axis + 2] = dilation * (kernel[axis] - 1) / 2;
    }
    return place;
}

static rp_tensor conv(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options, int taps)
{
    const rp_nn_conv o = options ? *options : (rp_nn_conv){0};
    const size_t kernel[2] = {o.kernel[0] ? o.kernel[0] : 3, o.kernel[1] ? o.kernel[1] : 3};
    const size_t groups = o.groups ? o.groups : 1;
    const rp_placement place = placed(&o, kernel, 2 - taps);
    size_t shape[4], in;
    rp_tensor weight, bias = rp_no_tensor();
    rp_type type;

    if (!type_of(nn, name, x, taps + 2, &type))
        return rp_no_tensor();
    memcpy(shape, kernel + 2 - taps, (size_t)taps * sizeof *shape);
    shape[taps] = in = type.shape[type.rank - 1] / groups;
    shape[taps + 1] = filters;
    for (int i = 0; i < taps; i++)
        in *= shape[i];
    rp_nn_scope(nn, "%s", name);
    weight = rp_nn_weight(nn, "weight", taps + 2, shape, within(in), NN_TURNED);
    if (!o.no_bias)
        bias = rp_nn_parameter(nn, "bias", 1, &filters, within(in));
    rp_nn_leave(nn);
    return taps == 2 ? rp_conv2d(x, weight, bias, groups, &place) : rp_conv1d(x, weight, bias, groups, &place);
}

rp_tensor rp_nn_conv2d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options)
{
    return conv(nn, name, x, filters, options, 2);
}

rp_tensor rp_nn_conv1d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options)
{
    return conv(nn, name, x, filters, options, 1);
}

/* ---- embedding, norms, dropout ---- */

rp_tensor rp_nn_embedding(rp_nn *nn, const char *name, rp_tensor index, size_t rows, size_t width)
{
    rp_tensor table;
    rp_type type;

    if (!type_of(nn, name, index, 0, &type))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    table = rp_nn_parameter(nn, "weight", 2, (size_t[]){rows, width}, rp_nn_normal(0, 1));
    rp_nn_leave(nn);
    return rp_embedding(table, index);
}

rp_tensor rp_nn_layer_norm(rp_nn *nn, const char *name, rp_tensor x)
{
    rp_tensor gamma, beta;
    rp_type type;

    if (!type_of(nn, name, x, 1, &type))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    gamma = rp_nn_parameter(nn, "weight", 1, &type.shape[type.rank - 1], rp_nn_constant(1));
    beta = rp_nn_parameter(nn, "bias", 1, &type.shape[type.rank - 1], rp_nn_constant(0));
    rp_nn_leave(nn);
    return rp_layer_norm(x, gamma, beta, 1e-5);
}

/* 9/10 of what it was and 1/10 of the batch's. */
static void follow(rp_nn *nn, const char *name, rp_tensor old, rp_tensor batch, double scale)
{
    rp_tensor kept = rp_scale(old, 0.9), part = rp_scale(batch, 0.1 * scale);

    rp_nn_update(nn, name, rp_add(kept, part));
}

rp_tensor rp_nn_batch_norm(rp_nn *nn, const char *name, rp_tensor x)
{
    rp_tensor gamma, beta, mean, var, y, batch_mean, batch_var;
    rp_type type;
    const size_t *c;
    double n;

    if (!type_of(nn, name, x, 1, &type))
        return rp_no_tensor();
    c = &type.shape[type.rank - 1];
    rp_nn_scope(nn, "%s", name);
    gamma = rp_nn_parameter(nn, "weight", 1, c, rp_nn_constant(1));
    beta = rp_nn_parameter(nn, "bias", 1, c, rp_nn_constant(0));
    mean = rp_nn_buffer(nn, "running_mean", 1, c, rp_nn_constant(0));
    var = rp_nn_buffer(nn, "running_var", 1, c, rp_nn_constant(1));
    if (rp_nn_training(nn)) {
        n = (double)rp_type_count(&type) / (double)(*c ? *c : 1);
        y = rp_batch_norm_train(x, gamma, beta, 1e-5, &batch_mean, &batch_var);
        follow(nn, "running_mean", mean, batch_mean, 1);
        follow(nn, "running_var", var, batch_var, n > 1 ? n / (n - 1) : 1); /* of a sample, as torch.nn keeps it */
    } else {
        y = rp_batch_norm(x, gamma, beta, mean, var, 1e-5);
    }
    rp_nn_leave(nn);
    return y;
}

rp_tensor rp_nn_dropout(rp_nn *nn, rp_tensor x, double rate)
{
    rp_tensor rng;

    if (!nn || !nn->graph)
        return rp_no_tensor();
    if (rate == 0 || !rp_nn_training(nn))
        return x;
    rng = rp_nn_rng(nn);
    return rp_dropout(x, rate, rng, rp_nn_stream(nn));
}
