/* SPDX-License-Identifier: Apache-2.0
 * Norms of rp/nn.h (CONTRACT 16.4): over the last axis, over groups of channels of a sample, over the batch. Parameters
 * lie in a scope of the layer's name. */
#include "core/nn/nn_private.h"

/* weight 1 and, where it is wanted, bias 0 of the last axis. */
static bool scale_and_shift(rp_nn *nn, const char *name, rp_tensor x, int least, rp_tensor *gamma, rp_tensor *beta)
{
    rp_type type;

    if (!rp_nn_type_of(nn, name, x, least, &type))
        return false;
    rp_nn_scope(nn, "%s", name);
    *gamma = rp_nn_parameter(nn, "weight", 1, &type.shape[type.rank - 1], rp_nn_constant(1));
    if (beta)
        *beta = rp_nn_parameter(nn, "bias", 1, &type.shape[type.rank - 1], rp_nn_constant(0));
    rp_nn_leave(nn);
    return true;
}

rp_tensor rp_nn_layer_norm(rp_nn *nn, const char *name, rp_tensor x)
{
    rp_tensor gamma, beta;

    return scale_and_shift(nn, name, x, 1, &gamma, &beta) ? rp_layer_norm(x, gamma, beta, 1e-5) : rp_no_tensor();
}

rp_tensor rp_nn_rms_norm(rp_nn *nn, const char *name, rp_tensor x, double eps)
{
    rp_tensor gamma;

    return scale_and_shift(nn, name, x, 1, &gamma, NULL) ? rp_rms_norm(x, gamma, eps) : rp_no_tensor();
}

rp_tensor rp_nn_group_norm(rp_nn *nn, const char *name, rp_tensor x, size_t groups)
{
    rp_tensor gamma, beta;

    return scale_and_shift(nn, name, x, 2, &gamma, &beta) ? rp_group_norm(x, gamma, beta, groups, 1e-5)
                                                          : rp_no_tensor();
}

rp_tensor rp_nn_instance_norm(rp_nn *nn, const char *name, rp_tensor x)
{
    rp_tensor gamma, beta;

    return scale_and_shift(nn, name, x, 2, &gamma, &beta) ? rp_instance_norm(x, gamma, beta, 1e-5) : rp_no_tensor();
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

    if (!rp_nn_type_of(nn, name, x, 1, &type))
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
