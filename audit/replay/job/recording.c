/* SPDX-License-Identifier: Apache-2.0
 * What a recipe's job writes: whether an archive will be possible is looked at before the first step, the recorder is
 * attached, and in the end the archive gets its signature and its name. */
#include <string.h>

#include "audit/drive/space.h"
#include "audit/record/save.h"
#include "audit/record/states.h"
#include "audit/replay/job/recipe_job.h"
#include "base/memory.h"

/* What recipe or manifest say about the recording. */
static rp_status follow_periods(work *w, rp_error *err)
{
    rp_status status = rp_recorder_set_state_period(w->recorder, rp_driver_state_period(w->driver), err);

    if (status == RP_OK)
        status = rp_recorder_checkpoints_into(w->recorder, rp_driver_checkpoint_period(w->driver),
                                              rp_driver_checkpoint_end(w->driver), w->writer, err);
    return status;
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

rp_status rp_job_save(work *w, const recipe_job *job, rp_error *err)
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

rp_status rp_job_begin_recording(work *w, const recipe_job *job, rp_error *err)
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
