/* SPDX-License-Identifier: Apache-2.0
 * Checking archives without kernels, models or training: what libreprise-verify and the program reprise-verify are made
 * of (docs/verifier.md). Of the headers below the library has all that opens, reads, verifies and judges. What signs,
 * writes, or keeps a log is in libreprise alone: rp_archive_add_*, rp_archive_approve, rp_archive_attest,
 * rp_archive_disclose, rp_archive_endorse, rp_key_generate, rp_key_load_certificates, rp_key_load_private,
 * rp_key_private_from_pem, rp_key_rotation, rp_key_save_*, rp_timestamp_attach, rp_timestamp_request, and of rp/log.h
 * what takes or gives an rp_run_log or a folder. */
#ifndef RP_VERIFY_H
#define RP_VERIFY_H

#include "rp/archive.h"
#include "rp/log.h"
#include "rp/policy.h"
#include "rp/statement.h"
#include "rp/trust.h"

/* Where an archive's bytes come from: a file, memory, or whatever the caller has. What it says must not change while
 * the archive is open; where it does, reading a member again says so (RP_EHASH). */
typedef struct rp_reader {
    /* Fills out[size] from offset; offset + size is at most the reader's size. Several threads call it at a time.
     * Errors: RP_EIO. */
    rp_status (*read)(void *self, uint64_t offset, void *out, size_t size, rp_error *err);
    void (*close)(void *self); /* may be NULL */
    void *self;
    uint64_t size;
    const void *memory; /* all of it, where it lies in memory: saves copies. Else NULL */
} rp_reader;

/* A regular file, held open. Errors: RP_EIO. */
RP_API rp_status rp_reader_file(rp_reader *out, const char *path, rp_error *err);
/* Borrows bytes until it is closed. */
RP_API rp_reader rp_reader_memory(const void *bytes, size_t size);
RP_API void rp_reader_close(rp_reader *reader);

/* rp_archive_open and rp_verify over any reader. Both take it, whatever the result: it is closed on failure, and else
 * with the archive. where names it in errors. */
RP_API rp_status rp_archive_open_reader(rp_archive **out, rp_reader *reader, const char *where, rp_error *err);
RP_API rp_status rp_verify_reader(rp_reader *reader, const char *where, const rp_key *const *trusted, size_t n_trusted,
                                  const rp_verify_options *options, rp_verification **result, rp_archive **archive,
                                  rp_error *err);
/* Reads from what an open archive lies in: its headers and padding too, for those who hold it against another reader's
 * opinion. offset + size is at most *total, the size of it all. total may be NULL. Errors: RP_EIO, RP_EARG. */
RP_API rp_status rp_archive_read_raw(const rp_archive *archive, uint64_t offset, void *out, size_t size,
                                     uint64_t *total, rp_error *err);

#endif
