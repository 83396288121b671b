/* SPDX-License-Identifier: Apache-2.0
 * Digests of trees, tensors and named lists over SHA-256. Domain bytes 00 to 04 keep leaves, nodes, tensors, lists and
 * rolling states apart, as RFC 6962 does for trees. */
#include "audit/digest/digest.h"

#include <stdlib.h>
#include <string.h>

#include "audit/digest/fetch.h"
#include "audit/digest/sha256.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "determinism/bits.h"

enum { LEAF = 0, NODE = 1, TENSOR = 2, LIST = 3 };
enum { NODES = 64 }; /* hashed at a time: in pairs, where the processor can */

/* Pairing neighbours level by level, an odd last one moving up, gives RFC 6962's tree: the left part of a split is the
 * largest power of two below n, which is what full pairs make. A batch of nodes is hashed apart and then takes the
 * place of its own children, which lie before all that later batches read. */
static bool merkle_fold(rp_digest *leaves, size_t count)
{
    rp_message message[NODES];
    rp_digest node[NODES];

    for (; count > 1; count = (count + 1) / 2) {
        for (size_t at = 0, part; at < count / 2; at += part) {
            part = count / 2 - at < NODES ? count / 2 - at : NODES;
            for (size_t i = 0; i < part; i++)
                message[i] =
                    (rp_message){leaves[2 * (at + i)].bytes, 2 * RP_DIGEST_SIZE, NODE, false, RP_F32, &node[i], false};
            if (!rp_sha256_many(message, part))
                return false;
            memcpy(leaves + at, node, part * sizeof *node);
        }
        if (count % 2 == 1)
            leaves[count / 2] = leaves[count - 1];
    }
    return true;
}

rp_status rp_merkle_fold(rp_digest *out, rp_digest *leaves, size_t count, rp_error *err)
{
    static const unsigned char leaf = LEAF;

    if (count == 0)
        return rp_sha256(out, &leaf, 1, err);
    if (!merkle_fold(leaves, count))
        return rp_sha256_failed(err);
    *out = leaves[0];
    return RP_OK;
}

/* ---- trees and tensors ---- */

static size_t leaf_count(size_t size, size_t leaf_size)
{
    return size / leaf_size + (size % leaf_size != 0);
}

/* The messages of a tree's leaves; their number. */
static size_t put_leaves(rp_message *message, rp_digest *leaf, const rp_message *all, size_t leaf_size)
{
    size_t count = leaf_count(all->size, leaf_size);

    for (size_t i = 0; i < count; i++) {
        size_t at = i * leaf_size, left = all->size - at;

        message[i] = *all;
        message[i].bytes = (const unsigned char *)all->bytes + at;
        message[i].size = left < leaf_size ? left : leaf_size;
        message[i].digest = &leaf[i];
        message[i].joined = i > 0;
    }
    return count;
}

static rp_status tree_root(rp_digest *out, const void *bytes, size_t size, size_t leaf_size, rp_pool *pool,
                           rp_error *err)
{
    const rp_message all = {.bytes = bytes, .size = size, .prefix = LEAF};
    size_t count = leaf_count(size, leaf_size);
    rp_digest *leaf = rp_reallocarray(NULL, count, sizeof *leaf);
    rp_message *message = rp_reallocarray(NULL, count, sizeof *message);
    rp_status status = leaf && message ? RP_OK : rp_no_memory(err);

    if (status == RP_OK) {
        (void)put_leaves(message, leaf, &all, leaf_size);
        status =
            rp_sha256_many_over(message, count, pool) ? rp_merkle_fold(out, leaf, count, err) : rp_sha256_failed(err);
    }
    rp_free(message);
    rp_free(leaf);
    return status;
}

rp_status rp_merkle_root(rp_digest *out, const void *bytes, size_t size, rp_pool *pool, rp_error *err)
{
    return tree_root(out, bytes, size, RP_TENSOR_LEAF, pool, err);
}

rp_status rp_merkle_leaves(rp_digest *leaf, const void *bytes, size_t size, rp_error *err)
{
    const rp_message all = {.bytes = bytes, .size = size, .prefix = LEAF};
    rp_message *message = rp_reallocarray(NULL, leaf_count(size, RP_TENSOR_LEAF), sizeof *message);
    rp_status status = RP_OK;

    if (message == NULL)
        return rp_no_memory(err);
    if (!rp_sha256_many(message, put_leaves(message, leaf, &all, RP_TENSOR_LEAF)))
        status = rp_sha256_failed(err);
    rp_free(message);
    return status;
}

rp_status rp_merkle_records(rp_digest *out, const void *records, size_t record_size, size_t count, rp_error *err)
{
    if (record_size == 0 || count > SIZE_MAX / record_size)
        return rp_fail(err, RP_EARG, "records of %zu bytes, %zu of them, cannot be hashed", record_size, count);
    return tree_root(out, records, record_size * count, record_size, NULL, err);
}

static rp_status tensor_bytes(size_t *out, rp_dtype dtype, int rank, const size_t *shape, rp_error *err)
{
    size_t size = rp_dtype_size(dtype);

    if (size == 0)
        return rp_fail(err, RP_ESHAPE, "tensor digest: dtype %d does not exist", (int)dtype);
    if (rank < 0 || rank > RP_MAX_RANK)
        return rp_fail(err, RP_ESHAPE, "tensor digest: rank %d, expected 0 to %d", rank, (int)RP_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        if (shape[i] != 0 && size > SIZE_MAX / shape[i])
            return rp_fail(err, RP_ESHAPE, "tensor digest: the size of the tensor overflows");
        size *= shape[i];
    }
    *out = size;
    return RP_OK;
}

/* 02 || dtype || rank || dims || root: at most 1 + 2 + 64 + 32 bytes. */
enum { TENSOR_TEXT = 3 + 8 * RP_MAX_RANK + RP_DIGEST_SIZE };

static size_t tensor_text(unsigned char out[TENSOR_TEXT], const rp_tensor_bytes *t, const rp_digest *root)
{
    size_t n = 3;

    out[0] = TENSOR;
    out[1] = (unsigned char)t->dtype;
    out[2] = (unsigned char)t->rank;
    for (int i = 0; i < t->rank; i++, n += 8)
        rp_store_u64(out + n, t->shape[i]);
    memcpy(out + n, root->bytes, RP_DIGEST_SIZE);
    return n + RP_DIGEST_SIZE;
}

rp_status rp_tensor_digest_of(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const rp_digest *root,
                              rp_error *err)
{
    const rp_tensor_bytes tensor = {dtype, rank, shape, NULL, false};
    unsigned char text[TENSOR_TEXT];
    size_t size;
    rp_status status = tensor_bytes(&size, dtype, rank, shape, err);

    return status == RP_OK ? rp_sha256(out, text, tensor_text(text, &tensor, root), err) : status;
}

struct rp_tensors_work {
    const rp_tensor_bytes *tensor;
    size_t count, leaves;
    size_t *size, *end;  /* of each tensor: its bytes, and the leaves up to its end */
    rp_message *message; /* leaves of all tensors in turn, then used again for the tensors */
    rp_digest *leaf;
    unsigned char (*text)[TENSOR_TEXT];
    const rp_fetch *fetch; /* NULL: the host reads the bytes as they are */
};

void rp_tensors_free(rp_tensors_work *work)
{
    if (work == NULL)
        return;
    rp_free(work->text);
    rp_free(work->leaf);
    rp_free(work->message);
    rp_free(work->end);
    rp_free(work->size);
    rp_free(work);
}

static rp_status prepare(rp_tensors_work *work, rp_error *err)
{
    const rp_tensor_bytes *tensor = work->tensor;
    size_t at = 0;

    work->size = rp_reallocarray(NULL, work->count, sizeof *work->size);
    work->end = rp_reallocarray(NULL, work->count, sizeof *work->end);
    if (work->size == NULL || work->end == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < work->count; i++) {
        rp_status status = tensor_bytes(&work->size[i], tensor[i].dtype, tensor[i].rank, tensor[i].shape, err);

        if (status != RP_OK)
            return status;
        work->leaves += leaf_count(work->size[i], RP_TENSOR_LEAF);
        work->end[i] = work->leaves;
    }
    work->message =
        rp_reallocarray(NULL, work->leaves > work->count ? work->leaves : work->count, sizeof *work->message);
    work->leaf = rp_reallocarray(NULL, work->leaves, sizeof *work->leaf);
    work->text = rp_reallocarray(NULL, work->count, sizeof *work->text);
    if (work->message == NULL || work->leaf == NULL || work->text == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < work->count; i++) {
        const rp_message all = {tensor[i].bytes, work->size[i], LEAF, tensor[i].host, tensor[i].dtype, NULL, false};

        at += put_leaves(work->message + at, work->leaf + at, &all, RP_TENSOR_LEAF);
    }
    return RP_OK;
}

rp_status rp_tensors_prepare(rp_tensors_work **out, const rp_tensor_bytes *tensor, size_t count, rp_error *err)
{
    rp_tensors_work *work = rp_calloc(1, sizeof *work);
    rp_status status;

    *out = NULL;
    if (work == NULL)
        return rp_no_memory(err);
    work->tensor = tensor;
    work->count = count;
    status = prepare(work, err);
    if (status != RP_OK)
        rp_tensors_free(work);
    else
        *out = work;
    return status;
}

void rp_tensors_set_fetch(rp_tensors_work *work, const rp_fetch *fetch)
{
    work->fetch = fetch;
}

size_t rp_tensors_at_once(const rp_tensors_work *work)
{
    return work->fetch && rp_fetch_hashes(work->fetch, work->message, work->leaves) ? work->leaves : 1;
}

bool rp_tensors_hash_part(rp_tensors_work *work, size_t first, size_t count, rp_pool *pool)
{
    return work->fetch ? rp_sha256_many_fetched(work->message + first, count, pool, work->fetch)
                       : rp_sha256_many_over(work->message + first, count, pool);
}

bool rp_tensors_hash(rp_tensors_work *work, rp_pool *pool)
{
    return rp_tensors_hash_part(work, 0, work->leaves, pool);
}

size_t rp_tensors_leaves(const rp_tensors_work *work, size_t tensor)
{
    return work->end[tensor];
}

rp_status rp_tensors_finish(rp_digest *out, rp_tensors_work *work, rp_error *err)
{
    const rp_tensor_bytes *tensor = work->tensor;
    const size_t count = work->count;
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        size_t n = leaf_count(work->size[i], RP_TENSOR_LEAF), length;
        rp_digest root;
        rp_status status = rp_merkle_fold(&root, work->leaf + at, n, err);

        if (status != RP_OK)
            return status;
        at += n;
        length = tensor_text(work->text[i], &tensor[i], &root);
        work->message[i] = (rp_message){work->text[i], length, -1, false, RP_F32, &out[i], false};
    }
    return rp_sha256_many(work->message, count) ? RP_OK : rp_sha256_failed(err);
}

rp_status rp_tensors_digest(rp_digest *out, const rp_tensor_bytes *tensor, size_t count, rp_pool *pool, rp_error *err)
{
    rp_tensors_work *work;
    rp_status status = rp_tensors_prepare(&work, tensor, count, err);

    if (status == RP_OK)
        status = rp_tensors_hash(work, pool) ? rp_tensors_finish(out, work, err) : rp_sha256_failed(err);
    rp_tensors_free(work);
    return status;
}

rp_status rp_tensor_digest(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const void *stored,
                           rp_pool *pool, rp_error *err)
{
    const rp_tensor_bytes tensor = {dtype, rank, shape, stored, false};

    return rp_tensors_digest(out, &tensor, 1, pool, err);
}

rp_status rp_tensor_digest_host(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const void *host,
                                rp_pool *pool, rp_error *err)
{
    const rp_tensor_bytes tensor = {dtype, rank, shape, host, true};

    return rp_tensors_digest(out, &tensor, 1, pool, err);
}

static int compare_named(const void *a, const void *b)
{
    const rp_named_digest *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static rp_status check_names(const rp_named_digest *const *sorted, size_t count, rp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(sorted[i]->name);
        if (length == 0 || length > UINT16_MAX)
            return rp_fail(err, RP_EARG, "named list: a name of %zu bytes, expected 1 to 65535", length);
        if (i > 0 && strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return rp_fail(err, RP_EARG, "named list: the name %.200s occurs twice", sorted[i]->name);
    }
    return RP_OK;
}

rp_status rp_named_list_digest(rp_digest *out, const rp_named_digest *list, size_t count, rp_error *err)
{
    const rp_named_digest **sorted = rp_reallocarray(NULL, count, sizeof *sorted);
    rp_buffer text = {0};
    rp_status status;

    if (sorted == NULL)
        return rp_no_memory(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &list[i];
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, compare_named);
    status =
        count > UINT32_MAX ? rp_fail(err, RP_EARG, "named list: %zu entries", count) : check_names(sorted, count, err);
    if (status == RP_OK) {
        rp_buffer_u8(&text, LIST);
        rp_buffer_u32(&text, (uint32_t)count);
        for (size_t i = 0; i < count; i++) {
            rp_buffer_u16(&text, (uint16_t)strlen(sorted[i]->name));
            rp_buffer_text(&text, sorted[i]->name);
            rp_buffer_append(&text, sorted[i]->digest.bytes, RP_DIGEST_SIZE);
        }
        status = rp_buffer_status(&text, err);
    }
    if (status == RP_OK)
        status = rp_sha256(out, text.data, text.size, err);
    rp_buffer_free(&text);
    rp_free(sorted);
    return status;
}
