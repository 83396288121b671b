/* SPDX-License-Identifier: Apache-2.0
 * What a key is, between the files that implement it: key.c (kinds, identity), key_pem.c (public keys as text),
 * key_check.c (signatures), key_signing.c (private keys). */
#ifndef AUDIT_SIGN_KEY_PRIVATE_H
#define AUDIT_SIGN_KEY_PRIVATE_H

#include <openssl/evp.h>

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
/* OpenSSL asks here for a passphrase, and never at a terminal. */
typedef struct rp_passphrase {
    const char *text; /* NULL: there is none */
    bool asked;
} rp_passphrase;
int rp_give_passphrase(char *out, int size, int writing, void *passphrase);

#endif
