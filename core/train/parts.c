/* SPDX-License-Identifier: Apache-2.0
 * A recipe's batch as parts. The program names each shard by its rows and its number, so it does not grow with them,
 * and another process could compute one of them. */
#include "core/train/parts.h"

#include "base/memory.h"
#include "core/program/graph.h"

/* What a row has: features, target and, of a weighted model, weight. */
enum { X, Y, W, OF_ROW };
static const char *const row_data[OF_ROW] = {"train_x", "train_y", "train_w"};

static size_t per_row(const rp_model *m)
{
    return m->weighted ? OF_ROW : W;
}

/* Loss of some rows and the gradients of it. */
static void differentiate(const rp_model *m, const rp_tensor *weight, const rp_tensor *row, rp_tensor rng, size_t count,
                          rp_tensor *grad)
{
    rp_tensor logits = rp_model_forward(m, weight, row[X], rng, 0);
    rp_tensor losses = rp_model_row_losses(m, logits, row[Y], row[W]);
    rp_tensor loss = rp_model_loss(losses, (double)count);

    (m->recipe->train.mixed ? rp_gradients_mixed_or_zeros : rp_gradients_or_zeros)(loss, weight, m->n_parameters, grad);
    grad[m->n_parameters] = loss;
}

/* The whole batch. */
static void whole(const rp_model *m, const rp_run *run, rp_graph *g, const rp_tensor *weight, rp_tensor rows,
                  rp_tensor rng, size_t count, rp_tensor *total)
{
    rp_tensor index = rp_slice(rows, &(size_t){0}, &count);
    rp_tensor row[OF_ROW] = {rp_no_tensor(), rp_no_tensor(), rp_no_tensor()};

    for (size_t i = 0; i < per_row(m); i++)
        row[i] = rp_gather(rp_graph_data(g, run, row_data[i]), index, 0);
    differentiate(m, weight, row, rng, count, total);
}

/* {seed, step, offset}: each part has dropout streams of its own (CONTRACT 12.1). */
static rp_tensor part_rng(rp_tensor rng, rp_tensor part)
{
    rp_tensor offset = rp_scale(part, RP_MAX_HIDDEN + 1);

    offset = rp_reshape(offset, 1, (size_t[]){1});
    return rp_concat((rp_tensor[]){rng, offset}, 2, 0);
}

/* What a map over shards passes to each: rows of the shard, then the weights, the data, and rng if there is dropout. */
typedef struct shared {
    rp_tensor x[RP_MAX_PARAMETERS + OF_ROW + 1];
    size_t n;
    bool random;
} shared;

/* The function of a shard of `length` rows. */
static rp_function *shard_function(const rp_model *m, const shared *s, size_t length, size_t count, rp_graph *outer)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_function *f = NULL;
    rp_tensor in[RP_MAX_PARAMETERS + OF_ROW + 1], grad[RP_MAX_PARAMETERS + 1], part, rows, rng = rp_no_tensor();
    rp_tensor row[OF_ROW] = {rp_no_tensor(), rp_no_tensor(), rp_no_tensor()};
    rp_type type = {.dtype = RP_I64};
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    part = rp_function_parameter(g, &type);
    type = (rp_type){.dtype = RP_I64, .rank = 1, .shape = {length}};
    rows = rp_function_parameter(g, &type);
    for (size_t i = 0; i < s->n; i++)
        in[i] = rp_function_parameter(g, rp_tensor_type(s->x[i]));
    for (size_t i = 0; i < per_row(m); i++)
        row[i] = rp_gather(in[m->n_parameters + i], rows, 0);
    if (s->random)
        rng = part_rng(in[m->n_parameters + per_row(m)], part);
    differentiate(m, in, row, rng, count, grad);
    for (size_t i = 0; i <= m->n_parameters; i++)
        rp_function_return(g, grad[i]);
    status = rp_function_finish(g, &f, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "shards of %zu rows: %s", length, err.text);
    return f;
}

/* The functions for the two lengths that parts may have: the quotient and one more. */
typedef struct lengths {
    size_t shortest;
    rp_function *f[2];
} lengths;

/* One micro-batch: sum over its shards that have rows, by the tree; false when none has. */
static bool micro_batch(const rp_model *m, rp_graph *g, const shared *s, lengths *l, rp_tensor rows, size_t count,
                        const uint64_t *cuts, size_t first, rp_tensor *sum)
{
    const size_t shards = (size_t)m->recipe->train.shards;
    rp_combine combine[RP_MAX_PARAMETERS + 1];
    const rp_function *f[2];
    size_t n = 0;

    for (size_t k = 0; k < 2; k++) {
        const size_t length = l->shortest + k;
        bool used = false;

        for (size_t i = 0; i < shards; i++)
            used = used || (length && cuts[i + 1] - cuts[i] == length);
        if (used && !l->f[k])
            l->f[k] = shard_function(m, s, length, count, g);
        if (used)
            f[n++] = l->f[k];
    }
    for (size_t i = 0; i <= m->n_parameters; i++)
        combine[i] = RP_COMBINE_TREE;
    if (n)
        rp_map(g,
               &(rp_map_options){.function = f,
                                 .n_function = n,
                                 .sliced = &rows,
                                 .n_sliced = 1,
                                 .shared = s->x,
                                 .n_shared = s->n,
                                 .cuts = cuts,
                                 .n_cuts = shards + 1,
                                 .first = first,
                                 .combine = combine,
                                 .n_combine = m->n_parameters + 1},
               sum);
    return n > 0;
}

static rp_status by_shards(const rp_model *m, rp_graph *g, const shared *s, rp_tensor rows, size_t count,
                           rp_tensor *total, rp_error *err)
{
    const size_t shards = (size_t)m->recipe->train.shards, micro = (size_t)m->recipe->train.accumulate;
    const size_t parts = shards * micro;
    uint64_t *cuts = rp_reallocarray(NULL, shards + 1, sizeof *cuts);
    lengths l = {.shortest = count / parts};
    bool started = false;

    if (!cuts)
        return rp_no_memory(err);
    for (size_t a = 0; a < micro; a++) {
        rp_tensor sum[RP_MAX_PARAMETERS + 1];

        for (size_t i = 0; i <= shards; i++)
            cuts[i] = (a * shards + i) * count / parts;
        if (!micro_batch(m, g, s, &l, rows, count, cuts, a * shards, sum))
            continue;
        for (size_t i = 0; i <= m->n_parameters; i++)
            total[i] = started ? rp_add(total[i], sum[i]) : sum[i];
        started = true;
    }
    rp_function_free(l.f[0]);
    rp_function_free(l.f[1]);
    rp_free(cuts);
    return RP_OK;
}

rp_status rp_parts_gradients(const rp_model *m, const rp_run *run, rp_graph *g, const rp_tensor *weight, rp_tensor rows,
                             rp_tensor rng, size_t count, rp_tensor *total, rp_error *err)
{
    shared s = {.n = m->n_parameters, .random = rng.graph != NULL};

    if (m->recipe->train.shards == 1 && m->recipe->train.accumulate == 1) {
        whole(m, run, g, weight, rows, rng, count, total);
        return RP_OK;
    }
    for (size_t i = 0; i < m->n_parameters; i++)
        s.x[i] = weight[i];
    for (size_t i = 0; i < per_row(m); i++)
        s.x[s.n++] = rp_graph_data(g, run, row_data[i]);
    if (s.random)
        s.x[s.n++] = rng;
    for (size_t i = 0; i < s.n; i++) /* their types are asked for */
        if (!rp_tensor_ok(s.x[i]))
            return RP_OK;
    return by_shards(m, g, &s, rows, count, total, err);
}
