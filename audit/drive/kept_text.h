/* SPDX-License-Identifier: Apache-2.0
 * A table's text while a run is made of it: read once, and kept in an unnamed file beside the archive that will hold
 * it, so that nobody can change it meanwhile and its memory is the system's to take back. */
#ifndef AUDIT_DRIVE_KEPT_TEXT_H
#define AUDIT_DRIVE_KEPT_TEXT_H

#include "audit/archive/archive.h"
#include "core/train/train.h"
#include "rp/audit.h"

typedef struct rp_kept_text {
    const char *member; /* what it becomes in the archive */
    rp_source_text text;
    rp_archive_writer *store; /* has it as its only member; NULL: it is held in memory */
    rp_buffer held;
    char *where;
    const rp_job_options *options; /* who is told how much has been read; or NULL */
} rp_kept_text;

/* Gives a text's bytes, in order, to whoever takes them. */
typedef struct rp_text_origin {
    rp_status (*stream)(void *self, rp_file_taker take, void *taker, rp_error *err);
    void *self;
} rp_text_origin;

/* The table at path, or that comes from `from` (NULL: the file), path being the text's where. member: its name in the
 * archive, borrowed. archive: the path beside which it is kept; NULL: in memory. options (NULL: none; borrowed) may
 * know how to read it, and are told how far. The text stays where it is from then on. Zeros before. Errors: RP_EIO,
 * RP_EDATA beyond 4 GiB, RP_ENOMEM. */
rp_status rp_kept_text_read(rp_kept_text *text, const char *member, const char *path, const rp_text_origin *from,
                            const char *archive, const rp_job_options *options, rp_error *err);
void rp_kept_text_clear(rp_kept_text *text);
/* The member; the writer borrows the bytes where they are in a file. */
rp_status rp_kept_text_add(const rp_kept_text *text, rp_archive_writer *writer, rp_error *err);
/* A table's bytes, as the options read them or as a plain file. */
rp_status rp_table_stream(const rp_job_options *options, const char *path, rp_file_taker take, void *self,
                          rp_error *err);
/* Of a text in a file. */
const rp_digest *rp_kept_text_digest(const rp_kept_text *text);

#endif
