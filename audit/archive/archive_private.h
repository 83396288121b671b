/* SPDX-License-Identifier: Apache-2.0
 * What an open archive is, between the files that implement it. */
#ifndef AUDIT_ARCHIVE_ARCHIVE_PRIVATE_H
#define AUDIT_ARCHIVE_ARCHIVE_PRIVATE_H

#include "audit/archive/withheld.h"
#include "rp/verify.h"

#define RP_ARCHIVE_END "end of archive" /* its name in errors */

/* Members given back to an archive that was made without them. They stay files; for readers they lie behind the
 * archive's end, one after another. */
typedef struct rp_disclosed {
    bool salted; /* something was disclosed */
    rp_salt salt;
    char *folder;
    rp_member *member; /* digests are plain; offsets ascend */
    size_t members;
    uint64_t size; /* of all */
} rp_disclosed;

struct rp_archive {
    rp_reader reader;
    uint64_t size; /* of the reader */
    char *where;
    rp_member *member; /* in archive order */
    size_t members, capacity;
    size_t signatures;     /* of them, those of rank 8 */
    uint64_t certificates; /* bytes of certificates among these */
    uint64_t statements;   /* bytes of statements, timestamps and proofs among these */
    rp_manifest *manifest; /* NULL until checked */
    char id[RP_DIGEST_HEX];
    rp_disclosed disclosed;
};

/* The first half of opening: one pass that checks the structure, then the hashes of the manifest and of signatures/;
 * the manifest is not parsed. Apart from the second, so that verify can look at signatures in between. Takes reader,
 * whatever the result. */
rp_status rp_archive_scan(rp_archive **out, rp_reader *reader, const char *where, rp_error *err);
void rp_disclosed_free(rp_disclosed *disclosed);
/* The member of a name, or the error that it is missing or was left out. */
rp_status rp_archive_need(const rp_member **out, const rp_archive *archive, const char *name, rp_error *err);
/* RP_OK unless the manifest says that name was left out: RP_EARG then, and what to give. */
rp_status rp_withheld_missing(const rp_archive *archive, const char *name, rp_error *err);

/* What a member of that name and size takes of RP_STATEMENTS_LIMIT: all of rank 8 but certificates, which have a limit
 * of their own, and the bundle, of which there is one. */
uint64_t rp_statement_bytes(const char *name, uint64_t size);

/* Reads from the reader, or what was disclosed; offset + size is within a member. */
rp_status rp_archive_source_read(const rp_archive *archive, uint64_t offset, void *out, size_t size, rp_error *err);

/* SHA-256 of the bodies of members first to end - 1. */
rp_status rp_archive_hash(rp_archive *archive, size_t first, size_t end, rp_error *err);

/* A member's body into *out, hashed again; errors without the archive's name in front, as with the next. */
rp_status rp_archive_member_body(const rp_archive *archive, const rp_member *member, rp_buffer *out, rp_error *err);
/* Parses the manifest and compares what was scanned with it: places and sizes, then the digests of all bodies. */
rp_status rp_archive_compare(rp_archive *archive, rp_error *err);

/* A member of signatures/ to be added. */
typedef struct rp_added {
    rp_member member; /* name and size */
    const void *bytes;
    bool once; /* left out where the archive has a member of this name */
} rp_added;
enum { RP_ADDED_MAX = 4 };

/* Writes the archive at path again with at most RP_ADDED_MAX members; what rp_archive_add_statement promises.
 * archive_id: what it must be, or NULL. The names' kinds are the caller's to check. */
rp_status rp_archive_add_members(const char *path, const char *archive_id, const rp_added *added, size_t n, bool force,
                                 rp_error *err);

#endif
