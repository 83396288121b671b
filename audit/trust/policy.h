/* SPDX-License-Identifier: Apache-2.0
 * A policy as it was read (docs/policy.md), between the file that reads it and the file that checks it. A further kind
 * of clause is a value of rp_clause_kind, a row among the sections of policy.c and a row among the checks of
 * policy_check.c. */
#ifndef AUDIT_TRUST_POLICY_H
#define AUDIT_TRUST_POLICY_H

#include "rp/policy.h"
#include "rp/statement.h"

enum {
    RP_POLICY_GROUPS = 64,
    RP_POLICY_GROUP_KEYS = 64,
    RP_POLICY_CLAUSES = 64,
    RP_POLICY_LEVELS = 8,
    RP_POLICY_RULES = 64,
    RP_POLICY_FILES = 16,
    RP_POLICY_WORDS = 256,
    RP_POLICY_WORD = 201, /* bytes of each, and a terminator */
    RP_POLICY_LIMIT = 1 << 16
};
enum { RP_SHARE_ONE = 1000000 };

typedef enum rp_clause_kind {
    RP_CLAUSE_BUILDER,
    RP_CLAUSE_REPLAY,
    RP_CLAUSE_APPROVALS,
    RP_CLAUSE_LOG,
    RP_CLAUSE_FINDINGS,
    RP_CLAUSE_VALIDATION, /* a statement of figures */
    RP_CLAUSE_DRIFT,
    RP_CLAUSE_PARENT, /* from here on what is asked of the run itself, and of no signer */
    RP_CLAUSE_RUN_KIND,
    RP_CLAUSE_CONFORMANT,
    RP_CLAUSE_PROFILE,
    RP_CLAUSE_METRICS, /* these and the next are held against rp_run_facts */
    RP_CLAUSE_RECIPE,
    RP_CLAUSE_COLUMNS,
    RP_CLAUSE_CARD,
    RP_CLAUSE_VALID,
    RP_CLAUSE_TRIALS,
    RP_CLAUSE_LIBRARY,  /* of a pinned run, and of one that it started from */
    RP_CLAUSE_EMULATED, /* of that, and of what computed by the word of provenance and verdicts */
    RP_CLAUSE_SLICES,   /* of the run, or where the clause says by whom, of statements */
    RP_CLAUSE_SELECTION,
    RP_CLAUSE_FALL, /* of statements, and of the predecessor that the recipe names */
    RP_CLAUSE_KINDS
} rp_clause_kind;

/* What a finding against the archive does: a difference, a rejection. */
typedef enum rp_against { RP_AGAINST_FAILS, RP_AGAINST_SUPERSEDED, RP_AGAINST_IGNORED } rp_against;

/* What is asked of a run that started from another's states. */
typedef enum rp_parent_rule { RP_PARENT_CHECKED, RP_PARENT_NONE, RP_PARENT_ANY, RP_PARENT_MET } rp_parent_rule;

/* What a clause asks of a value: a figure of a part's metrics, or a key of the recipe, by its dotted name. */
typedef struct rp_model_bound {
    char path[128];
    bool training; /* of metrics: the training part, else the validation part, or with */
    bool folds;    /* the mean over all folds of data.fold: all */
    bool has_low, has_high, has_gap, absent;
    double low, high, gap;
} rp_model_bound;

/* Figures that may fall against the parent; rp_fall_names has their names in this order. */
typedef enum rp_fall {
    RP_FALL_AUC,
    RP_FALL_GINI,
    RP_FALL_KS,
    RP_FALL_ACCURACY,
    RP_FALL_MACRO_AUC,
    RP_FALL_R2,
    RP_FALL_BRIER,
    RP_FALL_LOG_LOSS,
    RP_FALL_RMSE,
    RP_FALL_MAE,
    RP_FALLS
} rp_fall;

/* What a clause asks of figures by slice and group, and of statements that hold figures. */
typedef struct rp_figure_rule {
    bool stated;              /* slices, selection: of statements by the group, not of the run */
    bool test, others;        /* validation, fall: of the test part alone; of other rows alone */
    bool validation;          /* fall: of the validation part alone */
    uint64_t rows, few, days; /* at least so many rows; below few a part is passed over; days 0: of any age */
    double seen;              /* at most this share of the rows may be training rows, or have chosen the model */
    double left_out;          /* at most this share may be rows that the recipe's conditions leave out */
    char column[256], favourable[256];
    double threshold;
    bool has_psi, has_csi, has_ks, has_ratio, has_difference;
    double psi, csi, ks, ratio, difference;
    bool has_fall[RP_FALLS], same_recipe; /* fall */
    double fall[RP_FALLS];
    char predecessor[RP_DIGEST_HEX]; /* "": whichever the run names */
} rp_figure_rule;

/* What a clause may ask of the library that computed a pinned run's products. */
typedef enum rp_library_rule {
    RP_LIBRARY_NAME,
    RP_LIBRARY_VERSION,
    RP_LIBRARY_SHA256,
    RP_LIBRARY_CHIP,
    RP_LIBRARY_RULES
} rp_library_rule;

typedef enum rp_group_kind {
    RP_GROUP_KEYS,       /* these keys */
    RP_GROUP_CERTIFIED,  /* whoever has a certificate under these roots, with such a subject */
    RP_GROUP_AUTHORITIES /* timestamp authorities under these roots */
} rp_group_kind;

/* The subject must have such an attribute with this text, or with that of another rule for the same attribute. */
typedef struct rp_subject_rule {
    const char *attribute; /* static: "OU" */
    int nid;
    char *text; /* UTF-8 */
} rp_subject_rule;

typedef struct rp_group {
    char name[RP_ROLE];
    rp_group_kind kind;
    size_t keys; /* of RP_GROUP_KEYS */
    char (*id)[RP_DIGEST_HEX];
    rp_trust_store *store; /* of the other kinds: its roots, its revocation lists, what it requires; of nobody else */
    size_t rules;
    rp_subject_rule rule[RP_POLICY_RULES];
} rp_group;

typedef struct rp_clause {
    rp_clause_kind kind;
    char name[24];
    size_t group;
    uint64_t count; /* different keys that must have said so */
    uint64_t share; /* replay: millionths of the segments */
    bool dated;     /* only what an authority of the group authorities has dated counts */
    size_t authorities;
    int64_t not_before, not_after; /* seconds since 1970, both ends included */
    bool full;                     /* replay: nothing but all of it */
    bool independent;              /* the builder's key does not count */
    bool endorsement;              /* builder: an endorsement will do */
    rp_against against;
    size_t levels;
    char level[RP_POLICY_LEVELS][16]; /* replay: kernels, one of them; none: any */
    char seed[RP_REPLAY_SEED];        /* replay: a sample must be drawn by this one; "": any */
    char role[RP_ROLE];               /* approvals; "": any */
    int tolerated;                    /* findings: the highest severity that may be open; -1: none */
    bool implied;                     /* nobody wrote it: told only where there is something to tell */
    rp_parent_rule parent;
    char run_kind[8];     /* "recipe", "api" */
    bool pinned;          /* profile: a run that is pinned to one host's library will do */
    rp_model_bound bound; /* of trials: how many */
    bool linear;          /* trials: the linear challenger is among them, */
    uint64_t seeds;       /* and so many other seeds */
    rp_figure_rule figures;
    size_t library[RP_LIBRARY_RULES]; /* of word, how many are its names, then versions, digests, chips; 0: any */
    char **word;                      /* values of which the key has one; columns */
    size_t words;
} rp_clause;

struct rp_policy {
    char *name;
    char digest[RP_DIGEST_HEX];
    size_t groups, keys, log_keys, clauses;
    rp_group group[RP_POLICY_GROUPS];
    rp_key **key;                            /* of all groups */
    const rp_key **log_key;                  /* those of logs' groups, borrowed from key */
    rp_clause clause[RP_POLICY_CLAUSES + 2]; /* and those on parent and profile, which need not be written */
};

/* Whether a statement of that kind is what the clause is about. */
bool rp_clause_about(const rp_clause *clause, rp_statement_kind kind);
/* Whether the clause asks for what somebody has signed. */
bool rp_clause_signed(const rp_clause *clause);
/* Whether a clause asks for what the run says of its model. */
bool rp_policy_asks_facts(const rp_policy *policy);
/* Whether a clause takes signers by their certificates. */
bool rp_policy_certifies(const rp_policy *policy);

#endif
