/* SPDX-License-Identifier: Apache-2.0
 * The strict reader's second half: the manifest is parsed and compared with what the scan found, libarchive is asked
 * whether it sees the same, and members are read, hashed again each time. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "audit/archive/archive_private.h"
#include "audit/archive/safetensors.h"
#include "audit/digest/sha256.h"
#include "audit/archive/ustar.h"
#include "base/json.h"
#include "base/memory.h"

enum { WINDOW = 65536 };

void rp_archive_close(rp_archive *archive)
{
    if (archive == NULL)
        return;
    if (archive->fd >= 0)
        close(archive->fd);
    rp_manifest_free(archive->manifest);
    rp_disclosed_free(&archive->disclosed);
    rp_free(archive->member);
    rp_free(archive->where);
    rp_free(archive);
}

const char *rp_archive_id(const rp_archive *archive)
{
    return archive->id;
}

const char *rp_archive_kind(const rp_archive *archive)
{
    return rp_archive_manifest(archive)->kind == RP_RUN_RECIPE ? "recipe" : "api";
}

const rp_manifest *rp_archive_manifest(const rp_archive *archive)
{
    return archive->manifest;
}

size_t rp_archive_member_count(const rp_archive *archive)
{
    return archive->members;
}

const rp_member *rp_archive_member(const rp_archive *archive, size_t index)
{
    return index < archive->members ? &archive->member[index] : NULL;
}

const rp_member *rp_archive_find(const rp_archive *archive, const char *name)
{
    rp_member key;
    size_t low = 0, high = archive->members;

    if (strlen(name) >= sizeof key.name || rp_member_kind_of(name) == NULL)
        return NULL;
    memcpy(key.name, name, strlen(name) + 1);
    while (low < high) { /* members are in archive order */
        size_t middle = low + (high - low) / 2;
        int order = rp_member_compare(&archive->member[middle], &key);

        if (order == 0)
            return &archive->member[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < archive->disclosed.members; i++)
        if (strcmp(archive->disclosed.member[i].name, name) == 0)
            return &archive->disclosed.member[i];
    return NULL;
}

/* The scan's digest is the authority: a file changed since then is caught here. */
static rp_status read_whole(const rp_archive *archive, const rp_member *member, void *out, rp_error *err)
{
    rp_digest digest;
    rp_sha256_lane lane;
    size_t size = (size_t)member->size;
    unsigned char *at = out;
    rp_status status = rp_sha256_lane_start(&lane, err);

    /* hashed while it is still in the cache */
    for (size_t part; size >= RP_SHA_BLOCK && status == RP_OK; at += part, size -= part) {
        part = size < WINDOW ? size / RP_SHA_BLOCK * RP_SHA_BLOCK : WINDOW;
        status = rp_archive_source_read(archive, member->offset + member->size - size, at, part, err);
        if (status == RP_OK)
            rp_sha256_lane_blocks(&lane, at, NULL, NULL, part / RP_SHA_BLOCK);
    }
    if (status == RP_OK)
        status = rp_archive_source_read(archive, member->offset + member->size - size, at, size, err);
    if (status == RP_OK)
        status = rp_sha256_lane_finish(&lane, at, size, &digest, err);
    rp_sha256_lane_drop(&lane);
    if (status != RP_OK)
        return rp_fail_at(err, status, "%s", member->name);
    if (!rp_digest_equal(&digest, &member->digest))
        return rp_fail(err, RP_EHASH, "%s: changed while the archive was open", member->name);
    return RP_OK;
}

/* A tensor file with an impossible header is not worth the memory to read it whole. */
static rp_status check_tensors(const rp_archive *archive, const rp_member *member, rp_error *err)
{
    static const char suffix[] = ".safetensors";
    unsigned char begin[RP_SAFETENSORS_BEGIN];
    size_t length = strlen(member->name), size = member->size < sizeof begin ? (size_t)member->size : sizeof begin;
    rp_status status = RP_OK;

    if (length < sizeof suffix || strcmp(member->name + length - (sizeof suffix - 1), suffix) != 0)
        return RP_OK;
    status = rp_archive_source_read(archive, member->offset, begin, size, err);
    return status == RP_OK ? rp_safetensors_check_begin(begin, member->size, member->name, err) : status;
}

static rp_status read_member(const rp_archive *archive, const char *name, size_t limit, rp_buffer *out, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, name);
    rp_status status = member ? RP_OK : rp_withheld_missing(archive, name, err);

    rp_buffer_free(out);
    if (status != RP_OK)
        return status;
    if (member == NULL)
        return rp_fail(err, RP_EFORMAT, "%.100s: missing from the archive", name);
    if (member->size > limit)
        return rp_fail(err, RP_EFORMAT, "%s: %llu bytes, at most %zu are expected", name,
                       (unsigned long long)member->size, limit);
    status = check_tensors(archive, member, err);
    return status == RP_OK ? rp_archive_member_body(archive, member, out, err) : status;
}

rp_status rp_archive_member_body(const rp_archive *archive, const rp_member *member, rp_buffer *out, rp_error *err)
{
    rp_buffer_free(out);
    out->data = rp_malloc((size_t)member->size);
    if (out->data == NULL)
        return rp_no_memory(err);
    out->size = out->capacity = (size_t)member->size;
    rp_status status = read_whole(archive, member, out->data, err);
    if (status != RP_OK)
        rp_buffer_free(out);
    return status;
}

rp_status rp_archive_read(const rp_archive *archive, const rp_member *member, void *out, rp_error *err)
{
    rp_status status = read_whole(archive, member, out, err);

    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", archive->where);
}

rp_status rp_archive_read_member(const rp_archive *archive, const char *name, size_t limit, rp_buffer *out,
                                 rp_error *err)
{
    rp_status status = read_member(archive, name, limit, out, err);

    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", archive->where);
}

rp_status rp_archive_read_json(const rp_archive *archive, const char *name, rp_json **out, rp_error *err)
{
    const rp_member_kind *kind = rp_member_kind_of(name);
    rp_buffer text = {0};
    rp_status status = read_member(archive, name, kind != NULL ? (size_t)kind->held : 0, &text, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_json_parse_within(out, text.data, text.size,
                                      strcmp(name, RP_METRICS_MEMBER) ? RP_JSON_MEMORY : RP_JSON_METRICS_MEMORY, true,
                                      name, err);
    rp_buffer_free(&text);
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", archive->where);
}

rp_status rp_archive_read_at(const rp_archive *archive, const rp_member *member, uint64_t offset, void *out,
                             size_t size, rp_error *err)
{
    if (offset > member->size || size > member->size - offset)
        return rp_fail(err, RP_EFORMAT, "%s: %s: bytes %llu to %llu wanted, it has %llu", archive->where, member->name,
                       (unsigned long long)offset, (unsigned long long)offset + size, (unsigned long long)member->size);
    rp_status status = rp_archive_source_read(archive, member->offset + offset, out, size, err);
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s: %s", archive->where, member->name);
}

/* Both lists are in archive order, so the first difference says which side has one more. */
static rp_status compare_member(const rp_member *listed, const rp_member *found, rp_error *err)
{
    char expected[RP_DIGEST_HEX], actual[RP_DIGEST_HEX];
    int order = listed == NULL ? 1 : found == NULL ? -1 : rp_member_compare(listed, found);

    if (order < 0)
        return rp_fail(err, RP_EFORMAT, "%s: missing: " RP_MANIFEST_NAME " lists it here", listed->name);
    if (order > 0)
        return rp_fail(err, RP_EFORMAT, "%s: is not what " RP_MANIFEST_NAME " lists here (%s)", found->name,
                       listed ? listed->name : "the end");
    if (listed->size != found->size)
        return rp_fail(err, RP_EHASH, "%s: size differs: manifest %llu, archive %llu", found->name,
                       (unsigned long long)listed->size, (unsigned long long)found->size);
    if (rp_digest_equal(&listed->digest, &found->digest))
        return RP_OK;
    rp_digest_hex(expected, &listed->digest);
    rp_digest_hex(actual, &found->digest);
    return rp_fail(err, RP_EHASH, "%s: SHA-256 differs: manifest %s, archive %s", found->name, expected, actual);
}

static rp_status compare_members(const rp_archive *archive, const rp_manifest *manifest, rp_error *err)
{
    size_t found = 1;
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK; i++, found++) {
        const rp_member *member = rp_archive_member(archive, found);
        const rp_member *listed = i < manifest->members ? &manifest->member[i] : NULL;

        if (member != NULL && rp_member_rank_of(member->name) == RP_RANK_SIGNATURE)
            member = NULL;
        if (member == NULL && listed == NULL)
            break;
        status = compare_member(listed, member, err);
    }
    return status;
}

/* What libarchive reads from and where it is. */
typedef struct cursor {
    const rp_archive *archive;
    uint64_t at;
    unsigned char window[WINDOW];
    rp_status status; /* of reading */
    rp_error *err;
} cursor;

static la_ssize_t cursor_read(struct archive *a, void *arg, const void **out)
{
    cursor *from = arg;
    uint64_t left = from->archive->size - from->at;
    size_t part = left < WINDOW ? (size_t)left : WINDOW;

    from->status = rp_archive_source_read(from->archive, from->at, from->window, part, from->err);
    if (from->status != RP_OK) {
        archive_set_error(a, EIO, "cannot read");
        return -1;
    }
    from->at += part;
    *out = from->window;
    return (la_ssize_t)part;
}

static la_int64_t cursor_skip(struct archive *a, void *arg, la_int64_t request)
{
    cursor *from = arg;
    uint64_t left = from->archive->size - from->at;
    uint64_t step = request < 0 ? 0 : (uint64_t)request < left ? (uint64_t)request : left;

    (void)a;
    from->at += step;
    return (la_int64_t)step;
}

static bool same_entry(struct archive *a, struct archive_entry *entry, const rp_member *member)
{
    const char *name = archive_entry_pathname(entry);

    return name != NULL && strcmp(name, member->name) == 0 && archive_entry_size(entry) == (la_int64_t)member->size &&
           archive_entry_filetype(entry) == AE_IFREG && archive_entry_perm(entry) == 0644 &&
           archive_entry_mtime(entry) == 0 && archive_entry_uid(entry) == 0 && archive_entry_gid(entry) == 0 &&
           archive_entry_hardlink(entry) == NULL && archive_entry_symlink(entry) == NULL &&
           archive_read_header_position(a) == (la_int64_t)(member->offset - RP_BLOCK);
}

/* A second reader, by other hands, must list the same members at the same places. */
static rp_status confirm(const rp_archive *archive, rp_error *err)
{
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    cursor *from = rp_malloc(sizeof *from);
    rp_status status;
    int result = ARCHIVE_FATAL;
    size_t i = 0;

    if (a == NULL || from == NULL) {
        archive_read_free(a);
        rp_free(from);
        return rp_no_memory(err);
    }
    from->archive = archive;
    from->at = 0;
    from->status = RP_OK;
    from->err = err;
    if (archive_read_support_format_tar(a) == ARCHIVE_OK)
        result = archive_read_open2(a, from, NULL, cursor_read, cursor_skip, NULL);
    while (result == ARCHIVE_OK && (result = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
        if (i >= archive->members || !same_entry(a, entry, &archive->member[i]))
            break;
        i++;
    }
    status = from->status;
    if (status == RP_OK && (result != ARCHIVE_EOF || i != archive->members))
        status = rp_fail(err, archive_errno(a) == ENOMEM ? RP_ENOMEM : RP_EFORMAT, "%s: %s reads it otherwise: %s",
                         i < archive->members ? archive->member[i].name : RP_ARCHIVE_END, archive_version_string(),
                         archive_error_string(a) ? archive_error_string(a) : "another entry");
    archive_read_free(a);
    rp_free(from);
    return status;
}

rp_status rp_archive_compare(rp_archive *archive, rp_error *err)
{
    rp_buffer text = {0};
    rp_manifest *manifest = NULL;
    rp_status status = read_member(archive, RP_MANIFEST_NAME, RP_MANIFEST_LIMIT, &text, err);

    if (status == RP_OK)
        status = rp_manifest_parse(&manifest, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status == RP_OK)
        status = compare_members(archive, manifest, err);
    if (status == RP_OK)
        status = confirm(archive, err);
    if (status != RP_OK) {
        rp_manifest_free(manifest);
        return status;
    }
    rp_manifest_free(archive->manifest);
    archive->manifest = manifest;
    return RP_OK;
}

static rp_status open_archive(rp_archive **out, const char *path, const void *bytes, size_t size, const char *where,
                              rp_error *err)
{
    rp_archive *archive;
    rp_status status = rp_archive_scan(&archive, path, bytes, size, where, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    status = rp_archive_compare(archive, err);
    if (status != RP_OK) {
        status = rp_fail_at(err, status, "%s", where);
        rp_archive_close(archive);
        return status;
    }
    *out = archive;
    return RP_OK;
}

rp_status rp_archive_open(rp_archive **out, const char *path, rp_error *err)
{
    return open_archive(out, path, NULL, 0, path, err);
}

rp_status rp_archive_open_memory(rp_archive **out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    return open_archive(out, NULL, bytes, size, where, err);
}
