/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 of many messages that lie in memory: sixteen at a time where the processor has AVX-512 and they have one
 * size, two at a time where it has the SHA extensions, else one after another through OpenSSL (docs/decisions, 0014).
 */
#ifndef AUDIT_DIGEST_SHA256_H
#define AUDIT_DIGEST_SHA256_H

#include <stdbool.h>

#include "base/pool.h"
#include "rp/archive.h"
#include "rp/dtype.h"

/* prefix || bytes. A prefix below 0 is none. host: the bytes are elements of dtype in host form, whose stored form is
 * what the digest is of (FORMAT.md 3). joined: they lie in the same allocation as those of the message before, so that
 * one copy may take both where they follow each other; a device refuses a copy from two allocations, also from two that
 * lie side by side. */
typedef struct rp_message {
    const void *bytes;
    size_t size;
    int prefix;
    bool host;
    rp_dtype dtype;
    rp_digest *digest;
    bool joined;
} rp_message;

/* False when OpenSSL failed or memory ran out. Thread-safe. */
bool rp_sha256_many(const rp_message *message, size_t count);
/* The same over a pool's threads (NULL: the caller's alone), cut by bytes. */
bool rp_sha256_many_over(const rp_message *message, size_t count, rp_pool *pool);
/* The error to give when one of these returned false. */
rp_status rp_sha256_failed(rp_error *err);

/* A message that comes in pieces of whole blocks, its end apart; two of them go side by side. Not one of the lanes may
 * be used by two threads at a time. */
typedef struct rp_sha256_lane {
    uint32_t state[8];
    uint64_t size;
    struct rp_sha256_stream *stream; /* OpenSSL's; NULL where the processor's instructions serve */
} rp_sha256_lane;

enum { RP_SHA_BLOCK = 64 };

/* A started lane is finished or dropped. Errors: RP_ENOMEM. */
rp_status rp_sha256_lane_start(rp_sha256_lane *lane, rp_error *err);
/* blocks of each; b NULL: of a alone. */
void rp_sha256_lane_blocks(rp_sha256_lane *a, const unsigned char *at, rp_sha256_lane *b, const unsigned char *bt,
                           size_t blocks);
/* The last size bytes, fewer than a block. */
rp_status rp_sha256_lane_finish(rp_sha256_lane *lane, const unsigned char *at, size_t size, rp_digest *out,
                                rp_error *err);
void rp_sha256_lane_drop(rp_sha256_lane *lane);

/* Both ways, for tests. native: rp_sha256_native() must be true; odd[i] is set where host bytes are not the stored form
 * and the digest is therefore not made. */
bool rp_sha256_native(void);
void rp_sha256_many_native(const rp_message *message, size_t count, bool *odd);
bool rp_sha256_many_openssl(const rp_message *message, size_t count);
void rp_sha256_start_native(uint32_t state[8]);
void rp_sha256_blocks_native(uint32_t a[8], const unsigned char *at, uint32_t b[8], const unsigned char *bt,
                             size_t blocks);
void rp_sha256_finish_native(uint32_t state[8], const unsigned char *at, size_t size, uint64_t whole, rp_digest *out);

/* 1 to RP_SHA_LANES messages of one kind: of one size, above 0, one prefix, and all of them host bytes of one type, but
 * RP_BOOL, or none. False where host bytes are not in stored form; no digest is then made. rp_sha256_has_lanes() must
 * be true. Fewer take as long as all. */
enum { RP_SHA_LANES = 16 };
bool rp_sha256_has_lanes(void);
bool rp_sha256_lanes(const rp_message *const message[], size_t count);

/* FIPS 180-4, 4.2.2 and 5.3.3, for the two own ways. */
extern const uint32_t rp_sha256_constant[64], rp_sha256_initial[8];

#endif
