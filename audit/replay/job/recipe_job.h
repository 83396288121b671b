/* SPDX-License-Identifier: Apache-2.0
 * A recipe's job under way, and its parts: what it reads, the run made ready, what is recorded and saved. */
#ifndef AUDIT_REPLAY_JOB_RECIPE_JOB_H
#define AUDIT_REPLAY_JOB_RECIPE_JOB_H

#include "audit/drive/saver.h"
#include "rp/retraining.h"

/* What rp_train_recipe or rp_retrain is given. */
typedef struct recipe_job {
    const char *recipe, *archive; /* paths; archive NULL: nothing is written */
    const rp_retraining *again;   /* the recipe is a parent's, recipe is NULL; NULL: it is not */
    const rp_key *key;            /* NULL: unsigned */
    bool force;
    const rp_job_options *options; /* or NULL */
} recipe_job;

/* The parts of a job under way. */
typedef struct work {
    const rp_job_options *options;
    rp_kept_text text, test; /* test: of data.test_csv; zeros where the recipe has none */
    rp_archive *parent;      /* whose recipe it is; NULL: nobody's */
    rp_driver *driver;
    rp_recorder *recorder;
    rp_archive_writer *writer;
    uint64_t trials;
    double start, computed; /* when it began; when the last step ended */
    rp_saver saver;
} work;

/* Recipe and table; of a parent's recipe the new table's header decides a part. *recipe is to be freed also on failure.
 * Errors: as files, recipes and tables have them. */
rp_status rp_job_read_inputs(rp_recipe **recipe, work *w, const recipe_job *job, rp_error *err);
/* RP_EARG where data are withheld and the last block of a part that is evaluated could be guessed from its digest. */
rp_status rp_job_check_last_block(const rp_driver *driver, const rp_job_options *options, rp_error *err);
/* Reads them, makes the trials and the run with its first weights. */
rp_status rp_job_prepare(work *w, const recipe_job *job, rp_error *err);

/* What would make the archive impossible is an error here, before the first step; then the recorder watches the run. */
rp_status rp_job_begin_recording(work *w, const recipe_job *job, rp_error *err);
/* Signs the archive and gives it its name. */
rp_status rp_job_save(work *w, const recipe_job *job, rp_error *err);

#endif
