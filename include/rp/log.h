/* SPDX-License-Identifier: Apache-2.0
 * Logs of runs: append-only lists of archive ids under a Merkle tree (RFC 6962) whose head, the checkpoint, is signed.
 * Who keeps a checkpoint can later show that the log still holds all it held then, so a run cannot be dropped quietly.
 * docs/log.md gives every byte. Texts that functions return are freed with rp_text_free (rp/audit.h). */
#ifndef RP_LOG_H
#define RP_LOG_H

#include "rp/archive.h"

enum { RP_LOG_ORIGIN = 201 };          /* an origin has at most 200 bytes */
enum { RP_LOG_ENTRIES_MAX = 1 << 22 }; /* of a log that this library keeps */

/* What a checkpoint says: the tree of the log's first size entries has this root. */
typedef struct rp_log_head {
    char origin[RP_LOG_ORIGIN]; /* the log's name: printable ASCII without spaces and '+' */
    uint64_t size;
    rp_digest root;
    bool predictions; /* entries are records of predictions (docs/log.md 6), not archive ids */
} rp_log_head;

/* ---- keeping a log: a folder with `entries` and `checkpoint` ---- */

/* Makes the folder and signs the empty log. Errors: RP_EEXIST where a log is; RP_EARG for the origin or a public key;
 * RP_EIO. Nothing is left behind on failure. */
RP_API rp_status rp_log_init(const char *folder, const char *origin, const rp_key *key, rp_error *err);
/* Appends the open (so: checked) archive's id and signs a new checkpoint. The whole log is computed again first and
 * must be what key signed. Entries that no checkpoint covers, left by an add that was killed, are cut off. An id that
 * is there already is not appended twice: *added is then false. Processes that add to one log wait for each other.
 *   index, added   may be NULL
 * Errors: RP_EHASH, RP_EFORMAT, RP_ESIGN (another key's log) and the log is untouched; RP_EIO, RP_ENOMEM. */
RP_API rp_status rp_log_add(const char *folder, const rp_archive *archive, const rp_key *key, uint64_t *index,
                            bool *added, rp_error *err);

typedef struct rp_run_log rp_run_log;

/* Reads the log as its checkpoint has it and computes the root again. With trusted keys one of them must have signed.
 * Errors: RP_EHASH where entries are missing or changed; RP_ESIGN; RP_EFORMAT; RP_EIO. */
RP_API rp_status rp_log_open(rp_run_log **out, const char *folder, const rp_key *const *trusted, size_t n_trusted,
                             rp_error *err);
RP_API void rp_log_close(rp_run_log *log); /* NULL is fine */
RP_API const rp_log_head *rp_log_state(const rp_run_log *log);
RP_API const char *
rp_log_signer(const rp_run_log *log); /* id of the trusted key that signed; NULL when none was given */
RP_API const rp_digest *rp_log_entry(const rp_run_log *log, uint64_t index); /* an archive id; NULL past the end */
/* Bytes after the last entry that the checkpoint covers: an add that did not finish. They are not in the log. */
RP_API uint64_t rp_log_unfinished(const rp_run_log *log);
/* Whether archive_id (64 hex digits) is in the log, and where first. */
RP_API bool rp_log_find(const rp_run_log *log, const char *archive_id, uint64_t *index);
/* A proof that entry index is in the log: text of docs/log.md 4. Errors: RP_EARG past the end; RP_ENOMEM. */
RP_API rp_status rp_log_prove(const rp_run_log *log, uint64_t index, char **out, rp_error *err);
/* A proof that the log still begins with what an older checkpoint covers: docs/log.md 5. old: that checkpoint's text,
 * signed by one of trusted. Errors: RP_EHASH when the log has lost or changed entries, or it is another log's. */
RP_API rp_status rp_log_prove_consistency(const rp_run_log *log, const char *old, size_t size, const char *where,
                                          const rp_key *const *trusted, size_t n_trusted, char **out, rp_error *err);

/* ---- predictions: a log of its own, docs/log.md 6 ---- */

/* A record: what was scored by which archive, and what came of it. */
typedef struct rp_logged_prediction {
    uint64_t index;
    char archive_id[RP_DIGEST_HEX];
    char rows_sha256[RP_DIGEST_HEX]; /* of the table's bytes, unpacked */
    uint64_t rows_bytes;
    char predictions_sha256[RP_DIGEST_HEX]; /* of the CSV of predictions */
    uint64_t predictions_rows;
    char previous[RP_DIGEST_HEX]; /* the entry before, which is the SHA-256 of its record; "" of the first */
    char time[24];                /* of the host that scored, 2026-11-23T07:00:00Z */
} rp_logged_prediction;

/* What is to be logged; borrowed. */
typedef struct rp_prediction_event {
    const rp_archive *archive;
    const void *rows, *predictions; /* a table's bytes, unpacked, and the CSV that was made of it */
    size_t rows_bytes, predictions_bytes;
    uint64_t predictions_rows;
    int64_t time; /* seconds since 1970 */
} rp_prediction_event;

/* Appends a record and signs a new checkpoint, as rp_log_add does and with its errors; a log of runs is refused.
 * *record, which may be NULL, is what was appended. Errors: also RP_EHASH where the last record is not that of the last
 * entry. */
RP_API rp_status rp_log_add_prediction(const char *folder, const rp_prediction_event *event, const rp_key *key,
                                       rp_logged_prediction *record, rp_error *err);
/* Whether the log is one of predictions. */
RP_API bool rp_log_has_predictions(const rp_run_log *log);
/* Reads all records, holds each against its entry, and hands it to see (NULL: to nobody), which may end it with an
 * error. Errors: RP_EHASH where one was changed, removed or put elsewhere; RP_EIO. */
RP_API rp_status rp_log_predictions(const rp_run_log *log,
                                    rp_status (*see)(void *self, const rp_logged_prediction *record, rp_error *err),
                                    void *self, rp_error *err);
/* A proof that these predictions are in the log, the newest such record in it: text of docs/log.md 6. Errors: RP_EHASH
 * where they are not; as rp_log_predictions. */
RP_API rp_status rp_log_prove_prediction(const rp_run_log *log, const void *predictions, size_t size, char **out,
                                         rp_error *err);

/* ---- checking, without the log ---- */

typedef struct rp_log_inclusion {
    rp_log_head head;
    uint64_t index;
    char key_id[RP_DIGEST_HEX]; /* of the key that signed the checkpoint; "" when no key was given */
} rp_log_inclusion;

/* Whether a proof shows archive_id in a log whose checkpoint one of trusted signed; with n_trusted 0 the signature is
 * not looked into. where names the text in errors. Errors: RP_EFORMAT; RP_EHASH (the path does not lead to the root);
 * RP_ESIGN. */
RP_API rp_status rp_log_check(rp_log_inclusion *out, const char *proof, size_t size, const char *where,
                              const char *archive_id, const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* A proof or a checkpoint, borrowed; where names it in errors. */
typedef struct rp_log_text {
    const char *text;
    size_t size;
    const char *where;
} rp_log_text;

/* rp_log_check of a CSV of predictions; *record is what the proof says of it. Errors: also RP_EHASH where the proof is
 * of other predictions. */
RP_API rp_status rp_log_check_prediction(rp_log_inclusion *out, rp_logged_prediction *record, const rp_log_text *proof,
                                         const void *predictions, size_t size, const rp_key *const *trusted,
                                         size_t n_trusted, rp_error *err);

/* Whether a proof shows that the log of the checkpoint inside it begins with all that the checkpoint old covers. Both
 * must be signed by trusted keys. was, is: may be NULL. Errors as above. */
RP_API rp_status rp_log_check_consistency(rp_log_head *was, rp_log_head *is, const rp_log_text *proof,
                                          const rp_log_text *old, const rp_key *const *trusted, size_t n_trusted,
                                          rp_error *err);
/* Name of the member under which an archive carries a proof by the log of this origin. */
RP_API rp_status rp_log_member(char out[RP_MEMBER_NAME], const char *origin, rp_error *err);

#endif
