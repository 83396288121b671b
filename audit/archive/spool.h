/* SPDX-License-Identifier: Apache-2.0
 * Where an archive's members wait while it is being written: a file that only grows. It has no name and is gone with
 * the process, until someone who wants to survive the process gives it one. */
#ifndef AUDIT_ARCHIVE_SPOOL_H
#define AUDIT_ARCHIVE_SPOOL_H

#include <stdint.h>

#include "base/buffer.h"

typedef struct rp_spool rp_spool;

/* Without a name, in directory; NULL: $TMPDIR or /tmp. */
rp_status rp_spool_new(rp_spool **out, const char *directory, rp_error *err);
/* Keeps nothing but the size: for members of which only digests are wanted. Reading from it fails. */
rp_status rp_spool_none(rp_spool **out, rp_error *err);
/* The first size bytes of the file at path, which is cut there. Errors: RP_EIO, RP_EHASH when it is shorter or gone. */
rp_status rp_spool_open(rp_spool **out, const char *path, uint64_t size, rp_error *err);
void rp_spool_free(rp_spool *spool);
uint64_t rp_spool_size(const rp_spool *spool);
int rp_spool_file(const rp_spool *spool); /* its descriptor, to read by; -1: nothing is kept */
/* After what is there. On failure nothing was added. */
rp_status rp_spool_append(rp_spool *spool, const void *bytes, size_t size, rp_error *err);
rp_status rp_spool_read(const rp_spool *spool, uint64_t offset, void *out, size_t size, rp_error *err);
/* All that is there now, for reading; it stays where it is until the spool is freed, and is what was appended. NULL
 * when nothing is there. Errors: RP_EIO. */
rp_status rp_spool_map(rp_spool *spool, const void **bytes, rp_error *err);
/* Nobody will look at the mapped bytes for a while: the system may have their memory. They are there when they are
 * read. */
void rp_spool_leave(const rp_spool *spool);
/* From now on the spool is the file at path, with what it holds: replaced if there is one. On failure it stays as it
 * was. */
rp_status rp_spool_keep(rp_spool *spool, const char *path, rp_error *err);
/* All of it on disk. */
rp_status rp_spool_sync(const rp_spool *spool, rp_error *err);

/* Bytes of any number, wherever they lie. */
typedef struct rp_byte_source {
    rp_status (*read)(void *self, uint64_t at, void *out, size_t size, rp_error *err);
    void *self;
    uint64_t size;
} rp_byte_source;

/* Bytes that only grow: the last of them in memory, what is before them in a spool that is made when it is needed.
 * Zeros at first. */
typedef struct rp_growing {
    rp_spool *spool;
    rp_buffer tail;
} rp_growing;

rp_status rp_growing_append(rp_growing *growing, const void *bytes, size_t size, rp_error *err);
uint64_t rp_growing_size(const rp_growing *growing);
rp_byte_source rp_growing_source(rp_growing *growing); /* as it is now */
void rp_growing_free(rp_growing *growing);

#endif
