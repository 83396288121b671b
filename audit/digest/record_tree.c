/* SPDX-License-Identifier: Apache-2.0
 * A Merkle tree kept level by level. Neighbours are paired and an odd last one moves up, which makes the tree of RFC
 * 6962 (digest.c says why); a node's children are therefore found by doubling its index. */
#include "audit/digest/record_tree.h"

#include <string.h>

#include "audit/digest/sha256.h"
#include "base/memory.h"

enum { LEAF = 0, NODE = 1, LEVELS = 65, BATCH = 1024 };

struct rp_record_tree {
    rp_digest *level[LEVELS]; /* level[0]: the leaves */
    size_t count[LEVELS];
    size_t levels;
    rp_digest *memory;
};

void rp_record_tree_free(rp_record_tree *tree)
{
    if (!tree)
        return;
    rp_free(tree->memory);
    rp_free(tree);
}

static rp_status lay_out(rp_record_tree *tree, size_t count, rp_error *err)
{
    size_t total = 0, at = 0;

    for (size_t n = count;; n = (n + 1) / 2) {
        tree->count[tree->levels++] = n;
        total += n;
        if (n == 1)
            break;
    }
    tree->memory = rp_reallocarray(NULL, total, sizeof *tree->memory);
    if (!tree->memory)
        return rp_no_memory(err);
    for (size_t k = 0; k < tree->levels; at += tree->count[k++])
        tree->level[k] = tree->memory + at;
    return RP_OK;
}

/* Digests of count messages of one size that lie one after another. */
static bool hash_row(rp_digest *out, const unsigned char *bytes, size_t size, int prefix, size_t count)
{
    rp_message message[BATCH];

    for (size_t done = 0; done < count;) {
        size_t part = count - done < BATCH ? count - done : BATCH;

        for (size_t i = 0; i < part; i++)
            message[i] = (rp_message){bytes + (done + i) * size, size, prefix, false, RP_F32, &out[done + i], false};
        if (!rp_sha256_many(message, part))
            return false;
        done += part;
    }
    return true;
}

/* All levels above the leaves. */
static bool fold(rp_record_tree *tree)
{
    bool fine = true;

    for (size_t k = 1; k < tree->levels && fine; k++) {
        size_t below = tree->count[k - 1];

        fine = hash_row(tree->level[k], tree->level[k - 1]->bytes, 2 * RP_DIGEST_SIZE, NODE, below / 2);
        if (below % 2)
            tree->level[k][below / 2] = tree->level[k - 1][below - 1];
    }
    return fine;
}

/* records NULL: over leaf. */
static rp_status make(rp_record_tree **out, const void *records, size_t record_size, const rp_digest *leaf,
                      size_t count, rp_error *err)
{
    rp_record_tree *tree = rp_calloc(1, sizeof *tree);
    rp_status status = tree ? lay_out(tree, count, err) : rp_no_memory(err);
    bool fine = true;

    *out = NULL;
    if (status == RP_OK && records)
        fine = hash_row(tree->level[0], records, record_size, LEAF, count);
    else if (status == RP_OK)
        memcpy(tree->level[0], leaf, count * sizeof *leaf);
    if (status == RP_OK && !(fine && fold(tree)))
        status = rp_sha256_failed(err);
    if (status != RP_OK)
        rp_record_tree_free(tree);
    else
        *out = tree;
    return status;
}

rp_status rp_record_tree_new(rp_record_tree **out, const void *records, size_t record_size, size_t count, rp_error *err)
{
    *out = NULL;
    if (count == 0 || record_size == 0 || count > SIZE_MAX / record_size)
        return rp_fail(err, RP_EARG, "a tree over %zu records of %zu bytes", count, record_size);
    return make(out, records, record_size, NULL, count, err);
}

rp_status rp_record_tree_over(rp_record_tree **out, const rp_digest *leaf, size_t count, rp_error *err)
{
    *out = NULL;
    return count ? make(out, NULL, 0, leaf, count, err) : rp_fail(err, RP_EARG, "a tree over no digests");
}

const rp_digest *rp_record_tree_root(const rp_record_tree *tree)
{
    return tree->level[tree->levels - 1];
}

size_t rp_record_tree_bisect(const rp_record_tree *a, const rp_record_tree *b, uint64_t *compared)
{
    size_t at = 0;

    ++*compared;
    if (rp_digest_equal(rp_record_tree_root(a), rp_record_tree_root(b)))
        return a->count[0];
    /* The node at a level differs. Its left child tells which half holds the first difference: where the left ones are
     * equal, the right ones differ. A node that was moved up has one child, itself. */
    for (size_t k = a->levels - 1; k-- > 0;) {
        at *= 2;
        if (at + 1 == a->count[k])
            continue;
        ++*compared;
        at += rp_digest_equal(&a->level[k][at], &b->level[k][at]);
    }
    return at;
}
