/* SPDX-License-Identifier: Apache-2.0
 * Whom a verifier trusts beyond bare keys: certificate authorities of signers, authorities that date signatures (RFC
 * 3161), what authorities have revoked, and the time at which all this is judged. docs/keys.md explains it for people,
 * audit/FORMAT.md 5.5 and 5.6 give the bytes. Texts that functions return are freed with rp_text_free (rp/audit.h). */
#ifndef RP_TRUST_H
#define RP_TRUST_H

#include "rp/archive.h"

/* ---- what is trusted ---- */

typedef enum rp_trust_kind {
    RP_TRUST_CA,  /* root certificates of signers */
    RP_TRUST_TSA, /* root certificates of timestamp authorities */
    RP_TRUST_CRL  /* revocation lists, for the chains of both */
} rp_trust_kind;

RP_API rp_status rp_trust_store_new(rp_trust_store **out, rp_error *err);
RP_API void rp_trust_store_free(rp_trust_store *store); /* NULL is fine */
/* Adds what a PEM file holds: 1 to 64 certificates or lists, and nothing else but text between them. Errors: RP_EIO;
 * RP_EARG for what is malformed or too weak (below). */
RP_API rp_status rp_trust_store_add(rp_trust_store *store, rp_trust_kind kind, const char *path, rp_error *err);
/* The same from text; where names it in errors. */
RP_API rp_status rp_trust_store_add_pem(rp_trust_store *store, rp_trust_kind kind, const char *pem, size_t size,
                                        const char *where, rp_error *err);
/* Adds a hand-over (rp_key_rotation): where the key that signed it is trusted, its successor is too, from the time it
 * says on. Its signature is checked when the trusted keys are known, in verification. Errors: RP_EIO, RP_ESIGN
 * (malformed), RP_EARG (too many). */
RP_API rp_status rp_trust_store_add_rotation(rp_trust_store *store, const char *path, rp_error *err);
RP_API rp_status rp_trust_store_add_rotation_text(rp_trust_store *store, const char *text, size_t size,
                                                  const char *where, rp_error *err);
/* Judge as of this second (since 1970, UTC) instead of now, where no timestamp says when. */
RP_API void rp_trust_store_set_time(rp_trust_store *store, int64_t seconds);
/* "2026-11-21T15:04:05Z" to seconds; RP_EARG for anything else. */
RP_API rp_status rp_trust_time(int64_t *out, const char *text, rp_error *err);
/* Refuse a chain of which a certificate has no usable revocation list. */
RP_API void rp_trust_store_require_crl(rp_trust_store *store);
/* Everything is ECDSA on P-256, P-384 or P-521 with SHA-256, SHA-384 or SHA-512, and a signer's own key may be Ed25519.
 * Many public timestamp authorities sign with RSA: this admits, for them alone, RSA of at least 3072 bits with SHA-2.
 */
RP_API void rp_trust_store_allow_rsa_timestamps(rp_trust_store *store);

/* ---- hand-overs of keys ---- */

/* A text by which old says that successor takes its place from that second on (FORMAT.md 5.7). Errors: RP_EARG,
 * RP_ENOMEM, those of signing. */
RP_API rp_status rp_key_rotation(const rp_key *old, const rp_key *successor, int64_t from, char **text, rp_error *err);

/* ---- certificates of signers ---- */

/* Gives a key its certificates: a PEM file with the key's own first and each one issued by the next (the root may be
 * left out). What the key then signs brings them into the archive. Errors: RP_EARG (another key's, too weak, out of
 * order), RP_EIO. */
RP_API rp_status rp_key_load_certificates(rp_key *key, const char *path, rp_error *err);
/* Name of the member that carries them: signatures/, 16 digits of the key's id, .x509.pem. */
RP_API void rp_certificate_member(char out[RP_MEMBER_NAME], const char *key_id);
/* Puts the certificates of a PEM file into the archive at path archive. member: the member made; may be NULL. Errors as
 * above, and those of rp_archive_add_statement. */
RP_API rp_status rp_archive_add_certificates(const char *archive, const char *path, bool force,
                                             char member[RP_MEMBER_NAME], rp_error *err);

/* ---- timestamps ---- */

/* The member that carries the timestamp of a statement: signatures/NAME.dsse.json gives signatures/NAME.dsse.tsr. */
RP_API rp_status rp_timestamp_member(char out[RP_MEMBER_NAME], const char *statement, rp_error *err);
/* A request (RFC 3161 TimeStampReq, DER) for a statement of an open archive, with a random nonce and a wish for the
 * authority's certificate: to be sent by any tool. statement: a member's name; NULL: the run's. hash   "sha256",
 * "sha384" or "sha512"; NULL: sha256 Errors: RP_EARG (no such statement or hash), RP_EIO, RP_EHASH, RP_ENOMEM. */
RP_API rp_status rp_timestamp_request(const rp_archive *archive, const char *statement, const char *hash, char **out,
                                      size_t *size, rp_error *err);
/* Puts an authority's response into the archive at path, beside the statement whose bytes it dates. What it says must
 * be in order; whether the authority is one to trust, verification asks. request   may be NULL; else the request that
 * was sent: the response must carry its nonce member    the member made; may be NULL Errors: RP_ESIGN for a malformed,
 * refused or weak response, or one that is about no statement here; those of rp_archive_add_statement. */
RP_API rp_status rp_timestamp_attach(const char *path, const void *response, size_t size, const char *where,
                                     const void *request, size_t request_size, bool force, char member[RP_MEMBER_NAME],
                                     rp_error *err);

#endif
