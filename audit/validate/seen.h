/* SPDX-License-Identifier: Apache-2.0
 * Rows that the model may have been trained on: figures of them flatter it. */
#ifndef AUDIT_VALIDATE_SEEN_H
#define AUDIT_VALIDATE_SEEN_H

#include "audit/validate/judged.h"

/* How many rows, or of those alone that have an outcome, have in every feature the value of one and the same training
 * row; -1 where the archive does not hold its table. Errors: RP_ENOMEM, those of reading it. */
rp_status rp_seen_count(int64_t *out, const rp_archive *archive, const rp_judged *judged, bool outcomes, rp_error *err);

#endif
