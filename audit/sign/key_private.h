/* SPDX-License-Identifier: Apache-2.0
 * What a key is, between the files that implement it: key.c (kinds, identity), key_pem.c (keys as text, public ones
 * whole), key_check.c (signatures), key_signing.c (private keys). */
#ifndef AUDIT_SIGN_KEY_PRIVATE_H
#define AUDIT_SIGN_KEY_PRIVATE_H

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "audit/sign/key.h"

enum { RP_PEM_LIMIT = 65536 };
#define RP_EXPECTED_KINDS "expected ECDSA P-256, P-384 or P-521, or Ed25519"

typedef struct rp_key_kind {
    const char *type;
    const char *group; /* OpenSSL's name of the curve; NULL: Ed25519 */
    const char *hash;
} rp_key_kind;

struct rp_key {
    EVP_PKEY *pkey;
    EVP_PKEY *token; /* signs instead of pkey, which is its public half; else NULL */
    const rp_key_kind *kind;
    bool is_private;
    char id[RP_DIGEST_HEX];
    rp_buffer certificates; /* PEM, or empty */
};

/* A key of a kind that is allowed, with its id. Takes pkey, whatever the result. */
rp_status rp_key_wrap(rp_key **out, EVP_PKEY *pkey, bool is_private, const char *where, rp_error *err);
/* Whether OpenSSL's trouble was memory: its first or its last word says so. Before ERR_clear_error. */
bool rp_key_no_memory(void);
/* What the first PEM block calls itself, for errors. */
const char *rp_pem_label(char *out, size_t size, const char *pem, size_t length);
/* What OpenSSL is given when it asks for a passphrase, which it never does at a terminal. */
typedef struct rp_passphrase {
    const char *text; /* NULL: there is none */
    bool asked;
} rp_passphrase;
/* OpenSSL's PEM_read_bio_PUBKEY or PEM_read_bio_PrivateKey. */
typedef EVP_PKEY *rp_pem_reader(BIO *bio, EVP_PKEY **out, pem_password_cb *give, void *passphrase);
/* The key of a PEM text by one of them. *out is NULL with RP_OK when the text holds none. Errors: RP_EARG: no text, or
 * too much; RP_ENOMEM. */
rp_status rp_pem_read(EVP_PKEY **out, rp_pem_reader *read, rp_passphrase *passphrase, const char *pem, size_t size,
                      const char *where, rp_error *err);
/* The bytes of a file that may be a key's. Errors: RP_EARG: too large for one; those of rp_file_read. */
rp_status rp_pem_file(rp_buffer *out, const char *path, rp_error *err);

#endif
