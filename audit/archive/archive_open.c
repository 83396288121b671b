/* SPDX-License-Identifier: Apache-2.0
 * The second half of opening: the manifest is parsed and compared with what the scan found, places and sizes first,
 * then the hashes of all bodies. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/handle.h"

/* Both lists are in archive order, so the first difference says which side has one more. */
static rp_status compare_place(const rp_member *listed, const rp_member *found, rp_error *err)
{
    int order = listed == NULL ? 1 : found == NULL ? -1 : rp_member_compare(listed, found);

    if (order < 0)
        return rp_fail(err, RP_EFORMAT, "%s: missing: " RP_MANIFEST_NAME " lists it here", listed->name);
    if (order > 0)
        return rp_fail(err, RP_EFORMAT, "%s: is not what " RP_MANIFEST_NAME " lists here (%s)", found->name,
                       listed ? listed->name : "the end");
    if (listed->size != found->size)
        return rp_fail(err, RP_EHASH, "%s: size differs: manifest %llu, archive %llu", found->name,
                       (unsigned long long)listed->size, (unsigned long long)found->size);
    return RP_OK;
}

static rp_status compare_digest(const rp_member *listed, const rp_member *found, rp_error *err)
{
    char expected[RP_DIGEST_HEX], actual[RP_DIGEST_HEX];

    if (rp_digest_equal(&listed->digest, &found->digest))
        return RP_OK;
    rp_digest_hex(expected, &listed->digest);
    rp_digest_hex(actual, &found->digest);
    return rp_fail(err, RP_EHASH, "%s: SHA-256 differs: manifest %s, archive %s", found->name, expected, actual);
}

/* Places and sizes of all before the first body is read: no hour goes into hashing what was never listed. */
static rp_status compare_members(rp_archive *archive, const rp_manifest *manifest, rp_error *err)
{
    const size_t end = archive->members - archive->signatures;
    rp_status status = RP_OK;

    for (size_t i = 0; (i < manifest->members || i + 1 < end) && status == RP_OK; i++)
        status = compare_place(i < manifest->members ? &manifest->member[i] : NULL,
                               i + 1 < end ? rp_archive_member(archive, i + 1) : NULL, err);
    if (status == RP_OK)
        status = rp_archive_hash(archive, 1, end, err);
    for (size_t i = 0; i < manifest->members && status == RP_OK; i++)
        status = compare_digest(&manifest->member[i], rp_archive_member(archive, i + 1), err);
    return status;
}

rp_status rp_archive_compare(rp_archive *archive, rp_error *err)
{
    rp_buffer text = {0};
    rp_manifest *manifest = NULL;
    rp_status status = rp_archive_member_body(archive, &archive->member[0], &text, err);

    if (status == RP_OK)
        status = rp_manifest_parse(&manifest, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status == RP_OK)
        status = compare_members(archive, manifest, err);
    if (status != RP_OK) {
        rp_manifest_free(manifest);
        return status;
    }
    rp_manifest_free(archive->manifest);
    archive->manifest = manifest;
    return RP_OK;
}

rp_status rp_archive_open_reader(rp_archive **out, rp_reader *reader, const char *where, rp_error *err)
{
    const char *const name = where ? where : "archive";
    rp_archive *archive;
    rp_status status = reader ? rp_archive_scan(&archive, reader, name, err) : rp_no_value(err, __func__, "reader");

    *out = NULL;
    if (status != RP_OK)
        return status;
    status = rp_archive_compare(archive, err);
    if (status != RP_OK) {
        status = rp_fail_at(err, status, "%s", name);
        rp_archive_close(archive);
        return status;
    }
    *out = archive;
    return RP_OK;
}

rp_status rp_archive_open(rp_archive **out, const char *path, rp_error *err)
{
    rp_reader reader;
    rp_status status = rp_reader_file(&reader, path, err);

    *out = NULL;
    return status == RP_OK ? rp_archive_open_reader(out, &reader, path, err) : status;
}

rp_status rp_archive_open_memory(rp_archive **out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    rp_reader reader = rp_reader_memory(bytes, size);

    return rp_archive_open_reader(out, &reader, where, err);
}
