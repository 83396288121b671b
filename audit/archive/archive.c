/* SPDX-License-Identifier: Apache-2.0
 * An open archive: what was found in it, and its members' bytes, which are hashed again each time they are read. How it
 * is opened: archive_scan.c, then archive_open.c. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/digest/sha256.h"
#include "audit/profile/identity.h"
#include "base/handle.h"
#include "base/memory.h"

enum { WINDOW = 65536 };

/* Opened for each window: there may be as many of them as an archive has members. */
static rp_status read_disclosed(const rp_archive *archive, uint64_t offset, void *out, size_t size, rp_error *err)
{
    const rp_disclosed *d = &archive->disclosed;
    size_t i = d->members;
    rp_reader reader;
    char *path;
    rp_status status;

    while (i > 0 && d->member[i - 1].offset > offset)
        i--;
    if (i == 0)
        return rp_fail(err, RP_EIO, "cannot read at byte %llu", (unsigned long long)offset);
    offset -= d->member[i - 1].offset;
    path = rp_path_in(d->folder, d->member[i - 1].name);
    status = path ? rp_reader_file(&reader, path, err) : rp_no_memory(err);
    if (status == RP_OK) {
        status = reader.read(reader.self, offset, out, size, err);
        rp_reader_close(&reader);
    }
    rp_free(path);
    return status;
}

rp_status rp_archive_source_read(const rp_archive *archive, uint64_t offset, void *out, size_t size, rp_error *err)
{
    if (size == 0)
        return RP_OK;
    if (offset < archive->size)
        return archive->reader.read(archive->reader.self, offset, out, size, err);
    return read_disclosed(archive, offset, out, size, err);
}

void rp_disclosed_free(rp_disclosed *disclosed)
{
    rp_free(disclosed->member);
    rp_free(disclosed->folder);
    memset(disclosed, 0, sizeof *disclosed);
}

void rp_archive_close(rp_archive *archive)
{
    if (archive == NULL)
        return;
    rp_reader_close(&archive->reader);
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
    if (!archive)
        return NULL;
    return rp_run_kind_name(rp_archive_manifest(archive)->kind);
}

const rp_manifest *rp_archive_manifest(const rp_archive *archive)
{
    return archive->manifest;
}

size_t rp_archive_member_count(const rp_archive *archive)
{
    if (!archive)
        return 0;
    return archive->members;
}

const rp_member *rp_archive_member(const rp_archive *archive, size_t index)
{
    if (!archive)
        return NULL;
    return index < archive->members ? &archive->member[index] : NULL;
}

const rp_member *rp_archive_find(const rp_archive *archive, const char *name)
{
    if (!archive)
        return NULL;

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

size_t rp_archive_withheld_count(const rp_archive *archive)
{
    if (!archive)
        return 0;
    return archive->manifest->n_withheld;
}

const char *rp_archive_withheld(const rp_archive *archive, size_t index)
{
    if (!archive)
        return NULL;
    return index < archive->manifest->n_withheld ? archive->manifest->withheld[index].name : NULL;
}

const rp_salt *rp_archive_salt(const rp_archive *archive)
{
    return archive->disclosed.salted ? &archive->disclosed.salt : NULL;
}

rp_status rp_withheld_missing(const rp_archive *archive, const char *name, rp_error *err)
{
    for (size_t i = 0; archive->manifest && i < archive->manifest->n_withheld; i++)
        if (strcmp(archive->manifest->withheld[i].name, name) == 0)
            return rp_fail(err, RP_EARG,
                           "%.100s: was left out of this archive: give --withheld DIR, the folder with it and "
                           "its salt",
                           name);
    return RP_OK;
}

const char *rp_parent_id(const rp_archive *archive)
{
    if (!archive)
        return NULL;
    return rp_json_string_value(
        rp_json_object_get(rp_json_object_get(rp_archive_manifest(archive)->run, "parent"), "archive_id"));
}

void rp_archive_pinned_to(const rp_archive *archive, rp_pinned_to *out)
{
    const rp_json *run = archive ? rp_archive_manifest(archive)->run : NULL;
    const rp_json *line = rp_json_object_get(rp_json_object_get(run, "parent"), "pinned");

    memset(out, 0, sizeof *out);
    if (rp_json_object_get(run, "pinned"))
        rp_pinned_words(out->run, sizeof out->run, rp_json_object_get(run, "pinned"));
    if (line) {
        rp_pinned_words(out->line, sizeof out->line, line);
        memcpy(out->line_id, rp_json_string_value(rp_json_object_get(line, "archive_id")), RP_DIGEST_HEX);
    }
}

/* ---- bytes ---- */

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
    if (!archive)
        return rp_no_handle(err, __func__, "archive");

    rp_status status = read_whole(archive, member, out, err);

    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", archive->where);
}

rp_status rp_archive_read_raw(const rp_archive *archive, uint64_t offset, void *out, size_t size, uint64_t *total,
                              rp_error *err)
{
    if (!archive)
        return rp_no_handle(err, __func__, "archive");

    rp_status status;

    if (total != NULL)
        *total = archive->size;
    if (offset > archive->size || size > archive->size - offset)
        return rp_fail(err, RP_EARG, "%s: bytes %llu to %llu wanted, it has %llu", archive->where,
                       (unsigned long long)offset, (unsigned long long)offset + size,
                       (unsigned long long)archive->size);
    status = rp_archive_source_read(archive, offset, out, size, err);
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", archive->where);
}
