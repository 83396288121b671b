/* SPDX-License-Identifier: Apache-2.0
 * Writing and strictly reading archives (FORMAT.md): uncompressed ustar, whose headers are functions of name and size.
 */
#ifndef AUDIT_ARCHIVE_ARCHIVE_H
#define AUDIT_ARCHIVE_ARCHIVE_H

#include "audit/digest/digest.h"
#include "audit/sign/key.h"
#include "audit/archive/manifest.h"
#include "audit/archive/spool.h"
#include "base/file.h"

/* ---- writer: members are hashed as they come and kept in an unlinked temporary file, so memory stays bounded ---- */
typedef struct rp_archive_writer rp_archive_writer;

/* directory: where the temporary lives (use the target's); NULL: $TMPDIR or /tmp. */
rp_status rp_archive_writer_new(rp_archive_writer **out, const char *directory, rp_error *err);
/* One whose members are hashed and not kept: for comparing digests. It cannot be read, signed or saved. */
rp_status rp_archive_writer_digests(rp_archive_writer **out, rp_error *err);
void rp_archive_writer_free(rp_archive_writer *writer);

/* Adds a member; any order, the archive sorts them. Not manifest.json, not signatures/. Errors: RP_EARG for a bad or
 * double name or after finish; RP_EIO; RP_ENOMEM. */
rp_status rp_archive_writer_add(rp_archive_writer *writer, const char *name, const void *bytes, size_t size,
                                rp_error *err);
/* The same in pieces: begin, any number of puts, end. Nothing else is added in between; a member that is not ended is
 * not there. */
rp_status rp_archive_writer_begin(rp_archive_writer *writer, const char *name, rp_error *err);
rp_status rp_archive_writer_put(rp_archive_writer *writer, const void *bytes, size_t size, rp_error *err);
rp_status rp_archive_writer_end(rp_archive_writer *writer, rp_error *err);
/* The same, from wherever its bytes lie. */
rp_status rp_archive_writer_stream(rp_archive_writer *writer, const char *name, const rp_byte_source *from,
                                   rp_error *err);
/* A member of another writer, which keeps its body and must outlive this one; of one other writer only. */
rp_status rp_archive_writer_borrow(rp_archive_writer *writer, const rp_archive_writer *from, const rp_member *member,
                                   rp_error *err);
/* A member of an archive under its name, copied, and hashed again on the way. Errors further: RP_EHASH. */
rp_status rp_archive_writer_take(rp_archive_writer *writer, const rp_archive *from, const rp_member *member,
                                 rp_error *err);
/* Members so far (after finish: in archive order, manifest.json first, then statements last). */
size_t rp_archive_writer_member_count(const rp_archive_writer *writer);
const rp_member *rp_archive_writer_member(const rp_archive_writer *writer, size_t index);
const rp_member *rp_archive_writer_find(const rp_archive_writer *writer, const char *name);
/* Writes a member's body to a file. */
rp_status rp_archive_writer_body(const rp_archive_writer *writer, const rp_member *member, rp_file_writer *file,
                                 rp_error *err);
/* The bodies in the order of adding, for reading, until the writer is freed, and rp_spool_leave for them. */
rp_status rp_archive_writer_map(rp_archive_writer *writer, const void **bytes, rp_error *err);
void rp_archive_writer_leave(const rp_archive_writer *writer);
/* Appends a member's body to out. */
rp_status rp_archive_writer_read(rp_archive_writer *writer, const rp_member *member, rp_buffer *out, rp_error *err);

/* For a writer that shall survive its process: from now on bodies lie in the file at path, in the order of adding,
 * offset of a member and size of them all included. sync: all of it on disk. */
rp_status rp_archive_writer_keep(rp_archive_writer *writer, const char *path, rp_error *err);
rp_status rp_archive_writer_sync(const rp_archive_writer *writer, rp_error *err);
uint64_t rp_archive_writer_spooled(const rp_archive_writer *writer);
/* A writer as it was, from such a file and its members; what came later is cut off. Every body is hashed again. Errors:
 * RP_EHASH (a body is not what it was, or lies outside), RP_EIO, RP_ENOMEM. */
rp_status rp_archive_writer_reopen(rp_archive_writer **out, const char *path, uint64_t spooled, const rp_member *member,
                                   size_t members, rp_error *err);

/* Computes the manifest; no members can be added afterwards. run is borrowed: an object of canonical JSON values. */
rp_status rp_archive_writer_finish(rp_archive_writer *writer, rp_run_kind kind, const rp_json *run, rp_error *err);
/* The archive id; NULL before finish. */
const char *rp_archive_writer_id(const rp_archive_writer *writer);

/* After finish: adds a member of signatures/, whose name is the caller's to check. */
rp_status rp_archive_writer_attach(rp_archive_writer *writer, const char *member, const void *bytes, size_t size,
                                   rp_error *err);

/* After finish: the archive's bytes, to a file being written (the caller commits it) or appended to a buffer. The same
 * members give the same bytes. */
rp_status rp_archive_writer_save(rp_archive_writer *writer, rp_file_writer *file, rp_error *err);
rp_status rp_archive_writer_append(rp_archive_writer *writer, rp_buffer *out, rp_error *err);

/* ---- reader; the rest of its functions are public (rp/archive.h) ---- */

/* Replaces *out by the member's body, hashed again. Errors: RP_EFORMAT when absent or over limit; RP_EHASH, RP_EIO. */
rp_status rp_archive_read_member(const rp_archive *archive, const char *name, size_t limit, rp_buffer *out,
                                 rp_error *err);
/* Parses a member, which may be as large as its kind says, as canonical JSON, and a recipe is one of the run's kind;
 * caller owns *out, NULL on failure. */
rp_status rp_archive_read_json(const rp_archive *archive, const char *name, rp_json **out, rp_error *err);
/* Reads size bytes at offset of a member, not hashed again: for members too large to hold. */
rp_status rp_archive_read_at(const rp_archive *archive, const rp_member *member, uint64_t offset, void *out,
                             size_t size, rp_error *err);
const rp_manifest *rp_archive_manifest(const rp_archive *archive);

/* FORMAT.md 2: the one header a name and size can have. False when name or size cannot be in an archive. */
bool rp_ustar_header(unsigned char header[512], const char *name, uint64_t size);

#endif
