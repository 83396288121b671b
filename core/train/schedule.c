/* SPDX-License-Identifier: Apache-2.0
 * Learning-rate schedules and bias corrections, written as CONTRACT 8 writes them. */
#include "core/train/schedule.h"

#include "determinism/math.h"
#include "rp/nn.h"

int64_t rp_batch_rows(const rp_recipe *recipe, int64_t n)
{
    return recipe->train.batch < n ? recipe->train.batch : n;
}

int64_t rp_steps_per_epoch(const rp_recipe *recipe, int64_t n)
{
    int64_t batch = rp_batch_rows(recipe, n);

    return recipe->train.drop_last ? n / batch : (n + batch - 1) / batch;
}

/* Found by trying (docs/recipe.md): fewer steps leave small tables unlearnt, more learn them by heart, and large tables
 * have learnt enough before 25,000. */
int64_t rp_epochs_by_rows(const rp_recipe *recipe, int64_t n)
{
    enum { WANTED = 500, ENOUGH = 25000, FEW = 40 };
    const int64_t each = rp_steps_per_epoch(recipe, n), steps = each > 0 ? each : 1;
    const int64_t wanted = (WANTED + steps - 1) / steps, enough = ENOUGH / steps;
    int64_t epochs = wanted < FEW ? FEW : wanted > RP_EPOCHS_MOST ? RP_EPOCHS_MOST : wanted;

    epochs = epochs > enough ? enough : epochs;
    return epochs < RP_EPOCHS_LEAST ? RP_EPOCHS_LEAST : epochs;
}

double rp_learning_rate(const rp_recipe *recipe, int64_t t, int64_t total)
{
    rp_nn_schedule s = {.warmup = (uint64_t)recipe->train.schedule.warmup_steps,
                        .total = (uint64_t)total,
                        .every = (uint64_t)recipe->train.schedule.step_every,
                        .gamma = recipe->train.schedule.gamma,
                        .low = recipe->train.schedule.min_lr};

    s.curve = recipe->train.schedule.kind == RP_SCHED_STEP     ? RP_NN_STEPS
              : recipe->train.schedule.kind == RP_SCHED_COSINE ? RP_NN_COSINE
                                                               : RP_NN_FLAT;
    return rp_nn_rate(&s, recipe->train.optimizer.lr, (uint64_t)t);
}

double rp_bias_correction(double beta, int64_t t)
{
    return 1.0 - rp_powi_f64(beta, t);
}
