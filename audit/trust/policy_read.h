/* SPDX-License-Identifier: Apache-2.0
 * A policy while it is read: what its files share (policy.c, policy_groups.c,
 * policy_authorities.c, policy_clauses.c). */
#ifndef AUDIT_TRUST_POLICY_READ_H
#define AUDIT_TRUST_POLICY_READ_H

#include "audit/trust/policy.h"
#include "base/node_read.h"

enum { RP_POLICY_PATH = 96 };

/* Like a recipe's reader it remembers the first mistake, and later calls do nothing. */
typedef struct rp_policy_reader {
    rp_node_reader r;
    rp_policy *policy;
    const char *folder; /* of the policy's file; NULL: a text without one */
} rp_policy_reader;

/* Refuses a key of the mapping that is not among keys; path "": the top. */
void rp_policy_check_keys(rp_policy_reader *in, const rp_node *mapping, const char *path, const char *const *keys,
                          size_t count);
void rp_policy_read_groups(rp_policy_reader *in, const rp_node *top);
/* A group that is a mapping: known by certificates (ca), or authorities that date (tsa). */
void rp_policy_read_authorities(rp_policy_reader *in, const rp_node *node, const char *path, rp_group *group);
void rp_policy_clear_group(rp_group *group);
/* The section of that kind, where there is one: one clause or several. */
void rp_policy_read_section(rp_policy_reader *in, const rp_node *top, rp_clause_kind kind);
/* A policy that says nothing of parents wants them checked; of the profile: portable. */
void rp_policy_imply(rp_policy_reader *in);
/* What sections share: the group at key, how many of it, dates, true or false. */
void rp_policy_read_group(rp_policy_reader *in, const rp_node *mapping, const char *key,
                          bool (*fits)(rp_group_kind kind), const char *expected, const rp_clause *clause, size_t *out);
void rp_policy_read_signers(rp_policy_reader *in, const rp_node *mapping, const char *key, rp_clause *clause);
void rp_policy_read_count(rp_policy_reader *in, const rp_node *mapping, rp_clause *clause);
void rp_policy_read_dates(rp_policy_reader *in, const rp_node *mapping, rp_clause *clause);
void rp_policy_read_flag(rp_policy_reader *in, const rp_node *mapping, const char *key, const rp_clause *clause,
                         bool *out);
/* A finite number; whether it is there. A text that must be there. */
bool rp_policy_read_number(rp_policy_reader *in, const rp_node *mapping, const char *key, const rp_clause *clause,
                           double *out);
void rp_policy_read_name(rp_policy_reader *in, const rp_node *mapping, const char *key, const char *expected,
                         const rp_clause *clause, char *out, size_t size);
/* Clauses on figures (audit/trust/figures/figure_clauses.c). */
void rp_policy_read_validation(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_drift(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_slices(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_fall(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_selection(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
/* Clauses on the run itself, from their node (policy_model.c). */
void rp_policy_read_parent(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_run_kind(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_metrics(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_recipe(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_columns(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_trials(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_card(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_conformant(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
/* One of the words, as its place among them; 0 after an error. */
int rp_policy_read_word(rp_policy_reader *in, const rp_node *node, const char *key, const char *const *names,
                        size_t count, const char *expected);
/* One more text for clause->word, which has room for it. */
void rp_policy_add_word(rp_policy_reader *in, const rp_node *node, const char *path, rp_clause *clause);
/* What computed the run (pinned/policy_pinned_read.c). */
void rp_policy_read_profile(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_library(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
void rp_policy_read_emulated(rp_policy_reader *in, const rp_node *node, rp_clause *clause);

#endif
