/* SPDX-License-Identifier: Apache-2.0
 * Multi-layer perceptrons (CONTRACT 12). */
#include "core/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/schedule.h"

static void add(rp_model *m, int layer, const char *what, int rank, size_t rows, size_t cols, double bound, double constant)
{
    rp_parameter *p = &m->parameter[m->n_parameters++];

    *p = (rp_parameter){.rank = rank, .shape = {rows, cols}, .bound = bound, .constant = constant};
    (void)snprintf(p->name, sizeof p->name, "layer%d.%s", layer, what);
}

void rp_model_init(rp_model *m, const rp_recipe *recipe, size_t features, size_t classes)
{
    size_t width = features;

    *m = (rp_model){.recipe = recipe, .features = features, .loss = recipe->train.loss};
    if (m->loss == RP_LOSS_AUTO)
        m->loss = classes == 0 ? RP_LOSS_MSE : classes == 2 ? RP_LOSS_BCE : RP_LOSS_CROSS_ENTROPY;
    m->outputs = m->loss == RP_LOSS_CROSS_ENTROPY ? classes : 1;
    for (size_t i = 0; i <= recipe->model.n_hidden; i++) {
        bool last = i == recipe->model.n_hidden;
        size_t next = last ? m->outputs : (size_t)recipe->model.hidden[i];
        double bound = 1.0 / sqrt((double)(width ? width : 1));

        add(m, (int)i, "weight", 2, width, next, bound, 0);
        add(m, (int)i, "bias", 1, next, 0, bound, 0);
        if (!last && recipe->model.layer_norm) {
            add(m, (int)i, "norm.gamma", 1, next, 0, 0, 1);
            add(m, (int)i, "norm.beta", 1, next, 0, 0, 0);
        }
        width = next;
    }
}

static rp_tensor activate(rp_activation activation, rp_tensor x)
{
    switch (activation) {
    case RP_ACT_GELU:
        return rp_gelu(x);
    case RP_ACT_TANH:
        return rp_tanh(x);
    case RP_ACT_SIGMOID:
        return rp_sigmoid(x);
    default:
        return rp_relu(x);
    }
}

rp_tensor rp_model_forward(const rp_model *m, const rp_tensor *weight, rp_tensor x, rp_tensor rng, int64_t part)
{
    const rp_recipe *r = m->recipe;
    size_t w = 0;

    for (size_t i = 0; i <= r->model.n_hidden; i++) {
        x = rp_linear(x, weight[w], weight[w + 1]);
        w += 2;
        if (i == r->model.n_hidden)
            break;
        if (r->model.layer_norm) {
            x = rp_layer_norm(x, weight[w], weight[w + 1], 1e-5);
            w += 2;
        }
        x = activate(r->model.activation, x);
        if (r->model.dropout > 0 && rng.graph)
            x = rp_dropout(x, r->model.dropout, rng, RP_STREAM_DROPOUT + part * (RP_MAX_HIDDEN + 1) + (int64_t)i);
    }
    return x;
}

rp_tensor rp_model_loss(const rp_model *m, rp_tensor logits, rp_tensor target, size_t count)
{
    rp_tensor out[RP_MAX_OUT], total;

    if (m->loss == RP_LOSS_MSE) {
        rp_tensor d = rp_sub(logits, target);

        out[0] = rp_mul(d, d);
    } else {
        rp_emit(logits.graph, m->loss == RP_LOSS_BCE ? RP_OP_bce_logits : RP_OP_cross_entropy, NULL,
                (rp_tensor[]){logits, target}, 2, out);
    }
    total = rp_sum(out[0], NULL, 0, false);
    return rp_div(total, rp_fill(logits.graph, RP_F32, 0, NULL, (double)count));
}

rp_tensor rp_model_scores(const rp_model *m, rp_tensor logits)
{
    if (m->loss == RP_LOSS_MSE)
        return logits;
    return m->loss == RP_LOSS_BCE ? rp_sigmoid(logits) : rp_softmax(logits);
}
