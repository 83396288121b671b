/* SPDX-License-Identifier: Apache-2.0
 * Feeds of a run of the API. Memory holds type, place and digest of each, and the last bytes that are not on disk yet.
 */
#include "audit/record/feeds.h"

#include "audit/archive/journal.h"
#include "base/memory.h"
#include "determinism/bits.h"

/* FEEDS_MAX: readers hold a header of 256 MiB at most of all of them (FORMAT.md 7.1), and a feed takes up to 256 bytes
 * of it. */
enum { WINDOW = 1 << 16, FEEDS_MAX = 1 << 20 };

typedef struct kept {
    rp_digest digest;
    rp_type type;
    uint64_t at; /* of its stored bytes */
} kept;

struct rp_feeds {
    rp_growing order; /* data/feeds.bin */
    kept *feed;       /* in order of first use */
    size_t n, capacity;
    size_t *slot; /* open addressing by digest: 1 + index; 0: free */
    size_t slots; /* a power of two, more than twice n */
    rp_growing bytes;
};

rp_status rp_feeds_new(rp_feeds **out, rp_error *err)
{
    *out = rp_calloc(1, sizeof **out);
    return *out ? RP_OK : rp_no_memory(err);
}

void rp_feeds_free(rp_feeds *f)
{
    if (!f)
        return;
    rp_growing_free(&f->order);
    rp_growing_free(&f->bytes);
    rp_free(f->feed);
    rp_free(f->slot);
    rp_free(f);
}

/* Digests are as good as random: their first bytes are the hash. */
static size_t *slot_of(const rp_feeds *f, const rp_digest *digest)
{
    size_t at = (size_t)rp_load_u64(digest->bytes) & (f->slots - 1);

    while (f->slot[at] && !rp_digest_equal(&f->feed[f->slot[at] - 1].digest, digest))
        at = (at + 1) & (f->slots - 1);
    return &f->slot[at];
}

static rp_status room_for_one(rp_feeds *f, rp_error *err)
{
    const size_t wanted = f->capacity ? 2 * f->capacity : 32;
    kept *bigger;
    size_t *slot;

    if (f->n < f->capacity)
        return RP_OK;
    bigger = rp_reallocarray(f->feed, wanted, sizeof *bigger);
    if (!bigger)
        return rp_no_memory(err);
    f->feed = bigger;
    slot = rp_calloc(4 * wanted, sizeof *slot);
    if (!slot)
        return rp_no_memory(err);
    rp_free(f->slot);
    f->slot = slot;
    f->slots = 4 * wanted;
    f->capacity = wanted;
    for (size_t i = 0; i < f->n; i++)
        *slot_of(f, &f->feed[i].digest) = i + 1;
    return RP_OK;
}

/* ---- bytes ---- */

/* The feed whose digest is free, and its place. */
static rp_status begin_feed(rp_feeds *f, const rp_digest *digest, const rp_type *type, rp_error *err)
{
    rp_status status = f->n < FEEDS_MAX ? room_for_one(f, err)
                                        : rp_fail(err, RP_EUNSUPPORTED,
                                                  "more than %d distinct feeds in one run: what steps choose from is "
                                                  "better given as data, and fed as an index",
                                                  (int)FEEDS_MAX);

    if (status == RP_OK)
        f->feed[f->n] = (kept){*digest, *type, rp_growing_size(&f->bytes)};
    return status;
}

static void end_feed(rp_feeds *f)
{
    *slot_of(f, &f->feed[f->n].digest) = f->n + 1;
    f->n++;
}

rp_status rp_feeds_keep(rp_feeds *f, const rp_device_tensor *feed, const rp_digest *digest, rp_error *err)
{
    const size_t bytes = rp_type_bytes(&feed->type);
    unsigned char window[WINDOW];
    rp_status status;

    status = rp_growing_append(&f->order, digest->bytes, sizeof digest->bytes, err);
    if (status != RP_OK || (f->slots && *slot_of(f, digest)))
        return status;
    status = begin_feed(f, digest, &feed->type, err);
    for (size_t at = 0; at < bytes && status == RP_OK; at += WINDOW) {
        const size_t size = bytes - at < WINDOW ? bytes - at : WINDOW;

        status = rp_stored_window(feed, at, window, size, err);
        if (status == RP_OK)
            status = rp_growing_append(&f->bytes, window, size, err);
    }
    if (status == RP_OK)
        end_feed(f);
    return status;
}

/* ---- members ---- */

static rp_status read_kept(void *self, const rp_safetensor *tensor, size_t at, void *stored, size_t size, rp_error *err)
{
    const rp_byte_source *bytes = self;
    const kept *feed = tensor->data;

    return bytes->read(bytes->self, feed->at + at, stored, size, err);
}

rp_status rp_feeds_add_members(rp_feeds *f, rp_archive_writer *writer, rp_error *err)
{
    rp_byte_source bytes = rp_growing_source(&f->bytes), order = rp_growing_source(&f->order);
    const rp_tensor_source from = {read_kept, &bytes};
    rp_safetensor *tensor = rp_calloc(f->n ? f->n : 1, sizeof *tensor);
    char(*name)[RP_DIGEST_HEX] = rp_calloc(f->n ? f->n : 1, sizeof *name);
    rp_status status = tensor && name ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < f->n && status == RP_OK; i++) {
        const rp_type *type = &f->feed[i].type;

        rp_digest_hex(name[i], &f->feed[i].digest);
        tensor[i] = (rp_safetensor){.name = name[i], .dtype = type->dtype, .rank = type->rank, .data = &f->feed[i]};
        memcpy(tensor[i].shape, type->shape, sizeof type->shape);
    }
    if (status == RP_OK)
        status = rp_tensor_parts_add(writer, RP_FEEDS_MEMBER, &from, tensor, f->n, err);
    if (status == RP_OK)
        status = rp_archive_writer_stream(writer, RP_FEED_ORDER_MEMBER, &order, err);
    rp_free(name);
    rp_free(tensor);
    return status;
}

/* A piece of a feed, from an archive. */
static rp_status take_piece(void *self, const rp_safetensor *tensor, size_t first, const void *host, size_t count,
                            rp_error *err)
{
    rp_feeds *f = self;
    const size_t element = rp_dtype_size(tensor->dtype), all = tensor->size / element;
    rp_type type = {.dtype = tensor->dtype, .rank = tensor->rank};
    unsigned char window[WINDOW];
    rp_digest digest;
    rp_status status = RP_OK;

    memcpy(type.shape, tensor->shape, sizeof type.shape);
    if (!rp_unhex(digest.bytes, sizeof digest.bytes, tensor->name))
        return rp_fail(err, RP_EFORMAT, RP_FEEDS_MEMBER ": a name is no digest");
    if (first == 0)
        status = begin_feed(f, &digest, &type, err);
    for (size_t at = 0; at < count && status == RP_OK; at += WINDOW / element) {
        const size_t n = count - at < WINDOW / element ? count - at : WINDOW / element;

        rp_to_stored(window, (const char *)host + at * element, tensor->dtype, n);
        status = rp_growing_append(&f->bytes, window, n * element, err);
    }
    if (status == RP_OK && first + count == all)
        end_feed(f);
    return status;
}

static rp_status take_order(rp_feeds *f, const rp_archive *archive, rp_error *err)
{
    rp_windowed *order;
    rp_status status = rp_windowed_open(&order, archive, RP_FEED_ORDER_MEMBER, err);

    for (uint64_t at = 0; status == RP_OK && at < rp_windowed_size(order); at += RP_WINDOW) {
        const uint64_t left = rp_windowed_size(order) - at;
        const size_t size = left < RP_WINDOW ? (size_t)left : RP_WINDOW;
        const unsigned char *bytes;

        status = rp_windowed_at(order, at, size, &bytes, err);
        if (status == RP_OK)
            status = rp_growing_append(&f->order, bytes, size, err);
    }
    rp_windowed_free(order);
    return status;
}

rp_status rp_feeds_take(rp_feeds *f, const rp_archive *archive, rp_error *err)
{
    const rp_element_sink to = {take_piece, f};
    rp_tensor_set *set = NULL;
    rp_status status = take_order(f, archive, err);

    if (status == RP_OK)
        status = rp_tensor_set_open(&set, archive, RP_FEEDS_MEMBER, err);
    if (status == RP_OK)
        status = rp_tensor_set_stream(set, &to, err);
    rp_tensor_set_free(set);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_FEEDS_MEMBER) : status;
}
