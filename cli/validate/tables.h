/* SPDX-License-Identifier: Apache-2.0
 * Figures of validation and monitoring as lines for people, within 80 columns. */
#ifndef CLI_VALIDATE_TABLES_H
#define CLI_VALIDATE_TABLES_H

#include "cli/print.h"

/* predicate: of a statement of validation (audit/FORMAT.md 15.1), of monitoring (15.2). */
void rp_put_validation(rp_session *session, const rp_json *predicate);
void rp_put_monitoring(rp_session *session, const rp_json *predicate);

/* scores, columns and samples of either, or of a retraining's drift (15.5). */
void rp_put_drifts(rp_session *session, const rp_json *drift);

typedef struct rp_figure_text {
    char text[RP_NUMBER_TEXT];
} rp_figure_text;
/* A figure with so many decimals; a dash where it is not defined. */
rp_figure_text rp_figure_of(const rp_json *value, size_t decimals);

#endif
