/* SPDX-License-Identifier: Apache-2.0
 * The texts of a log (docs/log.md): checkpoints as signed notes, inclusion proofs, consistency proofs. All have one
 * form: what a reader accepts is what a writer writes, but for the signatures of others, which it steps over. */
#ifndef AUDIT_LOG_LOG_NOTE_H
#define AUDIT_LOG_LOG_NOTE_H

#include "audit/sign/key.h"
#include "audit/log/log_tree.h"
#include "rp/log.h"

#define RP_LOG_DASH "\xe2\x80\x94 "         /* U+2014, space: before each signature */
#define RP_LOG_OF_PREDICTIONS "predictions" /* the extension line of their checkpoints */
#define RP_LOG_PROOF_LINE "c2sp.org/tlog-proof@v1"
enum { RP_LOG_NOTE_LIMIT = 65536, RP_LOG_PROOF_LIMIT = 2 * RP_LOG_NOTE_LIMIT, RP_LOG_SIGNATURES_MAX = 64 };

/* A checkpoint in a text that is borrowed. */
typedef struct rp_log_note {
    rp_log_head head;
    const char *text;
    size_t size;        /* all of it */
    size_t signed_size; /* the part that is signed: up to and without the blank line */
} rp_log_note;

/* An inclusion proof: number is the index; a consistency proof: number is the old size. */
typedef struct rp_log_proof {
    uint64_t number;
    size_t length;
    rp_digest path[RP_LOG_PATH_MAX];
    rp_log_note note;
} rp_log_proof;

/* RP_EARG when origin is not one. */
rp_status rp_log_origin_check(const char *origin, rp_error *err);

/* Appends a checkpoint. */
rp_status rp_log_note_write(rp_buffer *out, const rp_log_head *head, const rp_key *key, rp_error *err);
/* Form only: RP_EFORMAT. */
rp_status rp_log_note_parse(rp_log_note *out, const char *text, size_t size, const char *where, rp_error *err);
/* Which trusted key signed under the origin's name: *by, NULL when none. A signature that claims to be by a trusted key
 * and is not: RP_ESIGN. */
rp_status rp_log_note_find(const rp_log_note *note, const rp_key *const *trusted, size_t n_trusted, const rp_key **by,
                           const char *where, rp_error *err);
/* The same where one must have: RP_ESIGN when none has. */
rp_status rp_log_note_check(const rp_log_note *note, const rp_key *const *trusted, size_t n_trusted, const rp_key **by,
                            const char *where, rp_error *err);

/* Appends; checkpoint is its text. extra: NULL, or what the proof carries beside it. */
void rp_log_inclusion_write(rp_buffer *out, const char *extra, uint64_t index, const rp_digest *path, size_t length,
                            const char *checkpoint);
void rp_log_consistency_write(rp_buffer *out, uint64_t old, const rp_digest *path, size_t length,
                              const char *checkpoint);
enum { RP_LOG_EXTRA_MAX = 1200 }; /* a multiple of 3 */
/* What a proof of a prediction carries: its record. */
typedef struct rp_log_extra {
    unsigned char bytes[RP_LOG_EXTRA_MAX];
    size_t size;
} rp_log_extra;

/* extra NULL: the line "extra" is refused; else it must be there. */
rp_status rp_log_inclusion_parse_extra(rp_log_proof *out, rp_log_extra *extra, const char *text, size_t size,
                                       const char *where, rp_error *err);
rp_status rp_log_inclusion_parse(rp_log_proof *out, const char *text, size_t size, const char *where, rp_error *err);
rp_status rp_log_consistency_parse(rp_log_proof *out, const char *text, size_t size, const char *where, rp_error *err);

/* Parses an inclusion proof, and follows its path from archive_id to the checkpoint's root; whose that is, is not
 * looked into. Errors: RP_EFORMAT, RP_EHASH. */
rp_status rp_log_inclusion_check(rp_log_proof *out, const char *text, size_t size, const char *where,
                                 const char *archive_id, rp_error *err);

/* That the path of a parsed proof leads from the entry to its root. Errors: RP_EHASH, of `what`. */
rp_status rp_log_path_leads(const rp_log_proof *proof, const rp_digest *entry, const char *where, const char *what,
                            rp_error *err);

/* rp_log_add of an archive that is known by its id alone. */
rp_status rp_log_add_id(const char *folder, const char *archive_id, const rp_key *key, uint64_t *index, bool *added,
                        rp_error *err);

#endif
