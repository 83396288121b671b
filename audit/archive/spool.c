/* SPDX-License-Identifier: Apache-2.0
 * The spool of an archive that is being written. */
#define _GNU_SOURCE /* madvise, O_TMPFILE */
#include "audit/archive/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"

enum { COPY = 65536, TAIL = 1 << 20 };

struct rp_spool {
    int fd; /* -1: what is added is counted, and nothing kept */
    uint64_t size;
    void *mapped; /* NULL: nothing is */
    size_t mapped_size;
    char *where; /* for errors: the folder of an unnamed file, or the file */
};

/* A file that never has a name leaves none where the process is ended; not every file system can make one. */
static int make_unnamed(const char *directory)
{
#ifdef O_TMPFILE
    return open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
#else
    (void)directory;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

static rp_status open_unnamed(rp_spool *spool, const char *directory, rp_error *err)
{
    rp_buffer path = {0};
    rp_status status;

    if (directory == NULL)
        directory = getenv("TMPDIR");
    if (directory == NULL || *directory == '\0')
        directory = "/tmp";
    rp_buffer_text(&path, directory);
    rp_buffer_append(&path, "/.reprise-XXXXXX", sizeof "/.reprise-XXXXXX");
    status = rp_buffer_status(&path, err);
    spool->where = status == RP_OK ? rp_strdup(directory) : NULL;
    if (status == RP_OK && !spool->where)
        status = rp_no_memory(err);
    if (status == RP_OK) {
        const int fd = make_unnamed(directory);

        /* kernels and file systems without such files say one of these three */
        spool->fd =
            fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) ? mkstemp((char *)path.data) : fd;
        if (spool->fd < 0)
            status = rp_fail(err, RP_EIO, "%s: cannot make a temporary file: %s", directory, strerror(errno));
        else if ((fd < 0 && unlink((char *)path.data) != 0) || fcntl(spool->fd, F_SETFD, FD_CLOEXEC) != 0)
            status = rp_fail(err, RP_EIO, "%s: cannot hide a temporary file: %s", directory, strerror(errno));
    }
    rp_buffer_free(&path);
    return status;
}

static rp_status new_spool(rp_spool **out, rp_error *err)
{
    *out = rp_calloc(1, sizeof **out);
    if (*out == NULL)
        return rp_no_memory(err);
    (*out)->fd = -1;
    return RP_OK;
}

rp_status rp_spool_new(rp_spool **out, const char *directory, rp_error *err)
{
    rp_status status = new_spool(out, err);

    if (status == RP_OK)
        status = open_unnamed(*out, directory, err);
    if (status != RP_OK) {
        rp_spool_free(*out);
        *out = NULL;
    }
    return status;
}

rp_status rp_spool_none(rp_spool **out, rp_error *err)
{
    return new_spool(out, err);
}

static rp_status open_named(rp_spool *spool, const char *path, uint64_t size, rp_error *err)
{
    struct stat info;

    spool->where = rp_strdup(path);
    if (!spool->where)
        return rp_no_memory(err);
    spool->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (spool->fd < 0 && errno == ENOENT)
        return rp_fail(err, RP_EHASH, "%s: is gone", path);
    if (spool->fd < 0 || fstat(spool->fd, &info) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size < size)
        return rp_fail(err, RP_EHASH, "%s: shorter than the %llu bytes that were kept", path, (unsigned long long)size);
    if (ftruncate(spool->fd, (off_t)size) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot cut to what was kept: %s", path, strerror(errno));
    spool->size = size;
    return RP_OK;
}

rp_status rp_spool_open(rp_spool **out, const char *path, uint64_t size, rp_error *err)
{
    rp_status status = new_spool(out, err);

    if (status == RP_OK)
        status = open_named(*out, path, size, err);
    if (status != RP_OK) {
        rp_spool_free(*out);
        *out = NULL;
    }
    return status;
}

void rp_spool_free(rp_spool *spool)
{
    if (spool == NULL)
        return;
    if (spool->mapped != NULL)
        (void)munmap(spool->mapped, spool->mapped_size);
    if (spool->fd >= 0)
        close(spool->fd);
    rp_free(spool->where);
    rp_free(spool);
}

int rp_spool_file(const rp_spool *spool)
{
    return spool->fd;
}

uint64_t rp_spool_size(const rp_spool *spool)
{
    return spool->size;
}

static rp_status write_at(int fd, const char *where, uint64_t offset, const unsigned char *bytes, size_t size,
                          rp_error *err)
{
    for (size_t done = 0; done < size;) {
        /* piece by piece: one call of hundreds of megabytes costs a file system many times what its pieces do */
        const size_t part = size - done < COPY ? size - done : COPY;
        ssize_t n = pwrite(fd, bytes + done, part, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "%s: cannot write the members of the archive: %s", where,
                           strerror(n < 0 ? errno : ENOSPC));
        done += (size_t)n;
    }
    return RP_OK;
}

rp_status rp_spool_append(rp_spool *spool, const void *bytes, size_t size, rp_error *err)
{
    rp_status status = spool->fd < 0 ? RP_OK : write_at(spool->fd, spool->where, spool->size, bytes, size, err);

    if (status == RP_OK)
        spool->size += size;
    return status;
}

rp_status rp_spool_read(const rp_spool *spool, uint64_t offset, void *out, size_t size, rp_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(spool->fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "%s: cannot read back members of the archive: %s", spool->where,
                           n < 0 ? strerror(errno) : "too short");
        done += (size_t)n;
    }
    return RP_OK;
}

rp_status rp_spool_map(rp_spool *spool, const void **bytes, rp_error *err)
{
    void *at;

    *bytes = NULL;
    if (spool->size == 0)
        return RP_OK;
    at = spool->mapped != NULL || spool->size > SIZE_MAX
             ? MAP_FAILED
             : mmap(NULL, (size_t)spool->size, PROT_READ, MAP_SHARED, spool->fd, 0);
    if (at == MAP_FAILED)
        return rp_fail(err, RP_EIO, "%s: cannot map %llu bytes of members of the archive: %s", spool->where,
                       (unsigned long long)spool->size, strerror(errno));
    spool->mapped = at;
    spool->mapped_size = (size_t)spool->size;
    *bytes = at;
    return RP_OK;
}

/* The process gives its pages back; the file keeps them, and they are read again when they are wanted. */
void rp_spool_leave(const rp_spool *spool)
{
    if (spool->mapped != NULL)
        (void)madvise(spool->mapped, spool->mapped_size, MADV_DONTNEED);
}

static rp_status copy_to(const rp_spool *spool, int fd, const char *path, rp_error *err)
{
    unsigned char block[COPY];
    rp_status status = RP_OK;

    for (uint64_t done = 0; status == RP_OK && done < spool->size;) {
        size_t part = spool->size - done < COPY ? (size_t)(spool->size - done) : COPY;

        status = rp_spool_read(spool, done, block, part, err);
        if (status == RP_OK)
            status = write_at(fd, path, done, block, part, err);
        done += part;
    }
    return status;
}

rp_status rp_spool_keep(rp_spool *spool, const char *path, rp_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    rp_status status;

    if (fd < 0)
        return rp_fail(err, RP_EIO, "%s: cannot write here: %s", path, strerror(errno));
    status = copy_to(spool, fd, path, err);
    if (status != RP_OK) {
        close(fd);
        (void)unlink(path);
        return status;
    }
    close(spool->fd);
    spool->fd = fd;
    return RP_OK;
}

rp_status rp_spool_sync(const rp_spool *spool, rp_error *err)
{
    if (fsync(spool->fd) != 0 && errno != EINVAL)
        return rp_fail(err, RP_EIO, "temporary file: cannot flush to disk: %s", strerror(errno));
    return RP_OK;
}

/* ---- bytes that grow ---- */

static uint64_t spooled(const rp_growing *g)
{
    return g->spool ? g->spool->size : 0;
}

rp_status rp_growing_append(rp_growing *g, const void *bytes, size_t size, rp_error *err)
{
    rp_status status = RP_OK;

    if (g->tail.size + size > TAIL) {
        if (!g->spool)
            status = rp_spool_new(&g->spool, NULL, err);
        if (status == RP_OK)
            status = rp_spool_append(g->spool, g->tail.data, g->tail.size, err);
        if (status != RP_OK)
            return status;
        g->tail.size = 0;
    }
    rp_buffer_append(&g->tail, bytes, size);
    return rp_buffer_status(&g->tail, err);
}

uint64_t rp_growing_size(const rp_growing *g)
{
    return spooled(g) + g->tail.size;
}

static rp_status read_growing(void *self, uint64_t at, void *out, size_t size, rp_error *err)
{
    const rp_growing *g = self;
    const uint64_t end = spooled(g);
    const size_t first = at >= end ? 0 : end - at < size ? (size_t)(end - at) : size;
    rp_status status = first ? rp_spool_read(g->spool, at, out, first, err) : RP_OK;

    if (status == RP_OK && first < size)
        memcpy((char *)out + first, g->tail.data + (at + first - end), size - first);
    return status;
}

rp_byte_source rp_growing_source(rp_growing *g)
{
    return (rp_byte_source){read_growing, g, rp_growing_size(g)};
}

void rp_growing_free(rp_growing *g)
{
    rp_spool_free(g->spool);
    rp_buffer_free(&g->tail);
    *g = (rp_growing){.spool = NULL};
}
