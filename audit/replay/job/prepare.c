/* SPDX-License-Identifier: Apache-2.0
 * A recipe's run made ready: inputs read, trials made, first weights from where the recipe says; and whose fault it is
 * when that fails. */
#include <stdio.h>
#include <string.h>

#include "audit/drive/trials.h"
#include "audit/record/job_options.h"
#include "audit/replay/job/recipe_job.h"
#include "audit/replay/replay.h"
#include "audit/replay/retrain.h"
#include "audit/trust/recipe/recipe_paths.h"
#include "base/memory.h"

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

rp_status rp_job_prepare(work *w, const recipe_job *job, rp_error *err)
{
    rp_run_options options = rp_job_run_options(job->options);
    rp_trials tried = {.json = NULL};
    rp_recipe *recipe = NULL;
    rp_status status = rp_job_read_inputs(&recipe, w, job, err);

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
        status = rp_job_check_last_block(w->driver, job->options, err);
    if (status == RP_OK && w->parent)
        status = rp_retrain_same_classes(w->parent, rp_driver_dataset(w->driver)->schema, w->text.text.where, err);
    return status == RP_OK ? start_from_parent(w, job, &options, err) : status;
}
