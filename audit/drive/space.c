/* SPDX-License-Identifier: Apache-2.0
 * Free bytes of a file system, held against what an archive takes at least. */
#include "audit/drive/space.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/memory.h"

rp_status rp_space_check(const char *path, uint64_t size, rp_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
    struct statvfs room;
    uint64_t unit, there;
    int asked;

    if (!folder)
        return rp_no_memory(err);
    asked = statvfs(folder, &room);
    rp_free(folder);
    if (asked != 0)
        return RP_OK; /* what is wrong with the folder is told by whoever writes there */
    unit = room.f_frsize ? room.f_frsize : room.f_bsize;
    there = unit && room.f_bavail > UINT64_MAX / unit ? UINT64_MAX : room.f_bavail * unit;
    if (size <= there / 2)
        return RP_OK;
    return rp_fail(err, RP_EIO,
                   "%s: No space left, so nothing is trained: the archive takes at least %" PRIu64
                   " bytes, and as much while it is put together, but its file system has %" PRIu64
                   " free: choose another folder or make room",
                   path, size, there);
}
