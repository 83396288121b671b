/* SPDX-License-Identifier: Apache-2.0
 * Rows that the model may have been trained on: figures of them flatter it. */
#ifndef AUDIT_VALIDATE_SEEN_H
#define AUDIT_VALIDATE_SEEN_H

#include "audit/validate/judged.h"

/* How many of the rows that have an outcome have in every feature the value of one and the same row that trained the
 * weights: a training row of the run, of the run that it started from, of that one's parent and so on, which are looked
 * for among the n parents. -1 where one of their tables is not at hand, or has no such columns. Errors: RP_ENOMEM,
 * those of reading the run's own. */
rp_status rp_seen_count(int64_t *out, const rp_archive *archive, const rp_judged *judged,
                        const rp_archive *const *parents, size_t n, rp_error *err);
/* The same of all rows, with an outcome or without, and of the run's own training rows alone. */
rp_status rp_seen_own(int64_t *out, const rp_archive *archive, const rp_judged *judged, rp_error *err);

#endif
