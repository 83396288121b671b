/* SPDX-License-Identifier: Apache-2.0
 * What of a job's options is the run's. */
#ifndef AUDIT_RECORD_JOB_OPTIONS_H
#define AUDIT_RECORD_JOB_OPTIONS_H

#include "rp/audit.h"

/* options may be NULL; its strings are borrowed. The profile is not a job's: the recipe or the archive says it. */
static inline rp_run_options rp_job_run_options(const rp_job_options *options)
{
    return options ? (rp_run_options){.threads = options->threads,
                                      .level = options->level,
                                      .device = options->device,
                                      .max_memory = options->max_memory,
                                      .memory = options->memory}
                   : (rp_run_options){.threads = 0};
}

#endif
