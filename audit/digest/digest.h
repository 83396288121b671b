/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 and what Reprise builds from it (FORMAT.md 3): Merkle trees over chunks and over journal records, tensor
 * digests, and digests of named lists (state, feeds, results). All functions are thread-safe. */
#ifndef AUDIT_DIGEST_DIGEST_H
#define AUDIT_DIGEST_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "rp/archive.h"
#include "rp/dtype.h"

/* Bytes of a Merkle leaf of a tensor: many leaves, so that a device hashes them side by side (docs/decisions/0040). */
enum { RP_TENSOR_LEAF = 1 << 14 };

rp_status rp_sha256(rp_digest *out, const void *bytes, size_t size, rp_error *err);
bool rp_digest_equal(const rp_digest *a, const rp_digest *b);

/* Streaming; reusable: finish leaves the stream ready for the next message. Failures are remembered until finish. */
typedef struct rp_sha256_stream rp_sha256_stream;
rp_status rp_sha256_stream_new(rp_sha256_stream **out, rp_error *err);
void rp_sha256_stream_free(rp_sha256_stream *stream);
void rp_sha256_stream_update(rp_sha256_stream *stream, const void *bytes, size_t size);
rp_status rp_sha256_stream_finish(rp_sha256_stream *stream, rp_digest *out, rp_error *err);

/* Root over leaf digests by RFC 6962's split; leaves is overwritten. count 0: SHA-256(00), the empty leaf. */
rp_status rp_merkle_fold(rp_digest *out, rp_digest *leaves, size_t count, rp_error *err);
/* Root over bytes cut in leaves of RP_TENSOR_LEAF. pool may be NULL. */
rp_status rp_merkle_root(rp_digest *out, const void *bytes, size_t size, rp_pool *pool, rp_error *err);
/* The digests of its leaves alone, size / RP_TENSOR_LEAF of them rounded up: for bytes that come in windows of whole
 * leaves, whose root rp_merkle_fold makes. */
rp_status rp_merkle_leaves(rp_digest *leaf, const void *bytes, size_t size, rp_error *err);
/* Root over count records of record_size bytes, each a leaf. */
rp_status rp_merkle_records(rp_digest *out, const void *records, size_t record_size, size_t count, rp_error *err);

/* SHA-256(02 || dtype u8 || rank u8 || dims u64 each || Merkle root of the stored bytes). stored: little-endian,
 * row-major, canonical NaNs. Errors: RP_ESHAPE when dtype or rank is out of range or the size overflows. */
rp_status rp_tensor_digest(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const void *stored,
                           rp_pool *pool, rp_error *err);
/* The same from the root. */
rp_status rp_tensor_digest_of(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const rp_digest *root,
                              rp_error *err);
/* The same digest from contiguous host elements. */
rp_status rp_tensor_digest_host(rp_digest *out, rp_dtype dtype, int rank, const size_t *shape, const void *host,
                                rp_pool *pool, rp_error *err);

/* A tensor as bytes. host: contiguous host elements; else stored bytes. */
typedef struct rp_tensor_bytes {
    rp_dtype dtype;
    int rank;
    const size_t *shape;
    const void *bytes;
    bool host;
} rp_tensor_bytes;

/* The digests of many tensors: out[count]. Faster than one after another, since leaves of several are hashed at once.
 */
rp_status rp_tensors_digest(rp_digest *out, const rp_tensor_bytes *tensor, size_t count, rp_pool *pool, rp_error *err);
/* The same in parts. The long one, rp_tensors_hash, allocates nothing and may run in another thread: it reads the
 * tensors, and false is a failure of the hash. tensor is borrowed until the work is freed. */
typedef struct rp_tensors_work rp_tensors_work;
rp_status rp_tensors_prepare(rp_tensors_work **out, const rp_tensor_bytes *tensor, size_t count, rp_error *err);
bool rp_tensors_hash(rp_tensors_work *work, rp_pool *pool);
/* The same leaf by leaf: leaves first to first + count - 1 of the tensors in turn, and how many there are up to the end
 * of a tensor. */
bool rp_tensors_hash_part(rp_tensors_work *work, size_t first, size_t count, rp_pool *pool);
size_t rp_tensors_leaves(const rp_tensors_work *work, size_t tensor);
/* Before it: the tensors' bytes are only where fetch finds them. Borrowed; NULL: the host reads them as they are. */
typedef struct rp_fetch rp_fetch;
void rp_tensors_set_fetch(rp_tensors_work *work, const rp_fetch *fetch);
/* Leaves that a call of rp_tensors_hash_part had better have at least: all of them, where they are hashed where they
 * are, since many take as long as few. */
size_t rp_tensors_at_once(const rp_tensors_work *work);
rp_status rp_tensors_finish(rp_digest *out, rp_tensors_work *work, rp_error *err); /* out: count of them */
void rp_tensors_free(rp_tensors_work *work);

typedef struct rp_named_digest {
    const char *name; /* 1 to 65535 bytes */
    rp_digest digest;
} rp_named_digest;

/* SHA-256(03 || count u32 || for each, in ascending name order: length u16, name, digest). The list may come in any
 * order. Errors: RP_EARG for a duplicate, empty or overlong name. */
rp_status rp_named_list_digest(rp_digest *out, const rp_named_digest *list, size_t count, rp_error *err);

#endif
