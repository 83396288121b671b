/* SPDX-License-Identifier: Apache-2.0
 * A generative transformer: tables of tokens and places, blocks of attention and two linear layers with norms before
 * them, and the token table once more as the head. */
#include "core/train/language/gpt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/train/schedule.h"

/* Deviation of the initial weights. */
static const double spread = 0.02;

/* constant: of a deviation of 0. block -1: of no block. */
static void add(rp_model *m, int64_t block, const char *what, size_t rows, size_t columns, double deviation,
                double constant)
{
    rp_parameter *p = &m->parameter[m->n_parameters++];

    *p = (rp_parameter){.rank = rows ? 2 : 1, .deviation = deviation, .constant = constant};
    p->shape[0] = rows ? rows : columns;
    p->shape[1] = columns;
    if (block < 0)
        (void)snprintf(p->name, sizeof p->name, "%s", what);
    else
        (void)snprintf(p->name, sizeof p->name, "block%lld.%s", (long long)block, what);
}

/* Sums over 2 layers of branches grow with their number, so those that end one begin smaller. */
static void add_block(rp_model *m, int64_t block, size_t width, double last)
{
    add(m, block, "norm1.gamma", 0, width, 0, 1);
    add(m, block, "norm1.beta", 0, width, 0, 0);
    add(m, block, "attention.weight", width, 3 * width, spread, 0);
    add(m, block, "attention.bias", 0, 3 * width, 0, 0);
    add(m, block, "project.weight", width, width, last, 0);
    add(m, block, "project.bias", 0, width, 0, 0);
    add(m, block, "norm2.gamma", 0, width, 0, 1);
    add(m, block, "norm2.beta", 0, width, 0, 0);
    add(m, block, "expand.weight", width, 4 * width, spread, 0);
    add(m, block, "expand.bias", 0, 4 * width, 0, 0);
    add(m, block, "contract.weight", 4 * width, width, last, 0);
    add(m, block, "contract.bias", 0, width, 0, 0);
}

rp_status rp_gpt_init(rp_model *m, const rp_recipe *recipe, size_t tokens, rp_error *err)
{
    const size_t width = (size_t)recipe->gpt.width;
    const double last = spread / sqrt(2.0 * (double)recipe->gpt.layers);

    *m = (rp_model){.recipe = recipe, .outputs = tokens, .loss = RP_LOSS_CROSS_ENTROPY, .dtype = RP_F32};
    add(m, -1, "tokens", tokens, width, spread, 0);
    add(m, -1, "places", (size_t)recipe->gpt.context, width, spread, 0);
    for (int64_t i = 0; i < recipe->gpt.layers; i++)
        add_block(m, i, width, last);
    add(m, -1, "norm.gamma", 0, width, 0, 1);
    add(m, -1, "norm.beta", 0, width, 0, 0);
    return rp_model_check_size(m, err);
}

int64_t rp_gpt_streams(const rp_recipe *recipe)
{
    return 1 + 2 * recipe->gpt.layers;
}

typedef struct forward {
    const rp_recipe *recipe;
    const rp_tensor *weight; /* the next ones */
    rp_tensor rng;
    int64_t stream; /* the next one */
    size_t n, times;
} forward;

static rp_tensor drop(forward *f, rp_tensor x)
{
    const int64_t stream = RP_STREAM_DROPOUT + f->stream++;

    return f->recipe->gpt.dropout > 0 && f->rng.graph ? rp_dropout(x, f->recipe->gpt.dropout, f->rng, stream) : x;
}

/* The next two parameters: weight and bias, or gamma and beta. */
static rp_tensor linear(forward *f, rp_tensor x)
{
    x = rp_linear(x, f->weight[0], f->weight[1]);
    f->weight += 2;
    return x;
}

static rp_tensor norm(forward *f, rp_tensor x)
{
    x = rp_layer_norm(x, f->weight[0], f->weight[1], 1e-5);
    f->weight += 2;
    return x;
}

/* The part-th third of [n * times, 3 width], by heads: [n, heads, times, each]. */
static rp_tensor heads(const forward *f, rp_tensor all, size_t part)
{
    const size_t width = (size_t)f->recipe->gpt.width, heads = (size_t)f->recipe->gpt.heads;
    rp_tensor x = rp_slice(all, (size_t[]){0, part * width}, (size_t[]){f->n * f->times, (part + 1) * width});

    x = rp_reshape(x, 4, (size_t[]){f->n, f->times, heads, width / heads});
    return rp_transpose(x, (int[]){0, 2, 1, 3});
}

/* x [n * times, width] */
static rp_tensor block(forward *f, rp_tensor x)
{
    const size_t width = (size_t)f->recipe->gpt.width;
    rp_tensor y = linear(f, norm(f, x));
    rp_tensor q = heads(f, y, 0), k = heads(f, y, 1), v = heads(f, y, 2);

    y = rp_attention(q, k, v, &(rp_attention_options){.causal = true});
    y = rp_transpose(y, (int[]){0, 2, 1, 3});
    y = rp_reshape(y, 2, (size_t[]){f->n * f->times, width});
    y = drop(f, linear(f, y));
    x = rp_add(x, y);
    y = norm(f, x);
    y = rp_gelu(linear(f, y));
    y = drop(f, linear(f, y));
    return rp_add(x, y);
}

rp_tensor rp_gpt_forward(const rp_model *m, const rp_tensor *weight, rp_tensor token, rp_tensor rng)
{
    const size_t width = (size_t)m->recipe->gpt.width;
    forward f = {.recipe = m->recipe, .weight = weight + 2, .rng = rng};
    size_t shape[RP_MAX_RANK];
    rp_dtype dtype;
    rp_tensor x, place;
    int rank;

    if (!rp_shape_of(token, &dtype, &rank, shape))
        return rp_no_tensor();
    f.n = shape[0];
    f.times = shape[1];
    x = rp_embedding(weight[0], token);
    place = rp_slice(weight[1], (size_t[]){0, 0}, (size_t[]){f.times, width});
    x = rp_add(x, place);
    x = drop(&f, rp_reshape(x, 2, (size_t[]){f.n * f.times, width}));
    for (int64_t i = 0; i < m->recipe->gpt.layers; i++)
        x = block(&f, x);
    x = norm(&f, x);
    place = rp_transpose(weight[0], NULL);
    return rp_matmul(x, place);
}
