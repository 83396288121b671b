/* SPDX-License-Identifier: Apache-2.0
 * What computing an archive again may cost, by the prices of audit/FORMAT.md 9. */
#ifndef AUDIT_DRIVE_BUDGET_H
#define AUDIT_DRIVE_BUDGET_H

#include "audit/drive/driver.h"

/* What the steps so far take. */
typedef struct rp_budget {
    uint64_t work;
    unsigned sides; /* programs that are in memory side by side; 0 and 1: one */
} rp_budget;
/* Adds a program that is executed so many times; what names it in errors. Errors: RP_EUNSUPPORTED beyond what the
 * options, which may be NULL, allow. */
rp_status rp_budget_add(rp_budget *budget, const rp_price *price, uint64_t times, const rp_job_options *options,
                        const char *what, rp_error *err);
/* Adds the steps first .. end - 1 of the driver; nothing is executed. Errors: RP_EUNSUPPORTED beyond what the options
 * allow; RP_EFORMAT. */
rp_status rp_replay_afford(rp_budget *budget, rp_driver *driver, uint64_t first, uint64_t end,
                           const rp_job_options *options, rp_error *err);
/* The same of every step that a replay of all of the archive can come to. */
rp_status rp_replay_afford_all(rp_driver *driver, const rp_archive *archive, const rp_job_options *options,
                               rp_error *err);

#endif
