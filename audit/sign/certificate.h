/* SPDX-License-Identifier: Apache-2.0
 * The certificates of a signer's key, as an archive carries them (FORMAT.md 5.6): PEM, the key's own first, each one
 * issued by the next. */
#ifndef AUDIT_SIGN_CERTIFICATE_H
#define AUDIT_SIGN_CERTIFICATE_H

#include "audit/sign/key.h"
#include "audit/sign/x509.h"

enum { RP_CERTIFICATE_LIMIT = 1 << 16, RP_CERTIFICATES_LIMIT = 1 << 21, RP_CHAIN_LENGTH = 8 };

typedef struct rp_certificate {
    STACK_OF(X509) * chain;
    rp_key *key; /* of the first */
} rp_certificate;

/* Form only: whom it leads to is for a chain's judge. exact: the text must be what is written for it (a member), else
 * text between the blocks is stepped over (a file). Errors: code. Clear in any case. */
rp_status rp_certificate_parse(rp_certificate *out, const void *pem, size_t size, bool exact, const char *where,
                               rp_status code, rp_error *err);
void rp_certificate_clear(rp_certificate *certificate);
/* The same from a file, and its one text. Errors: RP_EARG, RP_EIO. Clear in any case. */
rp_status rp_certificate_load(rp_certificate *out, rp_buffer *text, const char *path, rp_error *err);
/* Appends the one text. */
rp_status rp_certificate_write(rp_buffer *out, const rp_certificate *certificate, rp_error *err);

#endif
