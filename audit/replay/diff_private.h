/* SPDX-License-Identifier: Apache-2.0
 * One side of a comparison. Private to diff.c and diff_journal.c. */
#ifndef AUDIT_REPLAY_DIFF_PRIVATE_H
#define AUDIT_REPLAY_DIFF_PRIVATE_H

#include "audit/drive/driver.h"
#include "audit/archive/journal.h"
#include "base/buffer.h"

/* One archive being compared. */
typedef struct side {
    const char *label; /* "A" or "B" */
    const rp_archive *archive;
    rp_buffer journal;
    bool bound_apart; /* inputs by another salt than the other side's: digests of feeds tell nothing */
    rp_driver *driver;
    uint64_t step; /* the step to look into */
    bool shared;   /* both are computed from the checkpoint at base, which they share (0: from the start); else each */
    uint64_t base; /* from its own nearest one */
    rp_program *program; /* of that step */
    void **input;        /* copies of its inputs, on the driver's device */
    size_t n_inputs;
    void **before; /* copies of the states before it, there too */
    size_t n_states;
    rp_digest states, results; /* what this host computed for the step */
    uint64_t digests_compared, steps_recomputed;
    rp_graph *trace;
} side;

/* Opens the driver and brings it to the shared checkpoint, else to the nearest one at or before the side's step, if the
 * journal vouches for its states, else to the start. */
rp_status rp_diff_open(side *s, const rp_run_options *options, rp_error *err);
/* Writes what the journals differ in; *look says whether a->step and b->step are then to be looked into. */
rp_status rp_diff_journals(side *a, side *b, const rp_run_options *options, rp_buffer *out, bool *look, rp_error *err);

#endif
