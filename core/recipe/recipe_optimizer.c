/* SPDX-License-Identifier: Apache-2.0
 * Of the train: section of a recipe the optimizer and the schedule, which all that is trained by gradients has. */
#include "core/recipe/recipe_names.h"
#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const rp_range positive_range = {0, 1e6, true, false, "a number above 0, at most 1e6"};
static const rp_range non_negative_range = {0, 1e6, false, false, "a number from 0 to 1e6"};
static const rp_range fraction_range = {0, 1, false, true, "a number from 0 to below 1"};
static const rp_range gamma_range = {0, 1, true, false, "a number above 0, at most 1"};

/* Resolved recipes from before there was a choice have no such key: all. */
static void read_decay(rp_node_reader *reader, const rp_node *map, rp_recipe *out)
{
    int decay = reader->json;

    if (rp_node_applies(reader, map, "train.optimizer.decay", out->train.optimizer.weight_decay > 0,
                        "with weight_decay above 0"))
        rp_node_read_choice(reader, map, "train.optimizer.decay", &decay, decay, rp_decay_names, 2);
    out->train.optimizer.decay_all = decay == 1;
}

static double default_lr(const rp_recipe *recipe, int kind)
{
    const bool adam = kind == RP_OPT_ADAM || kind == RP_OPT_ADAMW;

    if (kind == RP_OPT_LION || kind == RP_OPT_ADAGRAD)
        return kind == RP_OPT_LION ? 0.0001 : 0.01;
    return adam && recipe->train.epochs == RP_EPOCHS_BY_ROWS ? 0.003 : 0.001;
}

void rp_recipe_read_optimizer(rp_node_reader *reader, const rp_node *train, rp_recipe *out)
{
    static const char *const keys[] = {"kind",     "lr",    "weight_decay", "decay", "momentum",
                                       "nesterov", "beta1", "beta2",        "alpha", "eps"};
    const rp_node *map = rp_node_section(reader, train, "train.optimizer");
    int kind;
    bool betas;

    if (map == NULL)
        return;
    rp_recipe_check_keys(reader, map, "train.optimizer", keys, COUNT(keys));
    rp_node_read_choice(reader, map, "train.optimizer.kind", &kind, RP_OPT_ADAMW, rp_optimizer_names, 6);
    out->train.optimizer.kind = (rp_optimizer_kind)kind;
    betas = kind == RP_OPT_ADAM || kind == RP_OPT_ADAMW || kind == RP_OPT_LION;
    rp_recipe_real(reader, map, "train.optimizer.lr", &out->train.optimizer.lr, default_lr(out, kind), &positive_range);
    rp_recipe_real(reader, map, "train.optimizer.weight_decay", &out->train.optimizer.weight_decay,
                   kind == RP_OPT_ADAMW ? 0.01 : 0, &non_negative_range);
    read_decay(reader, map, out);
    if (rp_node_applies(reader, map, "train.optimizer.momentum", kind == RP_OPT_SGD || kind == RP_OPT_RMSPROP,
                        "to sgd and rmsprop"))
        rp_recipe_real(reader, map, "train.optimizer.momentum", &out->train.optimizer.momentum, 0, &fraction_range);
    if (rp_node_applies(reader, map, "train.optimizer.nesterov", kind == RP_OPT_SGD, "to sgd"))
        rp_node_read_bool(reader, map, "train.optimizer.nesterov", &out->train.optimizer.nesterov, false);
    if (out->train.optimizer.nesterov && out->train.optimizer.momentum == 0)
        rp_node_refuse(reader, map, "train.optimizer.nesterov", "needs momentum above 0");
    if (rp_node_applies(reader, map, "train.optimizer.beta1", betas, "to adam, adamw and lion"))
        rp_recipe_real(reader, map, "train.optimizer.beta1", &out->train.optimizer.beta1, 0.9, &fraction_range);
    if (rp_node_applies(reader, map, "train.optimizer.beta2", betas, "to adam, adamw and lion"))
        rp_recipe_real(reader, map, "train.optimizer.beta2", &out->train.optimizer.beta2,
                       kind == RP_OPT_LION ? 0.99 : 0.999, &fraction_range);
    if (rp_node_applies(reader, map, "train.optimizer.alpha", kind == RP_OPT_RMSPROP, "to rmsprop"))
        rp_recipe_real(reader, map, "train.optimizer.alpha", &out->train.optimizer.alpha, 0.99, &fraction_range);
    if (rp_node_applies(reader, map, "train.optimizer.eps", kind != RP_OPT_SGD && kind != RP_OPT_LION,
                        "to adam, adamw, rmsprop and adagrad"))
        rp_recipe_real(reader, map, "train.optimizer.eps", &out->train.optimizer.eps,
                       kind == RP_OPT_ADAGRAD ? 1e-10 : 1e-8, &positive_range);
}

void rp_recipe_read_schedule(rp_node_reader *reader, const rp_node *train, rp_recipe *out)
{
    static const char *const keys[] = {"kind", "warmup_steps", "step_every", "gamma", "min_lr"};
    const rp_node *map = rp_node_section(reader, train, "train.schedule");
    bool step, cosine;
    int kind;

    if (map == NULL)
        return;
    rp_recipe_check_keys(reader, map, "train.schedule", keys, COUNT(keys));
    rp_node_read_choice(reader, map, "train.schedule.kind", &kind,
                        out->train.epochs == RP_EPOCHS_BY_ROWS ? RP_SCHED_COSINE : RP_SCHED_CONSTANT, rp_schedule_names,
                        3);
    out->train.schedule.kind = (rp_schedule_kind)kind;
    step = kind == RP_SCHED_STEP;
    cosine = kind == RP_SCHED_COSINE;
    rp_node_read_int(reader, map, "train.schedule.warmup_steps", &out->train.schedule.warmup_steps, 0, 0, 1000000000);
    if (rp_node_applies(reader, map, "train.schedule.step_every", step, "to the step schedule")) {
        if (rp_node_find(map, "step_every") == NULL)
            rp_node_refuse(reader, map, "train.schedule.step_every", "required: steps between two drops of lr");
        rp_node_read_int(reader, map, "train.schedule.step_every", &out->train.schedule.step_every, 1, 1, 1000000000);
    }
    if (rp_node_applies(reader, map, "train.schedule.gamma", step, "to the step schedule"))
        rp_recipe_real(reader, map, "train.schedule.gamma", &out->train.schedule.gamma, 0.1, &gamma_range);
    if (rp_node_applies(reader, map, "train.schedule.min_lr", cosine, "to the cosine schedule"))
        rp_recipe_real(reader, map, "train.schedule.min_lr", &out->train.schedule.min_lr, 0, &non_negative_range);
    if (out->train.schedule.min_lr > out->train.optimizer.lr)
        rp_node_refuse(reader, map, "train.schedule.min_lr", "expected at most train.optimizer.lr");
}
