/* SPDX-License-Identifier: Apache-2.0
 * What other parts of this layer want of a replay. */
#ifndef AUDIT_REPLAY_REPLAY_H
#define AUDIT_REPLAY_REPLAY_H

#include "audit/drive/budget.h"
#include "audit/drive/driver.h"
#include "audit/record/recorder.h"

/* A driver whose run has all states after the last step: the run's last segment is replayed and compared for them. */
rp_status rp_replay_last_states(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                rp_error *err);
/* Opens the parent at path and gives the driver of a recipe with a parent the states to start from. */
rp_status rp_start_from_parent(rp_driver *driver, const char *path, const rp_run_options *options, rp_error *err);
/* With rolling digests the last records leave most of the last state open; the manifest has its digest, which the
 * recorder's run must have. */
rp_status rp_replay_final_state(const rp_driver *driver, const rp_recorder *recorder, const rp_archive *archive,
                                rp_error *err);
/* After a replay of a part: whatever is in the archive besides what the driver made, writer's members and run's keys,
 * must be what a recorder leaves at its place. run gets the recorder's keys. Errors: RP_EBITS names the member or key.
 */
rp_status rp_replay_compare_rest(const rp_archive *archive, const rp_driver *driver, const rp_archive_writer *writer,
                                 rp_json *run, rp_error *err);

#endif
