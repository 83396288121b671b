/* SPDX-License-Identifier: Apache-2.0
 * Where an archive's bytes come from: a file, or memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rp/verify.h"

/* The descriptor is in the place of the pointer: no memory to fail. */
static rp_status file_read(void *self, uint64_t offset, void *out, size_t size, rp_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread((int)(intptr_t)self, (char *)out + done, size - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail(err, RP_EIO, "cannot read at byte %llu: %s", (unsigned long long)(offset + done),
                           n < 0 ? strerror(errno) : "the file became shorter");
        done += (size_t)n;
    }
    return RP_OK;
}

static void file_close(void *self)
{
    (void)close((int)(intptr_t)self);
}

rp_status rp_reader_file(rp_reader *out, const char *path, rp_error *err)
{
    struct stat info;
    /* O_NONBLOCK: opening a FIFO must not hang before it can be refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rp_status status = RP_OK;

    memset(out, 0, sizeof *out);
    if (fd < 0 || fstat(fd, &info) != 0)
        status = rp_fail(err, RP_EIO, "%s: cannot open: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = rp_fail(err, RP_EIO, "%s: is not a regular file, expected an archive", path);
    if (status == RP_OK)
        *out = (rp_reader){
            .read = file_read, .close = file_close, .self = (void *)(intptr_t)fd, .size = (uint64_t)info.st_size};
    else if (fd >= 0)
        (void)close(fd);
    return status;
}

static rp_status memory_read(void *self, uint64_t offset, void *out, size_t size, rp_error *err)
{
    (void)err;
    memcpy(out, (const char *)self + offset, size);
    return RP_OK;
}

rp_reader rp_reader_memory(const void *bytes, size_t size)
{
    return (rp_reader){.read = memory_read, .self = (void *)(uintptr_t)bytes, .size = size, .memory = bytes};
}

void rp_reader_close(rp_reader *reader)
{
    if (!reader)
        return;
    if (reader->close != NULL)
        reader->close(reader->self);
    memset(reader, 0, sizeof *reader);
}
