/* SPDX-License-Identifier: Apache-2.0
 * Hashing bytes that the host cannot read where they are: they are copied to a window while the other one is hashed, so
 * that the host's memory is bounded whatever is hashed; or hashed where they are, and digests come. Who does either is
 * the caller's (audit/record/staging.h). */
#ifndef AUDIT_DIGEST_FETCH_H
#define AUDIT_DIGEST_FETCH_H

#include "audit/digest/sha256.h"
#include "base/piece.h"

enum { RP_FETCH_MESSAGES = 1024 }; /* in a window at most */
enum { RP_FETCH_HASHED = 48 };     /* bytes of a window for each message that is hashed there: its digest, its place */

typedef struct rp_fetch {
    void *self;
    unsigned char *window[2]; /* aligned to 64 bytes */
    rp_message *message[2];   /* room for RP_FETCH_MESSAGES, */
    rp_piece *piece;          /* and this */
    size_t size;              /* bytes of a window: a multiple of 64, and no message is larger */
    /* Begins the copies to a window, at least one, at multiples of 64 in it, once before it is waited for; wait returns
     * when all that was begun for that window is there. False: a copy failed. */
    bool (*begin)(void *self, int window, const rp_piece *piece, size_t count);
    bool (*wait)(void *self, int window);
    /* NULL: they cannot be hashed where they are. Begins to hash at most size / RP_FETCH_HASHED messages, in memory of
     * that window; when it was waited for, their digests lie in order where it begins. False: that failed. */
    bool (*hash)(void *self, int window, const rp_message *message, size_t count);
} rp_fetch;

/* Whether so many messages are hashed where they are, rather than here: a thread there is slow, and they have one each.
 */
bool rp_fetch_hashes(const rp_fetch *fetch, const rp_message *message, size_t count);

/* rp_sha256_many_over of messages whose bytes are only where fetch finds them. Also false when a copy failed. */
bool rp_sha256_many_fetched(const rp_message *message, size_t count, rp_pool *pool, const rp_fetch *fetch);

#endif
