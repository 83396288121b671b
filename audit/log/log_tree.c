/* SPDX-License-Identifier: Apache-2.0
 * RFC 6962's tree. Proofs are made by the recursive definitions of its section 2.1, top down; they are checked bottom
 * up by RFC 9162, from index and size alone, so that a fault in one is not repeated in the other. */
#include "audit/log/log_tree.h"

#include <string.h>

#include "audit/digest/sha256.h"

enum { LEAF = 0, NODE = 1, BATCH = 128 };

rp_status rp_log_leaves(rp_digest *leaf, const rp_digest *entry, size_t count, rp_error *err)
{
    rp_message message[BATCH];

    for (size_t at = 0; at < count;) {
        rp_digest bytes[BATCH];
        size_t n = count - at < BATCH ? count - at : BATCH;

        for (size_t i = 0; i < n; i++) {
            bytes[i] = entry[at + i];
            message[i] = (rp_message){bytes[i].bytes, RP_DIGEST_SIZE, LEAF, false, RP_F32, &leaf[at + i], false};
        }
        if (!rp_sha256_many(message, n))
            return rp_sha256_failed(err);
        at += n;
    }
    return RP_OK;
}

static rp_status node(rp_digest *out, const rp_digest *left, const rp_digest *right, rp_error *err)
{
    const rp_digest both[2] = {*left, *right};
    const rp_message message = {both, sizeof both, NODE, false, RP_F32, out, false};

    return rp_sha256_many(&message, 1) ? RP_OK : rp_sha256_failed(err);
}

/* The root of 1 to BATCH leaves, level by level: neighbours are paired and an odd last one moves up. */
static rp_status small_root(rp_digest *out, const rp_digest *leaf, size_t count, rp_error *err)
{
    rp_digest level[BATCH], above[BATCH / 2];
    rp_message message[BATCH / 2];

    memcpy(level, leaf, count * sizeof *level);
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; i < count / 2; i++)
            message[i] = (rp_message){level[2 * i].bytes, 2 * RP_DIGEST_SIZE, NODE, false, RP_F32, &above[i], false};
        if (!rp_sha256_many(message, count / 2))
            return rp_sha256_failed(err);
        if (count % 2 == 1)
            level[count / 2] = level[count - 1];
        memcpy(level, above, count / 2 * sizeof *level);
    }
    *out = level[0];
    return RP_OK;
}

/* A stack of the roots of full trees, falling in size; a new one of BATCH leaves merges as a binary counter carries. */
rp_status rp_log_root(rp_digest *out, const rp_digest *leaf, size_t count, rp_error *err)
{
    rp_digest stack[RP_LOG_PATH_MAX + 1];
    size_t top = 0;
    rp_status status = RP_OK;

    if (count == 0)
        return rp_sha256(out, "", 0, err);
    for (size_t at = 0; at < count && status == RP_OK; at += BATCH) {
        const size_t part = count - at < BATCH ? count - at : BATCH;

        status = small_root(&stack[top++], leaf + at, part, err);
        for (size_t carry = at / BATCH; (carry & 1) && status == RP_OK; carry >>= 1, top--)
            status = node(&stack[top - 2], &stack[top - 2], &stack[top - 1], err);
    }
    for (; top > 1 && status == RP_OK; top--)
        status = node(&stack[top - 2], &stack[top - 2], &stack[top - 1], err);
    if (status == RP_OK)
        *out = stack[0];
    return status;
}

/* The largest power of two below n; n > 1. */
static size_t split(size_t n)
{
    size_t k = 1;

    while (k < n - k)
        k <<= 1;
    return k;
}

static void reverse(rp_digest *path, size_t length)
{
    for (size_t i = 0; i < length / 2; i++) {
        rp_digest other = path[i];

        path[i] = path[length - 1 - i];
        path[length - 1 - i] = other;
    }
}

/* RFC 6962 2.1.1 */
rp_status rp_log_path(rp_digest *path, size_t *length, const rp_digest *leaf, size_t count, size_t index, rp_error *err)
{
    rp_status status = RP_OK;

    for (*length = 0; count > 1 && status == RP_OK; ++*length) {
        size_t k = split(count);

        if (index < k) {
            status = rp_log_root(&path[*length], leaf + k, count - k, err);
            count = k;
        } else {
            status = rp_log_root(&path[*length], leaf, k, err);
            leaf += k;
            index -= k;
            count -= k;
        }
    }
    reverse(path, *length);
    return status;
}

/* RFC 6962 2.1.2: whole while the old tree is a tree by itself, whose root the verifier has. */
rp_status rp_log_growth(rp_digest *path, size_t *length, const rp_digest *leaf, size_t count, size_t old, rp_error *err)
{
    bool whole = true;
    rp_status status = RP_OK;

    *length = 0;
    if (old == 0)
        return RP_OK;
    while (old != count && status == RP_OK) {
        size_t k = split(count);

        if (old <= k) {
            status = rp_log_root(&path[(*length)++], leaf + k, count - k, err);
            count = k;
        } else {
            status = rp_log_root(&path[(*length)++], leaf, k, err);
            leaf += k;
            old -= k;
            count -= k;
            whole = false;
        }
    }
    if (!whole && status == RP_OK)
        status = rp_log_root(&path[(*length)++], leaf, count, err);
    reverse(path, *length);
    return status;
}

/* Where a walk up stands: the node's number in its level, and the last number there. */
typedef struct walk {
    uint64_t number, last;
} walk;

static void up(walk *w)
{
    w->number >>= 1;
    w->last >>= 1;
}

/* Whether the sibling is on the left. A last node without a sibling rises until it has one; that is then on the left.
 */
static bool sibling_is_left(walk *w)
{
    if (!(w->number & 1) && w->number != w->last)
        return false;
    while (!(w->number & 1) && w->number != 0)
        up(w);
    return true;
}

rp_status rp_log_path_check(bool *right, const rp_digest *path, size_t length, uint64_t index, uint64_t size,
                            const rp_digest *leaf, const rp_digest *root, rp_error *err)
{
    walk w = {index, size - 1};
    rp_digest sum = *leaf;
    rp_status status = RP_OK;

    *right = false;
    if (index >= size)
        return RP_OK;
    for (size_t i = 0; i < length && status == RP_OK; i++) {
        if (w.last == 0)
            return RP_OK; /* too long */
        status = sibling_is_left(&w) ? node(&sum, &path[i], &sum, err) : node(&sum, &sum, &path[i], err);
        up(&w);
    }
    *right = status == RP_OK && w.last == 0 && rp_digest_equal(&sum, root);
    return status;
}

rp_status rp_log_growth_check(bool *right, const rp_digest *path, size_t length, uint64_t old_size, uint64_t size,
                              const rp_digest *old_root, const rp_digest *root, rp_error *err)
{
    walk w = {old_size - 1, size - 1};
    bool whole = (old_size & (old_size - 1)) == 0; /* then the old root is the path's first node, and left out */
    rp_digest before, after, none;
    rp_status status = rp_sha256(&none, "", 0, err);

    *right = false;
    if (status != RP_OK || old_size > size)
        return status;
    if (old_size == 0 || old_size == size) {
        *right = length == 0 && rp_digest_equal(old_root, old_size == 0 ? &none : root) &&
                 (size != 0 || rp_digest_equal(root, &none));
        return RP_OK;
    }
    if (length == 0)
        return RP_OK;
    while (w.number & 1)
        up(&w);
    before = after = whole ? *old_root : path[0];
    for (size_t i = whole ? 0 : 1; i < length && status == RP_OK; i++) {
        if (w.last == 0)
            return RP_OK;
        if (sibling_is_left(&w)) {
            status = node(&before, &path[i], &before, err);
            if (status == RP_OK)
                status = node(&after, &path[i], &after, err);
        } else {
            status = node(&after, &after, &path[i], err);
        }
        up(&w);
    }
    *right = status == RP_OK && w.last == 0 && rp_digest_equal(&before, old_root) && rp_digest_equal(&after, root);
    return status;
}
