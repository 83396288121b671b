/* SPDX-License-Identifier: Apache-2.0
 * A recipe's batch as parts. The program names each shard by its rows and its number, so it does not grow with them,
 * and another process could compute one of them. */
#include "core/train/parts.h"

#include "base/memory.h"
#include "core/program/graph.h"

/* Loss of some rows and the gradients of it. */
static void differentiate(const rp_parts *p, const rp_tensor *weight, const rp_part_rows *rows, rp_tensor *grad)
{
    rp_tensor loss = p->loss(p, weight, rows);

    (p->mixed ? rp_gradients_mixed_or_zeros : rp_gradients_or_zeros)(loss, weight, p->n_parameters, grad);
    grad[p->n_parameters] = loss;
}

/* {seed, step, offset}: each part has dropout streams of its own (CONTRACT 12.1). */
rp_tensor rp_part_rng(const rp_parts *p, const rp_part_rows *rows)
{
    rp_tensor offset;

    if (!rows->rng.graph || !rows->part.graph)
        return rows->rng;
    offset = rp_scale(rows->part, p->streams);
    offset = rp_reshape(offset, 1, (size_t[]){1});
    return rp_concat((rp_tensor[]){rows->rng, offset}, 2, 0);
}

/* What a map over shards passes to each: rows of the shard, then the weights, the data, and rng if there is dropout. */
typedef struct shared {
    rp_tensor x[RP_MAX_PARAMETERS + RP_PARTS_DATA + 1];
    size_t n;
    bool random;
} shared;

/* The function of a shard of `length` rows. */
static rp_function *shard_function(const rp_parts *p, const shared *s, rp_type of_rows, size_t length, rp_graph *outer)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_function *f = NULL;
    rp_tensor in[RP_MAX_PARAMETERS + RP_PARTS_DATA + 1], grad[RP_MAX_PARAMETERS + 1], part, rows;
    rp_tensor rng = rp_no_tensor();
    rp_type type = {.dtype = RP_I64};
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    part = rp_function_parameter(g, &type);
    of_rows.shape[0] = length;
    rows = rp_function_parameter(g, &of_rows);
    for (size_t i = 0; i < s->n; i++)
        in[i] = rp_function_parameter(g, rp_tensor_type(s->x[i]));
    if (s->random)
        rng = in[p->n_parameters + p->n_data];
    differentiate(p, in, &(rp_part_rows){rows, rng, part, in + p->n_parameters}, grad);
    for (size_t i = 0; i <= p->n_parameters; i++)
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
static bool micro_batch(const rp_parts *p, rp_graph *g, const shared *s, lengths *l, rp_tensor rows,
                        const uint64_t *cuts, size_t first, rp_tensor *sum)
{
    rp_combine combine[RP_MAX_PARAMETERS + 1];
    const rp_function *f[2];
    size_t n = 0;

    for (size_t k = 0; k < 2; k++) {
        const size_t length = l->shortest + k;
        bool used = false;

        for (size_t i = 0; i < p->shards; i++)
            used = used || (length && cuts[i + 1] - cuts[i] == length);
        if (used && !l->f[k])
            l->f[k] = shard_function(p, s, *rp_tensor_type(rows), length, g);
        if (used)
            f[n++] = l->f[k];
    }
    for (size_t i = 0; i <= p->n_parameters; i++)
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
                                 .n_cuts = p->shards + 1,
                                 .first = first,
                                 .combine = combine,
                                 .n_combine = p->n_parameters + 1},
               sum);
    return n > 0;
}

static rp_status by_shards(const rp_parts *p, rp_graph *g, const shared *s, rp_tensor rows, rp_tensor *total,
                           rp_error *err)
{
    const size_t shards = p->shards, parts = shards * p->accumulate;
    uint64_t *cuts = rp_reallocarray(NULL, shards + 1, sizeof *cuts);
    lengths l = {.shortest = p->count / parts};
    bool started = false;

    if (!cuts)
        return rp_no_memory(err);
    for (size_t a = 0; a < p->accumulate; a++) {
        rp_tensor sum[RP_MAX_PARAMETERS + 1];

        for (size_t i = 0; i <= shards; i++)
            cuts[i] = (a * shards + i) * p->count / parts;
        if (!micro_batch(p, g, s, &l, rows, cuts, a * shards, sum))
            continue;
        for (size_t i = 0; i <= p->n_parameters; i++)
            total[i] = started ? rp_add(total[i], sum[i]) : sum[i];
        started = true;
    }
    rp_function_free(l.f[0]);
    rp_function_free(l.f[1]);
    rp_free(cuts);
    return RP_OK;
}

rp_status rp_parts_of(const rp_parts *p, rp_graph *g, const rp_tensor *weight, rp_tensor rows, rp_tensor rng,
                      rp_tensor *total, rp_error *err)
{
    shared s = {.n = p->n_parameters, .random = rng.graph != NULL};

    if (p->shards == 1 && p->accumulate == 1) {
        differentiate(p, weight, &(rp_part_rows){rows, rng, rp_no_tensor(), NULL}, total);
        return RP_OK;
    }
    for (size_t i = 0; i < p->n_parameters; i++)
        s.x[i] = weight[i];
    for (size_t i = 0; i < p->n_data; i++)
        s.x[s.n++] = rp_graph_data(g, p->run, p->data[i]);
    if (s.random)
        s.x[s.n++] = rng;
    for (size_t i = 0; i < s.n; i++) /* their types are asked for */
        if (!rp_tensor_ok(s.x[i]))
            return RP_OK;
    return rp_tensor_ok(rows) ? by_shards(p, g, &s, rows, total, err) : RP_OK;
}

/* ---- of a table ---- */

/* What a row has: features, target and, of a weighted model, weight. */
enum { X, Y, W };
static const char *const row_data[RP_PARTS_DATA] = {"train_x", "train_y", "train_w"};

/* The whole batch takes its rows of the run's data, a shard those of what it is passed. */
static rp_tensor loss_of_rows(const rp_parts *p, const rp_tensor *weight, const rp_part_rows *rows)
{
    const rp_model *m = p->self;
    rp_tensor row[RP_PARTS_DATA] = {rp_no_tensor(), rp_no_tensor(), rp_no_tensor()}, index = rows->rows, logits, losses;

    if (!rows->data)
        index = rp_slice(index, &(size_t){0}, &p->count);
    for (size_t i = 0; i < p->n_data; i++)
        row[i] = rp_gather(rows->data ? rows->data[i] : rp_graph_data(index.graph, p->run, row_data[i]), index, 0);
    logits = rp_model_forward(m, weight, row[X], rp_part_rng(p, rows), 0);
    losses = rp_model_row_losses(m, logits, row[Y], row[W]);
    return rp_model_loss(losses, (double)p->count);
}

rp_status rp_parts_gradients(const rp_model *m, const rp_run *run, rp_graph *g, const rp_tensor *weight, rp_tensor rows,
                             rp_tensor rng, size_t count, rp_tensor *total, rp_error *err)
{
    const rp_parts parts = {.n_parameters = m->n_parameters,
                            .mixed = m->recipe->train.mixed,
                            .run = run,
                            .data = row_data,
                            .n_data = m->weighted ? RP_PARTS_DATA : W,
                            .shards = (size_t)m->recipe->train.shards,
                            .accumulate = (size_t)m->recipe->train.accumulate,
                            .streams = rp_model_streams(m, count),
                            .count = count,
                            .loss = loss_of_rows,
                            .self = m};

    return rp_parts_of(&parts, g, weight, rows, rng, total, err);
}
