/* SPDX-License-Identifier: Apache-2.0
 * libarchive reads from the archive that is open, so that nobody can put another in its place in between. */
#include "cli/second_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"

enum { WINDOW = 65536, HEADER = 512 };

/* What libarchive reads from and where it is. */
typedef struct cursor {
    const rp_archive *archive;
    uint64_t at, total;
    unsigned char window[WINDOW];
    rp_status status; /* of reading */
    rp_error *err;
} cursor;

static la_ssize_t cursor_read(struct archive *a, void *arg, const void **out)
{
    cursor *from = arg;
    uint64_t left = from->total - from->at;
    size_t part = left < WINDOW ? (size_t)left : WINDOW;

    from->status = rp_archive_read_raw(from->archive, from->at, from->window, part, NULL, from->err);
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
    uint64_t left = from->total - from->at;
    uint64_t step = request < 0 ? 0 : (uint64_t)request < left ? (uint64_t)request : left;

    (void)a;
    from->at += step;
    return (la_int64_t)step;
}

static bool same_entry(struct archive *a, struct archive_entry *entry, const rp_member *member)
{
    const char *name = archive_entry_pathname(entry);

    return member != NULL && name != NULL && strcmp(name, member->name) == 0 &&
           archive_entry_size(entry) == (la_int64_t)member->size && archive_entry_filetype(entry) == AE_IFREG &&
           archive_entry_perm(entry) == 0644 && archive_entry_mtime(entry) == 0 && archive_entry_uid(entry) == 0 &&
           archive_entry_gid(entry) == 0 && archive_entry_hardlink(entry) == NULL &&
           archive_entry_symlink(entry) == NULL &&
           archive_read_header_position(a) == (la_int64_t)(member->offset - HEADER);
}

static rp_status compare(struct archive *a, cursor *from, const char *path, rp_error *err)
{
    struct archive_entry *entry;
    const rp_member *member;
    int result = ARCHIVE_FATAL;
    size_t i = 0;

    if (archive_read_support_format_tar(a) == ARCHIVE_OK)
        result = archive_read_open2(a, from, NULL, cursor_read, cursor_skip, NULL);
    while (result == ARCHIVE_OK && (result = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
        if (!same_entry(a, entry, rp_archive_member(from->archive, i)))
            break;
        i++;
    }
    member = rp_archive_member(from->archive, i);
    if (from->status == RP_OK && (result != ARCHIVE_EOF || member != NULL))
        return rp_fail(err, archive_errno(a) == ENOMEM ? RP_ENOMEM : RP_EFORMAT, "%s: %s: %s reads it otherwise: %s",
                       path, member != NULL ? member->name : "end of archive", archive_version_string(),
                       archive_error_string(a) ? archive_error_string(a) : "another entry");
    return from->status;
}

rp_status rp_second_reader(rp_archive **archive, const char *path, rp_error *err)
{
    struct archive *a = archive_read_new();
    cursor *from = rp_calloc(1, sizeof *from);
    rp_status status = a != NULL && from != NULL ? RP_OK : rp_no_memory(err);

    if (status == RP_OK) {
        from->archive = *archive;
        from->err = err;
        status = rp_archive_read_raw(*archive, 0, NULL, 0, &from->total, err);
    }
    if (status == RP_OK)
        status = compare(a, from, path, err);
    archive_read_free(a);
    rp_free(from);
    if (status != RP_OK) {
        rp_archive_close(*archive);
        *archive = NULL;
    }
    return status;
}
