/* SPDX-License-Identifier: Apache-2.0
 * Adding a member to signatures/ of a finished archive (FORMAT.md 5). The archive id is of the manifest, which these
 * members are outside of, so nothing else changes: every other member is copied with its bytes, hashed on the way, into a
 * new file that takes the old one's name when it is whole. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/archive_private.h"
#include "audit/dsse.h"
#include "audit/log_note.h"
#include "audit/ustar.h"

enum { WINDOW = 65536 };

bool rp_signature_kind_known(const char *member)
{
    return rp_statement_name_valid(member) || rp_log_member_valid(member);
}

static rp_status write_padding(rp_file_writer *file, uint64_t size, rp_error *err)
{
    static const unsigned char zeros[2 * RP_BLOCK];

    return rp_file_write(file, zeros, (size_t)size, err);
}

static rp_status write_new(rp_file_writer *file, const rp_member *member, const void *bytes, rp_error *err)
{
    unsigned char header[RP_BLOCK];
    rp_status status;

    (void)rp_ustar_header(header, member->name, member->size);
    status = rp_file_write(file, header, sizeof header, err);
    if (status == RP_OK)
        status = rp_file_write(file, bytes, (size_t)member->size, err);
    return status == RP_OK ? write_padding(file, rp_ustar_padded(member->size) - member->size, err) : status;
}

static rp_status copy_member(rp_file_writer *file, const rp_archive *archive, const rp_member *member,
                             rp_sha256_stream *hash, rp_error *err)
{
    unsigned char window[WINDOW];
    rp_digest digest;
    rp_status status;

    (void)rp_ustar_header(window, member->name, member->size);
    status = rp_file_write(file, window, RP_BLOCK, err);
    for (uint64_t at = 0; at < member->size && status == RP_OK;) {
        size_t part = member->size - at < WINDOW ? (size_t)(member->size - at) : WINDOW;

        status = rp_archive_source_read(archive, member->offset + at, window, part, err);
        rp_sha256_stream_update(hash, window, status == RP_OK ? part : 0);
        if (status == RP_OK)
            status = rp_file_write(file, window, part, err);
        at += part;
    }
    if (status == RP_OK)
        status = rp_sha256_stream_finish(hash, &digest, err);
    if (status == RP_OK && !rp_digest_equal(&digest, &member->digest))
        status = rp_fail(err, RP_EHASH, "%s: changed while the archive was open", member->name);
    return status == RP_OK ? write_padding(file, rp_ustar_padded(member->size) - member->size, err) : status;
}

/* All members in archive order, the new one at its place, there instead of one of the same name. */
static rp_status write_members(rp_file_writer *file, const rp_archive *archive, const rp_member *added, const void *bytes,
                               rp_error *err)
{
    rp_sha256_stream *hash;
    bool written = false;
    rp_status status = rp_sha256_stream_new(&hash, err);

    for (size_t i = 0; i < archive->members && status == RP_OK; i++) {
        const rp_member *member = &archive->member[i];
        int order = rp_member_compare(member, added);

        if (!written && order >= 0) {
            status = write_new(file, added, bytes, err);
            written = true;
        }
        if (order != 0 && status == RP_OK)
            status = copy_member(file, archive, member, hash, err);
    }
    if (!written && status == RP_OK)
        status = write_new(file, added, bytes, err);
    rp_sha256_stream_free(hash);
    return status == RP_OK ? write_padding(file, 2 * RP_BLOCK, err) : status;
}

static rp_status rewrite(const char *path, const rp_archive *archive, const rp_member *added, const void *bytes,
                         unsigned mode, rp_error *err)
{
    rp_file_writer *file;
    rp_status status = rp_file_create(&file, path, true, mode, err);

    if (status != RP_OK)
        return status;
    status = write_members(file, archive, added, bytes, err);
    if (status == RP_OK)
        return rp_file_commit(file, err);
    rp_file_abort(file);
    return status;
}

static rp_status check_added(rp_member *added, const char *member, size_t size, rp_error *err)
{
    if (!rp_signature_kind_known(member))
        return rp_fail(err, RP_EARG, "%.100s: not a kind of signature that format %d has", member, (int)RP_ARCHIVE_FORMAT);
    if (size == 0 || size > RP_STATEMENT_LIMIT)
        return rp_fail(err, RP_EARG, "%s: %zu bytes, expected 1 to %d", member, size, (int)RP_STATEMENT_LIMIT);
    memset(added, 0, sizeof *added);
    memcpy(added->name, member, strlen(member) + 1);
    added->size = size;
    return RP_OK;
}

rp_status rp_archive_add_statement(const char *path, const char *member, const void *bytes, size_t size, bool force,
                                   rp_error *err)
{
    rp_archive *archive;
    rp_member added;
    struct stat info;
    rp_status status = check_added(&added, member, size, err);

    if (status != RP_OK)
        return status;
    if (lstat(path, &info) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISLNK(info.st_mode)) /* the new file would take the link's place, not the archive's */
        return rp_fail(err, RP_EARG, "%s: is a symbolic link: give the archive itself", path);
    status = rp_archive_open(&archive, path, err);
    if (status != RP_OK)
        return status;
    if (!force && rp_archive_find(archive, member) != NULL)
        status = rp_fail(err, RP_EEXIST, "%s: already has %s: give --force to replace it", path, member);
    else if (rp_archive_find(archive, member) == NULL && archive->members >= RP_MEMBER_LIMIT)
        status = rp_fail(err, RP_EARG, "%s: an archive holds at most %d members", path, (int)RP_MEMBER_LIMIT);
    else
        status = rewrite(path, archive, &added, bytes, (unsigned)info.st_mode & 0777, err);
    rp_archive_close(archive);
    return status;
}
