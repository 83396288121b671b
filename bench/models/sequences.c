/* SPDX-License-Identifier: Apache-2.0
 * Networks on sequences: transformers of three kinds, and a recurrent network of two layers over a scan. */
#include "network.h"

typedef struct transformer {
    size_t layers, width, heads, batch, tokens, words;
    bool causal;
} transformer;

/* [batch tokens, width] to [batch, heads, tokens, width / heads]: the part-th third of qkv. */
static rp_tensor heads(const transformer *t, rp_tensor qkv, size_t part)
{
    const size_t rows = t->batch * t->tokens;
    rp_tensor x = rp_slice(qkv, (size_t[]){0, part * t->width}, (size_t[]){rows, (part + 1) * t->width});

    x = rp_reshape(x, 4, (size_t[]){t->batch, t->tokens, t->heads, t->width / t->heads});
    return rp_transpose(x, (int[]){0, 2, 1, 3});
}

static rp_tensor attention(net *n, const transformer *t, rp_tensor x)
{
    rp_tensor qkv = net_linear(n, "qkv", x, t->width, 3 * t->width);
    rp_tensor q = heads(t, qkv, 0), k = heads(t, qkv, 1), v = heads(t, qkv, 2);
    rp_tensor y = rp_attention(q, k, v, &(rp_attention_options){.causal = t->causal});

    y = rp_transpose(y, (int[]){0, 2, 1, 3});
    return net_linear(n, "projection", rp_reshape(y, 2, (size_t[]){t->batch * t->tokens, t->width}), t->width,
                      t->width);
}

static rp_tensor feed_forward(net *n, const transformer *t, rp_tensor x)
{
    x = rp_gelu(net_linear(n, "up", x, t->width, 4 * t->width));
    return net_linear(n, "down", x, 4 * t->width, t->width);
}

static rp_tensor norm_first(net *n, const transformer *t, rp_tensor x)
{
    rp_tensor y = attention(n, t, net_norm(n, "norm1", x, t->width));

    x = rp_add(x, y);
    y = feed_forward(n, t, net_norm(n, "norm2", x, t->width));
    return rp_add(x, y);
}

static rp_tensor norm_last(net *n, const transformer *t, rp_tensor x)
{
    rp_tensor y = attention(n, t, x);

    x = net_norm(n, "norm1", rp_add(x, y), t->width);
    y = feed_forward(n, t, x);
    return net_norm(n, "norm2", rp_add(x, y), t->width);
}

static rp_tensor layers(net *n, const transformer *t, rp_tensor x,
                        rp_tensor (*layer)(net *, const transformer *, rp_tensor))
{
    for (size_t i = 0; i < t->layers; i++) {
        net_enter(n, "layer", i);
        x = layer(n, t, x);
    }
    n->scope[0] = 0;
    return x;
}

/* Rows of the words' table and of the places'. */
static rp_tensor embedded(net *n, const transformer *t)
{
    const size_t rows = t->batch * t->tokens;
    rp_tensor tokens = net_data(n, "data.tokens", RP_I64, NET_INDEX, (double)t->words, &rows, 1);
    rp_tensor words = net_table(n, "words", t->words, t->width), places = net_table(n, "places", t->tokens, t->width);
    rp_tensor x = rp_reshape(rp_gather(words, tokens, 0), 3, (size_t[]){t->batch, t->tokens, t->width});

    return rp_reshape(rp_add(x, places), 2, (size_t[]){rows, t->width});
}

rp_tensor build_gpt(net *n)
{
    transformer t = {.layers = 4, .width = 256, .heads = 4, .batch = net_batch(n, 4), .tokens = 256, .words = 1024};
    rp_tensor x;

    t.causal = true;
    x = layers(n, &t, embedded(n, &t), norm_first);
    x = net_norm(n, "norm", x, t.width);
    x = net_linear(n, "head", x, t.width, t.words);
    return net_cross_entropy(n, x, t.batch * t.tokens, t.words);
}

rp_tensor build_bert(net *n)
{
    const transformer t = {
        .layers = 4, .width = 256, .heads = 4, .batch = net_batch(n, 8), .tokens = 128, .words = 1024};
    rp_tensor x = net_norm(n, "norm", embedded(n, &t), t.width);

    x = rp_gelu(net_linear(n, "transform", layers(n, &t, x, norm_last), t.width, t.width));
    x = net_norm(n, "norm2", x, t.width);
    x = net_linear(n, "head", x, t.width, t.words);
    return net_cross_entropy(n, x, t.batch * t.tokens, t.words);
}

/* Patches of 8 x 8 as one convolution, a class token in front. */
rp_tensor build_vit(net *n)
{
    const transformer t = {.layers = 4, .width = 192, .heads = 3, .batch = net_batch(n, 16), .tokens = 65};
    const size_t rows = t.batch * t.tokens;
    rp_tensor x = net_data(n, "data.x", RP_F32, NET_SPREAD, 1, (size_t[]){t.batch, 64, 64, 3}, 4), first, w, b;

    w = net_parameter(n, "patch.weight", NET_SPREAD, 0.125, (size_t[]){8, 8, 3, t.width}, 4);
    b = net_parameter(n, "patch.bias", NET_ZERO, 0, &t.width, 1);
    x = rp_conv2d(x, w, b, 1, &(rp_placement){.stride = {8, 8}});
    x = rp_reshape(x, 3, (size_t[]){t.batch, t.tokens - 1, t.width});
    first = rp_broadcast_to(net_table(n, "first", 1, t.width), 3, (size_t[]){t.batch, 1, t.width});
    x = rp_concat((rp_tensor[]){first, x}, 2, 1);
    x = rp_reshape(rp_add(x, net_table(n, "places", t.tokens, t.width)), 2, (size_t[]){rows, t.width});
    x = rp_reshape(layers(n, &t, x, norm_first), 3, (size_t[]){t.batch, t.tokens, t.width});
    x = rp_slice(x, (size_t[]){0, 0, 0}, (size_t[]){t.batch, 1, t.width});
    x = net_norm(n, "norm", rp_reshape(x, 2, (size_t[]){t.batch, t.width}), t.width);
    x = net_linear(n, "head", x, t.width, 10);
    return net_cross_entropy(n, x, t.batch, 10);
}

/* ---- the recurrent network ---- */

enum { HIDDEN = 256, STEPS = 64, BYTES = 256 };

static rp_tensor gate(rp_tensor z, size_t batch, size_t k)
{
    return rp_slice(z, (size_t[]){0, k * HIDDEN}, (size_t[]){batch, (k + 1) * HIDDEN});
}

/* index, h, c, z = x w + b of this step; u, b of the layer: gates in PyTorch's order. */
static rp_function *cell(size_t batch)
{
    const rp_type index = {.dtype = RP_I64}, row = {.dtype = RP_F32, .rank = 2, .shape = {batch, HIDDEN}};
    const rp_type wide = {.dtype = RP_F32, .rank = 2, .shape = {batch, 4 * HIDDEN}};
    const rp_type weight = {.dtype = RP_F32, .rank = 2, .shape = {HIDDEN, 4 * HIDDEN}};
    const rp_type bias = {.dtype = RP_F32, .rank = 1, .shape = {4 * HIDDEN}};
    rp_tensor h, c, z, u, b, in, forget, out, kept;
    rp_function *f;
    rp_graph *g;
    rp_error err = {0};

    if (rp_graph_symbolic(&g, &err) != RP_OK)
        net_stop("cell", &err);
    (void)rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &row);
    c = rp_function_parameter(g, &row);
    z = rp_function_parameter(g, &wide);
    u = rp_function_parameter(g, &weight);
    b = rp_function_parameter(g, &bias);
    z = rp_add(z, rp_linear(h, u, b));
    in = rp_sigmoid(gate(z, batch, 0));
    forget = rp_sigmoid(gate(z, batch, 1));
    out = rp_sigmoid(gate(z, batch, 3));
    z = rp_tanh(gate(z, batch, 2));
    in = rp_mul(in, z);
    kept = rp_mul(forget, c);
    c = rp_add(kept, in);
    z = rp_tanh(c);
    h = rp_mul(out, z);
    rp_function_return(g, h);
    rp_function_return(g, c);
    rp_function_return(g, h);
    if (rp_function_finish(g, &f, &err) != RP_OK)
        net_stop("cell", &err);
    return f;
}

/* x [STEPS batch, HIDDEN]: the input's product for all steps at once. */
static rp_tensor recurrent(net *n, rp_tensor x, size_t batch)
{
    rp_tensor z = rp_reshape(net_linear(n, "in", x, HIDDEN, 4 * HIDDEN), 3, (size_t[]){STEPS, batch, 4 * HIDDEN});
    rp_tensor u = net_parameter(n, "own.weight", NET_SPREAD, 0.06, (size_t[]){HIDDEN, 4 * HIDDEN}, 2);
    rp_tensor b = net_parameter(n, "own.bias", NET_ZERO, 0, (size_t[]){4 * HIDDEN}, 1), out[3], zero;
    rp_graph *g = n->run ? rp_step_graph(n->run) : n->graph;
    rp_function *f = cell(batch);

    zero = rp_fill(g, RP_F32, 2, (size_t[]){batch, HIDDEN}, 0);
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = (rp_tensor[]){zero, zero},
                               .n_carried = 2,
                               .sliced = &z,
                               .n_sliced = 1,
                               .shared = (rp_tensor[]){u, b},
                               .n_shared = 2,
                               .times = STEPS},
            out);
    rp_function_free(f);
    return rp_reshape(out[2], 2, (size_t[]){STEPS * batch, HIDDEN});
}

rp_tensor build_lstm(net *n)
{
    const size_t batch = net_batch(n, 32), rows = STEPS * batch;
    rp_tensor tokens = net_data(n, "data.tokens", RP_I64, NET_INDEX, BYTES, &rows, 1);
    rp_tensor x = rp_gather(net_table(n, "words", BYTES, HIDDEN), tokens, 0);

    net_enter(n, "layer", 0);
    x = recurrent(n, x, batch);
    net_enter(n, "layer", 1);
    x = recurrent(n, x, batch);
    n->scope[0] = 0;
    x = net_linear(n, "head", x, HIDDEN, BYTES);
    return net_cross_entropy(n, x, rows, BYTES);
}
