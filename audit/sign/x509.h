/* SPDX-License-Identifier: Apache-2.0
 * Certificates as far as we accept them: read from PEM as strict DER, which keys and signatures are strong enough,
 * names as text. Chains are judged in chain.h. */
#ifndef AUDIT_SIGN_X509_H
#define AUDIT_SIGN_X509_H

#include <openssl/x509.h>

#include "rp/archive.h"

enum { RP_PEM_LIMIT = 1 << 20, RP_PEM_BLOCKS = 64, RP_NAME_TEXT = 256 };

/* Gives the DER of each block to take, in order; take's error ends it. label: "CERTIFICATE". Blocks of another label,
 * with headers, or of anything but one DER value are refused with code, and so are none or more than RP_PEM_BLOCKS. */
typedef rp_status rp_pem_take(void *self, const unsigned char *der, size_t size, const char *where, rp_error *err);
rp_status rp_pem_blocks(const char *pem, size_t size, const char *label, const char *where, rp_status code,
                        rp_pem_take *take, void *self, rp_error *err);

/* RFC 2253 in printable ASCII, shortened to fit; safe to print. Returns out. */
const char *rp_x509_name(char out[RP_NAME_TEXT], const X509_NAME *name);

/* What is wrong with the form of its extensions, which lie in octet strings, some under tags that say nothing of their
 * form: each of a type that OpenSSL knows is read and written again. NULL: nothing. */
const char *rp_x509_extension_fault(const X509 *certificate);
/* What is too weak about a public key, a static text; NULL when it is ECDSA on a NIST P-curve, or (rsa) RSA of 3072 to
 * 8192 bits with an exponent up to 65537, or (ed25519) that. */
const char *rp_x509_key_fault(X509 *certificate, bool rsa, bool ed25519);
/* The same of a signature algorithm: ECDSA with SHA-2, or (rsa) PKCS #1 v1.5 with SHA-2. */
const char *rp_x509_signature_fault(int signature_nid, bool rsa);

/* Whether OpenSSL's trouble was memory: its first or its last word says so. The thread's queue of errors must have been
 * cleared before: a failure of long ago, still in it, would be taken for one of now. */
bool rp_openssl_no_memory(void);

#endif
