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
/* A number out of bounds. */
bool rp_beyond(const rp_model_bound *bound, const rp_json *value);
/* As a policy writes them. */
extern const char *const rp_fall_names[RP_FALLS];
/* Why statement i does not count for a clause on figures, whoever's group its signer is of; or NULL. */
const char *rp_figures_lack(rp_check *c, size_t i);
/* Why its rows do not count: more of them than the clause allows trained the model, chose it, or are none that it is
 * for; or NULL. *unknown: the statement does not say, and so is not known to be out of scope. */
const char *rp_seen_lacks(const rp_check *c, size_t i, bool *unknown);

/* What the figures of a statement came to. */
typedef struct rp_finding_of_figures {
    const char *unknown; /* why nobody can tell whether its rows count; NULL: they do */
    bool fine, refutes;  /* refutes: in scope it fails the clause */
    bool beyond;         /* a figure that is there is out of bounds */
} rp_finding_of_figures;

/* Statement i counts, refutes or is told with what it said (taken). One that is out of bounds refutes whether it is
 * known to be in scope or not: who says no need not be known as well as who says yes. */
void rp_settle_figures(rp_check *c, size_t i, const rp_finding_of_figures *found, rp_buffer *said);
/* Why statement i is out of the clause's scope, as rp_seen_lacks; what it says of one that is in it, or may be. */
typedef const char *rp_scope_lacks(const rp_check *c, size_t i, bool *unknown);
typedef void rp_judge(rp_check *c, size_t i, const char *unknown);
/* The statements of a kind by the clause's group; then its signers outside of it are told. */
void rp_judge_figures(rp_check *c, rp_statement_kind kind, rp_scope_lacks *scope_lacks, rp_judge *judge);
/* ", of which at most 0.5 were trained on or chose the model". */
void rp_put_seen(const rp_check *c, rp_buffer *text);
/* Beside the key: what a statement is about. */
void rp_note_figures(rp_check *c, size_t i, const char *what);

#endif
