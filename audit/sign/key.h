/* SPDX-License-Identifier: Apache-2.0
 * Signing and checking with keys (rp/archive.h makes and loads them). ECDSA uses the hash of the curve's size: SHA-256
 * for P-256, SHA-384 for P-384, SHA-512 for P-521; signatures are strict DER. Ed25519 signs the message itself. */
#ifndef AUDIT_SIGN_KEY_H
#define AUDIT_SIGN_KEY_H

#include "base/buffer.h"
#include "rp/archive.h"

/* Appends the signature of message. Errors: RP_EARG for a public key; RP_ENOMEM. */
rp_status rp_key_sign(const rp_key *key, const void *message, size_t size, rp_buffer *signature, rp_error *err);
/* Errors: RP_ESIGN. */
rp_status rp_key_check(const rp_key *key, const void *message, size_t size, const void *signature,
                       size_t signature_size, rp_error *err);

/* The four bytes by which a signed note (C2SP) tells the key named name: of a hash of name and key for Ed25519 (type
 * 1), of the key's SubjectPublicKeyInfo for ECDSA (type 2). Errors: RP_ENOMEM. */
rp_status rp_key_note_id(const rp_key *key, const char *name, unsigned char id[4], rp_error *err);
/* Appends the text that the key's id is of. Errors: RP_ENOMEM. */
rp_status rp_key_public_text(const rp_key *key, rp_buffer *out, rp_error *err);
/* The public key of a certificate. Errors: RP_EARG, RP_ENOMEM. */
struct x509_st;
rp_status rp_key_of_certificate(rp_key **out, struct x509_st *certificate, const char *where, rp_error *err);
/* The text of the key's certificates goes with it; takes what text holds. */
void rp_key_set_certificates(rp_key *key, rp_buffer *text);
/* NULL when there are none. */
const rp_buffer *rp_key_certificates(const rp_key *key);
/* On one of the three NIST curves, as against Ed25519. */
bool rp_key_is_ecdsa(const rp_key *key);

#endif
