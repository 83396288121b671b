/* SPDX-License-Identifier: Apache-2.0
 * What other parts of this layer want of a replay. */
#ifndef AUDIT_REPLAY_H
#define AUDIT_REPLAY_H

#include "audit/driver.h"

/* All states after the last step as a safetensors file: the run's last segment is replayed and compared for them. */
rp_status rp_replay_last_states(rp_buffer *out, const rp_archive *archive, const rp_run_options *options, rp_error *err);
/* With rolling digests the last records leave most of the last state open; the manifest has its digest, which the recorder's
 * run must have. */
rp_status rp_replay_final_state(const rp_driver *driver, const rp_recorder *recorder, const rp_archive *archive,
                                rp_error *err);

#endif
