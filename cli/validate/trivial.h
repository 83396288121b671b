/* SPDX-License-Identifier: Apache-2.0
 * Whether a run is worse than the trivial model, by the figures of its own metrics. */
#ifndef CLI_VALIDATE_TRIVIAL_H
#define CLI_VALIDATE_TRIVIAL_H

#include "cli/print.h"

/* A line where a figure of the validation rows (without any: of the training rows) is worse than that of the model that
 * knows no column; it names them all. metrics: outputs/metrics.json; NULL: no line. */
void rp_put_trivial_line(rp_session *session, const rp_json *metrics);
/* The same for programs: the names of these figures. */
void rp_put_trivial_json(rp_buffer *out, const char *key, const rp_json *metrics);

/* Whether these rows, at least 20, are predicted as real outcomes hardly ever are: each class right, or R2 at least
 * 0.9999; then what gives the target away may be a combination of columns, which no look at single ones finds. */
bool rp_metrics_perfect(const rp_json *metrics);
void rp_put_perfect_line(rp_session *session, const rp_json *metrics);

#endif
