/* SPDX-License-Identifier: Apache-2.0
 * Whether the counts in outputs/reference.json are of one and the same rows (audit/FORMAT.md 9.6). That they are those
 * of the training rows, a replay shows, and monitoring where it has the rows. */
#ifndef AUDIT_TRUST_FIGURES_REFERENCE_COUNTS_H
#define AUDIT_TRUST_FIGURES_REFERENCE_COUNTS_H

#include "audit/archive/archive.h"

/* Errors: RP_EFORMAT with the place whose counts do not sum to rows. */
rp_status rp_reference_adds_up(const rp_json *reference, rp_error *err);
/* Of an archive's member; nothing where it has none. Errors: those above, RP_EIO, RP_EHASH, RP_ENOMEM. */
rp_status rp_reference_check(const rp_archive *archive, rp_error *err);

#endif
