/* SPDX-License-Identifier: Apache-2.0
 * Signed statements: a DSSE v1 envelope with exactly one signature around an in-toto Statement v1 whose one subject is
 * manifest.json (FORMAT.md 5). Both are canonical JSON, so a statement has one possible text. */
#ifndef AUDIT_SIGN_DSSE_H
#define AUDIT_SIGN_DSSE_H

#include "audit/sign/key.h"
#include "base/json.h"

#define RP_PAYLOAD_TYPE "application/vnd.in-toto+json"
#define RP_STATEMENT_SUBJECT RP_MANIFEST_NAME /* what every statement is about, by its SHA-256 */
#define RP_STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define RP_PROVENANCE_TYPE "https://slsa.dev/provenance/v1"

/* An envelope's payload may be larger than a statement's: oms.h lists every member in one. */
enum { RP_PREDICATE_TYPE_LIMIT = 1023, RP_STATEMENT_LIMIT = 1 << 20, RP_ENVELOPE_LIMIT = 24 << 20 };

/* Appends the envelope. archive_id: 64 hex digits. predicate: an object, borrowed. */
rp_status rp_statement_write(rp_buffer *out, const rp_key *key, const char *archive_id, const char *predicate_type,
                             const rp_json *predicate, rp_error *err);

typedef struct rp_statement {
    const rp_key *key;          /* which of the trusted keys signed; NULL: another, so the signature was not checked */
    char key_id[RP_DIGEST_HEX]; /* as the envelope names it; that of key, where there is one */
    rp_json *payload;           /* the whole in-toto statement, owned */
    const char *subject;        /* hex digest the statement is about; inside payload, as is predicate_type */
    const char *predicate_type;
} rp_statement;

/* Checks form, and the signature where a trusted key made it; comparing subject with the archive is the caller's. where
 * names the member. Errors: RP_ESIGN for all that is wrong with it. Clear with rp_statement_clear. */
rp_status rp_statement_read(rp_statement *out, const void *bytes, size_t size, const char *where,
                            const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* The same, and another's key is an error. */
rp_status rp_statement_check(rp_statement *out, const void *bytes, size_t size, const char *where,
                             const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* What an envelope claims, with neither trust nor signature checked: to be shown as a claim, never to be believed.
 * payload: new reference. Errors: RP_ESIGN, RP_ENOMEM. */
rp_status rp_statement_claims(rp_json **payload, char key_id[RP_DIGEST_HEX], const void *bytes, size_t size,
                              const char *where, rp_error *err);
void rp_statement_clear(rp_statement *statement);

/* ---- the envelope alone, as a JSON object that may be part of another ---- */

/* Signs payload. The caller owns *out. */
rp_status rp_envelope_make(rp_json **out, const rp_key *key, const void *payload, size_t size, rp_error *err);
/* payload: the decoded bytes that *key, one of the trusted, has signed. Form and base64 are exact. Errors: RP_ESIGN. */
rp_status rp_envelope_open(const rp_json *json, rp_buffer *payload, const rp_key **key, const char *where,
                           const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* The same, but *key is NULL where none of the trusted is named: the form was checked then, the signature not. *signer:
 * the key id, inside json, any text. */
rp_status rp_envelope_read(const rp_json *json, rp_buffer *payload, const rp_key **key, const char **signer,
                           const char *where, const rp_key *const *trusted, size_t n_trusted, rp_error *err);
/* The error that says so. Returns RP_ESIGN. */
rp_status rp_signer_unknown(const char *where, const char *key_id, size_t n_trusted, rp_error *err);
/* Canonical JSON; whatever is wrong with it is wrong with the signature: RP_ESIGN. */
rp_status rp_signed_json_parse(rp_json **out, const void *bytes, size_t size, const char *where, rp_error *err);

/* Appends what is signed for a payload: DSSE's pre-authentication encoding. */
rp_status rp_envelope_bytes(rp_buffer *out, const void *payload, size_t size, rp_error *err);
/* Replaces *out by NUL-terminated standard base64. */
rp_status rp_base64_write(rp_buffer *out, const void *bytes, size_t size, rp_error *err);

#endif
