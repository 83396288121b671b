/* SPDX-License-Identifier: Apache-2.0
 * Drift of scores and features against an archive's reference, as JSON (FORMAT 15.2). Private to audit/validate. */
#ifndef AUDIT_VALIDATE_DRIFT_H
#define AUDIT_VALIDATE_DRIFT_H

#include "audit/validate/judged.h"

/* The training rows themselves, where the archive has its table; else scoring is NULL, and only bins are compared. */
typedef struct rp_training {
    rp_buffer csv;
    rp_scoring *scoring; /* of the whole table */
    rp_dataset *dataset; /* which of its rows trained */
} rp_training;

rp_status rp_training_open(rp_training *out, const rp_archive *archive, const rp_judged *judged,
                           const rp_job_options *options, rp_error *err);
void rp_training_close(rp_training *training);
/* Arrays with an object for each score, and for each column of a feature; new references. */
rp_status rp_drift_of_scores(rp_json **out, const rp_judged *judged, const rp_training *training, rp_error *err);
rp_status rp_drift_of_columns(rp_json **out, const rp_judged *judged, const rp_training *training, rp_error *err);

#endif
