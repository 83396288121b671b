/* SPDX-License-Identifier: Apache-2.0
 * Files: bounded reading, and writing through a temporary that takes the final name only when whole and synced.
 * Open temporaries are kept in a small table so that a signal handler can remove them. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

enum { OPEN_MAX_TEMPORARIES = 16, PATH_ROOM = 1024, READ_BLOCK = 65536 };

static struct {
    atomic_int used; /* 0 free, 1 being filled, 2 holds a path */
    char path[PATH_ROOM];
} temporaries[OPEN_MAX_TEMPORARIES];

struct rp_file_writer {
    char *path, *temporary;
    int fd, slot;
    bool force;
};

static int remember(const char *path)
{
    if (strlen(path) >= PATH_ROOM)
        return -1;
    for (int i = 0; i < OPEN_MAX_TEMPORARIES; i++) {
        int expected = 0;

        if (atomic_compare_exchange_strong(&temporaries[i].used, &expected, 1)) {
            strcpy(temporaries[i].path, path);
            atomic_store(&temporaries[i].used, 2);
            return i;
        }
    }
    return -1;
}

void rp_file_remove_temporaries(void)
{
    for (int i = 0; i < OPEN_MAX_TEMPORARIES; i++)
        if (atomic_load(&temporaries[i].used) == 2)
            (void)unlink(temporaries[i].path);
}

static rp_status open_regular(int *fd, const char *path, rp_error *err)
{
    struct stat info;

    /* O_NONBLOCK: opening a FIFO must not hang before it can be refused; it changes nothing for regular files */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &info) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return rp_fail(err, RP_EIO, "%s: is a directory, expected a file", path);
    if (!S_ISREG(info.st_mode))
        return rp_fail(err, RP_EIO, "%s: is not a regular file (a pipe or a device): save it to a file first", path);
    return RP_OK;
}

rp_status rp_file_stream(const char *path, size_t limit, rp_file_taker take, void *self, rp_error *err)
{
    unsigned char block[READ_BLOCK];
    int fd;
    rp_status status = open_regular(&fd, path, err);

    for (size_t left = limit; status == RP_OK;) {
        ssize_t got = read(fd, block, sizeof block);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = rp_fail(err, RP_EIO, "%s: cannot read: %s", path, strerror(errno));
        else if ((size_t)got > left)
            status = rp_fail(err, RP_EDATA, "%s: larger than the limit of %zu bytes", path, limit);
        else if (got > 0)
            status = take(self, block, (size_t)got, err);
        else
            break;
        left -= (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

rp_status rp_file_read(const char *path, size_t limit, rp_buffer *out, rp_error *err)
{
    rp_status status;

    out->size = 0;
    status = rp_file_stream(path, limit, rp_buffer_take, out, err);
    if (status != RP_OK)
        rp_buffer_free(out);
    return status;
}

bool rp_file_exists(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

rp_status rp_file_keep(const char *out, const char *in, const char *what, rp_error *err)
{
    struct stat a, b;

    if (!out || !in || stat(in, &a) != 0 || stat(out, &b) != 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return RP_OK;
    return rp_fail(err, RP_EARG, "%s: is the file of %s: choose another", out, what);
}

/* The first `folder` bytes of a path, a slash if need be, and name. */
static char *join(const char *path, size_t folder, const char *name)
{
    size_t slash = folder > 0 && path[folder - 1] != '/' ? 1 : 0, length = strlen(name);
    char *out;

    if (name[0] == '/')
        folder = slash = 0;
    out = rp_malloc(folder + slash + length + 1);
    if (out == NULL)
        return NULL;
    memcpy(out, path, folder);
    if (slash)
        out[folder] = '/';
    memcpy(out + folder + slash, name, length + 1);
    return out;
}

char *rp_path_in(const char *folder, const char *name)
{
    return join(folder, strlen(folder), name);
}

char *rp_path_beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');

    return join(file, slash != NULL ? (size_t)(slash - file) + 1 : 0, name);
}

static rp_status exists(const char *path, rp_error *err)
{
    return rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or give --force to replace it", path);
}

/* A new file beside path, under the process's umask: mkstemp's mode could only be widened afterwards, and nobody but
 * the kernel can read the umask without changing it. to: room for path and 12 bytes. -1 with errno. */
static int create_beside(char *to, const char *path, unsigned mode)
{
    static atomic_uint turn;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    const size_t length = strlen(path);
    int fd = -1;

    memcpy(to, path, length);
    memcpy(to + length, ".tmp-XXXXXX", 12);
    for (int i = 0; i < 100 && fd < 0 && (i == 0 || errno == EEXIST);
         i++) { /* O_EXCL: no name that is there, nor a link, is opened */
        struct timespec now = {0, 0};
        uint64_t draw;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        draw = ((uint64_t)now.tv_nsec << 20 ^ (uint64_t)getpid() << 6 ^ atomic_fetch_add(&turn, 1)) *
                   0x9E3779B97F4A7C15u >>
               34;
        for (size_t k = 0; k < 6; k++, draw >>= 5)
            to[length + 5 + k] = letters[draw & 31];
        fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return fd;
}

rp_status rp_file_create(rp_file_writer **out, const char *path, bool force, unsigned mode, rp_error *err)
{
    rp_file_writer *w;
    struct stat info = {0};
    bool replaces;

    *out = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return rp_fail(err, RP_EARG, "%s: is a directory, expected a file name", path);
    if (info.st_mode != 0 &&
        !S_ISREG(info.st_mode)) /* a device would be replaced by a file, a reader of a pipe wait for ever */
        return rp_fail(err, RP_EARG, "%s: is not a regular file (a pipe or a device): choose another name", path);
    if (!force && rp_file_exists(path))
        return exists(path, err);
    replaces = S_ISREG(info.st_mode);
    w = rp_calloc(1, sizeof *w);
    if (w) {
        w->fd = w->slot = -1;
        w->force = force;
        w->path = rp_strdup(path);
        w->temporary = rp_malloc(strlen(path) + 12);
    }
    if (!w || !w->path || !w->temporary) {
        rp_file_abort(w);
        return rp_no_memory(err);
    }
    w->fd = create_beside(w->temporary, path, mode);
    if (w->fd < 0) {
        rp_status status = rp_fail(err, RP_EIO, "%s: cannot write here: %s", path, strerror(errno));

        rp_free(w->temporary);
        w->temporary = NULL;
        rp_file_abort(w);
        return status;
    }
    w->slot = remember(w->temporary);
    /* a file that takes another's place is open to nobody to whom that one was not */
    if (replaces && fchmod(w->fd, mode & info.st_mode & 0777) != 0) {
        rp_status status = rp_fail(err, RP_EIO, "%s: cannot set the mode: %s", path, strerror(errno));

        rp_file_abort(w);
        return status;
    }
    *out = w;
    return RP_OK;
}

enum { AT_END = -1 };

static rp_status write_all(rp_file_writer *w, off_t where, const char *bytes, size_t size, rp_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = where == AT_END ? write(w->fd, bytes + done, size - done)
                                      : pwrite(w->fd, bytes + done, size - done, where + (off_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return rp_fail(err, RP_EIO, "%s: cannot write: %s", w->path, strerror(errno));
        done += (size_t)put;
    }
    return RP_OK;
}

rp_status rp_file_write(rp_file_writer *w, const void *bytes, size_t size, rp_error *err)
{
    return write_all(w, AT_END, bytes, size, err);
}

rp_status rp_file_write_again(rp_file_writer *w, uint64_t at, const void *bytes, size_t size, rp_error *err)
{
    return write_all(w, (off_t)at, bytes, size, err);
}

void rp_file_abort(rp_file_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    if (w->temporary)
        (void)unlink(w->temporary);
    if (w->slot >= 0)
        atomic_store(&temporaries[w->slot].used, 0);
    rp_free(w->temporary);
    rp_free(w->path);
    rp_free(w);
}

/* Best effort: some file systems refuse fsync on a directory, and the rename itself is already atomic. */
void rp_file_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    rp_free(directory);
}

rp_status rp_file_commit(rp_file_writer *w, rp_error *err)
{
    rp_status status = RP_OK;
    int fd = w->fd;

    if (fsync(fd) != 0 && errno != EINVAL)
        status = rp_fail(err, RP_EIO, "%s: cannot flush to disk: %s", w->path, strerror(errno));
    w->fd = -1;
    if (close(fd) != 0 && status == RP_OK)
        status = rp_fail(err, RP_EIO, "%s: cannot close: %s", w->path, strerror(errno));
    if (status == RP_OK && w->force && rename(w->temporary, w->path) != 0)
        status = rp_fail(err, RP_EIO, "%s: cannot rename into place: %s", w->path, strerror(errno));
    if (status == RP_OK && !w->force) {
        /* link refuses an existing name, so a file that appeared meanwhile is never replaced */
        if (link(w->temporary, w->path) == 0)
            (void)unlink(w->temporary);
        else if (errno == EEXIST)
            status = exists(w->path, err);
        else if (rp_file_exists(w->path))
            status = exists(w->path, err);
        else if (rename(w->temporary, w->path) != 0)
            status = rp_fail(err, RP_EIO, "%s: cannot rename into place: %s", w->path, strerror(errno));
    }
    if (status == RP_OK) {
        rp_file_sync_folder(w->path);
        rp_free(w->temporary);
        w->temporary = NULL;
    }
    rp_file_abort(w);
    return status;
}

rp_status rp_file_save(const char *path, const void *bytes, size_t size, bool force, unsigned mode, rp_error *err)
{
    rp_file_writer *w;
    rp_status status = rp_file_create(&w, path, force, mode, err);

    if (status != RP_OK)
        return status;
    status = rp_file_write(w, bytes, size, err);
    if (status != RP_OK) {
        rp_file_abort(w);
        return status;
    }
    return rp_file_commit(w, err);
}
