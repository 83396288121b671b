/* SPDX-License-Identifier: Apache-2.0
 * One clause of a policy under check (policy_check.c), and the evidence it is held against (policy_evidence.c).
 * Statements are named by their place in verified->statement. */
#ifndef AUDIT_TRUST_POLICY_CHECK_H
#define AUDIT_TRUST_POLICY_CHECK_H

#include "audit/trust/policy.h"
#include "base/buffer.h"

typedef struct rp_check {
    const rp_policy *policy;
    const rp_clause *clause;
    const rp_group *group;
    const rp_verification *verified;
    const rp_verified_standing **standing; /* of each statement, then of each other, for this clause; NULL: none */
    rp_buffer found;                       /* what speaks against it, or for it; ", " in between */
    size_t notes;
    uint64_t counted; /* different people, as far as one can tell; no more than can be asked for */
    struct {
        const char *key_id, *subject; /* subject: NULL where the group is one of keys */
    } who[RP_POLICY_GROUP_KEYS];
    bool refuted;
    char why[320]; /* what rp_evidence_date_lacks or _why_not returns */
} rp_check;

/* The clause on replays (policy_replay.c). */
void rp_check_replay(rp_check *c, rp_buffer *text);
/* The clause on findings (policy_findings.c). */
void rp_check_findings(rp_check *c, rp_buffer *text);
/* Why verdict i "identical" does not meet the clause on replays, or NULL. */
const char *rp_verdict_lacks(rp_check *c, size_t i);
/* Clauses on the run itself (policy_model.c): text gets what is asked for, and c->refuted is set where it is not so. */
void rp_check_parent_clause(rp_check *c, rp_buffer *text);
void rp_check_run_kind(rp_check *c, rp_buffer *text);
void rp_check_metrics(rp_check *c, rp_buffer *text);
void rp_check_recipe(rp_check *c, rp_buffer *text);
void rp_check_card(rp_check *c, rp_buffer *text);
void rp_check_valid(rp_check *c, rp_buffer *text);
void rp_check_trials(rp_check *c, rp_buffer *text);
void rp_check_columns(rp_check *c, rp_buffer *text);
/* "a, b": the texts that the clause lists. */
void rp_put_words(const rp_check *c, rp_buffer *text);
/* Of figures of the run's own rows: where it has a parent, that this one may have been trained on them. */
void rp_note_started(rp_check *c);
void rp_check_conformant(rp_check *c, rp_buffer *text);
/* What computed the run (pinned/policy_pinned.c). */
void rp_check_profile(rp_check *c, rp_buffer *text);
void rp_check_library(rp_check *c, rp_buffer *text);
void rp_check_emulated(rp_check *c, rp_buffer *text);
/* Clauses on figures (audit/trust/figures/). */
void rp_check_validation(rp_check *c, rp_buffer *text);
void rp_check_drift(rp_check *c, rp_buffer *text);
void rp_check_slices(rp_check *c, rp_buffer *text);
void rp_check_selection(rp_check *c, rp_buffer *text);
void rp_check_fall(rp_check *c, rp_buffer *text);

/* Close in any case. Errors: RP_ENOMEM. */
rp_status rp_evidence_open(rp_check *out, const rp_policy *policy, const rp_clause *clause,
                           const rp_verification *verified, rp_error *err);
void rp_evidence_close(rp_check *check);

/* Whether a key is in the clause's group, which is one of keys. */
bool rp_evidence_has_key(const rp_check *c, const char *key_id);
/* Whether the signer of statement i is of the clause's group. */
bool rp_evidence_in_group(const rp_check *c, size_t i);
/* Why statement i is not dated as the clause asks, or NULL. */
const char *rp_evidence_date_lacks(rp_check *c, size_t i);
/* That the run was made by the signer of statement i, by its key, one of the same line of hand-overs or a certificate
 * of the same subject, or that this cannot be ruled out, as no provenance counts; else NULL. */
const char *rp_evidence_made_run(const rp_check *c, size_t i);
/* Whether decision i says a time that has not come: it may not supersede what is decided until then. */
bool rp_evidence_to_come(const rp_check *c, size_t i);
/* Whether both were signed by one key, or one of its line of hand-overs. */
bool rp_evidence_same_signer(const rp_check *c, size_t i, size_t j);
/* Whether decision i no longer stands because its signer decided otherwise in decision j. */
bool rp_evidence_replaced(const rp_check *c, size_t i, size_t j);

/* What the clause asks of dates, appended to what it asks for. */
void rp_evidence_describe_dates(const rp_check *c, rp_buffer *text);
/* What a key did; of very many the first ones. */
void rp_evidence_note(rp_check *c, const char *key_id, const rp_verified_standing *standing, const char *what);
void rp_evidence_note_statement(rp_check *c, size_t i, const char *what);
/* Its signer counts, once, however much it has signed and under however many certificates of one subject. */
void rp_evidence_count(rp_check *c, size_t i, const char *what);
void rp_evidence_count_key(rp_check *c, const char *key_id, const char *what);
/* Verdicts "differs" and rejections in the name of the group by whose key or certificate does not count, or not any
 * more: they fail the clause all the same, unless it ignores them. */
void rp_evidence_refuse(rp_check *c);
/* Why a statement by a key of the group counts for nothing. */
const char *rp_evidence_why_not(rp_check *c, const rp_verified_statement *one);
/* Statements that the clause is about, by signers that are not counted as the group's: why not. */
void rp_evidence_note_outsiders(rp_check *c);

#endif
