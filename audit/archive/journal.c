/* SPDX-License-Identifier: Apache-2.0
 * Journal records as bytes, and members in windows. */
#include "audit/archive/journal.h"

#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/digest/sha256.h"
#include "base/memory.h"

void rp_record_write(unsigned char out[RP_RECORD_SIZE], const rp_record *r)
{
    memset(out, 0, RP_RECORD_SIZE);
    rp_store_u64(out, r->step);
    rp_store_u32(out + 8, r->program);
    rp_store_u32(out + 12, (uint32_t)r->loss_dtype);
    memcpy(out + 16, r->feeds.bytes, RP_DIGEST_SIZE);
    memcpy(out + 48, r->results.bytes, RP_DIGEST_SIZE);
    memcpy(out + 80, r->states.bytes, RP_DIGEST_SIZE);
    rp_store_u64(out + 112, r->loss);
}

bool rp_record_read(rp_record *r, const unsigned char in[RP_RECORD_SIZE])
{
    r->step = rp_load_u64(in);
    r->program = rp_load_u32(in + 8);
    r->loss_dtype = (int32_t)rp_load_u32(in + 12);
    memcpy(r->feeds.bytes, in + 16, RP_DIGEST_SIZE);
    memcpy(r->results.bytes, in + 48, RP_DIGEST_SIZE);
    memcpy(r->states.bytes, in + 80, RP_DIGEST_SIZE);
    r->loss = rp_load_u64(in + 112);
    return rp_load_u64(in + 120) == 0 &&
           (r->loss_dtype == RP_LOSS_NONE || r->loss_dtype == RP_F32 || r->loss_dtype == RP_F64);
}

/* ---- a member in windows ---- */

enum { WINDOW_RECORDS = RP_WINDOW / RP_RECORD_SIZE };
_Static_assert((WINDOW_RECORDS & (WINDOW_RECORDS - 1)) == 0, "a whole window is a whole subtree");

struct rp_windowed {
    const rp_archive *archive;
    const rp_member *member;
    rp_digest *digest;    /* of each window */
    unsigned char *bytes; /* of the present one */
    uint64_t present;     /* UINT64_MAX: none */
};

void rp_windowed_free(rp_windowed *w)
{
    if (!w)
        return;
    rp_free(w->digest);
    rp_free(w->bytes);
    rp_free(w);
}

uint64_t rp_windowed_size(const rp_windowed *w)
{
    return w ? w->member->size : 0;
}

static size_t window_size(const rp_windowed *w, uint64_t window)
{
    const uint64_t left = w->member->size - window * RP_WINDOW;

    return left < RP_WINDOW ? (size_t)left : RP_WINDOW;
}

static rp_status changed(const rp_windowed *w, rp_error *err)
{
    return rp_fail(err, RP_EHASH, "%s: %s: changed while the archive was open", w->archive->where, w->member->name);
}

static rp_status load(rp_windowed *w, uint64_t window, rp_digest *digest, rp_error *err)
{
    const size_t size = window_size(w, window);
    rp_status status = rp_archive_source_read(w->archive, w->member->offset + window * RP_WINDOW, w->bytes, size, err);

    w->present = UINT64_MAX; /* until somebody has looked at its digest */
    if (status != RP_OK)
        return rp_fail_at(err, status, "%s: %s", w->archive->where, w->member->name);
    return rp_sha256(digest, w->bytes, size, err);
}

/* The digests of all windows, and that of the whole, which must be the scan's. */
static rp_status pass(rp_windowed *w, rp_error *err)
{
    const uint64_t windows = w->member->size / RP_WINDOW + (w->member->size % RP_WINDOW != 0);
    rp_sha256_stream *whole = NULL;
    rp_digest digest;
    rp_status status = windows <= SIZE_MAX / sizeof *w->digest ? RP_OK : rp_no_memory(err);

    if (status == RP_OK) {
        w->digest = rp_reallocarray(NULL, windows ? (size_t)windows : 1, sizeof *w->digest);
        w->bytes = rp_malloc(RP_WINDOW);
        status = w->digest && w->bytes ? rp_sha256_stream_new(&whole, err) : rp_no_memory(err);
    }
    for (uint64_t i = 0; i < windows && status == RP_OK; i++) {
        status = load(w, i, &w->digest[i], err);
        if (status == RP_OK)
            rp_sha256_stream_update(whole, w->bytes, window_size(w, i));
    }
    if (status == RP_OK)
        status = rp_sha256_stream_finish(whole, &digest, err);
    rp_sha256_stream_free(whole);
    return status != RP_OK || rp_digest_equal(&digest, &w->member->digest) ? status : changed(w, err);
}

rp_status rp_windowed_open(rp_windowed **out, const rp_archive *archive, const char *member, rp_error *err)
{
    rp_windowed *w;
    const rp_member *found;
    rp_status status = rp_archive_need(&found, archive, member, err);

    *out = NULL;
    if (status != RP_OK)
        return rp_fail_at(err, status, "%s", archive->where);
    w = rp_calloc(1, sizeof *w);
    if (!w)
        return rp_no_memory(err);
    w->archive = archive;
    w->member = found;
    status = pass(w, err);
    if (status != RP_OK)
        rp_windowed_free(w);
    else
        *out = w;
    return status;
}

rp_status rp_windowed_at(rp_windowed *w, uint64_t at, size_t size, const unsigned char **out, rp_error *err)
{
    const uint64_t window = at / RP_WINDOW;

    if (at > w->member->size || size > w->member->size - at || at % RP_WINDOW + size > RP_WINDOW)
        return rp_fail(err, RP_EFORMAT, "%s: it has %llu bytes", w->member->name, (unsigned long long)w->member->size);
    if (size > 0 && window != w->present) {
        rp_digest digest;
        rp_status status = load(w, window, &digest, err);

        if (status != RP_OK)
            return status;
        if (!rp_digest_equal(&digest, &w->digest[window]))
            return changed(w, err);
        w->present = window;
    }
    *out = w->bytes + at % RP_WINDOW;
    return RP_OK;
}

static rp_status read_windowed(void *self, uint64_t at, void *out, size_t size, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t done = 0, part; done < size && status == RP_OK; done += part) {
        const size_t left = RP_WINDOW - (size_t)((at + done) % RP_WINDOW);
        const unsigned char *bytes = NULL;

        part = size - done < left ? size - done : left;
        status = rp_windowed_at(self, at + done, part, &bytes, err);
        if (status == RP_OK)
            memcpy((char *)out + done, bytes, part);
    }
    return status;
}

rp_byte_source rp_windowed_source(rp_windowed *w)
{
    return (rp_byte_source){read_windowed, w, w->member->size};
}

/* ---- an archive's journal ---- */

rp_status rp_journal_open(rp_windowed **out, const rp_archive *archive, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, RP_JOURNAL_MEMBER);

    *out = NULL;
    if (member && member->size % RP_RECORD_SIZE != 0)
        return rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": expected whole records of %d bytes", RP_RECORD_SIZE);
    return rp_windowed_open(out, archive, RP_JOURNAL_MEMBER, err);
}

uint64_t rp_journal_records(const rp_windowed *journal)
{
    return rp_windowed_size(journal) / RP_RECORD_SIZE;
}

rp_status rp_journal_record(rp_windowed *journal, uint64_t step, rp_record *out, rp_error *err)
{
    const unsigned char *bytes = NULL;
    rp_status status = step < rp_journal_records(journal)
                           ? rp_windowed_at(journal, step * RP_RECORD_SIZE, RP_RECORD_SIZE, &bytes, err)
                           : rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": record %llu is missing, it has %llu",
                                     (unsigned long long)step, (unsigned long long)rp_journal_records(journal));

    if (status == RP_OK && (!rp_record_read(out, bytes) || out->step != step))
        status = rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": record %llu is malformed", (unsigned long long)step);
    return status;
}

/* Whole windows are whole subtrees, so their roots make the root as records do. */
rp_status rp_journal_root(rp_digest *root, const rp_byte_source *journal, rp_error *err)
{
    const uint64_t windows = journal->size / RP_WINDOW + (journal->size % RP_WINDOW != 0);
    unsigned char *bytes = rp_malloc(RP_WINDOW);
    rp_digest *of = windows <= SIZE_MAX / sizeof *of ? rp_reallocarray(NULL, (size_t)windows, sizeof *of) : NULL;
    rp_status status = bytes && of ? RP_OK : rp_no_memory(err);

    for (uint64_t i = 0; i < windows && status == RP_OK; i++) {
        const uint64_t at = i * RP_WINDOW;
        const size_t size = journal->size - at < RP_WINDOW ? (size_t)(journal->size - at) : RP_WINDOW;

        status = journal->read(journal->self, at, bytes, size, err);
        if (status == RP_OK)
            status = rp_merkle_records(&of[i], bytes, RP_RECORD_SIZE, size / RP_RECORD_SIZE, err);
    }
    if (status == RP_OK)
        status = rp_merkle_fold(root, of, (size_t)windows, err);
    rp_free(of);
    rp_free(bytes);
    return status;
}
