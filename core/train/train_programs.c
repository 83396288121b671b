/* SPDX-License-Identifier: Apache-2.0
 * The programs of a recipe's steps (CONTRACT 12.7), one a shape of step: built symbolically, compiled for the run. */
#include <stdio.h>

#include "base/memory.h"
#include "core/train/evaluate.h"
#include "core/train/exact.h"
#include "core/train/exact_check.h"
#include "core/train/parts.h"
#include "core/train/programs/saved.h"
#include "core/train/schedule.h"
#include "core/train/trainer.h"

static const char *const moment_of[][2] = {{"optim.m", NULL},      {"optim.m", "optim.v"}, {"optim.m", "optim.v"},
                                           {"optim.v", "optim.m"}, {"optim.m", NULL},      {"optim.s", NULL}};

const char *rp_trainer_moment_name(const rp_trainer *t, size_t parameter, int i, char out[RP_NAME_MAX])
{
    (void)snprintf(out, RP_NAME_MAX, "%s.%.64s", moment_of[t->recipe->train.optimizer.kind][i],
                   t->model.parameter[parameter].name);
    return out;
}

int rp_trainer_moments(const rp_trainer *t)
{
    if (t->recipe->train.exact)
        return 0;
    return moment_of[t->recipe->train.optimizer.kind][1] == NULL ? 1 : 2;
}

size_t rp_trainer_start_count(const rp_trainer *t)
{
    size_t groups = rp_recipe_starts_anew(t->recipe) ? 1 : 1 + (size_t)rp_trainer_moments(t);

    return rp_recipe_starts(t->recipe) ? groups * t->model.n_parameters : 0;
}

static rp_tensor feed(rp_graph *g, const char *name, rp_dtype dtype, int rank, size_t n)
{
    rp_type type = {.dtype = dtype, .rank = rank, .shape = {n}};

    return rp_graph_input(g, RP_INPUT_FEED, name, &type, NULL);
}

/* Step 0 of a run whose first states are given: each state is fed, so that the journal says what was started from. */
static void build_start(const rp_trainer *t, rp_graph *g)
{
    size_t n, count = rp_trainer_start_count(t);
    const rp_device_tensor *state = rp_run_states(t->run, &n);
    rp_tensor first[RP_MAX_PARAMETERS];

    for (size_t i = 0; i < count; i++) {
        rp_tensor value = rp_graph_input(g, RP_INPUT_FEED, state[i].name, &state[i].type, NULL);

        (void)rp_graph_state(g, t->run, state[i].name);
        rp_graph_set(g, RP_OUTPUT_STATE, state[i].name, value);
        if (i < t->model.n_parameters)
            first[i] = value;
    }
    if (rp_trainer_keeps_best(t))
        rp_trainer_begin_best(t, g, first);
}

rp_status rp_trainer_build_init(rp_trainer *t, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor rng, first[RP_MAX_PARAMETERS];

    if (!g)
        return rp_no_memory(err);
    if (rp_recipe_starts(t->recipe)) {
        build_start(t, g);
        return rp_trainer_keeps_best(t) ? rp_run_compile_graph(&t->init, t->run, g, err)
                                        : rp_run_compile_start(&t->init, t->run, g, err);
    }
    rng = t->recipe->train.exact ? rp_no_tensor() : feed(g, "rng", RP_I64, 1, 2);
    if (t->recipe->program.named)
        rp_saved_initial(&t->model, g, rng, first);
    for (size_t i = 0; i < t->model.n_parameters; i++) {
        const rp_parameter *p = &t->model.parameter[i];
        rp_tensor value = t->recipe->program.named ? first[i]
                          : p->bound > 0 ? rp_uniform(rng, (int64_t)i, RP_F32, p->rank, p->shape, -p->bound, p->bound)
                          : p->deviation > 0 ? rp_normal(rng, (int64_t)i, RP_F32, p->rank, p->shape, 0, p->deviation)
                                             : rp_fill(g, t->model.dtype, p->rank, p->shape, p->constant);

        (void)rp_graph_state(g, t->run, p->name);
        rp_graph_set(g, RP_OUTPUT_STATE, p->name, value);
        first[i] = value;
    }
    if (rp_trainer_keeps_best(t))
        rp_trainer_begin_best(t, g, first);
    return rp_run_compile_graph(&t->init, t->run, g, err);
}

/* Biases, gammas and betas are the parameters of rank 1: to pull them to 0 moves the predictions off the data. */
static double decay_of(const rp_trainer *t, const rp_parameter *p)
{
    return p->rank > 1 || t->recipe->train.optimizer.decay_all ? t->recipe->train.optimizer.weight_decay : 0;
}

void rp_trainer_build_update(const rp_trainer *t, rp_graph *g, rp_tensor *weight, rp_tensor *grad, rp_tensor lr)
{
    const rp_recipe *r = t->recipe;
    bool adam = r->train.optimizer.kind == RP_OPT_ADAM || r->train.optimizer.kind == RP_OPT_ADAMW;
    rp_tensor c1 = adam ? feed(g, "c1", RP_F32, 0, 0) : rp_no_tensor();
    rp_tensor c2 = adam ? feed(g, "c2", RP_F32, 0, 0) : rp_no_tensor();

    if (r->train.clip_norm > 0)
        rp_graph_set(g, RP_OUTPUT_RESULT, "grad_norm",
                     rp_clip_by_norm(grad, t->model.n_parameters, r->train.clip_norm));
    for (size_t i = 0; i < t->model.n_parameters; i++) {
        char name[2][RP_NAME_MAX];
        rp_tensor moment[2] = {rp_no_tensor(), rp_no_tensor()}, p;

        const double decay = decay_of(t, &t->model.parameter[i]);

        for (int k = 0; k < rp_trainer_moments(t); k++)
            moment[k] = rp_graph_state(g, t->run, rp_trainer_moment_name(t, i, k, name[k]));
        if (adam)
            p = rp_adam(weight[i], &moment[0], &moment[1], grad[i], lr, c1, c2,
                        &(rp_adam_options){r->train.optimizer.beta1, r->train.optimizer.beta2, r->train.optimizer.eps,
                                           decay, r->train.optimizer.kind == RP_OPT_ADAMW});
        else if (r->train.optimizer.kind == RP_OPT_RMSPROP)
            p = rp_rmsprop(weight[i], &moment[0], &moment[1], grad[i], lr, r->train.optimizer.alpha,
                           r->train.optimizer.eps, r->train.optimizer.momentum, decay);
        else if (r->train.optimizer.kind == RP_OPT_LION)
            p = rp_lion(weight[i], &moment[0], grad[i], lr, r->train.optimizer.beta1, r->train.optimizer.beta2, decay);
        else if (r->train.optimizer.kind == RP_OPT_ADAGRAD)
            p = rp_adagrad(weight[i], &moment[0], grad[i], lr, r->train.optimizer.eps, decay);
        else
            p = rp_sgd(weight[i], &moment[0], grad[i], lr, r->train.optimizer.momentum, r->train.optimizer.nesterov,
                       decay);
        rp_graph_set(g, RP_OUTPUT_STATE, t->model.parameter[i].name, p);
        weight[i] = p;
        for (int k = 0; k < rp_trainer_moments(t); k++)
            rp_graph_set(g, RP_OUTPUT_STATE, name[k], moment[k]);
    }
}

/* ends: the epoch's last step, which watches the validation part where the best weights are kept. */
static rp_status build_train(rp_trainer *t, size_t count, bool ends, rp_compiled **out, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor weight[RP_MAX_PARAMETERS], total[RP_MAX_PARAMETERS + 1], lr, rows, rng = rp_no_tensor();
    rp_status status;

    if (!g)
        return rp_no_memory(err);
    rp_model_weights(&t->model, t->run, g, weight);
    if (rp_model_random(&t->model))
        rng = feed(g, "rng", RP_I64, 1, 2);
    lr = feed(g, "lr", RP_F32, 0, 0);
    rows = feed(g, "rows", RP_I64, 1, count);
    status = rp_parts_gradients(&t->model, t->run, g, weight, rows, rng, count, total, err);
    if (status == RP_OK) {
        rp_graph_set(g, RP_OUTPUT_RESULT, "loss", total[t->model.n_parameters]);
        rp_trainer_build_update(t, g, weight, total, lr);
    }
    if (status == RP_OK && ends && rp_trainer_keeps_best(t))
        status = rp_trainer_watch(t, g, weight, err);
    if (status == RP_OK)
        return rp_run_compile_graph(out, t->run, g, err);
    rp_graph_free(g);
    return status;
}

static rp_status build_eval(rp_trainer *t, bool validation, rp_compiled **out, rp_error *err)
{
    const rp_part part = rp_trainer_part(t->data, validation);
    rp_graph *g = rp_graph_new(NULL);
    rp_status status;

    if (!g)
        return rp_no_memory(err);
    status = rp_evaluation(&t->model, t->run, g, &part, err);
    if (status == RP_OK)
        return rp_run_compile_graph(out, t->run, g, err);
    rp_graph_free(g);
    return status;
}

static rp_status build_evals(rp_trainer *t, rp_error *err)
{
    rp_status status = build_eval(t, false, &t->eval_train, err);

    if (status == RP_OK && t->data->valid_rows)
        status = build_eval(t, true, &t->eval_valid, err);
    return status;
}

/* One training step, which is the whole fit. */
static rp_status build_exact(rp_trainer *t, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_status status;

    t->per_epoch = 1;
    t->training = t->longest = 1;
    if (!g)
        return rp_no_memory(err);
    status = rp_exact_targets(&t->model, t->data, err);
    if (status == RP_OK)
        status = rp_exact_fit(&t->model, t->data, t->run, g, err);
    if (status == RP_OK)
        status = rp_run_compile_graph(&t->full, t->run, g, err);
    else
        rp_graph_free(g);
    return status == RP_OK ? build_evals(t, err) : status;
}

rp_status rp_trainer_build(rp_trainer *t, rp_error *err)
{
    const rp_dataset *d = t->data;
    int64_t n = (int64_t)d->train_rows, batch = rp_batch_rows(t->recipe, n);
    rp_status status = rp_trainer_build_init(t, err);

    t->batch = batch;
    if (t->recipe->train.exact)
        return status == RP_OK ? build_exact(t, err) : status;
    t->per_epoch = rp_steps_per_epoch(t->recipe, n);
    t->training = t->longest = (uint64_t)(t->per_epoch * t->recipe->train.epochs);
    t->last_rows = t->recipe->train.drop_last || n % batch == 0 ? batch : n % batch;
    if (status == RP_OK)
        status = build_train(t, (size_t)batch, false, &t->full, err);
    if (status == RP_OK && (t->last_rows != batch || rp_trainer_keeps_best(t)))
        status = build_train(t, (size_t)t->last_rows, true, &t->last, err);
    if (status == RP_OK && rp_trainer_keeps_best(t))
        status = rp_trainer_build_keep(t, err);
    return status == RP_OK ? build_evals(t, err) : status;
}
