/* SPDX-License-Identifier: Apache-2.0
 * Hand-overs of keys (FORMAT.md 5.7): a signed text in which one key says that another succeeds it from a time on. */
#ifndef AUDIT_SIGN_ROTATION_H
#define AUDIT_SIGN_ROTATION_H

#include "audit/sign/key.h"

#define RP_ROTATION_TYPE "https://reprise.invalid/key-rotation/v1"
enum { RP_ROTATION_LIMIT = 1 << 14, RP_ROTATIONS_MAX = 64 };

typedef struct rp_rotation {
    rp_key *successor;
    char old_id[RP_DIGEST_HEX]; /* of the key that signed */
    int64_t from;
} rp_rotation;

/* Checks form and, where old is among the trusted, the signature; *by is that key, else NULL and what was read is a
 * claim. where names the text. Errors: RP_ESIGN, RP_ENOMEM. Clear in any case. */
rp_status rp_rotation_read(rp_rotation *out, const rp_key **by, const void *bytes, size_t size, const char *where,
                           const rp_key *const *trusted, size_t n_trusted, rp_error *err);
void rp_rotation_clear(rp_rotation *rotation);

#endif
