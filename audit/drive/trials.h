/* SPDX-License-Identifier: Apache-2.0
 * Trials of a recipe (core/trials/trials.h) with what an archive says of them: the digest of each one's last states,
 * and, in a replay, that each came out as recorded. */
#ifndef AUDIT_DRIVE_TRIALS_H
#define AUDIT_DRIVE_TRIALS_H

#include "audit/drive/driver.h"
#include "core/trials/trials.h"

/* Makes the trials of a run that begins; nothing for a recipe that tries nothing. Its epochs are a number then. Errors:
 * those of rp_trials_run; RP_ECANCELED. */
rp_status rp_trials_make(rp_trials *out, rp_recipe *recipe, const rp_source_text *table, const rp_job_options *options,
                         rp_error *err);
/* Makes an archive's trials again; each must be as recorded. drawn: the numbers, in any order, of so many of them, and
 * out is then empty; NULL: all. Errors: RP_EBITS names the trial that differs, or the choice; RP_EUNSUPPORTED beyond
 * what the options allow. */
rp_status rp_trials_repeat(rp_trials *out, const rp_archive *archive, const size_t *drawn, size_t count,
                           const rp_job_options *options, rp_error *err);

#endif
