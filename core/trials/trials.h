/* SPDX-License-Identifier: Apache-2.0
 * What is tried before the run (CONTRACT 12.11): the folds of data.fold: all, the trials of search:, the challengers.
 * A trial is a variant of the recipe, trained on the same table by the same steps as a run, one after the other, and
 * not in the journal; what it came to is outputs/trials.json (audit/FORMAT.md 9.8). A pure function of (recipe, CSV
 * bytes). */
#ifndef CORE_TRIALS_TRIALS_H
#define CORE_TRIALS_TRIALS_H

#include "core/train/train.h"

/* Which trial it is that goes on. */
typedef struct rp_trial {
    uint64_t number, of;   /* from 0, in the order in which they are made, of all that the recipe has */
    size_t variant, place; /* where its result stands in outputs/trials.json */
    const char *kind;      /* recipe, search, linear, seed */
    const rp_json *set;    /* what differs from the recipe */
    int64_t fold;          /* RP_ALL_FOLDS: the recipe's own split */
    bool again;            /* the chosen one's scores are made once more */
} rp_trial;

/* Who looks on. Each may be NULL; what it returns but RP_OK ends all trials. */
typedef struct rp_trials_watch {
    bool (*wanted)(void *self, uint64_t number);
    rp_status (*begin)(void *self, const rp_trial *trial, const rp_trainer *trainer, rp_error *err);
    rp_status (*step)(void *self, const rp_trial *trial, const rp_trainer *trainer, rp_error *err);
    /* result: the trial's object, to which keys may be put; it has "failed" when the loss was no longer finite */
    rp_status (*end)(void *self, const rp_trial *trial, const rp_trainer *trainer, rp_json *result, rp_error *err);
    void *self;
} rp_trials_watch;

typedef struct rp_trials {
    rp_json *json;         /* outputs/trials.json; NULL when not all were wanted */
    rp_buffer out_of_fold; /* outputs/out_of_fold.csv; empty without data.fold: all */
    rp_recipe *chosen;     /* the recipe with the settings that its search chose; NULL without a search */
} rp_trials;

/* How many trials a recipe has; 0 when it tries nothing. */
uint64_t rp_trials_count(const rp_recipe *recipe);
/* Makes them. text is borrowed. Errors: RP_EARG, RP_EFORMAT: settings that the recipe cannot
 * have, before any trial; RP_EDATA: no trial ended with the figure that search.by names; those of training. */
rp_status rp_trials_run(rp_trials *out, const rp_recipe *recipe, const rp_source_text *text,
                        const rp_run_options *options, const rp_trials_watch *watch, rp_error *err);
void rp_trials_clear(rp_trials *trials);
/* Before the trials what follows from the rows of the run itself, which are prepared for this: epochs that the recipe
 * leaves to the table, and whether what its section validation: names is there, so that nobody is told after hours of
 * trials. Errors: those of rp_dataset_prepare and rp_run_slices_check. */
rp_status rp_trials_settle(rp_recipe *recipe, const rp_source_text *text, const rp_run_options *options, rp_error *err);
/* What outputs/metrics.json says of them: all of outputs/trials.json but the single trials. json may come from an
 * archive. */
rp_status rp_trials_summary(rp_json **out, const rp_json *json, rp_error *err);

#endif
