/* SPDX-License-Identifier: Apache-2.0
 * What a retraining changed, as lines for people, within 80 columns. */
#ifndef CLI_RETRAIN_COMPARISON_H
#define CLI_RETRAIN_COMPARISON_H

#include "cli/print.h"

/* The object `changes` of audit/FORMAT.md 15.5; the whole predicate. */
void rp_put_retraining_changes(rp_session *session, const rp_json *changes);
void rp_put_retraining(rp_session *session, const rp_json *predicate);

#endif
