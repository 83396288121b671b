/* SPDX-License-Identifier: Apache-2.0
 * The rows that a row's reasons are relative to: all training rows, or those at and just above a cut-off (CONTRACT
 * 14.9). Of them only the means of their features are kept. */
#ifndef AUDIT_EXPLAIN_BACKGROUND_H
#define AUDIT_EXPLAIN_BACKGROUND_H

#include "audit/explain/margin.h"

typedef struct rp_background {
    double *mean; /* [features] */
    size_t rows;
    double highest; /* score among the rows of a cut-off population; the lowest where low is favourable */
} rp_background;

enum { RP_CUTOFF_ROWS = 30 };

/* cutoff NULL: all training rows. Errors: RP_EUNSUPPORTED: the archive does not hold the training rows; RP_EDATA: no
 * row reaches the cut-off; those of preparing and scoring them. */
rp_status rp_background_new(rp_background *out, const rp_archive *archive, const rp_scoring *scoring,
                            const rp_margin *margin, const double *cutoff, const rp_job_options *options,
                            rp_error *err);
void rp_background_clear(rp_background *background);

#endif
