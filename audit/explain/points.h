/* SPDX-License-Identifier: Apache-2.0
 * Points beside predictions. */
#ifndef AUDIT_EXPLAIN_POINTS_H
#define AUDIT_EXPLAIN_POINTS_H

#include "audit/replay/scoring.h"
#include "rp/predict.h"

typedef struct rp_points rp_points;

/* By options->points and options->favourable. Borrows scoring. Errors: those of rp_scorecard. */
rp_status rp_points_new(rp_points **out, const rp_scoring *scoring, const rp_predict_options *options, rp_error *err);
void rp_points_free(rp_points *points); /* NULL is fine */
/* The cell of a row. */
rp_status rp_points_put(rp_points *points, size_t row, rp_buffer *out, rp_error *err);

#endif
