/* SPDX-License-Identifier: Apache-2.0
 * The segments of a run (FORMAT.md 12): the steps from its start or a checkpoint up to the next checkpoint or its end.
 */
#ifndef AUDIT_REPLAY_SEGMENTS_H
#define AUDIT_REPLAY_SEGMENTS_H

#include "audit/archive/archive.h"

typedef struct rp_segments {
    uint64_t total;  /* steps of the run */
    uint64_t end;    /* checkpoints lie before it */
    uint64_t period; /* steps of a segment; the last one may be shorter */
    size_t count;
} rp_segments;

/* total: steps of the run, at least 1; end: rp_driver_checkpoint_end. Every checkpoint that the manifest's period calls
 * for must be there, and no other. Errors: RP_EFORMAT. */
rp_status rp_segments_of(rp_segments *out, const rp_archive *archive, uint64_t total, uint64_t end, rp_error *err);
uint64_t rp_segment_begin(const rp_segments *segments, size_t index);
uint64_t rp_segment_end(const rp_segments *segments, size_t index); /* one past its last step */

#endif
