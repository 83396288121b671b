/* SPDX-License-Identifier: Apache-2.0
 * Adding a member to signatures/ of a finished archive (FORMAT.md 5). The archive id is of the manifest, which these
 * members are outside of, so nothing else changes: every other member is copied with its bytes, hashed on the way, into
 * a new file that takes the old one's name when it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/archive/archive_private.h"
#include "audit/sign/certificate.h"
#include "audit/archive/ustar.h"
#include "audit/log/log_note.h"
#include "base/handle.h"
#include "rp/trust.h"

enum { WINDOW = 65536 };

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

/* All members in archive order, the new ones (in that order too) at their places, there instead of one of the same
 * name. */
static rp_status write_members(rp_file_writer *file, const rp_archive *archive, const rp_added *added, size_t n,
                               rp_error *err)
{
    rp_sha256_stream *hash;
    size_t next = 0;
    rp_status status = rp_sha256_stream_new(&hash, err);

    for (size_t i = 0; i < archive->members && status == RP_OK; i++) {
        const rp_member *member = &archive->member[i];
        bool replaced = false;

        for (; next < n && status == RP_OK && rp_member_compare(member, &added[next].member) >= 0; next++) {
            replaced = replaced || rp_member_compare(member, &added[next].member) == 0;
            status = write_new(file, &added[next].member, added[next].bytes, err);
        }
        if (!replaced && status == RP_OK)
            status = copy_member(file, archive, member, hash, err);
    }
    for (; next < n && status == RP_OK; next++)
        status = write_new(file, &added[next].member, added[next].bytes, err);
    rp_sha256_stream_free(hash);
    return status == RP_OK ? write_padding(file, 2 * RP_BLOCK, err) : status;
}

/* locked: the file that is to be replaced; one that a run has put in its place meanwhile is not. */
static rp_status rewrite(const char *path, const rp_archive *archive, const rp_added *added, size_t n,
                         const struct stat *locked, rp_error *err)
{
    rp_file_writer *file;
    struct stat now;
    rp_status status = rp_file_create(&file, path, true, (unsigned)locked->st_mode & 0777, err);

    if (status != RP_OK)
        return status;
    status = write_members(file, archive, added, n, err);
    if (status == RP_OK && (stat(path, &now) != 0 || now.st_ino != locked->st_ino || now.st_dev != locked->st_dev))
        status = rp_fail(err, RP_EHASH, "%s: was replaced by another file meanwhile: nothing was added", path);
    if (status == RP_OK)
        return rp_file_commit(file, err);
    rp_file_abort(file);
    return status;
}

/* Two who add at the same time would each write the archive with their own member alone. The lock is on the file that
 * is there; when another has replaced it meanwhile, it is no longer what the name stands for. *fd is -1 where there are
 * no locks. */
static rp_status lock(int *fd, const char *path, struct stat *info, rp_error *err)
{
    struct stat now;

    for (;;) {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (*fd < 0 && errno == ELOOP) /* the new file would take the link's place, not the archive's */
            return rp_fail(err, RP_EARG, "%s: is a symbolic link: give the archive itself", path);
        if (*fd < 0 || fstat(*fd, info) != 0)
            break;
        while (flock(*fd, LOCK_EX) != 0 && errno == EINTR)
            ;
        if (stat(path, &now) != 0)
            break;
        if (now.st_ino == info->st_ino && now.st_dev == info->st_dev)
            return RP_OK;
        (void)close(*fd);
    }
    (void)rp_fail(err, RP_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
    return RP_EIO;
}

static rp_status check_added(const char *path, const rp_archive *archive, const char *archive_id, const rp_added *added,
                             size_t n, bool force, rp_error *err)
{
    uint64_t statements = archive->statements;

    for (size_t i = 0; i < n; i++)
        statements += rp_statement_bytes(added[i].member.name, added[i].member.size);
    if (statements > RP_STATEMENTS_LIMIT)
        return rp_fail(err, RP_EARG, "%s: an archive holds at most %d bytes of statements", path,
                       (int)RP_STATEMENTS_LIMIT);
    if (archive->signatures + n > RP_SIGNATURE_LIMIT)
        return rp_fail(err, RP_EARG, "%s: an archive holds at most %d members in signatures/", path,
                       (int)RP_SIGNATURE_LIMIT);
    if (archive_id != NULL && strcmp(rp_archive_id(archive), archive_id) != 0)
        return rp_fail(err, RP_EHASH, "%s: is now another archive, %s: the statement is about %s", path,
                       rp_archive_id(archive), archive_id);
    for (size_t i = 0; i < n; i++)
        if (!force && rp_archive_find(archive, added[i].member.name) != NULL)
            return rp_fail(err, RP_EEXIST, "%s: already has %s: give --force to replace it", path,
                           added[i].member.name);
    return archive->members + n <= RP_MEMBER_LIMIT
               ? RP_OK
               : rp_fail(err, RP_EARG, "%s: an archive holds at most %d members", path, (int)RP_MEMBER_LIMIT);
}

/* Those that are wanted, in archive order. */
static size_t choose(rp_added out[RP_ADDED_MAX], const rp_archive *archive, const rp_added *list, size_t n)
{
    size_t chosen = 0;

    for (size_t i = 0; i < n && chosen < RP_ADDED_MAX; i++) {
        size_t at = chosen;

        if (list[i].once && rp_archive_find(archive, list[i].member.name) != NULL)
            continue;
        for (; at > 0 && rp_member_compare(&list[i].member, &out[at - 1].member) < 0; at--)
            out[at] = out[at - 1];
        out[at] = list[i];
        chosen++;
    }
    return chosen;
}

rp_status rp_archive_add_members(const char *path, const char *archive_id, const rp_added *list, size_t n_list,
                                 bool force, rp_error *err)
{
    rp_added added[RP_ADDED_MAX];
    size_t n = 0;
    rp_archive *archive = NULL;
    struct stat info;
    int fd;
    rp_status status = lock(&fd, path, &info, err);

    if (status != RP_OK)
        return status;
    status = rp_archive_open(&archive, path, err);
    if (status == RP_OK)
        n = choose(added, archive, list, n_list);
    if (status == RP_OK)
        status = check_added(path, archive, archive_id, added, n, force, err);
    if (status == RP_OK)
        status = rewrite(path, archive, added, n, &info, err);
    rp_archive_close(archive);
    (void)close(fd); /* and lets the lock go */
    return status;
}

rp_status rp_archive_add_statement(const char *path, const char *member, const void *bytes, size_t size, bool force,
                                   rp_error *err)
{
    rp_added added = {.bytes = bytes};

    if (!path || !member || (!bytes && size > 0))
        return rp_no_value(err, __func__, !path ? "path" : !member ? "member" : "bytes");
    if (!rp_signature_kind_known(member))
        return rp_fail(err, RP_EARG, "%.100s: not a kind of signature that format %d has", member,
                       (int)RP_ARCHIVE_FORMAT);
    if (size == 0 || size > RP_STATEMENT_LIMIT)
        return rp_fail(err, RP_EARG, "%s: %zu bytes, expected 1 to %d", member, size, (int)RP_STATEMENT_LIMIT);
    memcpy(added.member.name, member, strlen(member) + 1);
    added.member.size = size;
    return rp_archive_add_members(path, NULL, &added, 1, force, err);
}

rp_status rp_archive_add_certificates(const char *archive, const char *path, bool force, char member[RP_MEMBER_NAME],
                                      rp_error *err)
{
    rp_certificate certificate;
    char name[RP_MEMBER_NAME];
    rp_buffer text = {0};
    rp_status status = rp_certificate_load(&certificate, &text, path, err);

    if (status == RP_OK) {
        rp_certificate_member(name, rp_key_id(certificate.key));
        status = rp_archive_add_statement(archive, name, text.data, text.size, force, err);
    }
    if (status == RP_OK && member != NULL)
        memcpy(member, name, sizeof name);
    rp_certificate_clear(&certificate);
    rp_buffer_free(&text);
    return status;
}

rp_status rp_log_add(const char *folder, const rp_archive *archive, const rp_key *key, uint64_t *index, bool *added,
                     rp_error *err)
{
    if (!archive || !key)
        return rp_no_handle(err, __func__, archive ? "key" : "archive");
    return rp_log_add_id(folder, rp_archive_id(archive), key, index, added, err);
}
