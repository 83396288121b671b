/* SPDX-License-Identifier: Apache-2.0
 * The training loop: what changes from step to step is fed to the compiled programs; going on after a step; scores. */
#include "core/train/trainer.h"

#include <string.h>

#include "base/memory.h"
#include "core/run/slots.h"
#include "core/train/exact_check.h"
#include "core/train/language/language.h"
#include "core/train/schedule.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"

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
    return set_feed(c, "rows", t->order + within * t->batch, err);
}

static rp_status set_feeds(rp_trainer *t, const rp_compiled *c, int64_t s, rp_error *err)
{
    const rp_recipe *r = t->recipe;
    const int64_t updates = r->parent.updates + s;
    rp_status status;

    if (r->train.exact)
        return RP_OK;
    status = t->text ? rp_language_feed(t, s, err) : set_rows(t, c, s, err);
    if (status == RP_OK)
        status = set_rng(t, c, (uint64_t)s, err);
    if (status == RP_OK)
        status = set_scalar(c, "lr", rp_learning_rate(r, s, (int64_t)t->longest), err);
    if (status == RP_OK)
        status = set_scalar(c, "c1", rp_bias_correction(r->train.optimizer.beta1, updates), err);
    if (status == RP_OK)
        status = set_scalar(c, "c2", rp_bias_correction(r->train.optimizer.beta2, updates), err);
    if (status == RP_OK)
        status = set_feed(c, "epoch", &(int64_t){s / t->per_epoch}, err);
    return status;
}

static rp_status get_loss(const rp_compiled *c, float *out, rp_error *err)
{
    rp_device_tensor loss;

    (void)rp_compiled_result(c, "loss", &loss);
    return rp_device_tensor_read(&loss, out, err);
}

/* Step 0 initialises, the last one or two evaluate; an epoch may end with a short batch, or watch. */
static rp_compiled *compiled_of(const rp_trainer *t, uint64_t step)
{
    const bool ends_epoch = t->last && (int64_t)step % t->per_epoch == 0;
    const uint64_t evaluates = rp_trainer_evaluates_from(t);

    if (step == 0)
        return t->init;
    if (step <= t->training)
        return ends_epoch ? t->last : t->full;
    if (step < evaluates)
        return t->keep;
    return t->text || step == evaluates ? t->eval_train : t->eval_valid;
}

const rp_program *rp_trainer_program(const rp_trainer *t, uint64_t step)
{
    return rp_compiled_program(compiled_of(t, step));
}

static rp_status train_step(rp_trainer *t, int64_t s, rp_error *err)
{
    rp_compiled *c = compiled_of(t, (uint64_t)s);
    rp_status status = set_feeds(t, c, s, err);

    if (status == RP_OK)
        status = rp_compiled_step(c, err);
    if (status == RP_OK)
        status = get_loss(c, &t->loss, err);
    if (status != RP_OK)
        return status;
    if (t->recipe->train.exact)
        return rp_exact_converged(&t->model, t->data, c, err);
    if (!(t->loss - t->loss == 0))
        return rp_fail(err, RP_EDATA,
                       "training step %lld of %llu: the loss is no longer finite: lower train.optimizer.lr, or set "
                       "train.clip_norm",
                       (long long)s, (unsigned long long)t->training);
    return s % t->per_epoch == 0 ? rp_trainer_ends(t, (uint64_t)s, err) : RP_OK;
}

rp_status rp_trainer_start_from(rp_trainer *t, const rp_start_source *from, rp_error *err)
{
    if (rp_run_steps(t->run))
        return rp_fail(err, RP_EARG, "states to start from are given before step 0");
    t->start = *from;
    return RP_OK;
}

rp_status rp_trainer_put(rp_trainer *t, const char *name, const rp_type *type, size_t first, const void *elements,
                         size_t count, rp_error *err)
{
    rp_device_tensor feed;

    if (!rp_compiled_feed(t->init, name, &feed) || !rp_type_equal(&feed.type, type) || first > rp_type_count(type) ||
        count > rp_type_count(type) - first)
        return rp_fail(err, RP_EDATA, "%.96s is none of the states that this recipe's model starts from", name);
    return rp_slot_write_part(&feed, first, elements, count, err);
}

static rp_status first_step(rp_trainer *t, rp_error *err)
{
    rp_status status = RP_OK;

    if (rp_recipe_starts(t->recipe) && !t->start.give)
        return rp_fail(err, RP_EARG, "the recipe has a parent or weights, but no states to start from were given");
    if (t->start.give)
        status = t->start.give(t->start.self, t, err);
    if (status == RP_OK)
        status = set_rng(t, t->init, 0, err);
    return status == RP_OK ? rp_compiled_step(t->init, err) : status;
}

static rp_status evaluate(rp_trainer *t, uint64_t step, rp_error *err)
{
    const uint64_t block = step - rp_trainer_evaluates_from(t);
    rp_status status = t->text ? rp_language_feed_evaluation(t, block, err) : RP_OK;

    if (status == RP_OK)
        status = rp_compiled_step(compiled_of(t, step), err);
    return status == RP_OK && t->text ? rp_language_judge(t, block, err) : status;
}

rp_status rp_trainer_step(rp_trainer *t, rp_error *err)
{
    uint64_t step = rp_run_steps(t->run);
    rp_fpenv saved;
    rp_status status;

    if (step >= rp_trainer_total(t))
        return rp_fail(err, RP_EARG, "the training is complete");
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    if (step == 0) {
        status = first_step(t, err);
    } else if (step <= t->training) {
        status = train_step(t, (int64_t)step, err);
    } else {
        status = evaluate(t, step, err);
    }
    rp_fpenv_leave(&saved);
    return status;
}

/* States of the end of the training are those of its evaluations too; an exact fit is made again, since its results are
 * told with the metrics. */
static rp_status restore_states(rp_trainer *t, uint64_t step, const rp_value_source *from, rp_error *err)
{
    const uint64_t trained = t->recipe->train.exact ? 1 : rp_trainer_evaluates_from(t);

    return rp_run_restore(t->run, step < trained ? step : trained, from, err);
}

rp_status rp_trainer_restore(rp_trainer *t, uint64_t step, const rp_value_source *from, rp_error *err)
{
    const uint64_t known = t->training;
    rp_status status;

    if (step > rp_trainer_total(t))
        return rp_fail(err, RP_EARG, "step %llu of a training of %llu", (unsigned long long)step,
                       (unsigned long long)rp_trainer_total(t));
    status = restore_states(t, step, from, err);
    if (status == RP_OK && !t->expected && step > 0)
        status = rp_trainer_ends(t, step - 1, err);
    if (status == RP_OK && t->training != known) /* it has ended before these states */
        status = restore_states(t, step, from, err);
    t->loss = rp_from_bits_f32(0x7FC00000u);
    rp_run_set_quiet(t->run, true);
    while (status == RP_OK && rp_run_steps(t->run) < step)
        status = rp_trainer_step(t, err);
    rp_run_set_quiet(t->run, false);
    return status;
}

rp_status rp_trainer_scores(const rp_trainer *t, bool validation, float *loss, double **scores, rp_error *err)
{
    const rp_compiled *c = validation ? t->eval_valid : t->eval_train;
    rp_device_tensor result;
    rp_status status = get_loss(c, loss, err);

    *scores = NULL;
    if (status != RP_OK)
        return status;
    (void)rp_compiled_result(c, "scores", &result);
    *scores = rp_reallocarray(NULL, rp_type_count(&result.type), sizeof **scores);
    if (!*scores)
        return rp_no_memory(err);
    status = rp_evaluation_scores(c, *scores, err);
    if (status != RP_OK) {
        rp_free(*scores);
        *scores = NULL;
    } else {
        rp_schema_give_back(t->data->schema, *scores, result.type.shape[0]);
    }
    return status;
}
