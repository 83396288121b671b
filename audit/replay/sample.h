/* SPDX-License-Identifier: Apache-2.0
 * Drawing segments of a run by a seed that the auditor names (FORMAT.md 12), and what a sample can catch: what of it is
 * not public (rp/audit.h). */
#ifndef AUDIT_REPLAY_SAMPLE_H
#define AUDIT_REPLAY_SAMPLE_H

#include "rp/audit.h"

/* So many of `segments` are drawn for a share in millionths: rounded up, so at least one. */
size_t rp_sample_count(size_t segments, uint32_t share);

#endif
