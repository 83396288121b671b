/* SPDX-License-Identifier: Apache-2.0
 * Convolution layers and multi-layer perceptrons (CONTRACT 12). */
#include "core/train/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/train/programs/saved.h"
#include "core/train/schedule.h"
#include "rp/image.h"

static void add(rp_model *m, size_t layer, const char *what, const size_t *shape, int rank, double bound,
                double constant)
{
    rp_parameter *p = &m->parameter[m->n_parameters++];

    *p = (rp_parameter){.rank = rank, .bound = bound, .constant = constant};
    memcpy(p->shape, shape, (size_t)rank * sizeof *shape);
    (void)snprintf(p->name, sizeof p->name, "layer%zu.%s", layer, what);
}

/* shape [fan-in ..., width]: the weight's. */
static void add_layer(rp_model *m, size_t layer, const size_t *shape, int rank, bool norm)
{
    const size_t *width = &shape[rank - 1];
    size_t fan_in = 1;
    double bound;

    for (int i = 0; i + 1 < rank; i++)
        fan_in *= shape[i];
    bound = m->dtype == RP_F64 ? 0 : 1.0 / sqrt((double)(fan_in ? fan_in : 1)); /* an exact fit starts from zeros */
    add(m, layer, "weight", shape, rank, bound, 0);
    add(m, layer, "bias", width, 1, bound, 0);
    if (norm) {
        add(m, layer, "norm.gamma", width, 1, 0, 1);
        add(m, layer, "norm.beta", width, 1, 0, 0);
    }
}

/* One axis of a convolution layer. Same padding puts the odd position after, as TensorFlow does. */
static rp_status fit_axis(const rp_conv_layer *layer, rp_conv_shape *s, size_t number, int axis, rp_error *err)
{
    int64_t span = layer->dilation[axis] * (layer->kernel[axis] - 1) + 1, in = s->in[axis], pad = 0;
    int64_t stride = layer->stride[axis];

    if (layer->padding == RP_PADDING_SAME) {
        int64_t need = ((in + stride - 1) / stride - 1) * stride + span - in;

        pad = need > 0 ? need : 0;
    }
    s->padding[axis] = pad / 2;
    s->padding[axis + 2] = pad - pad / 2;
    if (span > in + pad)
        return rp_fail(err, RP_EARG, "model.conv: layer %zu: a kernel spanning %lld does not fit the %s of %lld",
                       number, (long long)span, axis ? "width" : "height", (long long)in);
    s->z[axis] = s->out[axis] = (in + pad - span) / stride + 1;
    if (layer->pool == RP_POOL_NONE)
        return RP_OK;
    if (layer->pool_size[axis] > s->z[axis])
        return rp_fail(err, RP_EARG, "model.conv: layer %zu: a pool of %lld does not fit the %s of %lld", number,
                       (long long)layer->pool_size[axis], axis ? "width" : "height", (long long)s->z[axis]);
    s->out[axis] = s->z[axis] / layer->pool_size[axis];
    return RP_OK;
}

static rp_status fit_layer(const rp_conv_layer *layer, rp_conv_shape *s, size_t number, rp_error *err)
{
    rp_status status = fit_axis(layer, s, number, 0, err);

    if (status == RP_OK)
        status = fit_axis(layer, s, number, 1, err);
    if (status == RP_OK && (s->in[2] % layer->groups || layer->filters % layer->groups))
        status = rp_fail(err, RP_EARG,
                         "model.conv: layer %zu: groups %lld must divide the %lld channels before and the %lld "
                         "filters",
                         number, (long long)layer->groups, (long long)s->in[2], (long long)layer->filters);
    s->z[2] = s->out[2] = layer->filters;
    return status;
}

/* Adds the convolution layers; *width becomes the number of values after them. */
static rp_status add_image(rp_model *m, size_t *width, rp_error *err)
{
    const rp_recipe *r = m->recipe;
    const int64_t *in = r->model.image;

    if ((size_t)in[0] * (size_t)in[1] * (size_t)in[2] != m->features)
        return rp_fail(err, RP_EARG, "model.image: %lld x %lld x %lld are %lld values, but the data has %zu features",
                       (long long)in[0], (long long)in[1], (long long)in[2], (long long)(in[0] * in[1] * in[2]),
                       m->features);
    for (size_t i = 0; i < r->model.n_conv; i++) {
        const rp_conv_layer *layer = &r->model.conv[i];
        rp_conv_shape *s = &m->conv[i];
        rp_status status;

        memcpy(s->in, in, sizeof s->in);
        status = fit_layer(layer, s, i, err);
        if (status != RP_OK)
            return status;
        add_layer(m, i,
                  (size_t[]){(size_t)layer->kernel[0], (size_t)layer->kernel[1], (size_t)(s->in[2] / layer->groups),
                             (size_t)layer->filters},
                  4, r->model.layer_norm);
        in = s->out;
    }
    *width = (size_t)in[0] * (size_t)in[1] * (size_t)in[2];
    return RP_OK;
}

rp_status rp_model_check_size(const rp_model *m, rp_error *err)
{
    const double limit = 2147483648.0;
    double total = 0;

    for (size_t i = 0; i < m->n_parameters; i++) {
        double size = 1;

        for (int d = 0; d < m->parameter[i].rank; d++)
            size *= (double)m->parameter[i].shape[d];
        total += size;
    }
    return total <= limit ? RP_OK
                          : rp_fail(err, RP_EARG, "model: %.0f parameters in all, expected at most 2^31", total);
}

/* Of an exact fit's family; that of a classification is gaussian, and says nothing. Counts have the loss of two
 * classes, of a proportion. */
static rp_loss loss_of(rp_family family, rp_loss other)
{
    switch (family) {
    case RP_FAMILY_POISSON:
        return RP_LOSS_POISSON;
    case RP_FAMILY_GAMMA:
        return RP_LOSS_GAMMA;
    case RP_FAMILY_BINOMIAL:
        return RP_LOSS_BCE;
    default:
        return other;
    }
}

rp_status rp_model_init(rp_model *m, const rp_recipe *recipe, size_t features, size_t classes, rp_error *err)
{
    size_t width = features, first = recipe->model.n_conv;
    rp_status status = RP_OK;

    *m = (rp_model){.recipe = recipe,
                    .features = features,
                    .loss = recipe->train.loss,
                    .weighted = rp_recipe_weighs(recipe),
                    .dtype = recipe->train.exact ? RP_F64 : RP_F32};
    if (m->loss == RP_LOSS_AUTO)
        m->loss = classes == 0 ? RP_LOSS_MSE : classes == 2 ? RP_LOSS_BCE : RP_LOSS_CROSS_ENTROPY;
    if (recipe->train.exact)
        m->loss = loss_of(recipe->train.family, m->loss);
    m->outputs = m->loss == RP_LOSS_CROSS_ENTROPY ? classes : 1;
    if (recipe->program.named) {
        status = rp_saved_init(m, err);
        return status == RP_OK ? rp_model_check_size(m, err) : status;
    }
    if (first > 0)
        status = add_image(m, &width, err);
    for (size_t i = 0; i <= recipe->model.n_hidden && status == RP_OK; i++) {
        bool last = i == recipe->model.n_hidden;
        size_t next = last ? m->outputs : (size_t)recipe->model.hidden[i];

        add_layer(m, first + i, (size_t[]){width, next}, 2, !last && recipe->model.layer_norm);
        width = next;
    }
    return status == RP_OK ? rp_model_check_size(m, err) : status;
}

bool rp_model_random(const rp_model *m)
{
    return m->recipe->program.named ? m->recipe->program.of->random : m->recipe->model.dropout > 0;
}

int64_t rp_model_streams(const rp_model *m, size_t rows)
{
    return m->recipe->program.named ? rp_saved_streams(m, rows) : RP_MAX_HIDDEN + 1;
}

void rp_model_weights(const rp_model *m, const rp_run *run, rp_graph *g, rp_tensor *weight)
{
    for (size_t i = 0; i < m->n_parameters; i++)
        weight[i] = rp_graph_state(g, run, m->parameter[i].name);
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

/* What stands between a layer's sum and its successor: layer norm, if asked for, and the activation. */
static rp_tensor finish(const rp_model *m, const rp_tensor **weight, rp_tensor z)
{
    if (m->recipe->model.layer_norm) {
        z = rp_layer_norm(z, (*weight)[0], (*weight)[1], 1e-5);
        *weight += 2;
    }
    return activate(m->recipe->model.activation, z);
}

static rp_tensor pool(const rp_conv_layer *layer, rp_tensor x)
{
    size_t h = (size_t)layer->pool_size[0], w = (size_t)layer->pool_size[1];

    return layer->pool == RP_POOL_MAX ? rp_max_pool2d(x, h, w, NULL) : rp_avg_pool2d(x, h, w, NULL);
}

static rp_placement placement(const rp_conv_layer *layer, const rp_conv_shape *s)
{
    rp_placement place;

    for (int i = 0; i < 2; i++) {
        place.stride[i] = (size_t)layer->stride[i];
        place.dilation[i] = (size_t)layer->dilation[i];
    }
    for (int i = 0; i < 4; i++)
        place.padding[i] = (size_t)s->padding[i];
    return place;
}

/* x [rows, features] to [rows, values after the convolution layers]. */
static rp_tensor convolve(const rp_model *m, const rp_tensor **weight, rp_tensor x)
{
    const rp_recipe *r = m->recipe;
    const int64_t *in = r->model.image;
    size_t shape[RP_MAX_RANK], rows;
    rp_dtype dtype;
    int rank;

    if (r->model.n_conv == 0 || !rp_shape_of(x, &dtype, &rank, shape))
        return x;
    rows = shape[0];
    x = rp_reshape(x, 4, (size_t[]){rows, (size_t)in[0], (size_t)in[1], (size_t)in[2]});
    for (size_t i = 0; i < r->model.n_conv; i++) {
        const rp_conv_layer *layer = &r->model.conv[i];
        const rp_placement place = placement(layer, &m->conv[i]);

        x = layer->winograd ? rp_conv2d_winograd(x, (*weight)[0], (*weight)[1], &place)
                            : rp_conv2d(x, (*weight)[0], (*weight)[1], (size_t)layer->groups, &place);
        *weight += 2;
        x = finish(m, weight, x);
        if (layer->pool != RP_POOL_NONE)
            x = pool(layer, x);
        in = m->conv[i].out;
    }
    return rp_reshape(x, 2, (size_t[]){rows, (size_t)(in[0] * in[1] * in[2])});
}

rp_tensor rp_model_forward(const rp_model *m, const rp_tensor *weight, rp_tensor x, rp_tensor rng, int64_t part)
{
    const rp_recipe *r = m->recipe;

    if (r->program.named)
        return rp_saved_forward(m, weight, x, rng);
    x = convolve(m, &weight, x);
    for (size_t i = 0; i <= r->model.n_hidden; i++) {
        x = rp_linear(x, weight[0], weight[1]);
        weight += 2;
        if (i == r->model.n_hidden)
            break;
        x = finish(m, &weight, x);
        if (r->model.dropout > 0 && rng.graph)
            x = rp_dropout(x, r->model.dropout, rng, RP_STREAM_DROPOUT + part * (RP_MAX_HIDDEN + 1) + (int64_t)i);
    }
    return x;
}

static rp_tensor losses_of(const rp_model *m, rp_tensor logits, rp_tensor target)
{
    rp_tensor out[RP_MAX_OUT];

    if (m->loss == RP_LOSS_MSE) {
        rp_tensor d = rp_sub(logits, target);

        return rp_mul(d, d);
    }
    if (m->loss == RP_LOSS_POISSON) {
        rp_tensor mean = rp_exp(logits), part = rp_mul(target, logits);

        return rp_sub(mean, part);
    }
    if (m->loss == RP_LOSS_GAMMA) {
        rp_tensor inverse = rp_neg(logits);

        inverse = rp_exp(inverse);
        inverse = rp_mul(target, inverse);
        return rp_add(inverse, logits);
    }
    rp_emit(logits.graph, m->loss == RP_LOSS_BCE ? RP_OP_bce_logits : RP_OP_cross_entropy, NULL,
            (rp_tensor[]){logits, target}, 2, out);
    return out[0];
}

rp_tensor rp_model_row_losses(const rp_model *m, rp_tensor logits, rp_tensor target, rp_tensor weight)
{
    rp_tensor losses = losses_of(m, logits, target);

    return m->weighted ? rp_mul(losses, weight) : losses;
}

rp_tensor rp_model_loss(rp_tensor row_losses, double count)
{
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
    rp_tensor total = rp_sum(row_losses, NULL, 0, false), mean;

    if (!rp_shape_of(row_losses, &dtype, &rank, shape))
        return rp_no_tensor();
    mean = rp_div(total, rp_fill(row_losses.graph, dtype, 0, NULL, count));
    return dtype == RP_F32 ? mean : rp_cast(mean, RP_F32);
}

rp_tensor rp_model_scores(const rp_model *m, rp_tensor logits)
{
    rp_tensor scores = logits;

    if (m->loss == RP_LOSS_BCE)
        scores = rp_sigmoid(logits);
    else if (m->loss == RP_LOSS_CROSS_ENTROPY)
        scores = rp_softmax(logits);
    else if (m->loss != RP_LOSS_MSE)
        scores = rp_exp(logits);
    return scores;
}
