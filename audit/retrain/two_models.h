/* SPDX-License-Identifier: Apache-2.0
 * Parent and child on the same rows, and what is said of them (audit/FORMAT.md 15.5). Private to audit/retrain. */
#ifndef AUDIT_RETRAIN_TWO_MODELS_H
#define AUDIT_RETRAIN_TWO_MODELS_H

#include "audit/validate/judged.h"

typedef struct rp_two_models {
    const rp_judged *parent, *child; /* of the same rows in the same order, with the same outcomes and classes */
    double threshold;                /* of two classes; NaN: 0.5 */
} rp_two_models;

/* {"auc", "loss"}: the child's area less the parent's, and its loss a row. */
rp_status rp_two_models_difference(rp_json **out, const rp_two_models *m, rp_error *err);
/* An array with an object for each score: bands and who moved between them, rank correlations, differences. */
rp_status rp_two_models_scores(rp_json **out, const rp_two_models *m, rp_error *err);
/* What each of them decides, and which of them is right; null of a regression. */
rp_status rp_two_models_decisions(rp_json **out, const rp_two_models *m, rp_error *err);

#endif
