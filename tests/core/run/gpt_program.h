/* SPDX-License-Identifier: Apache-2.0
 * The training step of a decoder-only transformer of any size as a program: token and position tables, blocks of
 * attention and of two products with GELU, a head that shares the token table or not, mean cross-entropy, AdamW. */
#ifndef TESTS_CORE_RUN_GPT_PROGRAM_H
#define TESTS_CORE_RUN_GPT_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

#include "core/run/run.h"
#include "rp/rp.h"

typedef struct gpt {
    size_t layers, width, heads, words, tokens;
    bool tied;
    size_t longest; /* tokens that places and mask are there for; 0: so many as there are */
} gpt;

enum { GPT_PARAMETERS_MAX = 16 * 64 };

typedef struct gpt_build {
    const gpt *size;
    rp_graph *g;
    rp_tensor parameter[GPT_PARAMETERS_MAX];
    char name[GPT_PARAMETERS_MAX][64];
    size_t n;
} gpt_build;

static inline rp_tensor gpt_input(rp_graph *g, rp_input_kind kind, const char *name, rp_dtype dtype, size_t rows,
                                  size_t cols)
{
    rp_type type = {.dtype = dtype, .rank = cols ? 2 : rows ? 1 : 0, .shape = {rows, cols}};

    return rp_graph_input(g, kind, name, &type, NULL);
}

static inline rp_tensor gpt_parameter(gpt_build *b, const char *what, size_t layer, size_t rows, size_t cols)
{
    char *name = b->name[b->n];

    (void)snprintf(name, sizeof b->name[0], "%.40s.%zu", what, layer);
    return b->parameter[b->n++] = gpt_input(b->g, RP_INPUT_STATE, name, RP_F32, rows, cols);
}

static inline rp_tensor gpt_norm(gpt_build *b, rp_tensor x, const char *what, size_t layer)
{
    char name[32];
    rp_tensor gamma, beta;

    (void)snprintf(name, sizeof name, "%.20s.gamma", what);
    gamma = gpt_parameter(b, name, layer, b->size->width, 0);
    (void)snprintf(name, sizeof name, "%.20s.beta", what);
    beta = gpt_parameter(b, name, layer, b->size->width, 0);
    return rp_layer_norm(x, gamma, beta, 1e-5);
}

static inline rp_tensor gpt_linear(gpt_build *b, rp_tensor x, const char *what, size_t layer, size_t in, size_t out)
{
    char name[32];
    rp_tensor weight, bias;

    (void)snprintf(name, sizeof name, "%.20s.weight", what);
    weight = gpt_parameter(b, name, layer, in, out);
    (void)snprintf(name, sizeof name, "%.20s.bias", what);
    bias = gpt_parameter(b, name, layer, out, 0);
    return rp_linear(x, weight, bias);
}

/* [tokens, width] to [heads, tokens, width / heads]: the part-th third of qkv. */
static inline rp_tensor gpt_heads(const gpt *s, rp_tensor qkv, size_t part)
{
    size_t begin[2] = {0, part * s->width}, end[2] = {s->tokens, (part + 1) * s->width};
    rp_tensor x = rp_slice(qkv, begin, end);

    x = rp_reshape(x, 3, (size_t[]){s->tokens, s->heads, s->width / s->heads});
    return rp_transpose(x, (int[]){1, 0, 2});
}

static inline rp_tensor gpt_attention(gpt_build *b, rp_tensor x, rp_tensor mask, size_t layer)
{
    const gpt *s = b->size;
    rp_tensor qkv = gpt_linear(b, x, "qkv", layer, s->width, 3 * s->width);
    rp_tensor q = gpt_heads(s, qkv, 0), k = gpt_heads(s, qkv, 1), v = gpt_heads(s, qkv, 2);
    rp_tensor score = rp_scale(rp_matmul(q, rp_transpose(k, NULL)), 0.125), y;

    score = rp_softmax(rp_add(score, mask));
    y = rp_transpose(rp_matmul(score, v), (int[]){1, 0, 2});
    y = rp_reshape(y, 2, (size_t[]){s->tokens, s->width});
    return gpt_linear(b, y, "projection", layer, s->width, s->width);
}

static inline rp_tensor gpt_block(gpt_build *b, rp_tensor x, rp_tensor mask, size_t layer)
{
    const gpt *s = b->size;
    rp_tensor y = gpt_norm(b, x, "norm1", layer);

    x = rp_add(x, gpt_attention(b, y, mask, layer));
    y = gpt_norm(b, x, "norm2", layer);
    y = rp_gelu(gpt_linear(b, y, "up", layer, s->width, 4 * s->width));
    return rp_add(x, gpt_linear(b, y, "down", layer, 4 * s->width, s->width));
}

static inline void gpt_update(gpt_build *b, const rp_tensor *grad, const rp_tensor *rate)
{
    char name[72];

    for (size_t i = 0; i < b->n; i++) {
        const rp_type *type = rp_tensor_type(b->parameter[i]);
        rp_tensor m, v, p;

        (void)snprintf(name, sizeof name, "m.%.64s", b->name[i]);
        m = rp_graph_input(b->g, RP_INPUT_STATE, name, type, NULL);
        (void)snprintf(name, sizeof name, "v.%.64s", b->name[i]);
        v = rp_graph_input(b->g, RP_INPUT_STATE, name, rp_tensor_type(b->parameter[i]), NULL);
        p = rp_adam(b->parameter[i], &m, &v, grad[i], rate[0], rate[1], rate[2],
                    &(rp_adam_options){0.9, 0.95, 1e-8, 0.1, true});
        rp_graph_set(b->g, RP_OUTPUT_STATE, b->name[i], p);
        (void)snprintf(name, sizeof name, "m.%.64s", b->name[i]);
        rp_graph_set(b->g, RP_OUTPUT_STATE, name, m);
        (void)snprintf(name, sizeof name, "v.%.64s", b->name[i]);
        rp_graph_set(b->g, RP_OUTPUT_STATE, name, v);
    }
}

/* The first rows and columns. */
static inline rp_tensor gpt_first(rp_tensor x, size_t rows, size_t cols)
{
    return rp_slice(x, (size_t[]){0, 0}, (size_t[]){rows, cols});
}

/* NULL when memory runs out. */
static inline rp_program *gpt_program(const gpt *size)
{
    gpt_build *b = calloc(1, sizeof *b);
    const size_t longest = size->longest ? size->longest : size->tokens;
    rp_tensor tokens, labels, mask, places, table, x, loss, rate[3], *grad = calloc(GPT_PARAMETERS_MAX, sizeof *grad);
    rp_program *p;

    b->size = size;
    b->g = rp_graph_new(NULL);
    tokens = gpt_input(b->g, RP_INPUT_FEED, "tokens", RP_I64, size->tokens, 0);
    labels = gpt_input(b->g, RP_INPUT_FEED, "labels", RP_I64, size->tokens, 0);
    mask = gpt_input(b->g, RP_INPUT_DATA, "mask", RP_F32, longest, longest);
    if (longest > size->tokens)
        mask = gpt_first(mask, size->tokens, size->tokens);
    for (int i = 0; i < 3; i++)
        rate[i] = gpt_input(b->g, RP_INPUT_FEED, (const char *[]){"lr", "c1", "c2"}[i], RP_F32, 0, 0);
    table = gpt_parameter(b, "words", 0, size->words, size->width);
    x = rp_gather(table, tokens, 0);
    places = gpt_parameter(b, "places", 0, longest, size->width);
    if (longest > size->tokens)
        places = gpt_first(places, size->tokens, size->width);
    x = rp_add(x, places);
    for (size_t layer = 0; layer < size->layers; layer++)
        x = gpt_block(b, x, mask, layer);
    x = gpt_norm(b, x, "norm", 0);
    if (size->tied)
        x = rp_matmul(x, rp_transpose(table, NULL));
    else
        x = rp_matmul(x, gpt_parameter(b, "head", 0, size->width, size->words));
    loss = rp_cross_entropy(x, labels);
    rp_gradients(loss, b->parameter, b->n, grad);
    gpt_update(b, grad, rate);
    rp_graph_set(b->g, RP_OUTPUT_RESULT, "loss", loss);
    p = rp_graph_take_program(b->g, NULL);
    free(grad);
    free(b);
    return p;
}

#endif
