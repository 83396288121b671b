/* SPDX-License-Identifier: Apache-2.0
 * Signed statements about a finished archive: what a replay found, what a person decided, that a further key vouches
 * for it. Each is added to signatures/ and touches nothing else; audit/FORMAT.md 5 gives the bytes. What the statements
 * of an archive say, once verified, is in rp_verification (rp/archive.h). Times are the signer's word. */
#ifndef RP_STATEMENT_H
#define RP_STATEMENT_H

#include "rp/archive.h"

/* ---- replays ---- */

/* What a replay repeated of a run. */
typedef enum rp_replay_mode {
    RP_REPLAY_FULL,  /* every step and every member */
    RP_REPLAY_RANGE, /* the steps first to last, chosen by whoever replayed */
    RP_REPLAY_SAMPLE /* segments drawn by a seed */
} rp_replay_mode;

enum { RP_REPLAY_SEED = 129 }; /* a seed is 1 to 128 printable ASCII characters */

typedef struct rp_replay_scope {
    rp_replay_mode mode;
    uint64_t first, last;        /* no step outside was repeated; full: 0 and steps_total - 1 */
    uint64_t steps, steps_total; /* repeated; records of the journal */
    uint64_t segments,
        segments_total;            /* repeated; of the run: from the start or a checkpoint to the next one or the end */
    char seed[RP_REPLAY_SEED];     /* sample: as the auditor named it; else "" */
    uint64_t trials, trials_total; /* made again; that the recipe has beside the run's own steps */
} rp_replay_scope;

/* How a replay was begun: known before the first step, so that one that ends in a difference can be told of too. */
typedef struct rp_replay_begun {
    rp_replay_scope scope; /* what it set out to repeat */
    char level[16];
    char device[96]; /* what computed where that is not the processor: "cuda-sm90 ..."; "": the processor */
    unsigned threads;
    char kind[8];               /* of the run: "recipe", "api" */
    char parent[RP_DIGEST_HEX]; /* archive id of the run whose states it started from; "": none */
} rp_replay_begun;

/* ---- statements ---- */

enum { RP_ROLE = 65, RP_REASON = 2001, RP_HOST_TEXT = 129 };

/* A replay's verdict, as somebody signed it. */
typedef struct rp_verdict {
    rp_replay_scope scope;
    bool identical;
    char difference[RP_ERROR_TEXT]; /* the first one found; "" when identical */
    uint64_t members;               /* members reproduced and compared */
    char level[16];                 /* kernels: ref, sse2, avx2, avx512, neon */
    char device[RP_HOST_TEXT];      /* what they ran on where that is not the processor; "": the processor */
    unsigned threads;
    char cpu[RP_HOST_TEXT], system[RP_HOST_TEXT], machine[RP_HOST_TEXT];
    char version[RP_HOST_TEXT]; /* of the tool that replayed */
    uint64_t contract, format;  /* the highest that it knew */
    bool conforms;              /* doctor there: the conformance vectors of that level are right */
    bool healthy; /* and every library is the one built against: an update of one is no fault of the bits */
    char conformance[RP_HOST_TEXT]; /* doctor's line on the kernels used */
    char kind[8];                   /* of the run: "recipe", "api" */
    char parent[RP_DIGEST_HEX];     /* archive id of the run whose states it started from; "": none */
    bool parent_checked; /* whoever replayed had the parent's archive, and its parents', and replayed them in full */
    char started[RP_TIME_TEXT], finished[RP_TIME_TEXT];
} rp_verdict;

typedef enum rp_decision { RP_APPROVE, RP_REJECT, RP_ABSTAIN } rp_decision;

/* What a person decided about the archive, in which role and why. */
typedef struct rp_approval {
    char role[RP_ROLE]; /* 1 to 64 printable ASCII characters, no space at either end */
    rp_decision decision;
    char reason[RP_REASON]; /* 1 to 2,000 bytes of UTF-8 in one line, without characters that turn the direction of text
                             */
    char time[RP_TIME_TEXT];
} rp_approval;

typedef enum rp_severity { RP_SEVERITY_LOW, RP_SEVERITY_MEDIUM, RP_SEVERITY_HIGH, RP_SEVERITY_CRITICAL } rp_severity;

/* What somebody found wrong about a model, or that it is settled. It stands until the same signer closes it. */
typedef struct rp_stated_finding {
    char id[RP_ROLE];    /* what it is called: 1 to 64 printable ASCII characters, no space at either end */
    char owner[RP_ROLE]; /* who has to settle it; likewise */
    rp_severity severity;
    bool closed;
    char due[RP_TIME_TEXT]; /* until when; "": no time was set */
    char text[RP_REASON];   /* as the reason of an approval */
    char time[RP_TIME_TEXT];
} rp_stated_finding;

/* What reprise validate, monitor, explain or retrain found, as somebody signed it (audit/FORMAT.md 5.9). */
typedef struct rp_stated_figures {
    bool test;                       /* of the test part of the archive's own rows */
    bool validation;                 /* of a retraining: of the validation part of them */
    uint64_t rows;                   /* that were judged */
    int64_t seen;                    /* of those the ones that trained; -1: not known */
    int64_t other;                   /* further ones by which the model was chosen, of a monitoring those of its run's
                                      * other parts; -1: not known */
    int64_t left_out;                /* of those the ones that the recipe's data.where leaves out; -1: not known */
    int64_t own;                     /* of a validation or retraining: further ones that are of the run's own table, or
                                      * of its data.test_csv; -1: not known */
    int64_t called_missing;          /* of a validation: besides, rows whose outcome only the recipe's data.missing
                                      * calls missing; -1: not known */
    int64_t hidden;                  /* besides, lines that look like rows and were passed over */
    uint64_t number;                 /* of a monitoring: its place in the chain of periods; else 0 */
    char period[129];                /* of a monitoring; "": it has no name */
    char predecessor[RP_DIGEST_HEX]; /* of a retraining: the parent's archive id; else "" */
    char data[RP_DIGEST_HEX];        /* SHA-256 of the rows' file */
    char time[RP_TIME_TEXT];
    struct rp_json *predicate; /* all that it says; NULL where its key does not count */
} rp_stated_figures;

/* "low", "medium", "high", "critical". */
RP_API const char *rp_severity_name(rp_severity severity);

/* "approve", "reject", "abstain". */
RP_API const char *rp_decision_name(rp_decision decision);

/* What a member of signatures/ claims: nothing of it is checked, and anyone can have written it. rp_verify checks. */
typedef struct rp_claim {
    /* "provenance", "endorsement", "verdict", "approval", "finding", "other", "bundle", "timestamp", "certificates",
     * "log proof", "unreadable"; NULL: not a member of signatures/. Static */
    const char *kind;
    char key_id[RP_DIGEST_HEX]; /* that a statement names as its signer's; else "" */
} rp_claim;

/* Errors: RP_EIO, RP_EHASH, RP_ENOMEM. */
RP_API rp_status rp_archive_claim(const rp_archive *archive, const rp_member *member, rp_claim *out, rp_error *err);

/* What came of a replay. */
typedef struct rp_replay_outcome {
    rp_replay_begun begun;
    const char *difference;    /* NULL: none; else the text of the error RP_EBITS */
    uint64_t members;          /* rp_job.members; 0 where bits differ */
    bool parent_checked;       /* as in rp_verdict; where the run has no parent it is not read */
    int64_t started, finished; /* seconds since 1970, UTC */
} rp_replay_outcome;

/* Each signs a statement about the archive archive_id and adds it to the file at path, which must still be that
 * archive; its name, made of kind, key and content, goes to member (may be NULL). A statement of another's is never
 * replaced. That the archive deserves it is the caller's to know: verify it first. The file is replaced as by
 * rp_archive_add_statement; those who add at the same time wait for each other. Errors: RP_EHASH for another archive;
 * RP_EARG for a public key or a text out of bounds; those of rp_archive_add_statement. rp_archive_attest   a replay's
 * verdict; describes and examines this host as doctor does rp_archive_approve  approval->time is not read: it is now
 *   rp_archive_endorse  vouches for the archive as it is, and says nothing of how it was made. By an ECDSA key it
 * brings the bundle for public verifiers where the archive has none */
RP_API rp_status rp_archive_attest(const char *path, const char *archive_id, const rp_replay_outcome *outcome,
                                   const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err);
RP_API rp_status rp_archive_approve(const char *path, const char *archive_id, const rp_approval *approval,
                                    const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err);
/* finding->time is not read: it is now. */
RP_API rp_status rp_archive_add_finding(const char *path, const char *archive_id, const rp_stated_finding *finding,
                                        const rp_key *key, char member[RP_MEMBER_NAME], rp_error *err);
RP_API rp_status rp_archive_endorse(const char *path, const char *archive_id, const rp_key *key,
                                    char member[RP_MEMBER_NAME], rp_error *err);

#endif
