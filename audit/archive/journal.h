/* SPDX-License-Identifier: Apache-2.0
 * The journal's records (FORMAT.md 9), and members that grow with the steps of a run, read in windows: memory does not
 * grow with them, but for 32 bytes a window. */
#ifndef AUDIT_ARCHIVE_JOURNAL_H
#define AUDIT_ARCHIVE_JOURNAL_H

#include "audit/archive/archive.h"

enum { RP_RECORD_SIZE = 128, RP_LOSS_NONE = -1 };

typedef struct rp_record {
    uint64_t step;
    uint32_t program; /* run/programs/NNNN.json */
    rp_digest feeds, results, states;
    uint64_t loss;      /* bits of the result named "loss" with one element, else 0 */
    int32_t loss_dtype; /* RP_F32, RP_F64 or RP_LOSS_NONE */
} rp_record;

void rp_record_write(unsigned char out[RP_RECORD_SIZE], const rp_record *record);
/* False when a reserved field is not zero or the loss dtype is unknown. */
bool rp_record_read(rp_record *out, const unsigned char in[RP_RECORD_SIZE]);

/* ---- a member in windows ---- */

enum { RP_WINDOW = 1 << 17 };

/* A member's bytes are hashed when it is opened, and each window again whenever it comes: what is read is what the
 * manifest binds, as with a member that is read whole. One thread at a time. */
typedef struct rp_windowed rp_windowed;

/* archive is borrowed. Errors: as rp_archive_read_member. */
rp_status rp_windowed_open(rp_windowed **out, const rp_archive *archive, const char *member, rp_error *err);
void rp_windowed_free(rp_windowed *windowed); /* NULL is fine */
/* NULL: 0. */
uint64_t rp_windowed_size(const rp_windowed *windowed);
/* Size bytes from `at` on, all of one window: *out is good until the next call. Errors: RP_EHASH, RP_EIO. */
rp_status rp_windowed_at(rp_windowed *windowed, uint64_t at, size_t size, const unsigned char **out, rp_error *err);
rp_byte_source rp_windowed_source(rp_windowed *windowed);

/* ---- an archive's journal ---- */

/* Whole records, or RP_EFORMAT. rp_windowed_free frees it. */
rp_status rp_journal_open(rp_windowed **out, const rp_archive *archive, rp_error *err);
uint64_t rp_journal_records(const rp_windowed *journal);
/* Errors further: RP_EFORMAT: malformed, or of another step. */
rp_status rp_journal_record(rp_windowed *journal, uint64_t step, rp_record *out, rp_error *err);
/* The Merkle root (FORMAT.md 3) over the records of bytes that are one. */
rp_status rp_journal_root(rp_digest *root, const rp_byte_source *journal, rp_error *err);

#endif
