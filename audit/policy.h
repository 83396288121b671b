/* SPDX-License-Identifier: Apache-2.0
 * A policy as it was read (docs/policy.md), between the file that reads it and the file that checks it. A further kind of clause
 * is a value of rp_clause_kind, a row among the sections of policy.c and a row among the checks of policy_check.c. */
#ifndef AUDIT_POLICY_H
#define AUDIT_POLICY_H

#include "rp/policy.h"
#include "rp/statement.h"

enum { RP_POLICY_GROUPS = 64, RP_POLICY_GROUP_KEYS = 64, RP_POLICY_CLAUSES = 64, RP_POLICY_LEVELS = 8, RP_POLICY_LIMIT = 1 << 16 };
enum { RP_SHARE_ONE = 1000000 };

typedef enum rp_clause_kind { RP_CLAUSE_BUILDER, RP_CLAUSE_REPLAY, RP_CLAUSE_APPROVALS, RP_CLAUSE_LOG, RP_CLAUSE_KINDS } rp_clause_kind;

/* What a finding against the archive does: a difference, a rejection. */
typedef enum rp_against { RP_AGAINST_FAILS, RP_AGAINST_SUPERSEDED, RP_AGAINST_IGNORED } rp_against;

typedef struct rp_group {
    char name[RP_ROLE];
    size_t keys;
    char (*id)[RP_DIGEST_HEX];
} rp_group;

typedef struct rp_clause {
    rp_clause_kind kind;
    char name[24];
    size_t group;
    uint64_t count;        /* different keys that must have said so */
    uint64_t share;        /* replay: millionths of the segments */
    bool full;             /* replay: nothing but all of it */
    bool independent;      /* the builder's key does not count */
    bool endorsement;      /* builder: an endorsement will do */
    rp_against against;
    size_t levels;
    char level[RP_POLICY_LEVELS][16]; /* replay: kernels, one of them; none: any */
    char seed[RP_REPLAY_SEED];        /* replay: a sample must be drawn by this one; "": any */
    char role[RP_ROLE];               /* approvals; "": any */
} rp_clause;

struct rp_policy {
    char *name;
    char digest[RP_DIGEST_HEX];
    size_t groups, keys, log_keys, clauses;
    rp_group group[RP_POLICY_GROUPS];
    rp_key **key;           /* of all groups */
    const rp_key **log_key; /* those of logs' groups, borrowed from key */
    rp_clause clause[RP_POLICY_CLAUSES];
};

#endif
