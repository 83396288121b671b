/* SPDX-License-Identifier: Apache-2.0
 * What the clauses on figures share. */
#ifndef AUDIT_TRUST_FIGURES_FIGURE_TEXT_H
#define AUDIT_TRUST_FIGURES_FIGURE_TEXT_H

#include "audit/trust/facts.h"
#include "audit/trust/policy_check.h"

/* A number's shortest decimal. */
void rp_put_bound(rp_buffer *out, double value);
/* " at least 0.7 and at most 1". */
void rp_put_bounds(rp_buffer *out, const rp_model_bound *bound);
/* False for what is no number, NaN among it. */
bool rp_within(const rp_model_bound *bound, const rp_json *value);
/* As a policy writes them. */
extern const char *const rp_fall_names[RP_FALLS];
/* Why statement i does not count for a clause on figures, whoever's group its signer is of; or NULL. */
const char *rp_figures_lack(rp_check *c, size_t i);
/* Why its rows do not count: more of them than the clause allows trained the model, chose it, or are none that it is
 * for; or NULL. */
const char *rp_seen_lacks(const rp_check *c, size_t i);
/* ", of which at most 0.5 were trained on or chose the model". */
void rp_put_seen(const rp_check *c, rp_buffer *text);
/* Beside the key: what a statement is about. */
void rp_note_figures(rp_check *c, size_t i, const char *what);

#endif
