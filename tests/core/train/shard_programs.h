/* SPDX-License-Identifier: Apache-2.0
 * A small model of a recipe on batches of any size, shards and micro-batches: loss, gradients and new weights by maps
 * as a recipe has them, and by the parts of CONTRACT 12.3 written one after another. */
#ifndef TESTS_CORE_TRAIN_SHARD_PROGRAMS_H
#define TESTS_CORE_TRAIN_SHARD_PROGRAMS_H

#include "core/program/graph.h"
#include "core/train/parts.h"
#include "tests/core/run/region_bodies.h"

enum { TABLE = 64, FEATURES = 2, WEIGHTS = 4 };

typedef struct small_model {
    rp_recipe recipe;
    rp_model model;
    rp_run *run;
} small_model;

/* 2 features, a layer of 3 with tanh and dropout, a logit: 4 parameters. */
static inline small_model *small_model_new(void)
{
    small_model *m = calloc(1, sizeof *m);
    static const float zeros[TABLE * FEATURES];
    rp_error err = {0};

    m->recipe.model.hidden[0] = 3;
    m->recipe.model.n_hidden = 1;
    m->recipe.model.activation = RP_ACT_TANH;
    m->recipe.model.dropout = 0.25;
    assert_int_equal(rp_model_init(&m->model, &m->recipe, FEATURES, 2, &err), RP_OK);
    assert_int_equal(m->model.n_parameters, WEIGHTS);
    assert_int_equal(rp_run_new(&m->run, NULL, &err), RP_OK);
    for (size_t i = 0; i < WEIGHTS; i++) {
        const rp_parameter *p = &m->model.parameter[i];

        assert_int_equal(rp_run_add_state(m->run, p->name, RP_F32, p->rank, p->shape, NULL, &err), RP_OK);
    }
    assert_int_equal(rp_run_add_data(m->run, "train_x", RP_F32, 2, (size_t[]){TABLE, FEATURES}, zeros, &err), RP_OK);
    assert_int_equal(rp_run_add_data(m->run, "train_y", RP_F32, 2, (size_t[]){TABLE, 1}, zeros, &err), RP_OK);
    return m;
}

static inline void small_model_free(small_model *m)
{
    rp_run_free(m->run);
    free(m);
}

/* Memory of a program's inputs: the same for the same name, whatever else the program has. */
static inline store named_store(const rp_program *p)
{
    store s = store_new(p);

    for (size_t i = 0; i < s.n; i++) {
        const rp_type *type = &p->value[p->input[i].value];
        const size_t count = rp_type_count(type);
        uint64_t r = 7;

        for (const char *c = p->input[i].name; *c; c++)
            r = r * 131 + (unsigned char)*c;
        for (size_t k = 0; k < count; k++)
            if (type->dtype == RP_F32)
                ((float *)s.memory[i])[k] = (float)chance(&r, 2001) / 1000 - 1;
            else if (strcmp(p->input[i].name, "rows") == 0)
                ((int64_t *)s.memory[i])[k] = (int64_t)(k * 29 % TABLE);
            else
                ((int64_t *)s.memory[i])[k] = (int64_t)(42 - 39 * k); /* rng {42, 3} */
    }
    return s;
}

typedef struct step_inputs {
    rp_tensor weight[WEIGHTS], rng, lr, rows;
} step_inputs;

static inline step_inputs declare_step(rp_graph *g, const small_model *m, size_t count)
{
    const rp_type rng = {.dtype = RP_I64, .rank = 1, .shape = {2}}, lr = {.dtype = RP_F32},
                  rows = {.dtype = RP_I64, .rank = 1, .shape = {count}};
    step_inputs in;

    rp_model_weights(&m->model, m->run, g, in.weight);
    in.rng = rp_graph_declare(g, RP_INPUT_FEED, "rng", &rng);
    in.lr = rp_graph_declare(g, RP_INPUT_FEED, "lr", &lr);
    in.rows = rp_graph_declare(g, RP_INPUT_FEED, "rows", &rows);
    return in;
}

/* One part of CONTRACT 12.3: the gradients of its loss, then the loss. */
static inline void emit_part(rp_graph *g, const small_model *m, const step_inputs *in, size_t begin, size_t end,
                             size_t part, size_t count, rp_tensor *out)
{
    rp_tensor rows = rp_slice(in->rows, &begin, &end), x, y;

    x = rp_gather(rp_graph_data(g, m->run, "train_x"), rows, 0);
    y = rp_gather(rp_graph_data(g, m->run, "train_y"), rows, 0);
    x = rp_model_forward(&m->model, in->weight, x, in->rng, (int64_t)part);
    out[WEIGHTS] = rp_model_loss(rp_model_row_losses(&m->model, x, y, rp_no_tensor()), count);
    rp_gradients_or_zeros(out[WEIGHTS], in->weight, WEIGHTS, out);
}

/* All parts, the tree of each micro-batch, micro-batches left to right. */
static inline void emit_parts(rp_graph *g, const small_model *m, const step_inputs *in, size_t count, size_t shards,
                              size_t micro, rp_tensor *total)
{
    bool started = false;

    for (size_t a = 0; a < micro; a++) {
        rp_tensor part[WEIGHTS + 1][TABLE], of[WEIGHTS + 1];
        size_t n = 0;

        for (size_t p = a * shards; p < (a + 1) * shards; p++) {
            const size_t begin = p * count / (shards * micro), end = (p + 1) * count / (shards * micro);

            if (begin == end)
                continue;
            emit_part(g, m, in, begin, end, p, count, of);
            for (size_t i = 0; i <= WEIGHTS; i++)
                part[i][n] = of[i];
            n++;
        }
        for (size_t i = 0; i <= WEIGHTS && n; i++)
            total[i] = started ? rp_add(total[i], tree_of(part[i], n)) : tree_of(part[i], n);
        started = started || n;
    }
}

/* Results loss, gradients and new weights. */
static inline rp_program *batch_program(small_model *m, size_t count, size_t shards, size_t micro, bool maps)
{
    rp_tensor total[WEIGHTS + 1];
    step_inputs in;
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};
    char name[24];

    m->recipe.train.shards = (int64_t)shards;
    m->recipe.train.accumulate = (int64_t)micro;
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in = declare_step(g, m, count);
    if (maps)
        assert_int_equal(rp_parts_gradients(&m->model, m->run, g, in.weight, in.rows, in.rng, count, total, &err),
                         RP_OK);
    else
        emit_parts(g, m, &in, count, shards, micro, total);
    rp_graph_result(g, "loss", total[WEIGHTS]);
    for (size_t i = 0; i < WEIGHTS; i++) {
        snprintf(name, sizeof name, "gradient%zu", i);
        rp_graph_result(g, name, total[i]);
        snprintf(name, sizeof name, "weight%zu", i);
        rp_graph_result(g, name, rp_sub(in.weight[i], rp_mul(in.lr, total[i])));
    }
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%zu rows, %zu shards, %zu micro-batches: %s", count, shards, micro, err.text);
    return p;
}

#endif
