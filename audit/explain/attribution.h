/* SPDX-License-Identifier: Apache-2.0
 * What each column adds to a row's margin beside the reference rows (CONTRACT 14.9): exact Shapley values of linear
 * models, integrated gradients of networks. */
#ifndef AUDIT_EXPLAIN_ATTRIBUTION_H
#define AUDIT_EXPLAIN_ATTRIBUTION_H

#include "audit/explain/background.h"

enum { RP_STEPS_DEFAULT = 64 };

typedef struct rp_attribution rp_attribution;

/* steps: of networks' integrals. Borrows scoring, margin and background. Errors: RP_EUNSUPPORTED beyond what options
 * allow. */
rp_status rp_attribution_new(rp_attribution **out, const rp_scoring *scoring, const rp_margin *margin,
                             const rp_background *background, size_t steps, const rp_job_options *options,
                             rp_error *err);
void rp_attribution_free(rp_attribution *attribution); /* NULL is fine */
/* The margin of the reference: of the means. */
double rp_attribution_start(const rp_attribution *attribution);
/* Row `row` of the scoring; ascending calls are cheap. value [the schema's columns], 0 of one that is no feature;
 * margin; gap: the margin, less the reference's, less what the columns add. Errors: those of encoding and of a run. */
rp_status rp_attribution_row(rp_attribution *attribution, size_t row, const double **value, double *margin, double *gap,
                             rp_error *err);

#endif
