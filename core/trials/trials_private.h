/* SPDX-License-Identifier: Apache-2.0
 * What the files of this room share: the trials under way, their figures, their scores. */
#ifndef CORE_TRIALS_TRIALS_PRIVATE_H
#define CORE_TRIALS_TRIALS_PRIVATE_H

#include "core/trials/trials.h"

/* Names as in metrics.json; a figure that a trial has not is NaN. */
typedef struct rp_trial_figures {
    double value[RP_JUDGES];
} rp_trial_figures;

/* A recipe's variant, which is tried on each fold. */
typedef struct rp_variant {
    const char *kind;
    rp_json *set, *trials;  /* trials: list of results */
    rp_trial_figures *fold; /* [folds] */
} rp_variant;

/* ---- figures (core/trials/judge.c) ---- */

rp_trial_figures rp_trial_figures_read(const rp_json *figures);
rp_trial_figures rp_trial_figures_none(void);
/* Mean and sample deviation over n >= 1 values by CONTRACT 4's sums; the deviation of one is NaN. Errors: RP_ENOMEM. */
rp_status rp_trial_spread(double *mean, double *deviation, const double *value, size_t n, rp_error *err);
/* The variant whose mean figure is the best, the first of equals; n when none is a number. Errors: RP_ENOMEM. */
rp_status rp_trials_judge(size_t *out, const rp_variant *variant, size_t n, size_t folds, rp_judge by, rp_error *err);
/* The variant's object of outputs/trials.json; new reference. Errors: RP_ENOMEM. */
rp_status rp_variant_json(rp_json **out, const rp_variant *variant, size_t folds, rp_error *err);
/* Key "figures" of the spread over seeds: each figure's mean, deviation, minimum, maximum of the seeds' means. Errors:
 * RP_ENOMEM. */
rp_status rp_seeds_json(rp_json *spread, const rp_variant *seed, size_t n, size_t folds, rp_error *err);

/* ---- scores (core/trials/scores.c) ---- */

/* Scores of the validation parts, fold after fold, of the variant that is kept. */
typedef struct rp_kept_scores {
    size_t rows, outputs;
    double *score;        /* [rows, outputs] */
    int64_t *row, *label; /* label NULL for a regression */
    double *target;
    int64_t *fold;
} rp_kept_scores;

rp_status rp_kept_add(rp_kept_scores *kept, const rp_trainer *trainer, int64_t fold, rp_error *err);
/* As CSV in the order of rows; the trainer of the last fold still has the names. Errors: RP_ENOMEM. */
rp_status rp_kept_write(rp_buffer *out, const rp_kept_scores *kept, const rp_trainer *trainer, rp_error *err);
void rp_kept_clear(rp_kept_scores *kept);

/* How scores of each row differ over seeds: running means and squares (Welford), a fold at a time. */
typedef struct rp_score_spread {
    size_t cells, rows, outputs; /* of this fold; cells = rows * outputs */
    uint64_t seeds;              /* so far, in this fold */
    double *mean, *square;       /* [cells] */
    int64_t *decided;            /* [rows] by the first seed; -1: seeds differ; NULL for a regression */
    double *deviation;           /* [found] of the cells of the folds so far */
    size_t found, all_rows, differ;
    bool classes, broken; /* broken: a seed failed */
} rp_score_spread;

rp_status rp_score_spread_add(rp_score_spread *spread, const rp_trainer *trainer, rp_error *err);
/* After all seeds of a fold. */
rp_status rp_score_spread_fold(rp_score_spread *spread, rp_error *err);
/* Key "scores" of the spread. Errors: RP_ENOMEM. */
rp_status rp_score_spread_json(rp_json *out, rp_score_spread *spread, rp_error *err);
void rp_score_spread_clear(rp_score_spread *spread);

#endif
