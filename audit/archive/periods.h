/* SPDX-License-Identifier: Apache-2.0
 * How a run was recorded, as its manifest says (FORMAT.md 9 to 11). */
#ifndef AUDIT_ARCHIVE_PERIODS_H
#define AUDIT_ARCHIVE_PERIODS_H

#include "audit/archive/archive.h"

enum { RP_STATE_PERIOD_MAX = 65536, RP_CHECKPOINT_PERIOD_MAX = 1000000000 };

/* The period of rolling state digests: 1 when the manifest says nothing. Errors: RP_EFORMAT. */
rp_status rp_archive_state_period(const rp_archive *archive, uint64_t *out, rp_error *err);
/* The steps between two checkpoints: 0 when the archive has none. Errors: RP_EFORMAT. */
rp_status rp_archive_checkpoint_period(const rp_archive *archive, uint64_t *out, rp_error *err);
/* The number of steps that every checkpoint lies before, of a run of a kind and so many steps that evaluates from a
 * step on. */
uint64_t rp_checkpoint_end(rp_run_kind kind, uint64_t steps, uint64_t evaluates_from);
/* Checkpoints that the archive has, each counted once, in parts or not. */
size_t rp_archive_checkpoints(const rp_archive *archive);

#endif
