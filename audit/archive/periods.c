/* SPDX-License-Identifier: Apache-2.0
 * The periods of the manifest's run object. */
#include "audit/archive/periods.h"

rp_status rp_archive_state_period(const rp_archive *archive, uint64_t *out, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run, *period = rp_json_object_get(run, "state_period");
    int64_t value = period ? rp_json_integer_value(period) : 1;

    if (period && (!rp_json_is_integer(period) || value < 2 || value > RP_STATE_PERIOD_MAX))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.state_period: expected an integer from 2 to %d",
                       (int)RP_STATE_PERIOD_MAX);
    *out = (uint64_t)value;
    return RP_OK;
}

rp_status rp_archive_checkpoint_period(const rp_archive *archive, uint64_t *out, rp_error *err)
{
    const rp_json *run = rp_archive_manifest(archive)->run, *period = rp_json_object_get(run, "checkpoint_every");
    int64_t value = period ? rp_json_integer_value(period) : 0;

    if (period && (!rp_json_is_integer(period) || value < 1 || value > RP_CHECKPOINT_PERIOD_MAX))
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": run.checkpoint_every: expected an integer from 1 to %d",
                       (int)RP_CHECKPOINT_PERIOD_MAX);
    *out = (uint64_t)value;
    return RP_OK;
}

uint64_t rp_checkpoint_end(rp_run_kind kind, uint64_t steps, uint64_t evaluates_from)
{
    return kind == RP_RUN_TEXT && evaluates_from < steps ? evaluates_from + 1 : steps;
}

size_t rp_archive_checkpoints(const rp_archive *archive)
{
    size_t n = 0;

    for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
        const char *name = rp_archive_member(archive, i)->name;
        rp_member_part part;

        (void)rp_member_part_of(&part, name);
        n += rp_member_rank_of(name) == RP_RANK_CHECKPOINT && part.part == 1;
    }
    return n;
}
