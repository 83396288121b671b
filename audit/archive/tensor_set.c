/* SPDX-License-Identifier: Apache-2.0
 * Sets of tensors, read without holding them. */
#include "audit/archive/tensor_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/archive/archive_private.h"
#include "audit/archive/tensor_parts.h"
#include "audit/digest/sha256.h"
#include "base/memory.h"
#include "determinism/bits.h"

enum { WINDOW = 1 << 18, HEADERS_MAX = 1 << 28 }; /* a window holds whole elements and whole leaves */

/* One safetensors file: a member, or a part of a file. */
typedef struct part {
    const rp_archive *archive; /* NULL: fd */
    int fd;
    uint64_t offset, size;
    rp_digest digest, header; /* of all its bytes; of those up to the data */
    char where[RP_MEMBER_NAME];
    size_t begin; /* bytes before the data */
    rp_safetensors *file;
    size_t first; /* index of its first tensor in the set */
} part;

struct rp_tensor_set {
    part *part;
    size_t parts;
    rp_safetensor *tensor; /* of all parts */
    size_t count;
};

static rp_status read_at(const part *p, uint64_t at, void *out, size_t size, rp_error *err)
{
    if (p->archive) {
        rp_status status = rp_archive_source_read(p->archive, p->offset + at, out, size, err);

        return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s: %s", p->archive->where, p->where);
    }
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(p->fd, (char *)out + done, size - done, (off_t)(p->offset + at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "%s: cannot read: %s", p->where, n < 0 ? strerror(errno) : "became shorter");
        done += (size_t)n;
    }
    return RP_OK;
}

/* ---- opening ---- */

void rp_tensor_set_free(rp_tensor_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; set->part && i < set->parts; i++)
        rp_safetensors_free(set->part[i].file);
    rp_free(set->part);
    rp_free(set->tensor);
    rp_free(set);
}

static rp_status read_header(part *p, size_t *left, rp_error *err)
{
    unsigned char begin[RP_SAFETENSORS_BEGIN], *bytes;
    rp_status status = read_at(p, 0, begin, p->size < sizeof begin ? (size_t)p->size : sizeof begin, err);

    if (status == RP_OK)
        status = rp_safetensors_check_begin(begin, p->size, p->where, err);
    if (status != RP_OK)
        return status;
    p->begin = rp_safetensors_begin(begin);
    if (p->begin > *left)
        return rp_fail(err, RP_EFORMAT, "%s: the headers of its set of tensors have more than %d MiB", p->where,
                       HEADERS_MAX >> 20);
    *left -= p->begin;
    bytes = rp_malloc(p->begin);
    if (!bytes)
        return rp_no_memory(err);
    status = read_at(p, 0, bytes, p->begin, err);
    if (status == RP_OK)
        status = rp_sha256(&p->header, bytes, p->begin, err);
    if (status == RP_OK)
        status = rp_safetensors_parse_header(&p->file, bytes, p->size, p->where, err);
    rp_free(bytes);
    return status;
}

/* Names ascend over all parts, so no tensor is in two of them and none is out of its place. */
static rp_status check_order(const rp_tensor_set *set, size_t i, rp_error *err)
{
    const part *p = &set->part[i];
    const rp_safetensor *before = p->first ? &set->tensor[p->first - 1] : NULL;

    if (p->file->count == 0 || p->file->count > RP_PART_TENSORS)
        return rp_fail(err, RP_EFORMAT, "%s: a part has 1 to %d tensors, this one %zu", p->where, (int)RP_PART_TENSORS,
                       p->file->count);
    if (before && strcmp(before->name, p->file->tensor[0].name) >= 0)
        return rp_fail(err, RP_EFORMAT, "%s: tensor %.96s is in a part before it too, or belongs there", p->where,
                       p->file->tensor[0].name);
    return RP_OK;
}

static rp_status take_tensors(rp_tensor_set *set, part *p, rp_error *err)
{
    const size_t n = p->file->count;
    rp_safetensor *bigger = rp_reallocarray(set->tensor, set->count + n, sizeof *bigger);

    if (!bigger)
        return rp_no_memory(err);
    set->tensor = bigger;
    p->first = set->count;
    if (n)
        memcpy(set->tensor + set->count, p->file->tensor, n * sizeof *bigger);
    set->count += n;
    return RP_OK;
}

static rp_status read_headers(rp_tensor_set *set, rp_error *err)
{
    size_t left = HEADERS_MAX;
    rp_status status = RP_OK;

    for (size_t i = 0; i < set->parts && status == RP_OK; i++) {
        status = read_header(&set->part[i], &left, err);
        if (status == RP_OK)
            status = take_tensors(set, &set->part[i], err);
        if (status == RP_OK && set->parts > 1)
            status = check_order(set, i, err);
    }
    return status;
}

static rp_status new_set(rp_tensor_set **out, size_t parts, rp_error *err)
{
    rp_tensor_set *set = rp_calloc(1, sizeof *set);

    *out = NULL;
    if (!set)
        return rp_no_memory(err);
    set->part = rp_calloc(parts, sizeof *set->part);
    set->parts = parts;
    if (!set->part) {
        rp_tensor_set_free(set);
        return rp_no_memory(err);
    }
    *out = set;
    return RP_OK;
}

/* The first member of a set, whichever form it has: its one member, or its first part, whose name tells how many there
 * are. Members are in archive order, and nothing stands between the parts of a set. */
static const rp_member *first_of(const rp_archive *archive, const char *set, size_t *parts)
{
    const rp_member *one = rp_archive_find(archive, set);
    rp_member key = {.size = 0}, *list = archive->member;
    size_t low = 0, high = archive->members;
    rp_member_part named;

    *parts = 1;
    if (one)
        return one;
    (void)rp_part_name(key.name, set, 1, 2);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rp_member_compare(&list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i <= archive->disclosed.members; i++) {
        const rp_member *member = i > 0                    ? &archive->disclosed.member[i - 1]
                                  : low < archive->members ? &list[low]
                                                           : NULL;

        if (member && rp_member_part_of(&named, member->name) && strcmp(named.set, set) == 0) {
            *parts = named.parts;
            return member;
        }
    }
    return NULL;
}

bool rp_tensor_set_equal(const rp_archive *a, const rp_archive *b, const char *set)
{
    size_t parts, others;
    bool equal = first_of(a, set, &parts) && first_of(b, set, &others) && parts == others;

    for (size_t i = 1; equal && i <= parts; i++) {
        char name[RP_MEMBER_NAME];
        const rp_member *x = rp_archive_find(a, rp_part_name(name, set, i, parts)), *y = rp_archive_find(b, name);

        equal = x && y && rp_digest_equal(&x->digest, &y->digest);
    }
    return equal;
}

bool rp_tensor_set_present(const rp_archive *archive, const char *set)
{
    size_t parts;

    return first_of(archive, set, &parts) != NULL;
}

static rp_status find_part(part *p, const rp_archive *archive, const char *set, size_t number, size_t parts,
                           rp_error *err)
{
    const rp_member *member;

    (void)rp_part_name(p->where, set, number, parts);
    member = rp_archive_find(archive, p->where);
    if (!member) {
        rp_status status = rp_withheld_missing(archive, p->where, err);

        return status == RP_OK ? rp_fail(err, RP_EFORMAT, "%s: missing from the archive", p->where) : status;
    }
    p->archive = archive;
    p->offset = member->offset;
    p->size = member->size;
    p->digest = member->digest;
    return RP_OK;
}

/* Of a set that was left out the parts are known by the manifest's list. */
static size_t parts_of(const rp_archive *archive, const char *set)
{
    const rp_manifest *manifest = archive->manifest;
    size_t parts;
    rp_member_part named;

    if (first_of(archive, set, &parts))
        return parts;
    for (size_t i = 0; manifest && i < manifest->n_withheld; i++)
        if (rp_member_part_of(&named, manifest->withheld[i].name) && strcmp(named.set, set) == 0)
            return named.parts;
    return 1;
}

static rp_status open_parts(rp_tensor_set *set, const rp_archive *archive, const char *name, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < set->parts && status == RP_OK; i++)
        status = find_part(&set->part[i], archive, name, i + 1, set->parts, err);
    return status == RP_OK ? read_headers(set, err) : status;
}

rp_status rp_tensor_set_open(rp_tensor_set **out, const rp_archive *archive, const char *name, rp_error *err)
{
    rp_tensor_set *set;
    const size_t parts = parts_of(archive, name);
    rp_status status;

    *out = NULL;
    if (parts > RP_MEMBER_LIMIT)
        return rp_fail(err, RP_EFORMAT, "%s: %zu parts, an archive holds at most %d members", name, parts,
                       (int)RP_MEMBER_LIMIT);
    status = new_set(&set, parts, err);
    if (status != RP_OK)
        return status;
    status = open_parts(set, archive, name, err);
    if (status != RP_OK) {
        rp_tensor_set_free(set);
        return rp_fail_at(err, status, "%s", archive->where);
    }
    *out = set;
    return RP_OK;
}

rp_status rp_tensor_set_open_file(rp_tensor_set **out, int fd, uint64_t offset, uint64_t size, const rp_digest *digest,
                                  const char *where, rp_error *err)
{
    rp_tensor_set *set;
    rp_status status = new_set(&set, 1, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    set->part[0] = (part){.fd = fd, .offset = offset, .size = size, .digest = *digest};
    strncpy(set->part[0].where, where, sizeof set->part[0].where - 1);
    status = read_headers(set, err);
    if (status != RP_OK)
        rp_tensor_set_free(set);
    else
        *out = set;
    return status;
}

size_t rp_tensor_set_count(const rp_tensor_set *set)
{
    return set->count;
}

const rp_safetensor *rp_tensor_set_at(const rp_tensor_set *set, size_t index)
{
    return index < set->count ? &set->tensor[index] : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rp_safetensor *)a)->name, ((const rp_safetensor *)b)->name);
}

const rp_safetensor *rp_tensor_set_find(const rp_tensor_set *set, const char *name)
{
    const rp_safetensor key = {.name = name};

    return set->count ? bsearch(&key, set->tensor, set->count, sizeof key, by_name) : NULL;
}

/* ---- reading ---- */

static const part *part_of(const rp_tensor_set *set, const rp_safetensor *tensor)
{
    const size_t index = (size_t)(tensor - set->tensor);
    size_t low = 0, high = set->parts;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (set->part[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return &set->part[low];
}

rp_status rp_tensor_set_read(const rp_tensor_set *set, const rp_safetensor *tensor, size_t at, void *stored,
                             size_t size, rp_error *err)
{
    const part *p = part_of(set, tensor);

    if (at > tensor->size || size > tensor->size - at)
        return rp_fail(err, RP_EFORMAT, "%s: %.96s has %zu bytes", p->where, tensor->name, tensor->size);
    return read_at(p, tensor->offset + at, stored, size, err);
}

rp_status rp_tensor_set_read_host(const rp_tensor_set *set, const rp_safetensor *tensor, void *host, rp_error *err)
{
    rp_status status = rp_tensor_set_read(set, tensor, 0, host, tensor->size, err);

    if (status == RP_OK)
        rp_to_host(host, host, tensor->dtype, tensor->size / rp_dtype_size(tensor->dtype));
    return status;
}

/* What streaming a part needs. */
typedef struct stream {
    const part *part;
    rp_sha256_stream *hash;
    unsigned char *window;
} stream;

static rp_status stream_tensor(const stream *s, const rp_safetensor *tensor, const rp_element_sink *to, rp_error *err)
{
    const size_t element = rp_dtype_size(tensor->dtype);
    rp_status status = tensor->size ? RP_OK : to->put(to->self, tensor, 0, s->window, 0, err);

    for (size_t at = 0; at < tensor->size && status == RP_OK; at += WINDOW) {
        const size_t size = tensor->size - at < WINDOW ? tensor->size - at : WINDOW;

        status = read_at(s->part, tensor->offset + at, s->window, size, err);
        if (status != RP_OK)
            return status;
        rp_sha256_stream_update(s->hash, s->window, size);
        rp_to_host(s->window, s->window, tensor->dtype, size / element);
        status = to->put(to->self, tensor, at / element, s->window, size / element, err);
    }
    return status;
}

static int by_offset(const void *a, const void *b)
{
    const rp_safetensor *x = *(const rp_safetensor *const *)a, *y = *(const rp_safetensor *const *)b;

    if (x->offset != y->offset)
        return (x->offset > y->offset) - (x->offset < y->offset);
    return (x->size > y->size) - (x->size < y->size);
}

/* The header is read again for the hash of the whole; it must be the one that was parsed. */
static rp_status hash_header(const stream *s, rp_error *err)
{
    unsigned char *bytes = rp_malloc(s->part->begin);
    rp_digest digest;
    rp_status status = bytes ? read_at(s->part, 0, bytes, s->part->begin, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_sha256(&digest, bytes, s->part->begin, err);
    if (status == RP_OK && !rp_digest_equal(&digest, &s->part->header))
        status = rp_fail(err, RP_EHASH, "%s: changed while it was open", s->part->where);
    if (status == RP_OK)
        rp_sha256_stream_update(s->hash, bytes, s->part->begin);
    rp_free(bytes);
    return status;
}

static rp_status stream_part(const rp_tensor_set *set, const stream *s, const rp_element_sink *to, rp_error *err)
{
    const size_t n = s->part->file->count;
    const rp_safetensor **placed = rp_reallocarray(NULL, n, sizeof *placed);
    rp_digest digest;
    rp_status status = placed ? hash_header(s, err) : rp_no_memory(err);

    for (size_t i = 0; i < n && placed; i++)
        placed[i] = &set->tensor[s->part->first + i];
    if (placed && n)
        qsort(placed, n, sizeof *placed, by_offset);
    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = stream_tensor(s, placed[i], to, err);
    rp_free(placed);
    if (status == RP_OK)
        status = rp_sha256_stream_finish(s->hash, &digest, err);
    if (status == RP_OK && !rp_digest_equal(&digest, &s->part->digest))
        status = rp_fail(err, RP_EHASH, "%s: changed while it was open", s->part->where);
    return status;
}

rp_status rp_tensor_set_stream(const rp_tensor_set *set, const rp_element_sink *to, rp_error *err)
{
    stream s = {.window = rp_malloc(WINDOW)};
    rp_status status = s.window ? rp_sha256_stream_new(&s.hash, err) : rp_no_memory(err);

    for (size_t i = 0; i < set->parts && status == RP_OK; i++) {
        s.part = &set->part[i];
        status = stream_part(set, &s, to, err);
    }
    rp_sha256_stream_free(s.hash);
    rp_free(s.window);
    return status;
}

/* ---- digests and comparison ---- */

/* The digest of one tensor from the digests of its leaves (FORMAT.md 3), window by window. */
static rp_status tensor_digest(rp_digest *out, const rp_tensor_set *set, const rp_safetensor *tensor,
                               unsigned char *window, rp_error *err)
{
    const size_t leaves = tensor->size / RP_TENSOR_LEAF + (tensor->size % RP_TENSOR_LEAF != 0);
    rp_digest *leaf = rp_reallocarray(NULL, leaves, sizeof *leaf), root;
    rp_status status = leaf ? RP_OK : rp_no_memory(err);

    for (size_t at = 0; at < tensor->size && status == RP_OK; at += WINDOW) {
        const size_t size = tensor->size - at < WINDOW ? tensor->size - at : WINDOW;

        status = rp_tensor_set_read(set, tensor, at, window, size, err);
        if (status == RP_OK)
            status = rp_merkle_leaves(leaf + at / RP_TENSOR_LEAF, window, size, err);
    }
    if (status == RP_OK)
        status = rp_merkle_fold(&root, leaf, leaves, err);
    rp_free(leaf);
    return status == RP_OK ? rp_tensor_digest_of(out, tensor->dtype, tensor->rank, tensor->shape, &root, err) : status;
}

rp_status rp_tensor_set_digest(rp_digest *out, const rp_tensor_set *set, const rp_safetensor *const *list, size_t count,
                               rp_error *err)
{
    const size_t n = list ? count : set->count;
    unsigned char *window = rp_malloc(WINDOW);
    rp_named_digest *named = rp_reallocarray(NULL, n, sizeof *named);
    rp_status status = window && named ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        const rp_safetensor *tensor = list ? list[i] : &set->tensor[i];

        named[i].name = tensor->name;
        status = tensor_digest(&named[i].digest, set, tensor, window, err);
    }
    if (status == RP_OK)
        status = rp_named_list_digest(out, named, n, err);
    rp_free(named);
    rp_free(window);
    return status;
}

rp_status rp_tensor_set_same(bool *same, const rp_tensor_set *a, const rp_safetensor *x, const rp_tensor_set *b,
                             const rp_safetensor *y, rp_error *err)
{
    unsigned char *window = rp_malloc((size_t)2 * WINDOW);
    rp_status status = window ? RP_OK : rp_no_memory(err);

    *same = x->dtype == y->dtype && x->rank == y->rank && x->size == y->size &&
            memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0;
    for (size_t at = 0; *same && at < x->size && status == RP_OK; at += WINDOW) {
        const size_t size = x->size - at < WINDOW ? x->size - at : WINDOW;

        status = rp_tensor_set_read(a, x, at, window, size, err);
        if (status == RP_OK)
            status = rp_tensor_set_read(b, y, at, window + WINDOW, size, err);
        *same = status == RP_OK && memcmp(window, window + WINDOW, size) == 0;
    }
    rp_free(window);
    return status;
}
