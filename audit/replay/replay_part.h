/* SPDX-License-Identifier: Apache-2.0
 * Replaying some segments of a run. Private to replay.c, which decides what is replayed, replay_part.c, which does
 * it, and look/, which goes to one step. */
#ifndef AUDIT_REPLAY_REPLAY_PART_H
#define AUDIT_REPLAY_REPLAY_PART_H

#include "audit/drive/driver.h"
#include "audit/record/recorder.h"
#include "audit/replay/segments.h"

typedef struct rp_part {
    const rp_archive *archive;
    const rp_job_options *options;
    rp_segments segments;
    size_t *chosen; /* ascending; owned by whoever made the part */
    size_t n_chosen;
    uint64_t end;      /* one past the last step to be replayed; it may lie inside the last chosen segment */
    unsigned parallel; /* segments at a time */
    uint64_t steps;    /* all of that together */
} rp_part;

/* Replays the segments on driver, which is fresh, and on clones of it, and compares; a recipe's driver has then made
 * its last evaluations, be it from the final weights. *nanoseconds: spent comparing. Errors: RP_EBITS at the first
 * difference of the first segment that has one, whatever the number of threads; RP_ECANCELED. */
rp_status rp_part_replay(const rp_part *part, rp_driver *driver, uint64_t *nanoseconds, rp_error *err);
/* A recorder that compares the driver's steps with the archive's records, wherever they begin: it knows the archive's
 * programs by their numbers, since a segment does not begin with the first one. */
rp_status rp_part_watch(rp_recorder **out, rp_driver *driver, const rp_archive *archive, rp_error *err);

#endif
