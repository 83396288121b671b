/* SPDX-License-Identifier: Apache-2.0
 * The training loop of a recipe: programs are built once symbolically, compiled, and fed with what changes. */
#include "core/train/train.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/train/schedule.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"

struct rp_trainer {
    const rp_recipe *recipe;
    rp_dataset *data, *lent; /* lent: data is another trainer's */
    rp_model model;
    rp_run *run;
    rp_compiled *init, *full, *last, *eval_train, *eval_valid;
    uint64_t total, training;
    int64_t per_epoch, last_rows, epoch; /* epoch: the one `order` is for; -1: none */
    int64_t *order;                      /* permutation of the training rows */
    float loss;
    const rp_named *start; /* states to start from, in order of the run's; borrowed; NULL: none yet */
    size_t n_start;
};

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

/* Pairs of neighbours are added until one is left (CONTRACT 12: the shard tree). */
static rp_tensor tree_sum(rp_tensor *value, size_t n, size_t stride)
{
    while (n > 1) {
        for (size_t i = 0; i < n / 2; i++)
            value[i * stride] = rp_add(value[2 * i * stride], value[(2 * i + 1) * stride]);
        if (n % 2)
            value[n / 2 * stride] = value[(n - 1) * stride];
        n = (n + 1) / 2;
    }
    return value[0];
}

/* Loss and gradients of rows [begin, end) of the batch; grad: n_parameters gradients, then the loss. */
static void build_part(const rp_trainer *t, rp_graph *g, const rp_tensor *weight, rp_tensor rows, rp_tensor rng,
                       size_t begin, size_t end, size_t count, int64_t part, rp_tensor *grad)
{
    rp_tensor index = rp_slice(rows, &begin, &end);
    rp_tensor x = rp_gather(rp_graph_data(g, t->run, "train_x"), index, 0);
    rp_tensor y = rp_gather(rp_graph_data(g, t->run, "train_y"), index, 0);
    rp_tensor loss = rp_model_loss(&t->model, rp_model_forward(&t->model, weight, x, rng, part), y, count);

    rp_gradients(loss, weight, t->model.n_parameters, grad);
    grad[t->model.n_parameters] = loss;
}

/* All parts of the batch: shards by the tree, micro-batches left to right. total: gradients, then the loss. */
static rp_status build_gradients(const rp_trainer *t, rp_graph *g, const rp_tensor *weight, rp_tensor rng, size_t count,
                                 rp_tensor *total, rp_error *err)
{
    size_t n = t->model.n_parameters + 1, shards = (size_t)t->recipe->train.shards;
    size_t micro = (size_t)t->recipe->train.accumulate, parts = shards * micro;
    rp_tensor rows = feed(g, "rows", RP_I64, 1, count);
    rp_tensor *grad = rp_malloc(shards * n * sizeof *grad);
    bool started = false;

    if (!grad)
        return rp_no_memory(err);
    for (size_t a = 0; a < micro; a++) {
        size_t present = 0;

        for (size_t s = 0; s < shards; s++) {
            size_t part = a * shards + s, begin = part * count / parts, end = (part + 1) * count / parts;

            if (begin < end)
                build_part(t, g, weight, rows, rng, begin, end, count, (int64_t)part, grad + present++ * n);
        }
        for (size_t i = 0; i < n && present; i++) {
            rp_tensor sum = tree_sum(grad + i, present, n);

            total[i] = started ? rp_add(total[i], sum) : sum;
        }
        started = started || present;
    }
    rp_free(grad);
    return RP_OK;
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

static void get_weights(const rp_model *m, rp_graph *g, const rp_run *run, rp_tensor *weight)
{
    for (size_t i = 0; i < m->n_parameters; i++)
        weight[i] = rp_graph_state(g, run, m->parameter[i].name);
}

static rp_status build_train(rp_trainer *t, size_t count, rp_compiled **out, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor weight[RP_MAX_PARAMETERS], total[RP_MAX_PARAMETERS + 1], lr, rng = rp_no_tensor();
    rp_status status;

    if (!g)
        return rp_no_memory(err);
    get_weights(&t->model, g, t->run, weight);
    if (t->recipe->model.dropout > 0)
        rng = feed(g, "rng", RP_I64, 1, 2);
    lr = feed(g, "lr", RP_F32, 0, 0);
    status = build_gradients(t, g, weight, rng, count, total, err);
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
    rp_tensor weight[RP_MAX_PARAMETERS], logits;

    if (!g)
        return rp_no_memory(err);
    get_weights(&t->model, g, t->run, weight);
    logits = rp_model_forward(&t->model, weight, rp_graph_data(g, t->run, x_name), rp_no_tensor(), 0);
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", rp_model_loss(&t->model, logits, rp_graph_data(g, t->run, y_name), rows));
    rp_graph_set(g, RP_OUTPUT_RESULT, "scores", rp_model_scores(&t->model, logits));
    return compile(out, t, g, err);
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

/* Writes a feed, if the program has it. */
static rp_status set_feed(const rp_compiled *c, const char *name, const void *bytes, rp_error *err)
{
    rp_device_tensor feed;

    return rp_compiled_feed(c, name, &feed) ? rp_device_tensor_write(&feed, bytes, err) : RP_OK;
}

static rp_status set_scalar(const rp_compiled *c, const char *name, double value, rp_error *err)
{
    return set_feed(c, name, &(float){(float)value}, err);
}

static rp_status set_rng(const rp_trainer *t, const rp_compiled *c, uint64_t step, rp_error *err)
{
    return set_feed(c, "rng", (int64_t[]){(int64_t)t->recipe->seed, (int64_t)step}, err);
}

/* Rows of training step s (1-based): a window of the epoch's order. */
static rp_status set_rows(rp_trainer *t, const rp_compiled *c, int64_t s, rp_error *err)
{
    int64_t epoch = (s - 1) / t->per_epoch, within = (s - 1) % t->per_epoch;
    size_t n = t->data->train_rows;

    if (epoch != t->epoch) {
        if (t->recipe->train.shuffle)
            rp_permutation(t->order, n, t->recipe->seed, (uint64_t)epoch, RP_STREAM_SHUFFLE);
        else
            for (size_t i = 0; i < n; i++)
                t->order[i] = (int64_t)i;
        t->epoch = epoch;
    }
    return set_feed(c, "rows", t->order + within * t->recipe->train.batch, err);
}

static rp_status set_feeds(rp_trainer *t, const rp_compiled *c, int64_t s, rp_error *err)
{
    const rp_recipe *r = t->recipe;
    const int64_t updates = r->parent.updates + s;
    rp_status status = set_rows(t, c, s, err);

    if (status == RP_OK)
        status = set_rng(t, c, (uint64_t)s, err);
    if (status == RP_OK)
        status = set_scalar(c, "lr", rp_learning_rate(r, s, (int64_t)t->training), err);
    if (status == RP_OK)
        status = set_scalar(c, "c1", rp_bias_correction(r->train.optimizer.beta1, updates), err);
    if (status == RP_OK)
        status = set_scalar(c, "c2", rp_bias_correction(r->train.optimizer.beta2, updates), err);
    return status;
}

static rp_status get_loss(const rp_compiled *c, float *out, rp_error *err)
{
    rp_device_tensor loss;

    (void)rp_compiled_result(c, "loss", &loss);
    return rp_device_tensor_read(&loss, out, err);
}

static rp_status train_step(rp_trainer *t, int64_t s, rp_error *err)
{
    bool short_batch = s % t->per_epoch == 0 && t->last_rows != t->recipe->train.batch;
    rp_compiled *c = short_batch ? t->last : t->full;
    rp_status status = set_feeds(t, c, s, err);

    if (status == RP_OK)
        status = rp_compiled_step(c, err);
    if (status == RP_OK)
        status = get_loss(c, &t->loss, err);
    if (status != RP_OK)
        return status;
    if (!(t->loss - t->loss == 0))
        return rp_fail(err, RP_EDATA,
                       "training step %lld of %llu: the loss is no longer finite: lower train.optimizer.lr, or set "
                       "train.clip_norm",
                       (long long)s, (unsigned long long)t->training);
    return RP_OK;
}

static bool same_type(const rp_named *a, const rp_device_tensor *b)
{
    return strcmp(a->name, b->name) == 0 && rp_type_equal(&a->type, &b->type);
}

rp_status rp_trainer_start_from(rp_trainer *t, const rp_named *given, size_t n, rp_error *err)
{
    size_t states, count = rp_trainer_start_count(t);
    const rp_device_tensor *state = rp_run_states(t->run, &states);

    if (rp_run_steps(t->run))
        return rp_fail(err, RP_EARG, "states to start from are given before step 0");
    for (size_t i = 0; i < count; i++)
        if (i >= n || !same_type(&given[i], &state[i])) {
            char type[192];

            rp_type_text(&state[i].type, type, sizeof type);
            return rp_fail(err, RP_EDATA, "%.96s %s of this recipe's model is not among the states to start from",
                           state[i].name, type);
        }
    if (n != count)
        return rp_fail(err, RP_EDATA, "%zu states to start from, but this recipe's model has %zu", n, count);
    t->start = given;
    t->n_start = n;
    return RP_OK;
}

static rp_status first_step(rp_trainer *t, rp_error *err)
{
    rp_status status = RP_OK;

    if (t->recipe->parent.archive && !t->start)
        return rp_fail(err, RP_EARG, "the recipe has a parent, but no states to start from were given");
    for (size_t i = 0; i < t->n_start && status == RP_OK; i++)
        status = set_feed(t->init, t->start[i].name, t->start[i].data, err);
    if (status == RP_OK)
        status = set_rng(t, t->init, 0, err);
    return status == RP_OK ? rp_compiled_step(t->init, err) : status;
}

rp_status rp_trainer_step(rp_trainer *t, rp_error *err)
{
    uint64_t step = rp_run_steps(t->run);
    rp_fpenv saved;
    rp_status status;

    if (step >= t->total)
        return rp_fail(err, RP_EARG, "the training is complete");
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    if (step == 0) {
        status = first_step(t, err);
    } else if (step <= t->training) {
        status = train_step(t, (int64_t)step, err);
    } else {
        status = rp_compiled_step(step == t->training + 1 ? t->eval_train : t->eval_valid, err);
    }
    rp_fpenv_leave(&saved);
    return status;
}

rp_status rp_trainer_restore(rp_trainer *t, uint64_t step, const rp_value_source *from, rp_error *err)
{
    const uint64_t trained = t->training + 1;
    rp_status status;

    if (step > t->total)
        return rp_fail(err, RP_EARG, "step %llu of a training of %llu", (unsigned long long)step,
                       (unsigned long long)t->total);
    status = rp_run_restore(t->run, step < trained ? step : trained, from, err);
    t->loss = rp_from_bits_f32(0x7FC00000u);
    rp_run_set_quiet(t->run, true);
    while (status == RP_OK && rp_run_steps(t->run) < step)
        status = rp_trainer_step(t, err);
    rp_run_set_quiet(t->run, false);
    return status;
}

/* ---- scoring new rows ---- */

rp_status rp_model_predict(const rp_model *model, rp_run *run, const float *x, size_t rows, float *scores,
                           rp_error *err)
{
    rp_tensor weight[RP_MAX_PARAMETERS], in, out;
    size_t shape[2] = {rows, model->features};
    rp_status status = rp_step_begin(run, err);

    if (status != RP_OK)
        return status;
    in = rp_feed(run, "x", RP_F32, 2, shape, x);
    for (size_t i = 0; i < model->n_parameters; i++)
        weight[i] = rp_state(run, model->parameter[i].name);
    out = rp_model_scores(model, rp_model_forward(model, weight, in, rp_no_tensor(), 0));
    status = rp_read(run, out, scores, rows * model->outputs * sizeof *scores, err);
    if (status == RP_OK)
        return rp_step_end(run, err);
    (void)rp_step_end(run, NULL);
    return status;
}

rp_status rp_trainer_scores(const rp_trainer *t, bool validation, float *loss, float **scores, rp_error *err)
{
    const rp_compiled *c = validation ? t->eval_valid : t->eval_train;
    rp_device_tensor result;
    rp_status status = get_loss(c, loss, err);

    *scores = NULL;
    if (status != RP_OK)
        return status;
    (void)rp_compiled_result(c, "scores", &result);
    *scores = rp_malloc(rp_type_bytes(&result.type));
    if (!*scores)
        return rp_no_memory(err);
    status = rp_device_tensor_read(&result, *scores, err);
    if (status != RP_OK) {
        rp_free(*scores);
        *scores = NULL;
    }
    return status;
}
