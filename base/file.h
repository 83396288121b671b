/* SPDX-License-Identifier: Apache-2.0
 * Whole-file reading with a size limit, and writing that never leaves a half-written file under the final
 * name: bytes go to a temporary beside it, are fsynced, then renamed (or linked, when nothing may be replaced). */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* Reads path whole; *out is replaced. Errors: RP_EIO (missing, unreadable, not a regular file), RP_EDATA over limit. */
rp_status rp_file_read(const char *path, size_t limit, rp_buffer *out, rp_error *err);

/* The same handed on piece by piece, in order. Errors further: the taker's. */
typedef rp_status (*rp_file_taker)(void *self, const void *bytes, size_t size, rp_error *err);
rp_status rp_file_stream(const char *path, size_t limit, rp_file_taker take, void *self, rp_error *err);

typedef struct rp_file_writer rp_file_writer;

/* Opens a temporary in path's directory. force false: RP_EEXIST when path exists, now or at commit. mode: e.g. 0644,
 * less what the umask takes; in the place of another file, what both allow. The temporary is removed by abort, and by
 * commit on failure. */
rp_status rp_file_create(rp_file_writer **out, const char *path, bool force, unsigned mode, rp_error *err);
rp_status rp_file_write(rp_file_writer *writer, const void *bytes, size_t size, rp_error *err);
/* In the place of bytes that were written before; what is written next still goes to the end. */
rp_status rp_file_write_again(rp_file_writer *writer, uint64_t at, const void *bytes, size_t size, rp_error *err);
/* fsync, then atomically take the final name, then fsync the directory. Frees the writer whatever the result. */
rp_status rp_file_commit(rp_file_writer *writer, rp_error *err);
void rp_file_abort(rp_file_writer *writer); /* NULL is fine */

/* The three steps in one. */
rp_status rp_file_save(const char *path, const void *bytes, size_t size, bool force, unsigned mode, rp_error *err);

/* What happened to names in the folder of path is on disk afterwards, where the file system can do that. */
void rp_file_sync_folder(const char *path);

bool rp_file_exists(const char *path);
/* That an output does not take the place of what it is made of, whatever may be replaced: RP_EARG where both are one
 * file. in: NULL and what is no file are fine; what names it in the error. */
rp_status rp_file_keep(const char *out, const char *in, const char *what, rp_error *err);

/* name in folder, or itself when it begins with '/'. The caller frees it; NULL when out of memory. */
char *rp_path_in(const char *folder, const char *name);
/* The same in the folder where file lies. */
char *rp_path_beside(const char *file, const char *name);

/* Removes temporaries of writers still open: async-signal-safe, for a handler that is about to end the process. */
void rp_file_remove_temporaries(void);

#endif
