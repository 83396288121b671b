/* SPDX-License-Identifier: Apache-2.0
 * Reason codes beside predictions: which columns speak most against what is favourable. */
#ifndef AUDIT_EXPLAIN_REASONS_H
#define AUDIT_EXPLAIN_REASONS_H

#include "audit/explain/attribution.h"
#include "rp/predict.h"

typedef struct rp_reasons rp_reasons;

/* Says in out what they are relative to. Borrows scoring and options. Errors: RP_EARG for options, those of the
 * background and the attribution. */
rp_status rp_reasons_new(rp_reasons **out, const rp_archive *archive, const rp_scoring *scoring,
                         const rp_predict_options *options, const rp_job_options *job, rp_prediction *prediction,
                         rp_error *err);
void rp_reasons_free(rp_reasons *reasons); /* NULL is fine */
/* Whether a column of predictions has that name. */
bool rp_reasons_named(const rp_predict_options *options, const char *name);
/* The cells of the header, and of a row; rows ascending. */
void rp_reasons_header(const rp_reasons *reasons, rp_buffer *out);
rp_status rp_reasons_put(rp_reasons *reasons, size_t row, rp_buffer *out, rp_prediction *prediction, rp_error *err);

#endif
