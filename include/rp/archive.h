/* SPDX-License-Identifier: Apache-2.0
 * Archives of runs: opening, listing and reading them, keys, and verification. audit/FORMAT.md gives every byte.
 *
 * Opening checks the whole structure and every SHA-256 of the manifest before anything else is believed; all later
 * reads come from the same open file and are hashed again. What opening cannot know is who vouches for the archive:
 * that is rp_verify. */
#ifndef RP_ARCHIVE_H
#define RP_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp/error.h"

enum { RP_ARCHIVE_FORMAT = 1 };
enum { RP_DIGEST_SIZE = 32, RP_DIGEST_HEX = 65, RP_MEMBER_NAME = 101 };
enum { RP_TIME_TEXT = 21 }; /* 2026-11-21T15:04:05Z, always UTC */

/* Names of members, for rp_archive_find. audit/FORMAT.md 9 says which runs have which; large sets of tensors are in
 * parts (7.1), whose names are made of these. */
#define RP_MANIFEST_NAME "manifest.json"
#define RP_RECIPE_MEMBER "run/recipe.json"
#define RP_JOURNAL_MEMBER "run/journal.bin"
#define RP_TABLE_MEMBER "data/raw.csv"
#define RP_TEST_TABLE_MEMBER "data/test.csv"
#define RP_TEXT_MEMBER "data/raw.txt"
#define RP_VOCABULARY_MEMBER "data/vocabulary.json"
#define RP_SCHEMA_MEMBER "data/schema.json"
#define RP_QUALITY_MEMBER "data/quality.json"
#define RP_PREPARED_MEMBER "data/prepared.json"
#define RP_TENSORS_MEMBER "data/tensors.safetensors"
#define RP_FEEDS_MEMBER "data/feeds.safetensors"
#define RP_FEED_ORDER_MEMBER "data/feeds.bin"
#define RP_INIT_MEMBER "weights/init.safetensors"
#define RP_START_MEMBER "weights/start.safetensors"
#define RP_FINAL_MEMBER "weights/final.safetensors"
#define RP_METRICS_MEMBER "outputs/metrics.json"
#define RP_PREDICTIONS_MEMBER "outputs/predictions.csv"
#define RP_COEFFICIENTS_MEMBER "outputs/coefficients.json"
#define RP_REFERENCE_MEMBER "outputs/reference.json"
#define RP_TRIALS_MEMBER "outputs/trials.json"
#define RP_OUT_OF_FOLD_MEMBER "outputs/out_of_fold.csv"
#define RP_SIGNATURES "signatures/"
#define RP_RUN_STATEMENT RP_SIGNATURES "run.dsse.json"
#define RP_OMS_BUNDLE RP_SIGNATURES "model.sigstore.json"

typedef struct rp_digest {
    unsigned char bytes[RP_DIGEST_SIZE];
} rp_digest;

/* Lowercase hex with a terminator. */
RP_API void rp_digest_hex(char out[RP_DIGEST_HEX], const rp_digest *digest);

typedef struct rp_member {
    char name[RP_MEMBER_NAME];
    uint64_t size;
    uint64_t offset;  /* of the first byte of the body in the archive (in a writer: in its spool) */
    rp_digest digest; /* SHA-256 of the body */
} rp_member;

typedef struct rp_archive rp_archive;

/* Opens path and checks structure, manifest and hashes; signatures are not looked into.
 * Errors name the member: RP_EIO, RP_EFORMAT, RP_EHASH, RP_EUNSUPPORTED (newer format or contract), RP_ENOMEM. */
RP_API rp_status rp_archive_open(rp_archive **out, const char *path, rp_error *err);
/* The same over memory, which is borrowed until the archive is closed. where names it in errors. */
RP_API rp_status rp_archive_open_memory(rp_archive **out, const void *bytes, size_t size, const char *where,
                                        rp_error *err);
RP_API void rp_archive_close(rp_archive *archive);

/* 64 lowercase hex digits: SHA-256 of manifest.json. */
RP_API const char *rp_archive_id(const rp_archive *archive);
/* "recipe", "text" or "api": whether a recipe on a table, one on a text, or a program made the run. */
RP_API const char *rp_archive_kind(const rp_archive *archive);
/* Of a run of kind "api" the door of the Python package through which its program came, by the run's own word: what its
 * state origin.json says. Nobody has checked it. */
typedef struct rp_door {
    char name[12];    /* "PyTorch", "JAX", "Keras"; "": the run names none */
    char version[36]; /* of that framework; "": it does not say */
} rp_door;
/* Errors: RP_EARG (archive is NULL), RP_EIO, RP_ENOMEM; *out is then empty. */
RP_API rp_status rp_archive_door(const rp_archive *archive, rp_door *out, rp_error *err);
/* Members in archive order, manifest.json first, signatures/ last. */
RP_API size_t rp_archive_member_count(const rp_archive *archive);
RP_API const rp_member *rp_archive_member(const rp_archive *archive, size_t index);   /* NULL past the end */
RP_API const rp_member *rp_archive_find(const rp_archive *archive, const char *name); /* NULL when absent */
/* Reads a member of this archive whole into out[member->size] and hashes it again. Errors: RP_EIO, RP_EHASH. */
RP_API rp_status rp_archive_read(const rp_archive *archive, const rp_member *member, void *out, rp_error *err);

/* The archive id of the parent whose states the run started from; NULL when it has none. Borrowed. */
RP_API const char *rp_parent_id(const rp_archive *archive);
/* What repeats a run alone where a library computed its matrix products (docs/pinned.md), as text: "cublasLt 130002 on
 * NVIDIA H100 (132 multiprocessors)"; "": nothing, it is portable. */
typedef struct rp_pinned_to {
    char run[192];
    /* The same of the nearest pinned one of the runs before it, from whose states it started, and that one's archive
     * id: the archive's own word, which rp_check_parent (rp/audit.h) holds against the parent's. */
    char line[192];
    char line_id[RP_DIGEST_HEX];
} rp_pinned_to;
RP_API void rp_archive_pinned_to(const rp_archive *archive, rp_pinned_to *out); /* NULL: all of it "" */
/* What of the host that a pinned run is bound to is not what is here, a row each (rp_replay_host, rp/audit.h). */
enum { RP_HOST_ROWS = 12 };
typedef struct rp_host_row {
    char what[40];               /* "chip.name", "library.version" */
    char recorded[72], here[72]; /* as text; a digest's first 12 digits */
} rp_host_row;
typedef struct rp_host_table {
    size_t count; /* 0: the run is portable, or this is its host, as far as is known before it computes */
    rp_host_row row[RP_HOST_ROWS];
} rp_host_table;

/* Members that were left out of this archive, bound by salted digests; NULL past the end. */
RP_API size_t rp_archive_withheld_count(const rp_archive *archive);
RP_API const char *rp_archive_withheld(const rp_archive *archive, size_t index);
/* Gives them back to the open archive: folder holds their salt in `salt` and some or all of them, each at its member's
 * path. Each is compared with its salted digest first. From then on they are found and read like members, in memory;
 * the list of members stays as it is. Errors: RP_EHASH for other bytes or another salt; RP_EARG when nothing was left
 * out or the folder holds none of it; RP_EDATA, RP_EIO. On failure the archive is as it was. */
RP_API rp_status rp_archive_disclose(rp_archive *archive, const char *folder, rp_error *err);

/* A key: ECDSA P-256 (default), P-384, P-521, or Ed25519. Immutable once made, so threads may share it. */
typedef struct rp_key rp_key;

/* A new ECDSA P-256 key pair. */
RP_API rp_status rp_key_generate(rp_key **out, rp_error *err);
/* Reads PEM: a private key (PKCS#8, plain or encrypted, or a traditional EC key), or a public key (SPKI). passphrase
 * may be NULL: an encrypted key is then refused; nothing ever prompts. Errors: RP_EIO, RP_EARG (what was found, what is
 * expected).
 * path may also be a PKCS#11 URI of a key on a token (pkcs11:token=...;object=..., RFC 7512) and passphrase its PIN:
 * OpenSSL's engine pkcs11 then signs; the private key stays where it is. Further errors: RP_EUNSUPPORTED without the
 * engine. */
RP_API rp_status rp_key_load_private(rp_key **out, const char *path, const char *passphrase, rp_error *err);
RP_API rp_status rp_key_load_public(rp_key **out, const char *path, rp_error *err);
/* The same from text; where names it in errors. */
RP_API rp_status rp_key_private_from_pem(rp_key **out, const char *pem, size_t size, const char *passphrase,
                                         const char *where, rp_error *err);
RP_API rp_status rp_key_public_from_pem(rp_key **out, const char *pem, size_t size, const char *where, rp_error *err);
/* PKCS#8 PEM, mode 0600, encrypted (AES-256-CBC, PBKDF2) when passphrase is not NULL; SPKI PEM, mode 0644. */
RP_API rp_status rp_key_save_private(const rp_key *key, const char *path, const char *passphrase, bool force,
                                     rp_error *err);
RP_API rp_status rp_key_save_public(const rp_key *key, const char *path, bool force, rp_error *err);
RP_API const char *rp_key_id(const rp_key *key);   /* lowercase hex SHA-256 of the SPKI PEM text */
RP_API const char *rp_key_type(const rp_key *key); /* "ECDSA P-256", ..., "Ed25519" */
RP_API bool rp_key_is_private(const rp_key *key);
RP_API void rp_key_free(rp_key *key);

/* Adds a member to signatures/ of the archive at path, or with force replaces the one of that name: a statement
 * (signatures/NAME.dsse.json) or a log's proof (rp_log_member). The archive is checked as in opening; a new file with
 * all its other members takes its name when it is whole and on disk, so the archive is at no time half-written. The id
 * stays what it was. Whether the bytes are a good signature is not looked into: that is rp_verify. Errors: RP_EARG (the
 * name, the size, a symbolic link), RP_EEXIST without force, those of opening, RP_EIO. */
RP_API rp_status rp_archive_add_statement(const char *path, const char *member, const void *bytes, size_t size,
                                          bool force, rp_error *err);

typedef struct rp_trust_store rp_trust_store; /* rp/trust.h */

typedef struct rp_verify_options {
    bool allow_unsigned; /* an archive for which nobody vouches is accepted on its hashes alone */
    /* Keys of logs, borrowed. With any, the archive must carry a proof of a log that one of them signed. */
    const rp_key *const *log_key;
    size_t log_keys;
    /* Borrowed; may be NULL. With timestamp authorities in it, the run's statement must carry a timestamp by one of
     * them. */
    const rp_trust_store *trust;
    /* Borrowed; NULL: whoever is trusted must have signed the run. With a policy (rp/policy.h) its keys are trusted
     * too, and it alone says what must be there: an unmet one is RP_ESIGN, and with tell_unmet no error: the result's
     * policy then says so. */
    const struct rp_policy *policy;
    bool tell_unmet;
    /* Borrowed, or NULL: the verification under the same policy of the archive that the run started from, for a clause
     * `parent: met`. That its states are the run's rp_check_parent says (rp/audit.h). */
    const struct rp_verification *parent;
} rp_verify_options;

/* One timestamp beside a statement (rp/trust.h). */
typedef struct rp_verified_timestamp {
    char member[RP_MEMBER_NAME];
    char statement[RP_MEMBER_NAME]; /* the member it dates */
    int64_t seconds;                /* since 1970, UTC: what it says */
    char time[21];                  /* the same, as 2026-11-21T15:04:05Z */
    char *authority;                /* subject of the certificate that signed it */
    char *anchor; /* the trusted root it leads to; NULL: not by a given authority, and it shows nothing */
    char *note;   /* why not, or what was not checked; may be NULL */
} rp_verified_timestamp;

/* One proof that the archive is in a log (rp/log.h). */
typedef struct rp_verified_proof {
    char member[RP_MEMBER_NAME];
    char *origin; /* the log's name */
    uint64_t index, log_size;
    char key_id[RP_DIGEST_HEX]; /* of the log's key; "" when none of log_key signed: the proof shows nothing then */
} rp_verified_proof;

typedef enum rp_statement_kind {
    RP_STATEMENT_PROVENANCE,  /* the run's own: who made it, where, when */
    RP_STATEMENT_ENDORSEMENT, /* a further key vouches for the archive as it is */
    RP_STATEMENT_VERDICT,     /* what a replay found */
    RP_STATEMENT_APPROVAL,    /* what a person decided */
    RP_STATEMENT_FINDING,     /* what somebody found wrong, or that it is settled */
    RP_STATEMENT_VALIDATION,  /* figures of rows with outcomes */
    RP_STATEMENT_MONITORING,  /* how far new rows are from those that trained */
    RP_STATEMENT_EXPLANATION, /* which columns the model needs, and how they move its score */
    RP_STATEMENT_RETRAINING,  /* child and parent on the same rows */
    RP_STATEMENT_BUNDLE,      /* for public verifiers (FORMAT.md 5.1) */
    RP_STATEMENT_OTHER        /* of a type that this library does not know */
} rp_statement_kind;

/* One statement that was checked, or the bundle, which comes last. Run statements come first, then by name. */
typedef struct rp_verified_statement {
    char member[RP_MEMBER_NAME];
    char key_id[RP_DIGEST_HEX];
    const char *key_type; /* NULL where the signer's key was not given */
    char *predicate_type;
    rp_statement_kind kind;
    char time[RP_TIME_TEXT];      /* of a verdict (its end) and of what people state, by the signer's clock; else "" */
    struct rp_verdict *verdict;   /* of a verdict; else NULL (rp/statement.h) */
    struct rp_approval *approval; /* of an approval; else NULL */
    struct rp_stated_finding *finding; /* of a finding; else NULL */
    struct rp_stated_figures *figures; /* of a validation, monitoring, explanation, retraining; else NULL */
    bool conforms;   /* of a provenance: it says that the kernels which made the run conform on the host that made it */
    char device[96]; /* of a provenance: what computed where that is not the processor; "": the processor */
} rp_verified_statement;

/* A statement whose signer's key counts, or does not, by a certificate in the archive or a hand-over (rp/trust.h). */
typedef struct rp_verified_certificate {
    char statement[RP_MEMBER_NAME];
    char key_id[RP_DIGEST_HEX];
    bool rotation;                   /* by a hand-over: subject and anchor are then keys */
    char predecessor[RP_DIGEST_HEX]; /* of a successor: the key that handed over to it, the same person's; else "" */
    char *subject;                   /* of the key's certificate */
    char *anchor;                    /* the trusted root it leads to; NULL when not accepted */
    bool accepted;
    bool revocation_checked;                                  /* by lists for every certificate below the root */
    enum { RP_AT_TIMESTAMP, RP_AT_GIVEN_TIME, RP_AT_NOW } at; /* where the time comes from at which it was judged */
    char time[RP_TIME_TEXT];
    char *note; /* why it is not accepted, or what an auditor should know; may be NULL */
} rp_verified_certificate;

/* How a statement stands to a clause of a policy that asks for certificates or timestamps (docs/policy.md): judged by
 * that clause's authorities alone, for every statement whose signature was checked. */
typedef struct rp_verified_standing {
    char clause[24]; /* as in rp_policy_clause */
    char statement[RP_MEMBER_NAME];
    char key_id[RP_DIGEST_HEX];
    char *subject;           /* of the key's certificate in the archive; NULL: there is none, or nobody asked */
    bool certified;          /* the clause's group takes its signer by that certificate */
    bool was_certified;      /* or did at one time: of somebody who says no that is enough */
    char *certificate_note;  /* why not, or what an auditor should know; may be NULL */
    bool dated;              /* by one of the clause's timestamp authorities */
    int64_t seconds;         /* since 1970, UTC: then what it says, */
    char time[RP_TIME_TEXT]; /* the same as text; else "" */
    char *authority;         /* and the subject of the certificate that signed it; else NULL */
    char *timestamp_note;    /* why not, or what an auditor should know; may be NULL */
} rp_verified_standing;

typedef struct rp_verification {
    char archive_id[RP_DIGEST_HEX];
    char kind[8];               /* "recipe", "api" */
    char profile[12];           /* "portable", "pinned" (docs/pinned.md) */
    rp_pinned_to pinned;        /* library and chip, of the run and of the line that it started from */
    char parent[RP_DIGEST_HEX]; /* archive id of the run whose states this one started from; "": none */
    /* With a policy: options.parent is that archive's, under the same policy; and meets it. */
    bool parent_given, parent_met;
    size_t members; /* all of them, manifest.json and statements included */
    uint64_t bytes; /* of the whole archive */
    /* By trusted keys, every signature right; with a policy also by those whom one of its clauses takes by certificate.
     */
    size_t statements;
    rp_verified_statement *statement;
    /* By keys that are not trusted, so their signatures could not be checked: they count for nothing. Form, name and
     * the archive they are about are right, or verification has failed. */
    size_t others;
    rp_verified_statement *other;
    size_t proofs;
    rp_verified_proof *proof;
    size_t timestamps;
    rp_verified_timestamp *timestamp;
    struct rp_policy_result *policy; /* NULL where no policy was given */
    size_t certificates;             /* of statements whose keys count, or not, by more than being trusted themselves */
    rp_verified_certificate *certificate;
    char judged_by[RP_DIGEST_HEX]; /* digest of the policy whose clauses the standings are about; "" where there was
                                      none */
    size_t standings;
    rp_verified_standing *standing;
    struct rp_run_facts *facts; /* what the policy's clauses on the model are held against; NULL where it has none */
} rp_verification;

/* Checks, in this order: the structure; every statement in signatures/ (a trusted key or one that counts by its
 * certificates under options->trust, an exact signature, and that it names SHA-256(manifest.json)) and every log's
 * proof (its path; its signature where log_key has the key); the manifest; every member against it; the bundle, where
 * there is one. So nothing of the archive is parsed on trust, and the member that was changed is the one named.
 * Statements by keys that do not count are listed apart; of those that count, provenance or an endorsement must be
 * there. trusted    borrowed; may be NULL when n_trusted is 0 options    NULL: defaults result     may be NULL; free
 * with rp_verification_free archive    may be NULL; else the open, verified archive, so that what follows reads the
 * same file Errors: RP_EFORMAT, RP_EHASH, RP_ESIGN (also: no run statement and not allow_unsigned), RP_EUNSUPPORTED,
 * RP_EIO. */
RP_API rp_status rp_verify(const char *path, const rp_key *const *trusted, size_t n_trusted,
                           const rp_verify_options *options, rp_verification **result, rp_archive **archive,
                           rp_error *err);
/* The same over memory, borrowed until *archive is closed. */
RP_API rp_status rp_verify_memory(const void *bytes, size_t size, const char *where, const rp_key *const *trusted,
                                  size_t n_trusted, const rp_verify_options *options, rp_verification **result,
                                  rp_archive **archive, rp_error *err);
RP_API void rp_verification_free(rp_verification *result);
/* Whether the finding of statement i is settled: closed, or followed by a later word of the same signer, or of the
 * signer's later key, under its id (FORMAT 5.8). False where the statement is no finding. */
RP_API bool rp_finding_settled(const rp_verification *result, size_t i);
/* Whether another monitoring that was verified calls its period as this statement does. False where it has no period.
 */
RP_API bool rp_period_repeated(const rp_verification *result, const rp_verified_statement *one);

#endif
