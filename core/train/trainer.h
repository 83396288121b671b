/* SPDX-License-Identifier: Apache-2.0
 * What building a trainer (core/train/train.c) and making its steps (core/train/train_steps.c) share. */
#ifndef CORE_TRAIN_TRAINER_H
#define CORE_TRAIN_TRAINER_H

#include "core/text/corpus.h"
#include "core/train/evaluate.h"
#include "core/train/train.h"

/* What evaluations of a part of a text have come to by now. */
typedef struct rp_language_figures {
    double loss, hits; /* sums over tokens */
    uint64_t tokens, bytes;
} rp_language_figures;

struct rp_trainer {
    const rp_recipe *recipe;
    rp_dataset *data, *lent; /* lent: data is another trainer's; NULL: the recipe is on a text */
    rp_corpus *text;         /* NULL: it is on a table */
    bool text_lent;
    rp_language_figures figures[2]; /* of the training part, and of the validation part */
    rp_model model;
    rp_run *run;
    rp_compiled *init, *full, *last, *keep, *eval_train, *eval_valid; /* keep: the best weights become the model's */
    uint64_t training, longest; /* training steps: as far as is known, and by the recipe's epochs */
    bool expected;              /* training is what an archive says; the rule must say the same */
    int64_t batch, per_epoch, last_rows;
    int64_t epoch;  /* the one `order` is for; -1: none */
    int64_t *order; /* permutation of the training rows */
    float loss;
    rp_start_source start; /* of the states to start from; no give: none yet */
};

/* A part's rows among the run's data. */
static inline rp_part rp_trainer_part(const rp_dataset *d, bool validation)
{
    return validation ? (rp_part){"valid_x", "valid_y", "valid_w", d->valid_rows, d->valid_total}
                      : (rp_part){"train_x", "train_y", "train_w", d->train_rows, d->train_total};
}

/* Moments that the optimizer keeps of each parameter, and the state's name of one: "optim.m.layer0.weight". */
int rp_trainer_moments(const rp_trainer *t);
const char *rp_trainer_moment_name(const rp_trainer *t, size_t parameter, int i, char out[RP_NAME_MAX]);
/* What is kept of the best epoch (core/train/best.c): a copy of each parameter, its loss and its number. */
bool rp_trainer_keeps_best(const rp_trainer *t);
/* Adds the states of the best epoch, after all others. */
rp_status rp_trainer_add_best(rp_trainer *t, rp_error *err);
/* In step 0: the first weights are the best so far. value: one a parameter. */
void rp_trainer_begin_best(const rp_trainer *t, rp_graph *g, const rp_tensor *value);
/* In an epoch's last step: the validation part under the new weights, kept where its loss is the smallest so far. */
rp_status rp_trainer_watch(const rp_trainer *t, rp_graph *g, const rp_tensor *weight, rp_error *err);
/* The program of the step behind the training. */
rp_status rp_trainer_build_keep(rp_trainer *t, rp_error *err);
/* After training step `step`, which ends an epoch, or behind it: whether the training has ended, by CONTRACT 12.10.
 * Errors: RP_EBITS: the archive says another step. */
rp_status rp_trainer_ends(rp_trainer *t, uint64_t step, rp_error *err);
/* The program of step 0, and the end of a training step's: weight, what they were, and then what they become. */
rp_status rp_trainer_build_init(rp_trainer *t, rp_error *err);
void rp_trainer_build_update(const rp_trainer *t, rp_graph *g, rp_tensor *weight, rp_tensor *grad, rp_tensor lr);
/* Of a recipe on a table: counts the steps and compiles their programs. Errors: RP_ENOMEM. */
rp_status rp_trainer_build(rp_trainer *t, rp_error *err);

#endif
