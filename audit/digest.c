/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 through OpenSSL's EVP. The algorithm is fetched once and kept: a fetch costs more than hashing a small
 * message. Domain bytes 00 to 03 keep leaves, nodes, tensors and lists apart, as RFC 6962 does for trees. */
#include "audit/digest.h"

#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "determinism/bits.h"

enum { LEAF = 0, NODE = 1, TENSOR = 2, LIST = 3 };
enum { BLOCK = 16384 }; /* bytes brought to stored form at a time; a multiple of every element size */

struct rp_sha256_stream {
    EVP_MD_CTX *context;
    bool failed;
};

/* Two threads may both fetch; one result is kept. A failed fetch is tried again by the next call. */
static const EVP_MD *sha256_algorithm(void)
{
    static _Atomic(EVP_MD *) kept;
    EVP_MD *found = atomic_load(&kept), *expected = NULL;

    if (found != NULL)
        return found;
    found = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (found != NULL && !atomic_compare_exchange_strong(&kept, &expected, found)) {
        EVP_MD_free(found);
        found = expected;
    }
    return found;
}

static bool stream_start(rp_sha256_stream *stream)
{
    const EVP_MD *algorithm = sha256_algorithm();

    stream->failed = algorithm == NULL || EVP_DigestInit_ex2(stream->context, algorithm, NULL) != 1;
    return !stream->failed;
}

static bool stream_open(rp_sha256_stream *stream)
{
    stream->context = EVP_MD_CTX_new();
    return stream->context != NULL && stream_start(stream);
}

static bool stream_close(rp_sha256_stream *stream, rp_digest *out)
{
    return !stream->failed && EVP_DigestFinal_ex(stream->context, out->bytes, NULL) == 1;
}

static rp_status hash_failed(rp_error *err)
{
    return rp_fail(err, RP_ENOMEM, "SHA-256 is not available from OpenSSL, or it ran out of memory");
}

rp_status rp_sha256_stream_new(rp_sha256_stream **out, rp_error *err)
{
    rp_sha256_stream *stream = rp_calloc(1, sizeof *stream);

    *out = NULL;
    if (stream == NULL)
        return rp_no_memory(err);
    if (!stream_open(stream)) {
        rp_sha256_stream_free(stream);
        return hash_failed(err);
    }
    *out = stream;
    return RP_OK;
}

void rp_sha256_stream_free(rp_sha256_stream *stream)
{
    if (stream == NULL)
        return;
    EVP_MD_CTX_free(stream->context);
    rp_free(stream);
}

void rp_sha256_stream_update(rp_sha256_stream *stream, const void *bytes, size_t size)
{
    if (!stream->failed && size > 0 && EVP_DigestUpdate(stream->context, bytes, size) != 1)
        stream->failed = true;
}

rp_status rp_sha256_stream_finish(rp_sha256_stream *stream, rp_digest *out, rp_error *err)
{
    bool done = stream_close(stream, out);

    return stream_start(stream) && done ? RP_OK : hash_failed(err);
}

rp_status rp_sha256(rp_digest *out, const void *bytes, size_t size, rp_error *err)
{
    rp_sha256_stream stream = {0};
    bool done = stream_open(&stream);

    if (done) {
        rp_sha256_stream_update(&stream, bytes, size);
        done = stream_close(&stream, out);
    }
    EVP_MD_CTX_free(stream.context);
    return done ? RP_OK : hash_failed(err);
}

bool rp_digest_equal(const rp_digest *a, const rp_digest *b)
{
    return memcmp(a->bytes, b->bytes, RP_DIGEST_SIZE) == 0;
}

void rp_digest_hex(char out[RP_DIGEST_HEX], const rp_digest *digest)
{
    rp_hex(out, digest->bytes, RP_DIGEST_SIZE);
}

static void update_byte(rp_sha256_stream *stream, unsigned char byte)
{
    rp_sha256_stream_update(stream, &byte, 1);
}

static void update_u64(rp_sha256_stream *stream, uint64_t v)
{
    unsigned char bytes[8];

    rp_store_u64(bytes, v);
    rp_sha256_stream_update(stream, bytes, sizeof bytes);
}

/* Pairing neighbours level by level, an odd last one moving up, gives RFC 6962's tree: the left part of a split is the
 * largest power of two below n, which is what full pairs make. */
static bool merkle_fold(rp_sha256_stream *stream, rp_digest *leaves, size_t count)
{
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; i + 1 < count; i += 2) {
            update_byte(stream, NODE);
            rp_sha256_stream_update(stream, leaves[i].bytes, RP_DIGEST_SIZE);
            rp_sha256_stream_update(stream, leaves[i + 1].bytes, RP_DIGEST_SIZE);
            if (!stream_close(stream, &leaves[i / 2]) || !stream_start(stream))
                return false;
        }
        if (count % 2 == 1)
            leaves[count / 2] = leaves[count - 1];
    }
    return true;
}

rp_status rp_merkle_fold(rp_digest *out, rp_digest *leaves, size_t count, rp_error *err)
{
    static const unsigned char leaf = LEAF;
    rp_sha256_stream stream = {0};

    if (count == 0)
        return rp_sha256(out, &leaf, 1, err);
    bool done = stream_open(&stream) && merkle_fold(&stream, leaves, count);
    EVP_MD_CTX_free(stream.context);
    if (!done)
        return hash_failed(err);
    *out = leaves[0];
    return RP_OK;
}

/* What a range of leaves needs. host: elements are brought to stored form on the way. */
typedef struct leaf_job {
    const unsigned char *bytes;
    size_t size, leaf_size;
    bool host;
    rp_dtype dtype;
    rp_digest *leaves;
    atomic_bool failed;
} leaf_job;

static bool little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

/* True when host bytes are the stored bytes already: little-endian, canonical NaNs, bools 0 or 1. */
static bool stored_already(const unsigned char *bytes, size_t size, rp_dtype dtype)
{
    bool other = false;

    if (!little_endian())
        return false;
    switch (dtype) {
    case RP_F32:
        for (size_t i = 0; i + 4 <= size; i += 4) {
            uint32_t u;
            memcpy(&u, bytes + i, 4);
            other |= (u & 0x7fffffffu) > 0x7f800000u;
        }
        return !other;
    case RP_F64:
        for (size_t i = 0; i + 8 <= size; i += 8) {
            uint64_t u;
            memcpy(&u, bytes + i, 8);
            other |= (u & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
        }
        return !other;
    case RP_BOOL:
        for (size_t i = 0; i < size; i++)
            other |= bytes[i] > 1;
        return !other;
    default:
        return true;
    }
}

static void update_host(rp_sha256_stream *stream, const unsigned char *bytes, size_t size, rp_dtype dtype)
{
    unsigned char stored[BLOCK];

    for (size_t at = 0; at < size; at += BLOCK) {
        size_t part = size - at < BLOCK ? size - at : BLOCK;
        if (stored_already(bytes + at, part, dtype)) {
            rp_sha256_stream_update(stream, bytes + at, part);
        } else {
            rp_to_stored(stored, bytes + at, dtype, part / rp_dtype_size(dtype));
            rp_sha256_stream_update(stream, stored, part);
        }
    }
}

static void hash_leaves(void *arg, size_t begin, size_t end)
{
    leaf_job *job = arg;
    rp_sha256_stream stream = {0};
    bool done = stream_open(&stream);

    for (size_t i = begin; done && i < end; i++) {
        size_t at = i * job->leaf_size, left = job->size - at;
        size_t part = left < job->leaf_size ? left : job->leaf_size;

        update_byte(&stream, LEAF);
        if (job->host)
            update_host(&stream, job->bytes + at, part, job->dtype);
        else
            rp_sha256_stream_update(&stream, job->bytes + at, part);
        done = stream_close(&stream, &job->leaves[i]) && stream_start(&stream);
    }
    EVP_MD_CTX_free(stream.context);
    if (!done)
        atomic_store(&job->failed, true);
}

static rp_status tree_root(rp_digest *out, leaf_job *job, rp_pool *pool, rp_error *err)
{
    size_t count = job->size / job->leaf_size + (job->size % job->leaf_size != 0);
    rp_digest one;
    rp_status status;

    job->leaves = count <= 1 ? &one : rp_reallocarray(NULL, count, sizeof *job->leaves);
    if (job->leaves == NULL)
        return rp_no_memory(err);
    atomic_init(&job->failed, false);
    if (count > 1)
        rp_pool_run(pool, count, 1, hash_leaves, job);
    else if (count == 1)
        hash_leaves(job, 0, 1);
    status = atomic_load(&job->failed) ? hash_failed(err) : rp_merkle_fold(out, job->leaves, count, err);
    if (job->leaves != &one)
        rp_free(job->leaves);
    return status;
}

rp_status rp_merkle_root(rp_digest *out, const void *bytes, size_t size, rp_pool *pool, rp_error *err)
{
    leaf_job job = {.bytes = bytes, .size = size, .leaf_size = RP_CHUNK};

    return tree_root(out, &job, pool, err);
}

rp_status rp_merkle_records(rp_digest *out, const void *records, size_t record_size, size_t count, rp_error *err)
{
    leaf_job job = {.bytes = records, .size = record_size * count, .leaf_size = record_size};

    if (record_size == 0 || count > SIZE_MAX / record_size)
        return rp_fail(err, RP_EARG, "records of %zu bytes, %zu of them, cannot be hashed", record_size, count);
    return tree_root(out, &job, NULL, err);
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

static rp_status tensor_digest(rp_digest *out, int rank, const size_t *shape, leaf_job *job, rp_pool *pool,
                               rp_error *err)
{
    rp_digest root;
    rp_sha256_stream stream = {0};
    rp_status status = tensor_bytes(&job->size, job->dtype, rank, shape, err);

    if (status == RP_OK)
        status = tree_root(&root, job, pool, err);
    if (status != RP_OK)
        return status;
    bool done = stream_open(&stream);
    if (done) {
        update_byte(&stream, TENSOR);
        update_byte(&stream, (unsigned char)job->dtype);
        update_byte(&stream, (unsigned char)rank);
        for (int i = 0; i < rank; i++)
            update_u64(&stream, shape[i]);
        rp_sha256_stream_update(&stream, root.bytes, RP_DIGEST_SIZE);
        done = stream_close(&stream, out);
    }
    EVP_MD_CTX_free(stream.context);
    return done ? RP_OK : hash_failed(err);
}

rp_status rp_tensor_digest(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const void *stored,
                           rp_pool *pool, rp_error *err)
{
    leaf_job job = {.bytes = stored, .leaf_size = RP_CHUNK, .dtype = dtype};

    return tensor_digest(out, rank, shape, &job, pool, err);
}

rp_status rp_tensor_digest_host(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const void *host,
                                rp_pool *pool, rp_error *err)
{
    leaf_job job = {.bytes = host, .leaf_size = RP_CHUNK, .host = true, .dtype = dtype};

    return tensor_digest(out, rank, shape, &job, pool, err);
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
    status = count > UINT32_MAX ? rp_fail(err, RP_EARG, "named list: %zu entries", count)
                                : check_names(sorted, count, err);
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
