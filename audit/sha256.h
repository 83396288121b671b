/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 of many messages that lie in memory, two at a time where the processor has the SHA extensions (docs/decisions,
 * on SHA-256), else one after another through OpenSSL. */
#ifndef AUDIT_SHA256_H
#define AUDIT_SHA256_H

#include <stdbool.h>

#include "base/pool.h"
#include "rp/archive.h"
#include "rp/dtype.h"

/* prefix || bytes. A prefix below 0 is none. host: the bytes are elements of dtype in host form, whose stored form is
 * what the digest is of (FORMAT.md 3). */
typedef struct rp_message {
    const void *bytes;
    size_t size;
    int prefix;
    bool host;
    rp_dtype dtype;
    rp_digest *digest;
} rp_message;

/* False when OpenSSL failed or memory ran out. Thread-safe. */
bool rp_sha256_many(const rp_message *message, size_t count);
/* The same over a pool's threads (NULL: the caller's alone), cut by bytes. */
bool rp_sha256_many_over(const rp_message *message, size_t count, rp_pool *pool);
/* The error to give when one of these returned false. */
rp_status rp_sha256_failed(rp_error *err);

/* True when bytes of host form are the stored form already: little-endian, canonical NaNs, bools 0 or 1. NaNs of any
 * kind are taken for others. */
bool rp_stored_already(const unsigned char *bytes, size_t size, rp_dtype dtype);

/* Both ways, for tests. native: rp_sha256_native() must be true; odd[i] is set where host bytes are not the stored form
 * and the digest is therefore not made. */
bool rp_sha256_native(void);
void rp_sha256_many_native(const rp_message *message, size_t count, bool *odd);
bool rp_sha256_many_openssl(const rp_message *message, size_t count);

#endif
