/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints (FORMAT.md 11): all present states after every so many steps, as members. A recipe's job lends the writer
 * of its archive. A run of the API has none before it is saved, so they wait in a spool of the recorder's own; saved in
 * between or not, what the archive then holds is a function of the steps recorded. */
#include <inttypes.h>
#include <stdio.h>

#include "audit/record/recorder_private.h"

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
    rp_status status = RP_OK;

    if (rp_recorder_steps(r) > 0 || r->failed)
        return rp_fail(err, RP_EARG, "the checkpoint period is set before the first step is recorded");
    if (period > 1000000000)
        return rp_fail(err, RP_EARG, "checkpoint period: expected 0 to 1000000000, found %" PRIu64, period);
    if (period && !r->checkpoints)
        status = rp_archive_writer_new(&r->checkpoints, NULL, err);
    if (status != RP_OK)
        return status;
    r->own_checkpoints = r->checkpoints != NULL;
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
    status = rp_recorder_add_states(r->checkpoints, rp_checkpoint_name(name, done), r->run, true, err);
    r->n_checkpoints += status == RP_OK;
    return status;
}

/* The last step may have been one of those: its states are weights/final.safetensors. */
rp_status rp_recorder_add_checkpoints(const rp_recorder *r, rp_archive_writer *writer, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_buffer file = {0};
    rp_status status = RP_OK;

    for (uint64_t i = 1; r->own_checkpoints && status == RP_OK && i * r->checkpoint_period < rp_recorder_steps(r);
         i++) {
        const rp_member *member =
            rp_archive_writer_find(r->checkpoints, rp_checkpoint_name(name, i * r->checkpoint_period));

        file.size = 0;
        status = rp_archive_writer_read(r->checkpoints, member, &file, err);
        if (status == RP_OK)
            status = rp_archive_writer_add(writer, name, file.data, file.size, err);
    }
    rp_buffer_free(&file);
    return status;
}
