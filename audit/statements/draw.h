/* SPDX-License-Identifier: Apache-2.0
 * Which segments of a run a seed draws (FORMAT.md 12.2): for whoever replays them, and for whoever reads a verdict that
 * says so. */
#ifndef AUDIT_STATEMENTS_DRAW_H
#define AUDIT_STATEMENTS_DRAW_H

#include "rp/archive.h"

/* The first count of segments, ascending: a pure function of (seed, archive id, segments). count is at most segments,
 * these at most 2^32. Errors: RP_ENOMEM. */
rp_status rp_draw_segments(size_t *out, size_t count, size_t segments, const char *seed, const char *archive_id,
                           rp_error *err);

#endif
