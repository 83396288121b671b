/* SPDX-License-Identifier: Apache-2.0
 * SHA-256: streams through OpenSSL's EVP, and messages that lie in memory by the processor's own instructions where it
 * has them. EVP's algorithm is fetched once and kept: a fetch costs more than hashing a small message. */
#include "audit/digest/sha256.h"

#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "base/memory.h"
#include "determinism/bits.h"

enum { BLOCK = 16384 };           /* bytes brought to stored form at a time; a multiple of every element size */
enum { AT_ONCE = 1024 };          /* messages handed to the processor's instructions at a time */
enum { ALIKE_LEAST = 8 };         /* messages that are worth lanes: two at a time take as long for seven */
enum { KINDS = 8, OTHERS = 64 };  /* of messages, and messages apart, that wait for more of them */
enum { BYTES_A_PART = 1 << 16 };  /* below, a thread is not worth waking */
enum { MANY = 4 * RP_SHA_LANES }; /* messages that are cut where lanes are full */

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

rp_status rp_sha256_failed(rp_error *err)
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
        return rp_sha256_failed(err);
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

    return stream_start(stream) && done ? RP_OK : rp_sha256_failed(err);
}

/* ---- messages in memory ---- */

static void update_host(rp_sha256_stream *stream, const unsigned char *bytes, size_t size, rp_dtype dtype)
{
    unsigned char stored[BLOCK];

    for (size_t at = 0; at < size; at += BLOCK) {
        size_t part = size - at < BLOCK ? size - at : BLOCK;
        if (rp_stored_already(bytes + at, part, dtype)) {
            rp_sha256_stream_update(stream, bytes + at, part);
        } else {
            rp_to_stored(stored, bytes + at, dtype, part / rp_dtype_size(dtype));
            rp_sha256_stream_update(stream, stored, part);
        }
    }
}

bool rp_sha256_many_openssl(const rp_message *message, size_t count)
{
    rp_sha256_stream stream = {0};
    bool done = stream_open(&stream);

    for (size_t i = 0; done && i < count; i++) {
        const rp_message *m = &message[i];
        unsigned char prefix = (unsigned char)m->prefix;

        if (m->prefix >= 0)
            rp_sha256_stream_update(&stream, &prefix, 1);
        if (m->host)
            update_host(&stream, m->bytes, m->size, m->dtype);
        else
            rp_sha256_stream_update(&stream, m->bytes, m->size);
        done = stream_close(&stream, m->digest) && (i + 1 == count || stream_start(&stream));
    }
    EVP_MD_CTX_free(stream.context);
    return done;
}

/* Asked for once: the answer costs a trap in a virtual machine. */
static bool native(void)
{
    static _Atomic int known; /* 0: not yet, 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer == 0) {
        answer = rp_sha256_native() ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* At most AT_ONCE messages of any sizes. */
static bool hash_mixed(const rp_message *message, size_t count)
{
    bool odd[AT_ONCE], done = true;

    if (!native())
        return count == 0 || rp_sha256_many_openssl(message, count);
    rp_sha256_many_native(message, count, odd);
    for (size_t i = 0; i < count; i++) /* rare: NaNs of other kinds, which are converted on the way */
        if (odd[i])
            done &= rp_sha256_many_openssl(&message[i], 1);
    return done;
}

static bool alike(const rp_message *a, const rp_message *b)
{
    return a->size == b->size && a->prefix == b->prefix && a->host == b->host && (!a->host || a->dtype == b->dtype);
}

/* Whether lanes take it: they look at host bytes themselves. */
static bool fits_lanes(const rp_message *m)
{
    return m->size > 0 && (!m->host || m->dtype != RP_BOOL);
}

/* Messages of a call by their kinds, until enough of one wait to fill lanes. */
typedef struct sorter {
    struct kind {
        const rp_message *lane[RP_SHA_LANES];
        size_t count;
    } kind[KINDS];
    rp_message other[OTHERS]; /* too few of a kind, until there are enough to go side by side */
    size_t others;
    bool done;
} sorter;

static void hash_others(sorter *s)
{
    s->done &= hash_mixed(s->other, s->others);
    s->others = 0;
}

static void put_other(sorter *s, const rp_message *m)
{
    if (s->others == OTHERS)
        hash_others(s);
    s->other[s->others++] = *m;
}

static void hash_kind(sorter *s, struct kind *k)
{
    if (k->count < ALIKE_LEAST || !rp_sha256_lanes(k->lane, k->count))
        for (size_t i = 0; i < k->count; i++)
            put_other(s, k->lane[i]);
    k->count = 0;
}

/* Where messages like this one wait, or could: a new kind takes the place of that of which the fewest do. */
static struct kind *kind_of(sorter *s, const rp_message *m)
{
    struct kind *fewest = s->kind;

    for (struct kind *k = s->kind; k < s->kind + KINDS; k++) {
        if (k->count > 0 && alike(k->lane[0], m))
            return k;
        if (k->count < fewest->count)
            fewest = k;
    }
    hash_kind(s, fewest);
    return fewest;
}

static bool hash_sorted(const rp_message *message, size_t count)
{
    sorter s = {.done = true};

    for (size_t i = 0; i < count; i++) {
        struct kind *k;

        if (!fits_lanes(&message[i])) {
            put_other(&s, &message[i]);
            continue;
        }
        k = kind_of(&s, &message[i]);
        k->lane[k->count++] = &message[i];
        if (k->count == RP_SHA_LANES)
            hash_kind(&s, k);
    }
    for (int k = 0; k < KINDS; k++)
        hash_kind(&s, &s.kind[k]);
    hash_others(&s);
    return s.done;
}

bool rp_sha256_many(const rp_message *message, size_t count)
{
    bool done = true;

    if (count >= ALIKE_LEAST && rp_sha256_has_lanes())
        return hash_sorted(message, count);
    for (size_t at = 0; at < count; at += AT_ONCE)
        done &= hash_mixed(message + at, count - at < AT_ONCE ? count - at : AT_ONCE);
    return done;
}

/* ---- messages in pieces ---- */

rp_status rp_sha256_lane_start(rp_sha256_lane *lane, rp_error *err)
{
    *lane = (rp_sha256_lane){.size = 0};
    if (!native())
        return rp_sha256_stream_new(&lane->stream, err);
    rp_sha256_start_native(lane->state);
    return RP_OK;
}

void rp_sha256_lane_blocks(rp_sha256_lane *a, const unsigned char *at, rp_sha256_lane *b, const unsigned char *bt,
                           size_t blocks)
{
    a->size += (uint64_t)blocks * RP_SHA_BLOCK;
    if (b != NULL)
        b->size += (uint64_t)blocks * RP_SHA_BLOCK;
    if (a->stream == NULL) {
        rp_sha256_blocks_native(a->state, at, b ? b->state : NULL, bt, blocks);
        return;
    }
    rp_sha256_stream_update(a->stream, at, blocks * RP_SHA_BLOCK);
    if (b != NULL)
        rp_sha256_stream_update(b->stream, bt, blocks * RP_SHA_BLOCK);
}

rp_status rp_sha256_lane_finish(rp_sha256_lane *lane, const unsigned char *at, size_t size, rp_digest *out,
                                rp_error *err)
{
    rp_status status = RP_OK;

    if (lane->stream == NULL) {
        rp_sha256_finish_native(lane->state, at, size, lane->size + size, out);
    } else {
        rp_sha256_stream_update(lane->stream, at, size);
        status = rp_sha256_stream_finish(lane->stream, out, err);
    }
    rp_sha256_lane_drop(lane);
    return status;
}

void rp_sha256_lane_drop(rp_sha256_lane *lane)
{
    rp_sha256_stream_free(lane->stream);
    lane->stream = NULL;
}

/* ---- messages over threads ---- */

typedef struct hash_job {
    const rp_message *message;
    size_t count, bytes, parts;
    atomic_bool failed;
} hash_job;

/* The first message of part i of n: that which begins in the i-th n-th of all bytes, or, where they are many, the one
 * before it from which lanes are filled. A search begins at `from`, of which bytes lie before. */
static size_t first_of(const hash_job *job, size_t i, size_t *from, size_t *before)
{
    const size_t low = i * (job->bytes / job->parts + 1);

    if (i == job->parts)
        return job->count;
    for (; *from < job->count && *before < low; ++*from)
        *before += job->message[*from].size;
    return job->count < MANY ? *from : *from / RP_SHA_LANES * RP_SHA_LANES;
}

static void hash_parts(void *arg, size_t begin, size_t end)
{
    hash_job *job = arg;
    size_t from = 0, before = 0, first = first_of(job, begin, &from, &before),
           last = first_of(job, end, &from, &before);

    if (!rp_sha256_many(job->message + first, last - first))
        atomic_store(&job->failed, true);
}

bool rp_sha256_many_over(const rp_message *message, size_t count, rp_pool *pool)
{
    hash_job job = {.message = message, .count = count};

    for (size_t i = 0; i < count; i++)
        job.bytes += message[i].size;
    job.parts = rp_pool_threads(pool) > 1 ? job.bytes / BYTES_A_PART : 1;
    if (job.parts < 2)
        return rp_sha256_many(message, count);
    atomic_init(&job.failed, false);
    rp_pool_run(pool, job.parts, 1, hash_parts, &job);
    return !atomic_load(&job.failed);
}

rp_status rp_sha256(rp_digest *out, const void *bytes, size_t size, rp_error *err)
{
    rp_message message = {.bytes = bytes, .size = size, .prefix = -1, .digest = out};

    return rp_sha256_many(&message, 1) ? RP_OK : rp_sha256_failed(err);
}
