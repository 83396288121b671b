/* SPDX-License-Identifier: Apache-2.0
 * A part of a run that was replayed makes a part of its members. What is in the archive besides must be what a recorder
 * leaves at that place, and no more: else a replay would seem to vouch for members and words that no run makes. */
#include <stdio.h>
#include <string.h>

#include "audit/archive/journal.h"
#include "audit/archive/manifest.h"
#include "audit/replay/replay.h"
#include "base/memory.h"

/* One more than the highest program of any record: they are numbered as they first occur. */
static rp_status count_programs(size_t *programs, const rp_archive *archive, rp_error *err)
{
    rp_windowed *journal;
    rp_record record;
    rp_status status = rp_journal_open(&journal, archive, err);

    *programs = 0;
    for (uint64_t i = 0; status == RP_OK && i < rp_journal_records(journal); i++) {
        status = rp_journal_record(journal, i, &record, err);
        if (status == RP_OK && record.program >= *programs)
            *programs = (size_t)record.program + 1;
    }
    rp_windowed_free(journal);
    return status;
}

/* Members that a recorder makes step by step. Checkpoints are those of the segments, which have been counted. */
static bool is_recorders(const char *name, size_t programs, bool recipe)
{
    static const char *const api[] = {RP_FEEDS_MEMBER, RP_FEED_ORDER_MEMBER};
    static const char folder[] = RP_PROGRAMS;
    char again[RP_MEMBER_NAME];
    rp_member_part part;
    size_t number;

    (void)rp_member_part_of(&part, name);
    if (strcmp(name, RP_JOURNAL_MEMBER) == 0 || strcmp(part.set, RP_INIT_MEMBER) == 0 ||
        rp_member_rank_of(name) == RP_RANK_CHECKPOINT)
        return true;
    for (size_t i = 0; i < sizeof api / sizeof *api && !recipe; i++)
        if (strcmp(part.set, api[i]) == 0)
            return true;
    if (strncmp(name, folder, sizeof folder - 1) != 0 || sscanf(name + sizeof folder - 1, "%zu", &number) != 1)
        return false;
    (void)rp_program_name(again, number);
    return strcmp(again, name) == 0 && number < programs;
}

/* Only all trials together make the scores out of fold. */
static bool left_to_trials(const rp_driver *driver, const char *name)
{
    return strcmp(name, RP_OUT_OF_FOLD_MEMBER) == 0 && rp_driver_recipe(driver)->data.fold == RP_ALL_FOLDS;
}

static rp_status compare_names(const rp_archive *archive, const rp_driver *driver, const rp_archive_writer *writer,
                               rp_error *err)
{
    const bool recipe = rp_driver_kind(driver) != RP_RUN_API;
    const size_t members = rp_archive_member_count(archive);
    size_t programs;
    rp_status status = count_programs(&programs, archive, err);

    /* behind the members those that were left out, which the manifest binds as well */
    for (size_t i = 1; i < members + rp_archive_withheld_count(archive) && status == RP_OK; i++) {
        const char *name =
            i < members ? rp_archive_member(archive, i)->name : rp_archive_withheld(archive, i - members);

        if (rp_member_rank_of(name) != RP_RANK_SIGNATURE && !is_recorders(name, programs, recipe) &&
            !rp_archive_writer_find(writer, name) && !(recipe && left_to_trials(driver, name)))
            status = rp_differs(err, -1, name, NULL, "present", NULL);
    }
    return status;
}

static const char *run_key(char out[80], const char *key)
{
    (void)snprintf(out, 80, "run.%.70s", key);
    return out;
}

/* run: what the driver makes of the manifest's object; the recorder's keys are put to it. journal_root and final_state
 * are compared where the journal and the last states are. */
static rp_status compare_run(const rp_archive *archive, const rp_driver *driver, rp_json *run, rp_error *err)
{
    const uint64_t total = rp_driver_total(driver), every = rp_driver_checkpoint_period(driver);
    const uint64_t states = rp_driver_state_period(driver);
    rp_json *recorded = rp_archive_manifest(archive)->run;
    const char *key;
    char name[80];
    rp_json *value;
    int failed = rp_json_object_set_new(run, "steps", rp_json_integer((int64_t)total)) |
                 rp_json_object_set(run, "journal_root", rp_json_object_get(recorded, "journal_root"));

    if (every && every < rp_driver_checkpoint_end(driver))
        failed |= rp_json_object_set_new(run, "checkpoint_every", rp_json_integer((int64_t)every));
    if (states != 1)
        failed |= rp_json_object_set_new(run, "state_period", rp_json_integer((int64_t)states)) |
                  rp_json_object_set(run, "final_state", rp_json_object_get(recorded, "final_state"));
    if (rp_json_object_get(recorded,
                           "pinned")) /* held against this host before; a part computes some of its products */
        failed |= rp_json_object_set(run, "pinned", rp_json_object_get(recorded, "pinned"));
    if (failed)
        return rp_no_memory(err);
    rp_json_object_foreach (run, key, value)
        if (!rp_json_equal(rp_json_object_get(recorded, key), value))
            return rp_json_differs(err, RP_MANIFEST_NAME, run_key(name, key), rp_json_object_get(recorded, key), value);
    rp_json_object_foreach (recorded, key, value)
        if (!rp_json_object_get(run, key))
            return rp_fail(err, RP_EBITS, RP_MANIFEST_NAME ": run.%s: in the archive, but not made by the replay", key);
    return RP_OK;
}

rp_status rp_replay_compare_rest(const rp_archive *archive, const rp_driver *driver, const rp_archive_writer *writer,
                                 rp_json *run, rp_error *err)
{
    rp_status status = compare_names(archive, driver, writer, err);

    if (status == RP_OK)
        status = compare_run(archive, driver, run, err);
    return status == RP_OK ? rp_driver_check_feeds(driver, err) : status;
}

rp_status rp_replay_final_state(const rp_driver *driver, const rp_recorder *recorder, const rp_archive *archive,
                                rp_error *err)
{
    const char *recorded = rp_json_string_value(rp_json_object_get(rp_archive_manifest(archive)->run, "final_state"));
    char found[RP_DIGEST_HEX];
    rp_digest digest;
    rp_status status;

    if (rp_driver_state_period(driver) == 1)
        return RP_OK;
    if (!recorded || strlen(recorded) != RP_DIGEST_HEX - 1)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.final_state: expected 64 hex digits");
    status = rp_recorder_final_state(recorder, &digest, err);
    if (status != RP_OK)
        return status;
    rp_digest_hex(found, &digest);
    if (strcmp(recorded, found) != 0)
        return rp_differs(err, -1, NULL, "digest of the state after the last step", recorded, found);
    return RP_OK;
}
