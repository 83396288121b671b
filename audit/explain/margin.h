/* SPDX-License-Identifier: Apache-2.0
 * What is explained of a model: one number a row, the margin of what is favourable (CONTRACT 14.9). */
#ifndef AUDIT_EXPLAIN_MARGIN_H
#define AUDIT_EXPLAIN_MARGIN_H

#include "audit/replay/scoring.h"

typedef struct rp_margin {
    size_t favourable;  /* class; of a regression 1 for high, 0 for low */
    double *direction;  /* [outputs]: what each logit counts */
    double unit, start; /* of a regression with a standardised target: its divisor and mean; else 1 and 0 */
    bool linear;        /* no hidden and no convolution layers: then */
    double *weight;     /* [features]: what a feature adds, in the margin's unit */
    double bias;
} rp_margin;

/* favourable: a class, or high or low of a regression; NULL: the last class, or high. Errors: RP_EARG. */
rp_status rp_margin_new(rp_margin *out, const rp_scoring *scoring, const char *favourable, rp_error *err);
void rp_margin_clear(rp_margin *margin);
/* Of a row's logits. */
double rp_margin_of(const rp_margin *margin, const float *logits, size_t outputs);
/* What is held against a cut-off, of a row's scores as they are reported: the favourable class's, or the value. */
double rp_margin_score(const rp_margin *margin, const rp_scoring *scoring, const double *scores);
/* Whether such a score reaches it: of a regression where low is favourable, when it is not above. */
bool rp_margin_passes(const rp_margin *margin, const rp_scoring *scoring, double score, double cutoff);

#endif
