/* SPDX-License-Identifier: Apache-2.0
 * Going on with a run of the API: an archive of its first steps holds all that the recorder knew then, and the states.
 */
#include <string.h>

#include "audit/archive/periods.h"
#include "audit/record/data_use.h"
#include "audit/record/recorder_private.h"
#include "base/handle.h"

static rp_status another(const char *what, rp_error *err)
{
    return rp_fail(err, RP_EARG, "not an archive of this run: %s", what);
}

static bool same_parent(const rp_recorder *r, const rp_archive *archive)
{
    const rp_json *said = rp_json_object_get(rp_archive_manifest(archive)->run, "parent");

    return r->parent && said ? rp_json_equal(said, r->parent) : !r->parent && !said;
}

/* The archive has what its programs used. */
static rp_status used_so_far(rp_data_use *use, const rp_archive *archive, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_buffer bytes = {0};
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && rp_archive_find(archive, rp_program_name(name, i)); i++) {
        status = rp_archive_read_member(archive, name, (size_t)64 << 20, &bytes, err);
        if (status == RP_OK)
            status = rp_data_use_text(use, &bytes, name, err);
    }
    rp_buffer_free(&bytes);
    return status;
}

static rp_status same_data(bool *same, const rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    rp_archive_writer *writer = NULL;
    rp_data_use use;
    rp_status status = rp_data_use_begin(&use, r->run, err);

    if (status == RP_OK)
        status = used_so_far(&use, archive, err);
    if (status == RP_OK)
        status = rp_archive_writer_digests(&writer, err);
    if (status == RP_OK)
        status = rp_data_add(writer, &use, err);
    *same = status == RP_OK && rp_set_in_archive(writer, archive, RP_TENSORS_MEMBER);
    rp_archive_writer_free(writer);
    rp_data_use_free(&use);
    return status;
}

/* The same first states, data and ways of recording. */
static rp_status check_same_run(const rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    uint64_t states, checkpoints;
    bool same;
    rp_status status;

    if (!rp_set_in_archive(r->store, archive, RP_INIT_MEMBER))
        return another("its first states are others", err);
    status = rp_archive_state_period(archive, &states, err);
    if (status == RP_OK)
        status = rp_archive_checkpoint_period(archive, &checkpoints, err);
    if (status == RP_OK && (states != (r->rolling ? rp_rolling_period(r->rolling) : 1) ||
                            (checkpoints && checkpoints != r->checkpoint_period)))
        return another("its state period or checkpoint period is another", err);
    if (status == RP_OK && !same_parent(r, archive))
        return another("its parent is another", err);
    if (status == RP_OK)
        status = same_data(&same, r, archive, err);
    return status != RP_OK || same ? status : another("its data are others", err);
}

static rp_status take_programs(rp_recorder *r, const rp_archive *archive, rp_buffer *bytes, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK; i++) {
        (void)rp_program_name(name, i);
        if (!rp_archive_find(archive, name))
            break;
        status = rp_archive_read_member(archive, name, (size_t)64 << 20, bytes, err);
        if (status == RP_OK)
            status = rp_recorder_add_program(r, bytes->data, bytes->size, err);
    }
    return status;
}

static rp_status take_states(rp_recorder *r, const rp_archive *archive, uint64_t steps, rp_error *err)
{
    rp_set_values values = {.set = NULL};
    const rp_value_source from = rp_values_of(&values);
    rp_tensor_set *set;
    rp_status status = rp_tensor_set_open(&set, archive, RP_FINAL_MEMBER, err);

    values.set = set;
    if (status == RP_OK)
        status = rp_run_restore(r->run, steps, &from, err);
    rp_tensor_set_free(set);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_FINAL_MEMBER) : status;
}

static rp_status take_checkpoints(rp_recorder *r, const rp_archive *archive, uint64_t steps, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < rp_archive_member_count(archive) && status == RP_OK; i++) {
        const rp_member *member = rp_archive_member(archive, i);
        rp_member_part part;

        if (rp_member_rank_of(member->name) != RP_RANK_CHECKPOINT)
            continue;
        (void)rp_member_part_of(&part, member->name);
        status = rp_archive_writer_take(r->store, archive, member, err);
        r->n_checkpoints += part.part == 1;
    }
    /* the last step's states are no checkpoint of an archive that ends with them */
    return status == RP_OK ? rp_recorder_checkpoint(r, steps, err) : status;
}

/* Those that the recorder would have made, and no others. */
static rp_status check_checkpoints(const rp_recorder *r, const rp_archive *archive, uint64_t steps, rp_error *err)
{
    const uint64_t expected = r->checkpoint_period && steps ? (steps - 1) / r->checkpoint_period : 0;
    char name[RP_MEMBER_NAME];

    for (uint64_t i = 1; i <= expected; i++)
        if (!rp_tensor_set_present(archive, rp_checkpoint_name(name, i * r->checkpoint_period)))
            return rp_fail(err, RP_EFORMAT, "%s: missing from the archive", name);
    return rp_archive_checkpoints(archive) == expected
               ? RP_OK
               : rp_fail(err, RP_EFORMAT, RP_CHECKPOINTS ": not those after every %llu of %llu steps",
                         (unsigned long long)r->checkpoint_period, (unsigned long long)steps);
}

static rp_status take(rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_windowed *journal = NULL;
    uint64_t steps = 0;
    rp_status status = take_programs(r, archive, &bytes, err);

    if (status == RP_OK)
        status = rp_journal_open(&journal, archive, err);
    if (status == RP_OK) {
        const rp_byte_source records = rp_windowed_source(journal);

        steps = rp_journal_records(journal);
        status = rp_recorder_continue(r, &records, err);
    }
    rp_windowed_free(journal);
    if (status == RP_OK)
        status = rp_feeds_take(r->feeds, archive, err);
    if (status == RP_OK)
        status = take_states(r, archive, steps, err);
    if (status == RP_OK)
        status = check_checkpoints(r, archive, steps, err);
    if (status == RP_OK)
        status = take_checkpoints(r, archive, steps, err);
    rp_buffer_free(&bytes);
    return status;
}

rp_status rp_recorder_resume(rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    if (!r || !archive)
        return rp_no_handle(err, __func__, r ? "archive" : "recorder");

    rp_status status;

    if (!r->store || rp_run_steps(r->run) || rp_growing_size(&r->journal) || r->failed)
        return rp_fail(err, RP_EARG, "a run goes on before its first step, with a recorder that was just made");
    if (rp_archive_manifest(archive)->kind != RP_RUN_API)
        return another("a recipe made it", err);
    if (r->pinned || rp_archive_manifest(archive)->pinned) /* which products were computed only its process knows */
        return rp_fail(err, RP_EUNSUPPORTED,
                       "a run in the pinned profile does not go on from an archive, nor does another from its archive: "
                       "start it anew, or name that archive as the parent");
    if (r->salted)
        return rp_fail(err, RP_EUNSUPPORTED, "a run that withholds its data cannot go on from an archive");
    status = check_same_run(r, archive, err);
    if (status == RP_OK) {
        status = take(r, archive, err);
        r->failed = status != RP_OK;
        r->resumes = 1;
    }
    return status;
}
