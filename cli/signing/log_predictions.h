/* SPDX-License-Identifier: Apache-2.0
 * reprise log on a log of predictions (docs/log.md 6). */
#ifndef CLI_SIGNING_LOG_PREDICTIONS_H
#define CLI_SIGNING_LOG_PREDICTIONS_H

#include "cli/archive_files.h"
#include "rp/log.h"

/* An object with the fields of a record. */
void rp_put_logged_json(rp_buffer *out, const char *key, const rp_logged_prediction *record);
/* A line for each record, or with --json an element of an open array. */
rp_status rp_log_list_predictions(rp_session *session, const rp_run_log *log, rp_error *err);
/* The proof that the CSV at path is in the log. Free with rp_text_free. */
rp_status rp_log_prove_file(const rp_run_log *log, const char *path, char **out, rp_error *err);
/* Whether a proof is one of predictions: its second line says so. */
bool rp_log_proves_prediction(const rp_buffer *proof);
/* Checks it and shows what it says. */
rp_status rp_log_check_file(rp_session *session, const char *path, const rp_log_text *proof, const rp_trust *trust,
                            rp_error *err);

#endif
