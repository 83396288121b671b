/* SPDX-License-Identifier: Apache-2.0
 * Points of a logistic model without layers (CONTRACT 14.10): one rule for the table and for a row, so that the table's
 * points are the score's. */
#ifndef AUDIT_EXPLAIN_CARD_H
#define AUDIT_EXPLAIN_CARD_H

#include "audit/explain/margin.h"
#include "core/data/schema.h"

typedef struct rp_card {
    const rp_scoring *scoring;
    rp_margin margin;
    double points, odds, twice; /* the scale */
    double factor, offset;
} rp_card;

#define RP_CARD_MOST 0x1p40 /* points are below it */

/* Borrows scoring. scale and favourable as rp_scorecard_options has them. Errors: likewise. */
rp_status rp_card_new(rp_card *out, const rp_scoring *scoring, const char *scale, const char *favourable,
                      rp_error *err);
void rp_card_clear(rp_card *card);
/* Points before they are rounded: of what a column adds to the margin; of the bias. */
double rp_card_exact(const rp_card *card, double contribution);
double rp_card_base(const rp_card *card);
/* The nearest whole number, of two the even one; |exact| is below 2^51. */
int64_t rp_card_round(double exact);
/* What a column adds to the margin, by its features, x beginning with the row's first. */
double rp_card_column(const rp_card *card, const rp_schema_column *column, const double *x);
/* A row's points. x [features]. False: a column's are not below RP_CARD_MOST. */
bool rp_card_row(const rp_card *card, const double *x, int64_t *out);
/* Whether what a column adds is small enough to be rounded to points. */
bool rp_card_fits(double exact);

#endif
