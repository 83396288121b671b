/* SPDX-License-Identifier: Apache-2.0
 * Whether what a verdict says of a replay can be said of this run. */
#ifndef AUDIT_TRUST_SCOPES_H
#define AUDIT_TRUST_SCOPES_H

#include "audit/archive/archive.h"

/* Every verdict that counts speaks of the run that the manifest describes: its steps and segments, what a seed draws of
 * them, how many members there are to compare (FORMAT.md 5.2). Errors: RP_ESIGN names the member, RP_ENOMEM. */
rp_status rp_scopes_check(const rp_archive *archive, const rp_verification *result, rp_error *err);

#endif
