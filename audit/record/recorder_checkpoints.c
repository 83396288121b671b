/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints (FORMAT.md 11): all present states after every so many steps, as members. A recipe's job lends the writer
 * of its archive. A run of the API has none before it is saved, so they wait in a spool of the recorder's own; saved in
 * between or not, what the archive then holds is a function of the steps recorded. */
#include <inttypes.h>
#include <string.h>

#include "audit/record/recorder_private.h"
#include "base/handle.h"

/* Well below the members that an archive can have, programs included. */
enum { CHECKPOINTS_MAX = 50000 };

static rp_status too_many(uint64_t period, rp_error *err)
{
    return rp_fail(err, RP_EARG, "checkpoints every %" PRIu64 " steps: more than %d in one run: take fewer", period,
                   (int)CHECKPOINTS_MAX);
}

rp_status rp_recorder_checkpoints_into(rp_recorder *r, uint64_t period, uint64_t total, rp_archive_writer *writer,
                                       rp_error *err)
{
    if (period && total && (total - 1) / period > CHECKPOINTS_MAX)
        return too_many(period, err);
    r->checkpoint_period = period;
    r->total = total;
    r->checkpoints = writer;
    return RP_OK;
}

rp_status rp_recorder_set_checkpoint_period(rp_recorder *r, uint64_t period, rp_error *err)
{
    if (!r)
        return rp_no_handle(err, __func__, "recorder");
    if (rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "the checkpoint period is set before the first step is recorded");
    if (period > 1000000000)
        return rp_fail(err, RP_EARG, "checkpoint period: expected 0 to 1000000000, found %" PRIu64, period);
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
    if (r->n_checkpoints == CHECKPOINTS_MAX)
        return too_many(r->checkpoint_period, err);
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
