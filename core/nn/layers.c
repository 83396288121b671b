/* SPDX-License-Identifier: Apache-2.0
 * Layers without a memory of their own, as compositions of operations (CONTRACT 16.4): linear, tables, dropout.
 * Parameters lie in a scope of the layer's name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/nn/nn_private.h"

bool rp_nn_type_of(rp_nn *nn, const char *name, rp_tensor x, int least, rp_type *type)
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

rp_nn_init rp_nn_within(size_t fan_in)
{
    const double bound = 1 / sqrt((double)(fan_in ? fan_in : 1));

    return rp_nn_uniform(-bound, bound);
}

static rp_tensor linear(rp_nn *nn, const char *name, rp_tensor x, size_t out, bool bias)
{
    rp_tensor weight, b = rp_no_tensor();
    size_t in;
    rp_type type;

    if (!rp_nn_type_of(nn, name, x, 1, &type))
        return rp_no_tensor();
    in = type.shape[type.rank - 1];
    rp_nn_scope(nn, "%s", name);
    weight = rp_nn_weight(nn, "weight", 2, (size_t[]){in, out}, rp_nn_within(in), NN_TURNED);
    if (bias)
        b = rp_nn_parameter(nn, "bias", 1, &out, rp_nn_within(in));
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

/* ---- tables, dropout ---- */

rp_tensor rp_nn_embedding(rp_nn *nn, const char *name, rp_tensor index, size_t rows, size_t width)
{
    rp_tensor table;
    rp_type type;

    if (!rp_nn_type_of(nn, name, index, 0, &type))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    table = rp_nn_parameter(nn, "weight", 2, (size_t[]){rows, width}, rp_nn_normal(0, 1));
    rp_nn_leave(nn);
    return rp_embedding(table, index);
}

rp_tensor rp_nn_embedding_bag(rp_nn *nn, const char *name, rp_tensor index, size_t rows, size_t width, rp_bag how)
{
    rp_tensor table;
    rp_type type;

    if (!rp_nn_type_of(nn, name, index, 2, &type))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    table = rp_nn_parameter(nn, "weight", 2, (size_t[]){rows, width}, rp_nn_normal(0, 1));
    rp_nn_leave(nn);
    return rp_embedding_bag(table, index, how);
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
