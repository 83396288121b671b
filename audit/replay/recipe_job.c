/* SPDX-License-Identifier: Apache-2.0
 * A recipe's whole job: from YAML and a table to a signed archive, with resume points on the way. It stands above
 * recording, since it may have to replay a parent's end and to verify an archive that is there already. */
#include <stdio.h>
#include <string.h>

#include "audit/record/job_options.h"
#include "audit/drive/arrays.h"
#include "audit/drive/run_archive.h"
#include "audit/drive/recipe_files.h"
#include "audit/replay/replay.h"
#include "audit/replay/retrain.h"
#include "audit/record/save.h"
#include "audit/drive/space.h"
#include "audit/record/states.h"
#include "audit/record/recorder.h"
#include "audit/drive/saver.h"
#include "audit/drive/trials.h"
#include "audit/trust/recipe/recipe_paths.h"
#include "base/memory.h"
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

/* What recipe or manifest say about the recording. */
static rp_status follow_periods(work *w, rp_error *err)
{
    rp_status status = rp_recorder_set_state_period(w->recorder, rp_driver_state_period(w->driver), err);

    if (status == RP_OK)
        status = rp_recorder_checkpoints_into(w->recorder, rp_driver_checkpoint_period(w->driver),
                                              rp_driver_checkpoint_end(w->driver), w->writer, err);
    return status;
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

static rp_status withhold(work *w, const char *folder, rp_error *err)
{
    rp_status status = rp_recorder_withhold(w->recorder, folder, err);

    return status == RP_OK ? rp_archive_writer_withhold(w->writer, rp_recorder_salt(w->recorder), err) : status;
}

static rp_status start_recording(work *w, const char *path, rp_error *err)
{
    rp_status status = RP_OK;

    w->writer = rp_saver_writer(&w->saver);
    if (!w->writer)
        status = rp_save_writer(&w->writer, path, err);
    if (status == RP_OK)
        status = rp_recorder_attach(&w->recorder, rp_driver_run(w->driver), false, err);
    if (status == RP_OK)
        status = follow_periods(w, err);
    if (status == RP_OK && w->options && w->options->withhold)
        status = withhold(w, w->options->withhold, err);
    return status == RP_OK ? rp_saver_go_on(&w->saver, w->driver, w->recorder, err) : status;
}

/* What would make the archive impossible in the end is found before the first step, as far as it is known by then. */
static rp_status look_ahead(const work *w, const char *folder, uint64_t *bytes, rp_error *err)
{
    rp_archive_writer *known;
    rp_digest recipe = {{0}};
    rp_status status = rp_archive_writer_digests(&known, err);

    if (status != RP_OK)
        return status;
    status = rp_driver_add_known(w->driver, known, folder != NULL, err);
    for (size_t i = 0; i < rp_archive_writer_member_count(known) && status == RP_OK; i++) {
        const rp_member *member = rp_archive_writer_member(known, i);

        if (!folder || !rp_member_is_input(member->name)) /* what is withheld lies elsewhere */
            *bytes += member->size;
        if (!folder)
            continue;
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

/* What the archive takes at least: the members known by now, the weights and, where it is certain that they will be
 * there, all states of every checkpoint. Twice that: members lie in the archive's folder until they are copied into it.
 * A run that goes on has written some of it. */
static rp_status foresee_space(const work *w, const char *path, uint64_t bytes, rp_error *err)
{
    const uint64_t period = rp_driver_checkpoint_period(w->driver), end = rp_driver_checkpoint_end(w->driver);
    const bool certain = period && end && rp_driver_recipe(w->driver)->train.patience == 0;
    const uint64_t sets = certain ? (end - 1) / period : 0;
    uint64_t all = 0, final = 0;
    size_t n;
    const rp_device_tensor *state = rp_run_states(rp_driver_run(w->driver), &n);
    rp_status status = rp_tensors_measure(&all, state, n, err);

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        uint64_t one = 0;

        if (!rp_is_moment(state[i].name))
            status = rp_tensors_measure(&one, &state[i], 1, err);
        final += one;
    }
    if (status != RP_OK)
        return status;
    bytes += final;
    return rp_space_check(path, all && sets > (UINT64_MAX / 2 - bytes) / all ? UINT64_MAX / 2 : bytes + sets * all,
                          err);
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

static rp_status save_run(work *w, const recipe_job *job, rp_error *err)
{
    const rp_save_target to = {.path = job->archive,
                               .folder = rp_recorder_folder(w->recorder),
                               .key = job->key,
                               .run = rp_driver_run(w->driver),
                               .took =
                                   w->saver.resumed_at ? difftime(time(NULL), w->saver.began) : w->computed - w->start,
                               .resumes = w->saver.resumes,
                               .force = job->force};
    bool already = false;
    rp_status status = RP_OK;

    if (w->saver.resumed_at && !job->force && rp_file_exists(job->archive))
        status = saved_already(w, job->archive, job->key, &already, err);
    if (status == RP_OK && already && to.folder) /* whoever removed a file meanwhile gets it back */
        status = rp_save_withheld(w->writer, to.folder, err);
    return status == RP_OK && !already ? rp_save_archive(w->writer, &to, err) : status;
}

/* Weights of a file lie where the recipe says, relative to itself. */
static rp_status start_with_weights(work *w, const recipe_job *job, rp_error *err)
{
    const rp_recipe *recipe = rp_driver_recipe(w->driver);
    char *path, hex[RP_DIGEST_HEX];
    rp_start *start = NULL;
    rp_digest digest;
    rp_status status;

    if (recipe->resolved)
        return rp_fail(err, RP_EARG,
                       "%s: key weights: a resolved recipe names the file by its digest alone: write the recipe in "
                       "YAML with its path",
                       job->recipe);
    path = rp_path_beside(job->recipe, recipe->weights);
    status = path ? rp_start_of_file(&start, path, &digest, err) : rp_no_memory(err);
    if (status == RP_OK) {
        rp_digest_hex(hex, &digest);
        status = rp_driver_start_with(w->driver, hex, start, err);
    }
    if (status == RP_EDATA)
        status = rp_fail_at(err, status, "%s: key weights", job->recipe);
    rp_free(path);
    return status;
}

/* A parent's archive lies where the recipe says, relative to itself, or where whoever retrains says. */
static rp_status start_from_parent(work *w, const recipe_job *job, const rp_run_options *options, rp_error *err)
{
    const char *archive = rp_driver_recipe(w->driver)->parent.archive;
    char *path = !archive ? NULL : job->again ? rp_strdup(job->again->parent) : rp_path_beside(job->recipe, archive);
    rp_status status;

    if (rp_driver_recipe(w->driver)->weights)
        return start_with_weights(w, job, err);
    if (!archive)
        return RP_OK;
    if (path && !job->again && rp_driver_recipe(w->driver)->resolved && !rp_file_exists(path)) {
        rp_free(path);
        return rp_fail(
            err, RP_EARG,
            "%s: key parent.archive: a resolved recipe names its parent by the id %s alone; put that archive "
            "beside it under this name, or write the recipe in YAML with the archive's path",
            job->recipe, archive);
    }
    status = path ? rp_start_from_parent(w->driver, path, options, err) : rp_no_memory(err);
    rp_free(path);
    return status;
}

/* Trials come before the run has memory of its own; a search's choice is the run's recipe. */
static rp_status try_first(rp_trials *tried, rp_recipe **recipe, const work *w, const recipe_job *job, rp_error *err)
{
    rp_status status = rp_trials_make(tried, *recipe, &w->text.text, job->options, err);

    if (status == RP_OK && tried->chosen) {
        rp_recipe_free(*recipe);
        *recipe = tried->chosen;
        tried->chosen = NULL;
    }
    return status;
}

/* In memory: a writer lends from one other alone, which has the table. */
static rp_status read_test(const rp_recipe *recipe, work *w, const recipe_job *job, rp_error *err)
{
    char *path = rp_recipe_table_path(job->recipe, recipe, recipe->data.test_csv);
    rp_status status = path ? rp_kept_text_read(&w->test, RP_TEST_TABLE_MEMBER, path, NULL, NULL, job->options, err)
                            : rp_no_memory(err);

    rp_free(path);
    return status;
}

/* The archive takes the place of nothing that it is made of. */
static rp_status keep_inputs(const recipe_job *job, const rp_recipe *recipe, const char *table, rp_error *err)
{
    rp_status status;

    if (!job->again)
        return rp_recipe_keep(job->archive, job->recipe, recipe, table, err);
    status = rp_file_keep(job->archive, table, "the table", err);
    return status == RP_OK ? rp_file_keep(job->archive, job->again->parent, "the parent", err) : status;
}

/* Of a recipe's table, whatever it is written from. */
typedef struct recipe_table {
    rp_recipe *recipe; /* NULL: of a retraining, whose parent says what rows may be written from */
    const rp_archive *parent;
    const recipe_job *job;
    const char *path;
} recipe_table;

/* New rows of a parent that was trained on arrays. */
static rp_status stream_rows(const recipe_table *t, const rp_recipe *recipe, rp_file_taker take, void *taker,
                             rp_error *err)
{
    rp_buffer bytes = {0}, written = {0};
    rp_status status = rp_table_stream(t->job->options, t->path, rp_buffer_take, &bytes, err);

    if (status == RP_OK)
        status = rp_arrays_rows(&written, recipe, bytes.data, bytes.size, t->path, err);
    if (status == RP_OK && written.size)
        status = take(taker, written.data, written.size, err);
    else if (status == RP_OK && bytes.size)
        status = take(taker, bytes.data, bytes.size, err);
    rp_buffer_free(&bytes);
    rp_buffer_free(&written);
    return status;
}

static rp_status stream_again(const recipe_table *t, rp_file_taker take, void *taker, rp_error *err)
{
    rp_json *json = NULL;
    rp_recipe *recipe = NULL;
    rp_status status = RP_OK;

    /* what is no recipe's archive is refused when its recipe is asked for, with the words for that */
    if (rp_archive_read_json(t->parent, RP_RECIPE_MEMBER, &json, NULL) == RP_OK)
        (void)rp_recipe_from_json(&recipe, json, RP_RECIPE_MEMBER, NULL);
    rp_json_free(json);
    status = recipe && recipe->arrays.known ? stream_rows(t, recipe, take, taker, err)
                                            : rp_table_stream(t->job->options, t->path, take, taker, err);
    rp_recipe_free(recipe);
    return status;
}

static rp_status stream_table(void *self, rp_file_taker take, void *taker, rp_error *err)
{
    const recipe_table *t = self;

    if (!t->recipe)
        return stream_again(t, take, taker, err);
    return rp_recipe_stream(t->recipe, t->job->recipe, t->path, t->job->options, take, taker, err);
}

enum { GUESSED = 64 };

/* Digests of what evaluations gave of a block of windows stay in the archive, with the weights that gave it. */
static rp_status check_guessed(const rp_recipe *recipe, const rp_job_options *options, rp_error *err)
{
    const int64_t tokens = recipe->text.path ? recipe->train.batch * recipe->text.length : GUESSED;

    return !options || !options->withhold || tokens >= GUESSED
               ? RP_OK
               : rp_fail(err, RP_EARG,
                         "--withhold: a block of train.batch windows of data.length tokens has %lld, which whoever has "
                         "the archive can guess: expected at least %d",
                         (long long)tokens, (int)GUESSED);
}

/* A part's last block has what is left of it, and of a short text no batch is whole. */
static rp_status check_last_block(const rp_driver *driver, const rp_job_options *options, rp_error *err)
{
    const size_t tokens = rp_driver_least_block(driver);

    return !options || !options->withhold || tokens >= GUESSED
               ? RP_OK
               : rp_fail(err, RP_EARG,
                         "--withhold: the last block of a part that is evaluated has %zu tokens, which whoever has the "
                         "archive can guess: choose data.length, train.batch or data.validation so that it has %d",
                         tokens, (int)GUESSED);
}

/* Recipe and table; of a parent's recipe the new table's header decides a part. */
static rp_status read_inputs(rp_recipe **recipe, work *w, const recipe_job *job, rp_error *err)
{
    const bool record = !(job->options && job->options->no_record);
    const rp_retraining *again = job->again;
    char *path = NULL;
    rp_status status =
        again ? rp_archive_open(&w->parent, again->parent, err) : rp_recipe_load(job->recipe, recipe, &path, err);

    if (status == RP_OK && again && again->withheld)
        status = rp_archive_disclose(w->parent, again->withheld, err);
    if (status == RP_OK && !again)
        status = check_guessed(*recipe, job->options, err);
    if (status == RP_OK && record)
        status = keep_inputs(job, *recipe, again ? again->csv : path, err);
    if (status == RP_OK) {
        recipe_table table = {again ? NULL : *recipe, w->parent, job, again ? again->csv : path};
        const rp_text_origin from = {stream_table, &table};

        status = rp_kept_text_read(&w->text, !again && (*recipe)->text.path ? RP_TEXT_MEMBER : RP_TABLE_MEMBER,
                                   table.path, &from, record ? job->archive : NULL, job->options, err);
    }
    rp_free(path);
    if (status == RP_OK && !again && (*recipe)->data.test_csv)
        status = read_test(*recipe, w, job, err);
    return status == RP_OK && again ? rp_retrain_recipe(recipe, w->parent, again->warm_start, &w->text.text, err)
                                    : status;
}

/* New rows on which a recipe cannot be run are wrong data, as the recipe was in order once; wrong options stay a wrong
 * call. */
static rp_status blame_rows(rp_status status, const rp_run_options *options, rp_error *err)
{
    rp_run *run = NULL;
    const bool other = status != RP_EARG || rp_run_new(&run, options, NULL) != RP_OK;

    rp_run_free(run);
    return other ? status : rp_fail_at(err, RP_EDATA, "the parent's recipe on these rows");
}

/* Whether a text advises a key of the section `data`. The file may have such a name: data.csv, data.tsv. */
static bool advises_key(const char *text)
{
    for (const char *at = text; (at = strstr(at, "data.")) != NULL; at += strlen("data.")) {
        const size_t length = strlen("data.") + strspn(at + strlen("data."), "abcdefghijklmnopqrstuvwxyz_");
        char key[64];

        (void)snprintf(key, sizeof key, "%.*s", length < sizeof key ? (int)length : 0, at);
        if (strcmp(key, "data.csv") != 0 && rp_recipe_path_known(key))
            return true;
    }
    return false;
}

/* Advice on keys of the recipe nobody can follow here: it is the parent's, as it is. */
static rp_status tell_way(rp_status status, const char *parent, rp_error *err)
{
    static const char way[] =
        "; a retraining has its parent's keys: mend the rows, or reprise run a recipe of your own "
        "that sets the key, with predecessor: ";
    char words[RP_ERROR_TEXT];

    if (status != RP_EDATA || !err || !advises_key(err->text))
        return status;
    (void)snprintf(words, sizeof words, "%s", err->text);
    return rp_fail(err, status, "%.*s%s%.64s", (int)(sizeof words - sizeof way - 64), words, way, parent);
}

static rp_status prepare(work *w, const recipe_job *job, rp_error *err)
{
    rp_run_options options = rp_job_run_options(job->options);
    rp_trials tried = {.json = NULL};
    rp_recipe *recipe = NULL;
    rp_status status = read_inputs(&recipe, w, job, err);

    if (status == RP_OK && !options.memory)
        options.memory = recipe->memory;
    if (status == RP_OK)
        status = try_first(&tried, &recipe, w, job, err);
    if (status != RP_OK) {
        rp_recipe_free(recipe);
        return status;
    }
    w->trials = rp_trials_count(recipe);
    status = rp_driver_from_recipe(&w->driver, recipe, &w->text, w->test.where ? &w->test : NULL, &options, err);
    if (w->parent)
        status = tell_way(blame_rows(status, &options, err), rp_archive_id(w->parent), err);
    if (status == RP_OK)
        rp_driver_take_trials(w->driver, &tried);
    if (status == RP_OK && job->options && job->options->withhold)
        rp_driver_withhold(w->driver);
    rp_trials_clear(&tried);
    if (status == RP_OK)
        status = check_last_block(w->driver, job->options, err);
    if (status == RP_OK && w->parent)
        status = rp_retrain_same_classes(w->parent, rp_driver_dataset(w->driver)->schema, w->text.text.where, err);
    return status == RP_OK ? start_from_parent(w, job, &options, err) : status;
}

static rp_status begin_recording(work *w, const recipe_job *job, rp_error *err)
{
    uint64_t bytes = 0;
    rp_status status = look_ahead(w, job->options ? job->options->withhold : NULL, &bytes, err);

    if (status == RP_OK && job->archive && !(job->options && job->options->resume))
        status = foresee_space(w, job->archive, bytes, err);
    /* the recipe is resolved now: a resume point belongs to its parent's id, not to a path */
    if (status == RP_OK && job->archive && job->options)
        status = rp_saver_open(&w->saver, job->options, job->archive, rp_driver_recipe(w->driver), &w->text, &w->test,
                               job->force, err);
    return status == RP_OK ? start_recording(w, job->archive, err) : status;
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
    rp_status status = prepare(w, job, err);

    if (status == RP_OK)
        status = tell_table(w, err);
    if (status == RP_OK && record)
        status = begin_recording(w, job, err);
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
        status = save_run(w, job, err);
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

static rp_status do_job(const recipe_job *job, rp_job **out, rp_error *err)
{
    const char *path = job->archive;
    const rp_job_options *options = job->options;
    work w = {.options = options, .start = rp_compose_seconds()};
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
