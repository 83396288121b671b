/* SPDX-License-Identifier: Apache-2.0
 * Whole jobs: run a recipe into an archive, save a run of the API. Replaying (replay.c) builds the same archive from a
 * driver and a recorder, and compares it. */
#include <string.h>

#include "audit/record/job_options.h"
#include "audit/record/run_archive.h"
#include "audit/sign/dsse.h"
#include "audit/statements/statement.h"
#include "audit/record/lineage.h"
#include "audit/record/provenance.h"
#include "audit/record/recorder.h"
#include "audit/record/saver.h"
#include "base/memory.h"

enum { RECIPE_LIMIT = 1 << 20 };
static const size_t csv_limit = (size_t)4 << 30;

/* The parts of a job under way. */
typedef struct work {
    const rp_job_options *options;
    rp_driver *driver;
    rp_recorder *recorder;
    rp_archive_writer *writer;
    double start, computed; /* when it began; when the last step ended */
    rp_saver saver;
} work;

static void work_free(work *w)
{
    rp_recorder_free(w->recorder);
    rp_driver_free(w->driver);
    rp_archive_writer_free(w->writer);
    rp_saver_free(&w->saver);
}

/* What recipe or manifest say about the recording. */
static rp_status follow_periods(work *w, rp_error *err)
{
    rp_status status = rp_recorder_set_state_period(w->recorder, rp_driver_state_period(w->driver), err);

    if (status == RP_OK)
        status = rp_recorder_checkpoints_into(w->recorder, rp_driver_checkpoint_period(w->driver),
                                              rp_driver_total(w->driver), w->writer, err);
    return status;
}

static rp_status all_steps(work *w, rp_error *err)
{
    uint64_t total = rp_driver_total(w->driver);
    rp_status status = RP_OK;

    for (uint64_t i = rp_run_steps(rp_driver_run(w->driver)); i < total && status == RP_OK; i++) {
        status = rp_driver_step(w->driver, err);
        if (status == RP_OK && i == 0 && w->writer)
            status = rp_driver_add_init(w->driver, w->writer, err);
        if (status == RP_OK && w->options && w->options->progress &&
            !w->options->progress(w->options->self, &(rp_progress){i + 1, total, rp_driver_loss(w->driver)}))
            status = rp_saver_interrupted(&w->saver, w->driver, w->recorder, w->writer, err);
        if (status == RP_OK)
            rp_saver_tick(&w->saver, w->driver, w->recorder, w->writer);
    }
    w->computed = rp_compose_seconds();
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
    (*out)->seconds = rp_compose_seconds() - w->start;
    (*out)->recording_seconds = w->recorder ? (double)rp_recorder_nanoseconds(w->recorder) * 1e-9 : 0;
    (*out)->resumed_at = w->saver.resumed_at;
    (*out)->resumes = w->saver.resumes;
    (*out)->saved_points = w->saver.points;
    (*out)->saving_seconds = w->saver.seconds;
    memcpy((*out)->save_note, w->saver.note, sizeof(*out)->save_note);
    return RP_OK;
}

void rp_job_free(rp_job *job)
{
    if (job)
        rp_free(job->metrics);
    rp_free(job);
}

void rp_text_free(char *text)
{
    rp_free(text);
}

static rp_status load_recipe(const char *recipe_path, rp_recipe **recipe, rp_buffer *csv, char **csv_path,
                             rp_error *err)
{
    rp_buffer yaml = {0};
    rp_status status = rp_file_read(recipe_path, RECIPE_LIMIT, &yaml, err);

    if (status == RP_OK)
        status = rp_recipe_from_yaml(recipe, (const char *)yaml.data, yaml.size, recipe_path, err);
    rp_buffer_free(&yaml);
    if (status != RP_OK)
        return status;
    *csv_path = rp_path_beside(recipe_path, (*recipe)->data.csv) /* relative to the recipe's folder */;
    if (!*csv_path)
        return rp_no_memory(err);
    return rp_file_read(*csv_path, csv_limit, csv, err);
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
}

/* What is left out comes first, so that no archive is there without its other part. */
static rp_status save_withheld(rp_archive_writer *writer, const char *folder, rp_error *err)
{
    rp_status status = rp_withheld_save(writer, folder, err);

    for (size_t i = 0; i < rp_archive_writer_member_count(writer) && status == RP_OK; i++)
        if (strcmp(rp_archive_writer_member(writer, i)->name, RP_RECIPE_MEMBER) == 0)
            status = rp_withheld_claim(folder, &rp_archive_writer_member(writer, i)->digest, err);
    return status;
}

/* folder, when not NULL, gets what is left out. */
static rp_status save(rp_archive_writer *writer, const char *path, const char *folder, const rp_key *key,
                      const rp_run *run, double took, uint64_t resumes, bool force, rp_error *err)
{
    rp_file_writer *file;
    rp_json *predicate = NULL;
    rp_status status = RP_OK;

    if (key) {
        status = rp_provenance_make(&predicate, run, took, resumes, err);
        if (status == RP_OK)
            status = rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, RP_PROVENANCE_TYPE, predicate, err);
        rp_json_free(predicate);
    }
    if (status == RP_OK && folder)
        status = save_withheld(writer, folder, err);
    if (status == RP_OK)
        status = rp_file_create(&file, path, force, 0644, err);
    if (status != RP_OK)
        return status;
    status = rp_archive_writer_save(writer, file, err);
    if (status != RP_OK) {
        rp_file_abort(file);
        return status;
    }
    return rp_file_commit(file, err);
}

static rp_status withhold(work *w, const char *folder, rp_error *err)
{
    rp_status status = rp_recorder_withhold(w->recorder, folder, err);

    return status == RP_OK ? rp_archive_writer_withhold(w->writer, rp_recorder_salt(w->recorder), err) : status;
}

static rp_status start_writer(work *w, const char *path, rp_error *err)
{
    char *directory = path ? directory_of(path) : NULL;
    rp_status status = path && !directory ? rp_no_memory(err) : rp_archive_writer_new(&w->writer, directory, err);

    rp_free(directory);
    return status;
}

static rp_status start_recording(work *w, const char *path, rp_error *err)
{
    rp_status status = RP_OK;

    w->writer = rp_saver_writer(&w->saver);
    if (!w->writer)
        status = start_writer(w, path, err);
    if (status == RP_OK)
        status = rp_recorder_attach(&w->recorder, rp_driver_run(w->driver), false, err);
    if (status == RP_OK)
        status = follow_periods(w, err);
    if (status == RP_OK && w->options && w->options->withhold)
        status = withhold(w, w->options->withhold, err);
    return status == RP_OK ? rp_saver_go_on(&w->saver, w->driver, w->recorder, err) : status;
}

/* What would make the archive impossible in the end is found before the first step, as far as it is known by then. */
static rp_status look_ahead(const work *w, const char *folder, rp_error *err)
{
    rp_archive_writer *known;
    rp_digest recipe = {{0}};
    rp_status status = rp_archive_writer_digests(&known, err);

    if (status != RP_OK)
        return status;
    status = rp_driver_add_known(w->driver, known, folder != NULL, err);
    for (size_t i = 0; folder && i < rp_archive_writer_member_count(known) && status == RP_OK; i++) {
        const rp_member *member = rp_archive_writer_member(known, i);

        if (rp_member_is_input(member->name))
            status = rp_withheld_room(folder, member, err);
        else if (strcmp(member->name, RP_RECIPE_MEMBER) == 0)
            recipe = member->digest;
    }
    if (status == RP_OK && folder)
        status = rp_withheld_claimed(folder, &recipe, err);
    rp_archive_writer_free(known);
    return status;
}

/* Whether the archive's run statement is by key; key NULL: whether it has none. */
static bool signed_so(const rp_archive *archive, const char *path, const rp_key *key)
{
    rp_verification *found = NULL;
    bool so = false;

    if (!key)
        return rp_archive_find(archive, RP_RUN_STATEMENT) == NULL;
    if (rp_verify(path, &key, 1, NULL, &found, NULL, NULL) != RP_OK)
        return false;
    for (size_t i = 0; i < found->statements; i++)
        so = so || strcmp(found->statement[i].member, RP_RUN_STATEMENT) == 0;
    rp_verification_free(found);
    return so;
}

/* An earlier process may have ended between giving the archive its name and removing the resume points. The id does not
 * depend on signatures: one that another key signed, or none, is not what this run would have saved. */
static rp_status saved_already(const work *w, const char *path, const rp_key *key, bool *already, rp_error *err)
{
    bool same;
    rp_archive *archive;
    rp_status status = rp_archive_open(&archive, path, err);

    if (status == RP_EIO || status == RP_ENOMEM)
        return status;
    if (status != RP_OK)
        return RP_OK; /* whatever it is, it is not this archive */
    same = strcmp(rp_archive_id(archive), rp_archive_writer_id(w->writer)) == 0;
    *already = same && signed_so(archive, path, key);
    rp_archive_close(archive);
    if (same && !*already)
        return rp_fail(err, RP_EEXIST,
                       "%s: this run's archive is there already, but %s: `reprise sign` adds a signature, --force "
                       "replaces it",
                       path,
                       key ? "its run statement is not by this key" : "it is signed, which this one would not be");
    return RP_OK;
}

static rp_status save_run(work *w, const char *path, const rp_key *key, bool force, rp_error *err)
{
    const double took = w->saver.resumed_at ? difftime(time(NULL), w->saver.began) : w->computed - w->start;
    bool already = false;
    rp_status status = RP_OK;

    if (w->saver.resumed_at && !force && rp_file_exists(path))
        status = saved_already(w, path, key, &already, err);
    if (status == RP_OK && already &&
        rp_recorder_folder(w->recorder)) /* whoever removed a file meanwhile gets it back */
        status = save_withheld(w->writer, rp_recorder_folder(w->recorder), err);
    if (status == RP_OK && !already)
        status = save(w->writer, path, rp_recorder_folder(w->recorder), key, rp_driver_run(w->driver), took,
                      w->saver.resumes, force, err);
    return status;
}

/* A parent's archive lies where the recipe says, relative to itself. */
static rp_status start_from_parent(work *w, const char *recipe_path, const rp_run_options *options, rp_error *err)
{
    const char *archive = rp_driver_recipe(w->driver)->parent.archive;
    char *path = archive ? rp_path_beside(recipe_path, archive) : NULL;
    rp_status status;

    if (!archive)
        return RP_OK;
    status = path ? rp_lineage_begin(w->driver, path, options, err) : rp_no_memory(err);
    rp_free(path);
    return status;
}

static rp_status run_recipe(work *w, const char *recipe_path, const char *path, const rp_key *key, bool force,
                            rp_buffer *csv, char **csv_path, rp_job **out, rp_error *err)
{
    rp_run_options options = rp_job_run_options(w->options);
    rp_recipe *recipe = NULL;
    bool record = !(w->options && w->options->no_record);
    rp_status status = load_recipe(recipe_path, &recipe, csv, csv_path, err);

    if (status != RP_OK) {
        rp_recipe_free(recipe);
        return status;
    }
    status = rp_driver_from_recipe(&w->driver, recipe, csv->data, csv->size, *csv_path, &options, err);
    if (status == RP_OK)
        status = start_from_parent(w, recipe_path, &options, err);
    if (status == RP_OK && record)
        status = look_ahead(w, w->options ? w->options->withhold : NULL, err);
    /* the recipe is resolved now: a resume point belongs to its parent's id, not to a path */
    if (status == RP_OK && record && path && w->options)
        status = rp_saver_open(&w->saver, w->options, path, rp_driver_recipe(w->driver), csv, force, err);
    if (status == RP_OK && record)
        status = start_recording(w, path, err);
    if (status == RP_OK)
        status = all_steps(w, err);
    if (status == RP_OK && record)
        status = rp_compose_archive(w->driver, w->recorder, w->writer, err);
    /* The report comes first: once the archive has its name, nothing may fail any more. */
    if (status == RP_OK)
        status = report(w, out, err);
    if (status == RP_OK && record && path)
        status = save_run(w, path, key, force, err);
    rp_saver_end(&w->saver, status, err);
    if (status == RP_OK) {
        (*out)->seconds = rp_compose_seconds() - w->start;
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

rp_status rp_train_recipe(const char *recipe_path, const char *path, const rp_key *key, bool force,
                          const rp_job_options *options, rp_job **out, rp_error *err)
{
    work w = {.options = options, .start = rp_compose_seconds()};
    rp_buffer csv = {0};
    char *csv_path = NULL;
    rp_status status;

    *out = NULL;
    /* Before the training, not after it. */
    if (path && !force && rp_file_exists(path) && !(options && options->resume && rp_resume_present(path))) {
        if (options && options->resume)
            rp_resume_tidy(path);
        return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it", path);
    }
    status = path && !(options && options->no_record) ? try_name(path, err) : RP_OK;
    if (status == RP_OK)
        status = run_recipe(&w, recipe_path, path, key, force, &csv, &csv_path, out, err);
    work_free(&w);
    rp_buffer_free(&csv);
    rp_free(csv_path);
    return status;
}

rp_status rp_recorder_save(rp_recorder *recorder, const char *path, const rp_key *key, bool force,
                           char archive_id[RP_DIGEST_HEX], rp_error *err)
{
    work w = {.start = 0};
    const rp_run *run = rp_recorder_run(recorder);
    rp_digest root;
    rp_json *json = rp_json_object();
    rp_status status = json ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && rp_recorder_steps(recorder) == 0)
        status = rp_fail(err, RP_EARG, "%s: no step has been recorded", path);
    if (status == RP_OK && !force && rp_file_exists(path))
        status = rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or set force to replace it", path);
    if (status == RP_OK)
        status = start_writer(&w, path, err);
    if (status == RP_OK && rp_recorder_salt(recorder))
        status = rp_archive_writer_withhold(w.writer, rp_recorder_salt(recorder), err);
    if (status == RP_OK)
        status = rp_recorder_add_members(recorder, w.writer, &root, err);
    if (status == RP_OK)
        status = rp_add_data_tensors(w.writer, run, err);
    if (status == RP_OK)
        status = rp_recorder_add_states(w.writer, RP_FINAL_MEMBER, run, true, err);
    if (status == RP_OK)
        status = rp_recorder_describe(recorder, &root, json, err);
    if (status == RP_OK)
        status = rp_archive_writer_finish(w.writer, RP_RUN_API, json, err);
    if (status == RP_OK)
        status = save(w.writer, path, rp_recorder_folder(recorder), key, run, rp_recorder_age(recorder),
                      rp_recorder_resumes(recorder), force, err);
    if (status == RP_OK && archive_id)
        memcpy(archive_id, rp_archive_writer_id(w.writer), RP_DIGEST_HEX);
    rp_json_free(json);
    work_free(&w);
    return status;
}
