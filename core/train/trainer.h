/* SPDX-License-Identifier: Apache-2.0
 * What building a trainer (core/train/train.c) and making its steps (core/train/train_steps.c) share. */
#ifndef CORE_TRAIN_TRAINER_H
#define CORE_TRAIN_TRAINER_H

#include "core/train/train.h"

struct rp_trainer {
    const rp_recipe *recipe;
    rp_dataset *data, *lent; /* lent: data is another trainer's */
    rp_model model;
    rp_run *run;
    rp_compiled *init, *full, *last, *eval_train, *eval_valid;
    uint64_t total, training;
    int64_t batch, per_epoch, last_rows;
    int64_t epoch;  /* the one `order` is for; -1: none */
    int64_t *order; /* permutation of the training rows */
    float loss;
    rp_start_source start; /* of the states to start from; no give: none yet */
};

/* Moments that the optimizer keeps of each parameter, and the state's name of one: "optim.m.layer0.weight". */
int rp_trainer_moments(const rp_trainer *t);
const char *rp_trainer_moment_name(const rp_trainer *t, size_t parameter, int i, char out[RP_NAME_MAX]);
/* Counts the steps and compiles their programs. Errors: RP_ENOMEM. */
rp_status rp_trainer_build(rp_trainer *t, rp_error *err);

#endif
