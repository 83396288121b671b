/* SPDX-License-Identifier: Apache-2.0
 * The programs of a text's steps (CONTRACT 17.5): one for training, one for evaluation; both take windows of tokens. */
#include "base/memory.h"
#include "core/train/language/forward.h"
#include "core/train/language/language.h"
#include "core/train/parts.h"
#include "core/train/schedule.h"

static rp_tensor feed_tokens(rp_graph *g, size_t windows, size_t length)
{
    const rp_type type = {.dtype = RP_I64, .rank = 2, .shape = {windows, length + 1}};

    return rp_graph_input(g, RP_INPUT_FEED, "tokens", &type, NULL);
}

/* What is seen, and what is to be told of it: [n, length] and [n * length] of windows [n, length + 1]. */
static rp_tensor seen(rp_tensor tokens, size_t n, size_t length)
{
    return rp_slice(tokens, (size_t[]){0, 0}, (size_t[]){n, length});
}

static rp_tensor told(rp_tensor tokens, size_t n, size_t length)
{
    rp_tensor y = rp_slice(tokens, (size_t[]){0, 1}, (size_t[]){n, length + 1});

    return rp_reshape(y, 1, (size_t[]){n * length});
}

static rp_tensor loss_of_windows(const rp_parts *p, const rp_tensor *weight, const rp_part_rows *rows)
{
    const rp_trainer *t = p->self;
    rp_tensor logits, losses, y;
    size_t shape[RP_MAX_RANK];
    rp_dtype dtype;
    int rank;

    if (!rp_shape_of(rows->rows, &dtype, &rank, shape))
        return rp_no_tensor();
    logits = seen(rows->rows, shape[0], t->text->length);
    logits = rp_language_forward(&t->model, weight, logits, rp_part_rng(p, rows));
    y = told(rows->rows, shape[0], t->text->length);
    losses = rp_model_row_losses(&t->model, logits, y, rp_no_tensor());
    return rp_model_loss(losses, (double)(p->count * t->text->length));
}

static rp_status build_train(rp_trainer *t, rp_error *err)
{
    const rp_recipe *r = t->recipe;
    const rp_parts parts = {.n_parameters = t->model.n_parameters,
                            .count = (size_t)t->batch,
                            .shards = (size_t)r->train.shards,
                            .accumulate = (size_t)r->train.accumulate,
                            .run = t->run,
                            .streams = rp_language_streams(&t->model, (size_t)t->batch),
                            .loss = loss_of_windows,
                            .self = t};
    rp_tensor weight[RP_MAX_PARAMETERS], total[RP_MAX_PARAMETERS + 1], lr, tokens, rng = rp_no_tensor();
    rp_graph *g = rp_graph_new(NULL);
    rp_status status;

    if (!g)
        return rp_no_memory(err);
    rp_model_weights(&t->model, t->run, g, weight);
    if (rp_language_random(r))
        rng = rp_graph_input(g, RP_INPUT_FEED, "rng", &(rp_type){.dtype = RP_I64, .rank = 1, .shape = {2}}, NULL);
    lr = rp_graph_input(g, RP_INPUT_FEED, "lr", &(rp_type){.dtype = RP_F32}, NULL);
    tokens = feed_tokens(g, (size_t)t->batch, t->text->length);
    status = rp_parts_of(&parts, g, weight, tokens, rng, total, err);
    if (status != RP_OK) {
        rp_graph_free(g);
        return status;
    }
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", total[t->model.n_parameters]);
    rp_trainer_build_update(t, g, weight, total, lr);
    return rp_run_compile_graph(&t->full, t->run, g, err);
}

/* Of each window the sum of its losses and how many of its tokens were the likeliest; of all the mean loss. */
static rp_status build_evaluation(rp_trainer *t, rp_error *err)
{
    const size_t n = (size_t)t->batch, length = t->text->length;
    const int last = 1;
    rp_tensor weight[RP_MAX_PARAMETERS], tokens, logits, y, losses, found;
    rp_graph *g = rp_graph_new(NULL);

    if (!g)
        return rp_no_memory(err);
    rp_model_weights(&t->model, t->run, g, weight);
    tokens = feed_tokens(g, n, length);
    logits = rp_language_forward(&t->model, weight, seen(tokens, n, length), rp_no_tensor());
    y = told(tokens, n, length);
    losses = rp_model_row_losses(&t->model, logits, y, rp_no_tensor());
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", rp_model_loss(losses, (double)(n * length)));
    losses = rp_reshape(losses, 2, (size_t[]){n, length});
    rp_graph_set(g, RP_OUTPUT_RESULT, "sums", rp_sum(losses, &last, 1, false));
    found = rp_argmax(logits, -1, false);
    found = rp_cast(rp_eq(found, y), RP_F32);
    found = rp_reshape(found, 2, (size_t[]){n, length});
    rp_graph_set(g, RP_OUTPUT_RESULT, "hits", rp_sum(found, &last, 1, false));
    return rp_run_compile_graph(&t->eval_train, t->run, g, err);
}

rp_status rp_language_build(rp_trainer *t, rp_error *err)
{
    const int64_t windows = (int64_t)rp_corpus_per_epoch(t->text);
    rp_status status = rp_trainer_build_init(t, err);

    t->batch = rp_batch_rows(t->recipe, windows);
    t->per_epoch = rp_steps_per_epoch(t->recipe, windows);
    t->training = t->longest =
        (uint64_t)(t->recipe->train.steps ? t->recipe->train.steps : t->per_epoch * t->recipe->train.epochs);
    if (status == RP_OK)
        status = build_train(t, err);
    return status == RP_OK ? build_evaluation(t, err) : status;
}
