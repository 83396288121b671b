/* SPDX-License-Identifier: Apache-2.0
 * The trainer of a recipe: states, data, and programs, which are built once symbolically and compiled. Its steps are in
 * core/train/train_steps.c. */
#include "core/train/trainer.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/train/evaluate.h"
#include "core/train/parts.h"
#include "core/train/schedule.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"

static const char *const moment_of[][2] = {
    {"optim.m", NULL}, {"optim.m", "optim.v"}, {"optim.m", "optim.v"}, {"optim.v", "optim.m"}};

void rp_trainer_free(rp_trainer *t)
{
    if (!t)
        return;
    rp_compiled_free(t->init);
    rp_compiled_free(t->full);
    rp_compiled_free(t->last);
    rp_compiled_free(t->eval_train);
    rp_compiled_free(t->eval_valid);
    rp_run_free(t->run);
    if (!t->lent)
        rp_dataset_free(t->data);
    rp_free(t->order);
    rp_free(t);
}

/* "optim.m.layer0.weight" */
static const char *moment_name(const rp_trainer *t, size_t parameter, int i, char out[RP_NAME_MAX])
{
    (void)snprintf(out, RP_NAME_MAX, "%s.%.64s", moment_of[t->recipe->train.optimizer.kind][i],
                   t->model.parameter[parameter].name);
    return out;
}

static int moments(const rp_trainer *t)
{
    return t->recipe->train.optimizer.kind == RP_OPT_SGD ? 1 : 2;
}

/* Asked before they are there, since they are written as they come. */
static rp_status check_room(const rp_trainer *t, rp_error *err)
{
    const size_t rows = t->data->train_rows + t->data->valid_rows;
    size_t bytes = rows * (t->model.features * sizeof(float) + sizeof(int64_t));

    for (size_t i = 0; i < t->model.n_parameters; i++) {
        size_t size = sizeof(float) * (size_t)(1 + moments(t));

        for (int d = 0; d < t->model.parameter[i].rank; d++)
            size *= t->model.parameter[i].shape[d];
        bytes += size;
    }
    return rp_device_room(rp_run_device(t->run), bytes, "weights, moments and table take", err);
}

static rp_status add_states(rp_trainer *t, rp_error *err)
{
    char name[RP_NAME_MAX];
    rp_status status = RP_OK;

    for (size_t i = 0; i < t->model.n_parameters && status == RP_OK; i++) {
        const rp_parameter *p = &t->model.parameter[i];

        status = rp_run_add_state(t->run, p->name, RP_F32, p->rank, p->shape, NULL, err);
    }
    for (int k = 0; k < moments(t); k++)
        for (size_t i = 0; i < t->model.n_parameters && status == RP_OK; i++) {
            const rp_parameter *p = &t->model.parameter[i];

            status = rp_run_add_state(t->run, moment_name(t, i, k, name), RP_F32, p->rank, p->shape, NULL, err);
        }
    return status;
}

static rp_status add_part(rp_trainer *t, const char *x_name, const char *y_name, size_t rows, const float *x,
                          const float *target, const int64_t *label, rp_error *err)
{
    size_t shape[2] = {rows, t->model.features}, column[2] = {rows, 1};
    rp_status status = rp_run_add_data(t->run, x_name, RP_F32, 2, shape, x, err);

    if (status != RP_OK)
        return status;
    if (t->model.loss == RP_LOSS_CROSS_ENTROPY)
        return rp_run_add_data(t->run, y_name, RP_I64, 1, shape, label, err);
    return rp_run_add_data(t->run, y_name, RP_F32, 2, column, target, err);
}

static rp_status add_data(rp_trainer *t, rp_error *err)
{
    const rp_dataset *d = t->data;
    rp_status status =
        add_part(t, "train_x", "train_y", d->train_rows, d->train_x, d->train_target, d->train_label, err);

    if (status == RP_OK && d->valid_rows)
        status = add_part(t, "valid_x", "valid_y", d->valid_rows, d->valid_x, d->valid_target, d->valid_label, err);
    return status;
}

static rp_tensor feed(rp_graph *g, const char *name, rp_dtype dtype, int rank, size_t n)
{
    rp_type type = {.dtype = dtype, .rank = rank, .shape = {n}};

    return rp_graph_input(g, RP_INPUT_FEED, name, &type, NULL);
}

static rp_status compile(rp_compiled **out, rp_trainer *t, rp_graph *g, rp_error *err)
{
    rp_error why = {.status = RP_ENOMEM};
    rp_program *program = rp_graph_take_program(g, &why);

    if (!program) {
        if (err)
            *err = why;
        return why.status;
    }
    return rp_run_compile(out, t->run, program, err);
}

size_t rp_trainer_start_count(const rp_trainer *t)
{
    size_t groups = t->recipe->parent.retrain ? 1 : 1 + (size_t)moments(t);

    return t->recipe->parent.archive ? groups * t->model.n_parameters : 0;
}

/* Step 0 of a run with a parent: each state is fed, so that the journal says what was started from. */
static void build_start(const rp_trainer *t, rp_graph *g)
{
    size_t n, count = rp_trainer_start_count(t);
    const rp_device_tensor *state = rp_run_states(t->run, &n);

    for (size_t i = 0; i < count; i++) {
        rp_tensor value = rp_graph_input(g, RP_INPUT_FEED, state[i].name, &state[i].type, NULL);

        (void)rp_graph_state(g, t->run, state[i].name);
        rp_graph_set(g, RP_OUTPUT_STATE, state[i].name, value);
    }
}

static rp_status build_init(rp_trainer *t, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor rng;

    if (!g)
        return rp_no_memory(err);
    if (t->recipe->parent.archive) {
        build_start(t, g);
        return compile(&t->init, t, g, err);
    }
    rng = feed(g, "rng", RP_I64, 1, 2);
    for (size_t i = 0; i < t->model.n_parameters; i++) {
        const rp_parameter *p = &t->model.parameter[i];
        rp_tensor value = p->bound > 0 ? rp_uniform(rng, (int64_t)i, RP_F32, p->rank, p->shape, -p->bound, p->bound)
                                       : rp_fill(g, RP_F32, p->rank, p->shape, p->constant);

        (void)rp_graph_state(g, t->run, p->name);
        rp_graph_set(g, RP_OUTPUT_STATE, p->name, value);
    }
    return compile(&t->init, t, g, err);
}

static void build_update(const rp_trainer *t, rp_graph *g, const rp_tensor *weight, rp_tensor *grad, rp_tensor lr)
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

        for (int k = 0; k < moments(t); k++)
            moment[k] = rp_graph_state(g, t->run, moment_name(t, i, k, name[k]));
        if (adam)
            p = rp_adam(weight[i], &moment[0], &moment[1], grad[i], lr, c1, c2, r->train.optimizer.beta1,
                        r->train.optimizer.beta2, r->train.optimizer.eps, r->train.optimizer.weight_decay,
                        r->train.optimizer.kind == RP_OPT_ADAMW);
        else if (r->train.optimizer.kind == RP_OPT_RMSPROP)
            p = rp_rmsprop(weight[i], &moment[0], &moment[1], grad[i], lr, r->train.optimizer.alpha,
                           r->train.optimizer.eps, r->train.optimizer.momentum, r->train.optimizer.weight_decay);
        else
            p = rp_sgd(weight[i], &moment[0], grad[i], lr, r->train.optimizer.momentum, r->train.optimizer.nesterov,
                       r->train.optimizer.weight_decay);
        rp_graph_set(g, RP_OUTPUT_STATE, t->model.parameter[i].name, p);
        for (int k = 0; k < moments(t); k++)
            rp_graph_set(g, RP_OUTPUT_STATE, name[k], moment[k]);
    }
}

static rp_status build_train(rp_trainer *t, size_t count, rp_compiled **out, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor weight[RP_MAX_PARAMETERS], total[RP_MAX_PARAMETERS + 1], lr, rows, rng = rp_no_tensor();
    rp_status status;

    if (!g)
        return rp_no_memory(err);
    rp_model_weights(&t->model, t->run, g, weight);
    if (t->recipe->model.dropout > 0)
        rng = feed(g, "rng", RP_I64, 1, 2);
    lr = feed(g, "lr", RP_F32, 0, 0);
    rows = feed(g, "rows", RP_I64, 1, count);
    status = rp_parts_gradients(&t->model, t->run, g, weight, rows, rng, count, total, err);
    if (status != RP_OK) {
        rp_graph_free(g);
        return status;
    }
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", total[t->model.n_parameters]);
    build_update(t, g, weight, total, lr);
    return compile(out, t, g, err);
}

static rp_status build_eval(rp_trainer *t, const char *x_name, const char *y_name, size_t rows, rp_compiled **out,
                            rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_status status;

    if (!g)
        return rp_no_memory(err);
    status = rp_evaluation(&t->model, t->run, g, &(rp_part){x_name, y_name, rows}, err);
    if (status == RP_OK)
        return compile(out, t, g, err);
    rp_graph_free(g);
    return status;
}

static rp_status build_programs(rp_trainer *t, rp_error *err)
{
    const rp_dataset *d = t->data;
    int64_t n = (int64_t)d->train_rows, batch = t->recipe->train.batch;
    rp_status status = build_init(t, err);

    t->per_epoch = rp_steps_per_epoch(t->recipe, n);
    t->training = (uint64_t)(t->per_epoch * t->recipe->train.epochs);
    t->total = 1 + t->training + 1 + (d->valid_rows ? 1 : 0);
    t->last_rows = t->recipe->train.drop_last || n % batch == 0 ? batch : n % batch;
    if (n < batch)
        return rp_fail(err, RP_EDATA, "train.batch: %lld rows, but the training part has only %lld", (long long)batch,
                       (long long)n);
    if (status == RP_OK)
        status = build_train(t, (size_t)batch, &t->full, err);
    if (status == RP_OK && t->last_rows != batch)
        status = build_train(t, (size_t)t->last_rows, &t->last, err);
    if (status == RP_OK)
        status = build_eval(t, "train_x", "train_y", d->train_rows, &t->eval_train, err);
    if (status == RP_OK && d->valid_rows)
        status = build_eval(t, "valid_x", "valid_y", d->valid_rows, &t->eval_valid, err);
    return status;
}

static rp_status new_trainer(rp_trainer **out, const rp_recipe *recipe, rp_dataset *lent, const void *csv, size_t size,
                             const char *where, const rp_run_options *options, rp_error *err)
{
    rp_trainer *t = rp_calloc(1, sizeof *t);
    rp_fpenv saved;
    rp_status status;

    *out = NULL;
    if (!t)
        return rp_no_memory(err);
    t->recipe = recipe;
    t->epoch = -1;
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK) {
        rp_free(t);
        return status;
    }
    t->data = t->lent = lent;
    if (!lent)
        status = rp_dataset_prepare(&t->data, recipe, csv, size, where, err);
    if (status == RP_OK)
        status = rp_model_init(&t->model, recipe, t->data->schema->features, t->data->schema->classes, err);
    if (status == RP_OK) {
        t->order = rp_malloc(t->data->train_rows * sizeof *t->order);
        status = t->order ? rp_run_new(&t->run, options, err) : rp_no_memory(err);
    }
    if (status == RP_OK)
        status = check_room(t, err);
    if (status == RP_OK)
        status = add_states(t, err);
    if (status == RP_OK)
        status = add_data(t, err);
    if (status == RP_OK)
        status = build_programs(t, err);
    rp_fpenv_leave(&saved);
    if (status != RP_OK)
        rp_trainer_free(t);
    else
        *out = t;
    return status;
}

rp_status rp_trainer_new(rp_trainer **out, const rp_recipe *recipe, const void *csv, size_t size, const char *where,
                         const rp_run_options *options, rp_error *err)
{
    return new_trainer(out, recipe, NULL, csv, size, where, options, err);
}

rp_status rp_trainer_clone(rp_trainer **out, const rp_trainer *from, const rp_run_options *options, rp_error *err)
{
    rp_status status = new_trainer(out, from->recipe, from->data, NULL, 0, NULL, options, err);

    if (status == RP_OK) {
        (*out)->start = from->start;
        (*out)->n_start = from->n_start;
    }
    return status;
}

rp_run *rp_trainer_run(const rp_trainer *t)
{
    return t->run;
}

const rp_dataset *rp_trainer_dataset(const rp_trainer *t)
{
    return t->data;
}

const rp_model *rp_trainer_model(const rp_trainer *t)
{
    return &t->model;
}

uint64_t rp_trainer_total(const rp_trainer *t)
{
    return t->total;
}

uint64_t rp_trainer_training_steps(const rp_trainer *t)
{
    return t->training;
}

bool rp_trainer_done(const rp_trainer *t)
{
    return rp_run_steps(t->run) == t->total;
}

float rp_trainer_loss(const rp_trainer *t)
{
    return t->loss;
}
