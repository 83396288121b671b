/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints (FORMAT.md 11): all present states after every so many steps, as members. A recipe's job lends the writer
 * of its archive. A run of the API has none before it is saved, so they wait in a spool of the recorder's own; saved in
 * between or not, what the archive then holds is a function of the steps recorded. */
#include <inttypes.h>
#include <string.h>

#include "audit/record/recorder_private.h"
#include "base/handle.h"

/* Members of an archive that are no checkpoints: programs, signatures, and what there is one of. The states before the
 * first step, those after the last and those of a parent are as many parts as a checkpoint. */
enum { CHECKPOINTS_MAX = 50000, OTHERS = 10000 + RP_SIGNATURE_LIMIT + 64, SETS = 3 };

/* How many fit into an archive beside all else. */
static rp_status measure(rp_recorder *r, rp_error *err)
{
    const size_t room = RP_MEMBER_LIMIT - OTHERS;
    rp_status status = rp_states_parts(&r->checkpoint_parts, r->run, err);

    if (status != RP_OK)
        return status;
    r->checkpoints_max = room / r->checkpoint_parts > SETS ? room / r->checkpoint_parts - SETS : 0;
    if (r->checkpoints_max > CHECKPOINTS_MAX)
        r->checkpoints_max = CHECKPOINTS_MAX;
    return RP_OK;
}

/* steps: of the run, as far as they are known. */
static rp_status too_many(const rp_recorder *r, uint64_t period, uint64_t steps, rp_error *err)
{
    const uint64_t least = r->checkpoints_max ? (steps - 1) / (r->checkpoints_max + 1) + 1 : steps;

    return rp_fail(
        err, RP_EARG,
        "checkpoints every %" PRIu64 " steps: %" PRIu64 " in %" PRIu64
        " steps, each of %zu members (the states have so many parts): at most %zu fit into an archive: take one "
        "every %" PRIu64 " steps or more",
        period, (steps - 1) / period, steps, r->checkpoint_parts, r->checkpoints_max, least);
}

rp_status rp_recorder_checkpoints_into(rp_recorder *r, uint64_t period, uint64_t total, rp_archive_writer *writer,
                                       rp_error *err)
{
    rp_status status = measure(r, err);

    if (status == RP_OK && period && total && (total - 1) / period > r->checkpoints_max)
        status = too_many(r, period, total, err);
    if (status != RP_OK)
        return status;
    r->checkpoint_period = period;
    r->total = total;
    r->checkpoints = writer;
    return RP_OK;
}

void rp_recorder_ends(rp_recorder *r, uint64_t total)
{
    r->total = total;
}

rp_status rp_recorder_set_checkpoint_period(rp_recorder *r, uint64_t period, rp_error *err)
{
    rp_status status;

    if (!r)
        return rp_no_handle(err, __func__, "recorder");
    if (rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "the checkpoint period is set before the first step is recorded");
    if (period > 1000000000)
        return rp_fail(err, RP_EARG, "checkpoint period: expected 0 to 1000000000, found %" PRIu64, period);
    status = measure(r, err);
    if (status == RP_OK && period && r->checkpoints_max == 0)
        status = too_many(r, period, period + 1, err);
    if (status != RP_OK)
        return status;
    r->checkpoints = r->store;
    r->checkpoint_period = period;
    r->total = UINT64_MAX;
    return RP_OK;
}

rp_status rp_recorder_checkpoint(rp_recorder *r, uint64_t done, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_status status;

    if (!r->checkpoint_period || done % r->checkpoint_period != 0 || done >= r->total)
        return RP_OK;
    if (r->n_checkpoints >= r->checkpoints_max) /* of a run of the API, whose end nobody knows before */
        return too_many(r, r->checkpoint_period, done + 1, err);
    status = rp_states_add(r->checkpoints, rp_checkpoint_name(name, done), r->run, true, err);
    r->n_checkpoints += status == RP_OK;
    return status;
}

/* The last step may have been one of those: its states are weights/final.safetensors. */
rp_status rp_recorder_add_stored(const rp_recorder *r, rp_archive_writer *writer, rp_error *err)
{
    char last[RP_MEMBER_NAME];
    rp_status status = RP_OK;

    (void)rp_checkpoint_name(last, rp_recorder_steps(r));
    for (size_t i = 0; r->store && i < rp_archive_writer_member_count(r->store) && status == RP_OK; i++) {
        const rp_member *member = rp_archive_writer_member(r->store, i);
        rp_member_part part;

        (void)rp_member_part_of(&part, member->name);
        if (strcmp(part.set, last) != 0)
            status = rp_archive_writer_borrow(writer, r->store, member, err);
    }
    return status;
}
