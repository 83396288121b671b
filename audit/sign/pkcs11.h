/* SPDX-License-Identifier: Apache-2.0
 * Private keys that never leave a token: PKCS#11 through OpenSSL's engine `pkcs11` (libp11). */
#ifndef AUDIT_SIGN_PKCS11_H
#define AUDIT_SIGN_PKCS11_H

#include <openssl/evp.h>

#include "rp/archive.h"

/* pkcs11:... (RFC 7512) */
bool rp_pkcs11_is_uri(const char *path);

/* A handle to the private key that uri names. The PIN is never asked for at a terminal. Errors: RP_EARG (no PIN, a PIN
 * in the URI, no such key, a wrong PIN), RP_EUNSUPPORTED where the engine is not installed, RP_ENOMEM. */
rp_status rp_pkcs11_load(EVP_PKEY **out, const char *uri, const char *pin, rp_error *err);

#endif
