/* SPDX-License-Identifier: Apache-2.0
 * Resume points of a recipe's job. */
#include "audit/drive/saver.h"

#include <stdio.h>
#include <string.h>

#include "audit/drive/run_archive.h"
#include "base/clock.h"
#include "base/memory.h"

static void note(rp_saver *s, const char *text)
{
    if (!*s->note)
        (void)snprintf(s->note, sizeof s->note, "%.*s", (int)sizeof s->note - 1, text);
}

/* Where the table lay is circumstance here too. */
static rp_status identity_of(rp_resume_identity *out, const rp_recipe *recipe, const rp_kept_text *table,
                             const rp_kept_text *test, rp_error *err)
{
    rp_json *json = rp_json_deep_copy(recipe->json);
    rp_buffer text = {0};
    rp_status status;

    if (!json || rp_recipe_forget_paths(json) != 0) {
        rp_json_free(json);
        return rp_no_memory(err);
    }
    status = rp_json_write(json, &text, err);
    if (status == RP_OK)
        status = rp_sha256(&out->recipe, text.data, text.size, err);
    out->data = *rp_kept_text_digest(table);
    if (status == RP_OK && recipe->data.test_csv) {
        unsigned char both[2 * RP_DIGEST_SIZE];

        memcpy(both, out->data.bytes, RP_DIGEST_SIZE);
        status = rp_sha256(&out->data, test->text.bytes, test->text.size, err);
        memcpy(both + RP_DIGEST_SIZE, out->data.bytes, RP_DIGEST_SIZE);
        if (status == RP_OK)
            status = rp_sha256(&out->data, both, sizeof both, err);
    }
    rp_buffer_free(&text);
    rp_json_free(json);
    return status;
}

/* A run that makes none passes over none of another's either. */
static rp_status look_for_points(const char *path, bool pinned, bool force, rp_error *err)
{
    const rp_resume_identity none = {0};
    rp_resume *found;
    rp_status status = rp_resume_open(&found, path, &none, false, force, err);

    if (status == RP_OK)
        rp_resume_free(found);
    if (status == RP_EEXIST && pinned)
        return rp_fail(err, RP_EEXIST,
                       "%s: another run was interrupted there and has left its resume points, from which a pinned run "
                       "does not go on: choose another name, or give --force to drop them",
                       path);
    return status;
}

rp_status rp_saver_open(rp_saver *s, const rp_job_options *options, const char *path, const rp_recipe *recipe,
                        const rp_kept_text *table, const rp_kept_text *test, bool force, rp_error *err)
{
    rp_resume_identity identity;
    rp_salt salt;
    rp_status status;

    *s = (rp_saver){.every = options->save_every > 0 ? options->save_every : 0, .began = time(NULL)};
    /* which products the library has computed is known to the process alone */
    s->keeps_none = recipe->pinned;
    if (recipe->pinned && options->resume)
        return rp_fail(err, RP_EUNSUPPORTED, "a run in the pinned profile keeps no resume points: start it anew");
    if (recipe->pinned && s->every > 0 && !options->save_if_can)
        return rp_fail(
            err, RP_EUNSUPPORTED,
            "a run in the pinned profile keeps no resume points: leave out --save-every (save_every), or give "
            "0");
    if (recipe->pinned)
        s->every = 0;
    if (!(s->every > 0) && !options->resume)
        return look_for_points(path, recipe->pinned, force, err);
    status = identity_of(&identity, recipe, table, test, err);
    /* with another salt the records would be others, and an unsalted digest may not lie about */
    if (status == RP_OK && options->withhold)
        status = rp_salt_open(&salt, options->withhold, err);
    if (status == RP_OK && options->withhold)
        status = rp_salted_member(&identity.data, &salt, table->member, &identity.data, err);
    if (status == RP_OK)
        status = rp_resume_open(&s->resume, path, &identity, options->resume, force, err);
    if (status == RP_OK)
        note(s, rp_resume_passed_over(s->resume));
    s->next = rp_clock() + s->every;
    return status;
}

rp_archive_writer *rp_saver_writer(rp_saver *s)
{
    return s->resume && rp_resume_loaded(s->resume) ? rp_resume_take_writer(s->resume) : NULL;
}

/* Where every record has the digest of all states, the last one's must be that of the states that were loaded. */
static rp_status compare_states(const rp_resume_point *point, const rp_driver *driver, const rp_recorder *recorder,
                                rp_error *err)
{
    const rp_byte_source *journal = &point->journal;
    unsigned char bytes[RP_RECORD_SIZE];
    rp_digest digest;
    rp_record last;
    rp_status status;

    if (rp_driver_state_period(driver) != 1)
        return RP_OK;
    status = rp_recorder_final_state(recorder, &digest, err);
    if (status == RP_OK)
        status = journal->read(journal->self, journal->size - sizeof bytes, bytes, sizeof bytes, err);
    if (status != RP_OK)
        return status;
    if (!rp_record_read(&last, bytes) || !rp_digest_equal(&last.states, &digest))
        return rp_fail(err, RP_EHASH,
                       "resume point: its states are not those of its journal's last record: --force instead of "
                       "--resume starts again");
    return RP_OK;
}

static rp_status restore(const rp_resume_point *point, rp_driver *driver, rp_error *err)
{
    rp_tensor_set *set;
    rp_status status = rp_tensor_set_open_file(&set, point->fd, point->states_at, point->states_size,
                                               &point->states_digest, "resume point", err);

    if (status == RP_OK)
        status = rp_driver_restore(driver, point->step, set, "resume point", err);
    rp_tensor_set_free(set);
    return status;
}

rp_status rp_saver_go_on(rp_saver *s, rp_driver *driver, rp_recorder *recorder, rp_error *err)
{
    const rp_resume_point *point = s->resume ? rp_resume_loaded(s->resume) : NULL;
    rp_status status = RP_OK;

    if (!point)
        return RP_OK;
    for (size_t i = 0; i < point->programs && status == RP_OK; i++)
        status = rp_recorder_add_program(recorder, point->program[i].data, point->program[i].size, err);
    if (status == RP_OK)
        status = rp_recorder_continue(recorder, &point->journal, err);
    if (status == RP_OK)
        status = restore(point, driver, err);
    if (status == RP_OK)
        status = compare_states(point, driver, recorder, err);
    s->resumed_at = point->step;
    s->resumes = point->resumes + 1;
    s->began = (time_t)point->started;
    return status;
}

static rp_status make_point(rp_saver *s, const rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer,
                            rp_error *err)
{
    rp_status status = rp_recorder_settle(recorder, err); /* the last record may still be on its way */
    const rp_buffer *text;
    const rp_run *run = rp_driver_run(driver);
    rp_resume_point point = {.step = rp_run_steps(run),
                             .resumes = s->resumes,
                             .started = (int64_t)s->began,
                             .journal = rp_recorder_journal(recorder),
                             .fd = -1};

    if (status != RP_OK)
        return status;
    (void)rp_recorder_program(recorder, 0, &point.programs);
    point.program = rp_calloc(point.programs ? point.programs : 1, sizeof *point.program);
    point.state = rp_run_states(run, &point.n_states);
    status = point.program ? RP_OK : rp_no_memory(err);
    for (size_t i = 0; i < point.programs && status == RP_OK; i++) {
        text = rp_recorder_program(recorder, i, &point.programs);
        point.program[i] = (rp_bytes){text->data, text->size};
    }
    if (status == RP_OK)
        status = rp_resume_save(s->resume, &point, writer, err);
    rp_free(point.program);
    return status;
}

static rp_status save(rp_saver *s, const rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer)
{
    rp_error why = {0};
    double start = rp_clock();
    rp_status status = make_point(s, driver, recorder, writer, &why);

    if (status == RP_OK)
        s->points++;
    else
        note(s, why.text);
    s->next = rp_clock() + s->every;
    s->seconds += rp_clock() - start;
    return status;
}

static bool wanted(const rp_saver *s, const rp_driver *driver)
{
    return s->resume && s->every > 0 && rp_run_steps(rp_driver_run(driver)) < rp_driver_total(driver);
}

void rp_saver_tick(rp_saver *s, rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer)
{
    if (wanted(s, driver) && rp_clock() >= s->next)
        (void)save(s, driver, recorder, writer);
}

rp_status rp_saver_interrupted(rp_saver *s, rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer,
                               rp_error *err)
{
    const unsigned long long step = rp_run_steps(rp_driver_run(driver)), total = rp_driver_total(driver);

    if (s->keeps_none)
        return rp_fail(err, RP_ECANCELED,
                       "interrupted at step %llu of %llu; a pinned run keeps no resume points: it starts anew", step,
                       total);
    if (!wanted(s, driver))
        return rp_fail(err, RP_ECANCELED, "interrupted at step %llu of %llu", step, total);
    if (save(s, driver, recorder, writer) == RP_OK)
        return rp_fail(err, RP_ECANCELED, "interrupted at step %llu of %llu: --resume goes on from there", step, total);
    return rp_fail(err, RP_ECANCELED, "interrupted at step %llu of %llu; no resume point could be made: %s", step,
                   total, s->note);
}

void rp_saver_end(rp_saver *s, rp_status status, rp_error *err)
{
    if (!s->resume)
        return;
    if (status == RP_OK || status == RP_EDATA)
        rp_resume_remove(s->resume);
    else if (rp_resume_step(s->resume) && (status == RP_EIO || status == RP_ENOMEM))
        (void)rp_fail_at(err, status, "stopped, --resume goes on after step %llu",
                         (unsigned long long)rp_resume_step(s->resume));
}

void rp_saver_free(rp_saver *s)
{
    rp_resume_free(s->resume);
    s->resume = NULL;
}
