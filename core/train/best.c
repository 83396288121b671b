/* SPDX-License-Identifier: Apache-2.0
 * Early stopping (CONTRACT 12.10): an epoch's last step evaluates the validation part and keeps the weights where its
 * loss is the smallest so far, as states that a select chooses. So every epoch replays like any other step, and how
 * long a run is follows from its states: it ends `patience` epochs behind the best one. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "core/train/evaluate.h"
#include "core/train/trainer.h"

static const char best_loss[] = "optim.best.loss", best_epoch[] = "optim.best.epoch";

bool rp_trainer_keeps_best(const rp_trainer *t)
{
    return t->recipe->train.patience > 0;
}

static const char *best_name(const rp_trainer *t, size_t parameter, char out[RP_NAME_MAX])
{
    (void)snprintf(out, RP_NAME_MAX, "optim.best.%.64s", t->model.parameter[parameter].name);
    return out;
}

rp_status rp_trainer_add_best(rp_trainer *t, rp_error *err)
{
    char name[RP_NAME_MAX];
    rp_status status = RP_OK;

    for (size_t i = 0; i < t->model.n_parameters && status == RP_OK; i++) {
        const rp_parameter *p = &t->model.parameter[i];

        status = rp_run_add_state(t->run, best_name(t, i, name), RP_F32, p->rank, p->shape, NULL, err);
    }
    if (status == RP_OK)
        status = rp_run_add_state(t->run, best_loss, RP_F32, 0, NULL, NULL, err);
    return status == RP_OK ? rp_run_add_state(t->run, best_epoch, RP_I64, 0, NULL, NULL, err) : status;
}

void rp_trainer_begin_best(const rp_trainer *t, rp_graph *g, const rp_tensor *value)
{
    char name[RP_NAME_MAX];

    for (size_t i = 0; i < t->model.n_parameters; i++) {
        (void)rp_graph_state(g, t->run, best_name(t, i, name));
        rp_graph_set(g, RP_OUTPUT_STATE, name, value[i]);
    }
    (void)rp_graph_state(g, t->run, best_loss);
    rp_graph_set(g, RP_OUTPUT_STATE, best_loss, rp_fill(g, RP_F32, 0, NULL, (double)INFINITY));
    (void)rp_graph_state(g, t->run, best_epoch);
    rp_graph_set(g, RP_OUTPUT_STATE, best_epoch, rp_fill(g, RP_I64, 0, NULL, 0));
}

rp_status rp_trainer_watch(const rp_trainer *t, rp_graph *g, const rp_tensor *weight, rp_error *err)
{
    const rp_part part = rp_trainer_part(t->data, true);
    rp_tensor loss, least, better, epoch, last;
    char name[RP_NAME_MAX];
    rp_status status = rp_evaluate_part(&t->model, t->run, g, weight, &part, &loss, NULL, err);

    if (status != RP_OK)
        return status;
    rp_graph_set(g, RP_OUTPUT_RESULT, "valid_loss", loss);
    least = rp_graph_state(g, t->run, best_loss);
    better = rp_lt(loss, least);
    rp_graph_set(g, RP_OUTPUT_STATE, best_loss, rp_where(better, loss, least));
    epoch = rp_graph_input(g, RP_INPUT_FEED, "epoch", &(rp_type){.dtype = RP_I64}, NULL);
    last = rp_graph_state(g, t->run, best_epoch);
    rp_graph_set(g, RP_OUTPUT_STATE, best_epoch, rp_where(better, epoch, last));
    for (size_t i = 0; i < t->model.n_parameters; i++) {
        rp_tensor kept = rp_graph_state(g, t->run, best_name(t, i, name));

        rp_graph_set(g, RP_OUTPUT_STATE, name, rp_where(better, weight[i], kept));
    }
    return RP_OK;
}

rp_status rp_trainer_build_keep(rp_trainer *t, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    char name[RP_NAME_MAX];

    if (!g)
        return rp_no_memory(err);
    for (size_t i = 0; i < t->model.n_parameters; i++) {
        (void)rp_graph_state(g, t->run, t->model.parameter[i].name);
        rp_graph_set(g, RP_OUTPUT_STATE, t->model.parameter[i].name, rp_graph_state(g, t->run, best_name(t, i, name)));
    }
    return rp_run_compile_graph(&t->keep, t->run, g, err);
}

rp_status rp_trainer_expect_training(rp_trainer *t, uint64_t steps, rp_error *err)
{
    if (!rp_trainer_keeps_best(t))
        return RP_OK;
    if (steps == 0 || steps > t->longest || steps % (uint64_t)t->per_epoch != 0)
        return rp_fail(err, RP_EFORMAT,
                       "training_steps: expected whole epochs of %lld steps, at most %llu steps, found %llu",
                       (long long)t->per_epoch, (unsigned long long)t->longest, (unsigned long long)steps);
    t->training = steps;
    t->expected = true;
    return RP_OK;
}

/* The step after which training ends, as far as states of a step behind the best epoch tell. */
static uint64_t end_of(const rp_trainer *t, int64_t best)
{
    const uint64_t each = (uint64_t)t->per_epoch, patience = (uint64_t)t->recipe->train.patience;

    if (best < 0 || (uint64_t)best >= t->longest / each || t->longest / each - (uint64_t)best <= patience)
        return t->longest;
    return ((uint64_t)best + patience) * each;
}

rp_status rp_trainer_ends(rp_trainer *t, uint64_t step, rp_error *err)
{
    int64_t best = 0;
    uint64_t end;
    rp_status status = RP_OK;

    if (!rp_trainer_keeps_best(t))
        return RP_OK;
    status = rp_run_get_state(t->run, best_epoch, &best, sizeof best, err);
    if (status != RP_OK)
        return status;
    end = end_of(t, best);
    if (!t->expected && step >= end)
        t->training = end;
    if (t->expected && (step >= end || step >= t->training) && end != t->training)
        return rp_fail(err, RP_EBITS,
                       "after step %llu the training ends with step %llu, %lld epochs behind the best one, but the "
                       "archive says %llu",
                       (unsigned long long)step, (unsigned long long)end, (long long)t->recipe->train.patience,
                       (unsigned long long)t->training);
    return RP_OK;
}
