/* SPDX-License-Identifier: Apache-2.0
 * Policies: what statements an archive must carry before somebody uses it: whose run, who must have replayed how much
 * of it, who must have approved. docs/policy.md gives the language. */
#ifndef RP_POLICY_H
#define RP_POLICY_H

#include "rp/archive.h"

typedef struct rp_policy rp_policy;

/* Reads a policy. Paths in it are relative to its folder. Errors: RP_EARG with file and line; RP_EIO. */
RP_API rp_status rp_policy_load(rp_policy **out, const char *path, rp_error *err);
/* Whether it asks that a run's parent meets it too (parent: met): rp_verify_options.parent is then to be given. */
RP_API bool rp_policy_asks_parent(const rp_policy *policy); /* NULL: no */
/* The same from text; where names it in errors. folder: of the paths in it; NULL: only key ids and PEM text are taken.
 */
RP_API rp_status rp_policy_from_text(rp_policy **out, const char *text, size_t size, const char *where,
                                     const char *folder, rp_error *err);
RP_API void rp_policy_free(rp_policy *policy); /* NULL is fine */

RP_API const char *rp_policy_name(const rp_policy *policy);   /* its name; else the file's */
RP_API const char *rp_policy_digest(const rp_policy *policy); /* hex SHA-256 of its text */
/* The public keys it names by file, all groups' together: rp_verify adds them to the trusted ones. */
RP_API const rp_key *const *rp_policy_keys(const rp_policy *policy, size_t *count);

/* One demand of a policy, and what became of it. */
typedef struct rp_policy_clause {
    char clause[24]; /* "builder", "replay[0]", "approvals[1]", "log" */
    bool met;
    char *text; /* what was required and what was found, in one line */
} rp_policy_clause;

/* A key that signed something here, and a group of the policy that it is in. */
typedef struct rp_policy_member {
    char key_id[RP_DIGEST_HEX], group[65];
} rp_policy_member;

typedef struct rp_policy_result {
    char *name;
    char digest[RP_DIGEST_HEX]; /* of the policy's text */
    size_t clauses, unmet;
    rp_policy_clause *clause;
    size_t members; /* each pair once, at most 256 */
    rp_policy_member *member;
} rp_policy_result;

/* Holds what was verified against the policy, every clause of it. Verification with rp_verify_options.policy does that
 * itself; verified may come of one that was given the policy's keys instead, but what a clause asks for by certificate
 * or timestamp is then unmet, since nobody has judged it. Errors: RP_ENOMEM; an unmet clause is none. */
RP_API rp_status rp_policy_check(const rp_policy *policy, const rp_verification *verified, rp_policy_result **out,
                                 rp_error *err);
RP_API void rp_policy_result_free(rp_policy_result *result); /* NULL is fine */

#endif
