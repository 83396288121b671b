/* SPDX-License-Identifier: Apache-2.0
 * A recipe's whole job: from YAML and a table to a signed archive, with resume points on the way. It stands above
 * recording, since it may have to replay a parent's end and to verify an archive that is there already. */
#include <string.h>

#include "audit/drive/run_archive.h"
#include "audit/replay/job/recipe_job.h"
#include "base/clock.h"
#include "base/memory.h"

static void work_free(work *w)
{
    rp_recorder_free(w->recorder);
    rp_driver_free(w->driver);
    rp_archive_writer_free(w->writer);
    rp_saver_free(&w->saver);
    rp_archive_close(w->parent);
    rp_kept_text_clear(&w->text); /* lent to all of them */
    rp_kept_text_clear(&w->test);
}

static rp_status all_steps(work *w, rp_error *err)
{
    uint64_t total = rp_driver_total(w->driver);
    rp_status status = RP_OK;

    for (uint64_t i = rp_run_steps(rp_driver_run(w->driver)); i < total && status == RP_OK; i++) {
        status = rp_driver_step(w->driver, err);
        total = rp_driver_total(w->driver); /* early stopping makes it smaller */
        if (w->recorder)                    /* a run may go unrecorded */
            rp_recorder_ends(w->recorder, rp_driver_checkpoint_end(w->driver));
        if (status == RP_OK && i == 0 && w->writer)
            status = rp_driver_add_init(w->driver, w->writer, err);
        if (status == RP_OK && w->options && w->options->progress &&
            !w->options->progress(w->options->self,
                                  &(rp_progress){.step = i + 1, .steps = total, .loss = rp_driver_loss(w->driver)}))
            status = rp_saver_interrupted(&w->saver, w->driver, w->recorder, w->writer, err);
        if (status == RP_OK)
            rp_saver_tick(&w->saver, w->driver, w->recorder, w->writer);
    }
    w->computed = rp_clock();
    return status;
}

static rp_status report(const work *w, rp_job **out, rp_error *err)
{
    rp_status status = rp_compose_job(out, w->driver, err);

    if (status != RP_OK)
        return status;
    if (w->writer)
        memcpy((*out)->archive_id, rp_archive_writer_id(w->writer), sizeof(*out)->archive_id);
    (*out)->steps = rp_run_steps(rp_driver_run(w->driver));
    (*out)->seconds = rp_clock() - w->start;
    (*out)->recording_seconds = w->recorder ? (double)rp_recorder_nanoseconds(w->recorder) * 1e-9 : 0;
    (*out)->trials = w->trials;
    (*out)->resumed_at = w->saver.resumed_at;
    (*out)->resumes = w->saver.resumes;
    (*out)->saved_points = w->saver.points;
    (*out)->saving_seconds = w->saver.seconds;
    memcpy((*out)->save_note, w->saver.note, sizeof(*out)->save_note);
    return RP_OK;
}

void rp_job_free(rp_job *job)
{
    if (job) {
        rp_free(job->metrics);
        rp_free(job->coefficients);
        rp_free(job->table);
    }
    rp_free(job);
}

void rp_text_free(char *text)
{
    rp_free(text);
}

/* Whoever waits for a long training learns before it what its table holds. */
static rp_status tell_table(const work *w, rp_error *err)
{
    char *text;
    rp_status status;

    if (!w->options || !w->options->table)
        return RP_OK;
    status = rp_driver_table(w->driver, &text, err);
    if (status == RP_OK)
        w->options->table(w->options->self, text);
    rp_free(text);
    return status;
}

static rp_status run_recipe(work *w, const recipe_job *job, rp_job **out, rp_error *err)
{
    const bool record = !(job->options && job->options->no_record);
    rp_status status = rp_job_prepare(w, job, err);

    if (status == RP_OK)
        status = tell_table(w, err);
    if (status == RP_OK && record)
        status = rp_job_begin_recording(w, job, err);
    if (status == RP_OK && job->options && job->options->outlook)
        job->options->outlook(job->options->self, rp_driver_total(w->driver), rp_run_memory(rp_driver_run(w->driver)));
    if (status == RP_OK && job->options && job->options->opened)
        job->options->opened(job->options->self, rp_driver_run(w->driver));
    if (status == RP_OK)
        status = all_steps(w, err);
    if (status == RP_OK && record)
        status = rp_compose_archive(w->driver, w->recorder, w->writer, err);
    /* The report comes first: once the archive has its name, nothing may fail any more. */
    if (status == RP_OK)
        status = report(w, out, err);
    if (status == RP_OK && record && job->archive)
        status = rp_job_save(w, job, err);
    rp_saver_end(&w->saver, status, err);
    if (status == RP_OK) {
        (*out)->seconds = rp_clock() - w->start;
    } else {
        rp_job_free(*out);
        *out = NULL;
    }
    return status;
}

/* That a file can get this name is known when one had it for a moment. */
static rp_status try_name(const char *path, rp_error *err)
{
    rp_file_writer *file;
    rp_status status = rp_file_create(&file, path, true, 0644, err);

    if (status == RP_OK)
        rp_file_abort(file);
    return status;
}

static rp_status do_job(const recipe_job *job, rp_job **out, rp_error *err)
{
    const char *path = job->archive;
    const rp_job_options *options = job->options;
    work w = {.options = options, .start = rp_clock()};
    rp_status status;

    *out = NULL;
    /* Before the training, not after it. */
    if (path && !job->force && rp_file_exists(path) && !(options && options->resume && rp_resume_present(path))) {
        if (options && options->resume)
            rp_resume_tidy(path);
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it", path);
    }
    status = path && !(options && options->no_record) ? try_name(path, err) : RP_OK;
    if (status == RP_OK)
        status = run_recipe(&w, job, out, err);
    work_free(&w);
    return status;
}

rp_status rp_train_recipe(const char *recipe_path, const char *path, const rp_key *key, bool force,
                          const rp_job_options *options, rp_job **out, rp_error *err)
{
    return do_job(&(recipe_job){.recipe = recipe_path, .archive = path, .key = key, .force = force, .options = options},
                  out, err);
}

rp_status rp_retrain(const rp_retraining *what, const char *path, const rp_key *key, bool force,
                     const rp_job_options *options, rp_job **out, rp_error *err)
{
    return do_job(&(recipe_job){.again = what, .archive = path, .key = key, .force = force, .options = options}, out,
                  err);
}
