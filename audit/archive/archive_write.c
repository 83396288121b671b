/* SPDX-License-Identifier: Apache-2.0
 * The archive writer. Members are hashed and spooled as they come; only at the end, when all digests are known, are
 * they laid out behind the manifest. Every byte is ours: no library decides one. */
#include <string.h>

#include "audit/archive/withheld.h"
#include "audit/archive/spool.h"
#include "audit/archive/ustar.h"
#include "base/memory.h"
#include "base/text.h"

enum { COPY = 65536 };
static const uint64_t BORROWED = (uint64_t)1 << 63;

struct rp_archive_writer {
    rp_spool *spool;   /* bodies, in order of adding */
    rp_member *member; /* in archive order */
    size_t members, capacity;
    bool finished;
    const rp_salt *salt; /* NULL: nothing is left out */
    rp_salt own_salt;
    rp_member *withheld; /* in archive order, after finish; digests are plain */
    size_t n_withheld;
    char id[RP_DIGEST_HEX];
    rp_member open; /* begun and not ended: no name when there is none */
    rp_sha256_stream *hash;
    const rp_spool *lender; /* keeps the bodies of members whose offset has BORROWED */
};

static rp_status new_writer(rp_archive_writer **out, const char *directory, bool spools, rp_error *err)
{
    rp_archive_writer *writer = rp_calloc(1, sizeof *writer);
    rp_status status;

    *out = NULL;
    if (writer == NULL)
        return rp_no_memory(err);
    status = spools ? rp_spool_new(&writer->spool, directory, err) : rp_spool_none(&writer->spool, err);
    if (status != RP_OK) {
        rp_archive_writer_free(writer);
        return status;
    }
    *out = writer;
    return RP_OK;
}

rp_status rp_archive_writer_new(rp_archive_writer **out, const char *directory, rp_error *err)
{
    return new_writer(out, directory, true, err);
}

rp_status rp_archive_writer_digests(rp_archive_writer **out, rp_error *err)
{
    return new_writer(out, NULL, false, err);
}

void rp_archive_writer_free(rp_archive_writer *writer)
{
    if (writer == NULL)
        return;
    rp_sha256_stream_free(writer->hash);
    rp_spool_free(writer->spool);
    rp_free(writer->member);
    rp_free(writer->withheld);
    rp_free(writer);
}

/* Where a member of that name lies in archive order, or where it would; whether it is there. */
static size_t place_of(const rp_archive_writer *writer, const rp_member *member, bool *there)
{
    size_t low = 0, high = writer->members;

    *there = false;
    if (high > 0 && rp_member_compare(&writer->member[high - 1], member) < 0) /* most come in order */
        return high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = rp_member_compare(&writer->member[middle], member);

        *there = *there || order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Inserts at its place in archive order, so that the order of adding leaves no trace. */
static rp_status insert_member(rp_archive_writer *writer, const rp_member *member, rp_error *err)
{
    bool there;
    const size_t at = place_of(writer, member, &there);

    if (writer->members >= RP_MEMBER_LIMIT)
        return rp_fail(err, RP_EARG, "%s: an archive holds at most %d members", member->name, (int)RP_MEMBER_LIMIT);
    if (there)
        return rp_fail(err, RP_EARG, "%s: the archive has this member already", member->name);
    if (writer->members == writer->capacity) {
        size_t capacity = writer->capacity ? 2 * writer->capacity : 16;
        rp_member *grown = rp_reallocarray(writer->member, capacity, sizeof *grown);
        if (grown == NULL)
            return rp_no_memory(err);
        writer->member = grown;
        writer->capacity = capacity;
    }
    memmove(&writer->member[at + 1], &writer->member[at], (writer->members - at) * sizeof *member);
    writer->member[at] = *member;
    writer->members++;
    return RP_OK;
}

rp_status rp_archive_writer_keep(rp_archive_writer *writer, const char *path, rp_error *err)
{
    return rp_spool_keep(writer->spool, path, err);
}

rp_status rp_archive_writer_sync(const rp_archive_writer *writer, rp_error *err)
{
    return rp_spool_sync(writer->spool, err);
}

rp_status rp_archive_writer_map(rp_archive_writer *writer, const void **bytes, rp_error *err)
{
    return rp_spool_map(writer->spool, bytes, err);
}

void rp_archive_writer_leave(const rp_archive_writer *writer)
{
    rp_spool_leave(writer->spool);
}

uint64_t rp_archive_writer_spooled(const rp_archive_writer *writer)
{
    return rp_spool_size(writer->spool);
}

static rp_status check_body(const rp_archive_writer *writer, const rp_member *member, rp_sha256_stream *stream,
                            rp_error *err)
{
    unsigned char block[COPY];
    rp_digest found;
    rp_status status = RP_OK;

    if (member->size > rp_spool_size(writer->spool) || member->offset > rp_spool_size(writer->spool) - member->size)
        return rp_fail(err, RP_EHASH, "%s: outside of what was kept", member->name);
    for (uint64_t done = 0; status == RP_OK && done < member->size;) {
        size_t part = member->size - done < COPY ? (size_t)(member->size - done) : COPY;

        status = rp_spool_read(writer->spool, member->offset + done, block, part, err);
        if (status == RP_OK)
            rp_sha256_stream_update(stream, block, part);
        done += part;
    }
    if (status == RP_OK)
        status = rp_sha256_stream_finish(stream, &found, err);
    if (status == RP_OK && !rp_digest_equal(&found, &member->digest))
        status = rp_fail(err, RP_EHASH, "%s: not the bytes that were kept", member->name);
    return status;
}

static rp_status reopen(rp_archive_writer *writer, const char *path, uint64_t spooled, const rp_member *member,
                        size_t members, rp_error *err)
{
    rp_sha256_stream *stream = NULL;
    rp_status status = rp_spool_open(&writer->spool, path, spooled, err);

    if (status == RP_OK)
        status = rp_sha256_stream_new(&stream, err);
    for (size_t i = 0; i < members && status == RP_OK; i++) {
        status = check_body(writer, &member[i], stream, err);
        if (status == RP_OK)
            status = insert_member(writer, &member[i], err);
    }
    rp_sha256_stream_free(stream);
    return status;
}

rp_status rp_archive_writer_reopen(rp_archive_writer **out, const char *path, uint64_t spooled, const rp_member *member,
                                   size_t members, rp_error *err)
{
    rp_archive_writer *writer = rp_calloc(1, sizeof *writer);
    rp_status status = writer ? reopen(writer, path, spooled, member, members, err) : rp_no_memory(err);

    *out = NULL;
    if (status != RP_OK)
        rp_archive_writer_free(writer);
    else
        *out = writer;
    return status;
}

static rp_status add_member(rp_archive_writer *writer, const char *name, const void *bytes, size_t size, rp_error *err)
{
    unsigned char header[RP_BLOCK];
    rp_member member = {.size = size, .offset = rp_spool_size(writer->spool)};
    rp_status status;

    if (!rp_ustar_header(header, name, size))
        return rp_fail(err, RP_EARG, "%s: a member has at most 2^53 - 1 bytes, not %zu", name, size);
    memcpy(member.name, name, strlen(name) + 1);
    if ((status = rp_sha256(&member.digest, bytes, size, err)) != RP_OK ||
        (status = rp_spool_append(writer->spool, bytes, size, err)) != RP_OK ||
        (status = insert_member(writer, &member, err)) != RP_OK)
        return status;
    return RP_OK;
}

static rp_status check_new(const rp_archive_writer *writer, const char *name, rp_error *err)
{
    const rp_member_rank rank = rp_member_rank_of(name);
    char shown[128];

    rp_printable(shown, sizeof shown, name, strlen(name));
    if (writer->finished)
        return rp_fail(err, RP_EARG, "%s: the manifest is finished, no member can be added", shown);
    if (*writer->open.name != '\0')
        return rp_fail(err, RP_EARG, "%s: cannot be added before %s has ended", shown, writer->open.name);
    if (!rp_member_name_valid(name))
        return rp_fail(err, RP_EARG, "\"%s\" is not a member name: components of [A-Za-z0-9._-], 100 bytes at most",
                       shown);
    if (rank == RP_RANK_NONE || rank == RP_RANK_MANIFEST || rank == RP_RANK_SIGNATURE)
        return rp_fail(err, RP_EARG, "%s: not a member that format %d lets a run have", shown, (int)RP_ARCHIVE_FORMAT);
    return RP_OK;
}

rp_status rp_archive_writer_add(rp_archive_writer *writer, const char *name, const void *bytes, size_t size,
                                rp_error *err)
{
    rp_status status = check_new(writer, name, err);

    return status == RP_OK ? add_member(writer, name, bytes, size, err) : status;
}

rp_status rp_archive_writer_begin(rp_archive_writer *writer, const char *name, rp_error *err)
{
    rp_status status = check_new(writer, name, err);

    if (status == RP_OK && writer->hash == NULL)
        status = rp_sha256_stream_new(&writer->hash, err);
    if (status != RP_OK)
        return status;
    writer->open = (rp_member){.offset = rp_spool_size(writer->spool)};
    memcpy(writer->open.name, name, strlen(name) + 1);
    return RP_OK;
}

rp_status rp_archive_writer_put(rp_archive_writer *writer, const void *bytes, size_t size, rp_error *err)
{
    rp_sha256_stream_update(writer->hash, bytes, size);
    writer->open.size += size;
    return rp_spool_append(writer->spool, bytes, size, err);
}

rp_status rp_archive_writer_end(rp_archive_writer *writer, rp_error *err)
{
    rp_member member = writer->open;
    rp_status status = rp_sha256_stream_finish(writer->hash, &member.digest, err);

    *writer->open.name = '\0';
    return status == RP_OK ? insert_member(writer, &member, err) : status;
}

rp_status rp_archive_writer_stream(rp_archive_writer *writer, const char *name, const rp_byte_source *from,
                                   rp_error *err)
{
    unsigned char block[COPY];
    rp_status status = rp_archive_writer_begin(writer, name, err);

    if (status != RP_OK)
        return status;
    for (uint64_t done = 0; status == RP_OK && done < from->size;) {
        size_t part = from->size - done < COPY ? (size_t)(from->size - done) : COPY;

        status = from->read(from->self, done, block, part, err);
        if (status == RP_OK)
            status = rp_archive_writer_put(writer, block, part, err);
        done += part;
    }
    return status == RP_OK ? rp_archive_writer_end(writer, err) : status;
}

rp_status rp_archive_writer_borrow(rp_archive_writer *writer, const rp_archive_writer *from, const rp_member *member,
                                   rp_error *err)
{
    rp_member borrowed = *member;
    rp_status status = check_new(writer, member->name, err);

    if (status == RP_OK && writer->lender != NULL && writer->lender != from->spool)
        status = rp_fail(err, RP_EARG, "%s: members of one other writer only can be borrowed", member->name);
    if (status != RP_OK)
        return status;
    writer->lender = from->spool;
    borrowed.offset |= BORROWED;
    return insert_member(writer, &borrowed, err);
}

/* Part of a body, from whoever keeps it. */
static rp_status read_body(const rp_archive_writer *writer, const rp_member *member, uint64_t at, void *out,
                           size_t size, rp_error *err)
{
    const rp_spool *spool = member->offset & BORROWED ? writer->lender : writer->spool;

    return rp_spool_read(spool, (member->offset & ~BORROWED) + at, out, size, err);
}

rp_status rp_archive_writer_take(rp_archive_writer *writer, const rp_archive *from, const rp_member *member,
                                 rp_error *err)
{
    unsigned char block[COPY];
    rp_status status = rp_archive_writer_begin(writer, member->name, err);

    for (uint64_t done = 0; status == RP_OK && done < member->size;) {
        size_t part = member->size - done < COPY ? (size_t)(member->size - done) : COPY;

        status = rp_archive_read_at(from, member, done, block, part, err);
        if (status == RP_OK)
            status = rp_archive_writer_put(writer, block, part, err);
        done += part;
    }
    if (status == RP_OK)
        status = rp_archive_writer_end(writer, err);
    if (status == RP_OK && !rp_digest_equal(&rp_archive_writer_find(writer, member->name)->digest, &member->digest))
        status = rp_fail(err, RP_EHASH, "%s: changed while it was copied", member->name);
    return status;
}

size_t rp_archive_writer_member_count(const rp_archive_writer *writer)
{
    return writer->members;
}

const rp_member *rp_archive_writer_member(const rp_archive_writer *writer, size_t index)
{
    return index < writer->members ? &writer->member[index] : NULL;
}

const rp_member *rp_archive_writer_find(const rp_archive_writer *writer, const char *name)
{
    rp_member key;
    size_t at;
    bool there;

    if (strlen(name) >= sizeof key.name)
        return NULL;
    memcpy(key.name, name, strlen(name) + 1);
    at = place_of(writer, &key, &there);
    return there ? &writer->member[at] : NULL;
}

rp_status rp_archive_writer_read(rp_archive_writer *writer, const rp_member *member, rp_buffer *out, rp_error *err)
{
    unsigned char block[COPY];
    rp_status status = RP_OK;

    for (uint64_t done = 0; status == RP_OK && done < member->size;) {
        size_t part = member->size - done < COPY ? (size_t)(member->size - done) : COPY;
        status = read_body(writer, member, done, block, part, err);
        if (status == RP_OK) {
            rp_buffer_append(out, block, part);
            status = rp_buffer_status(out, err);
        }
        done += part;
    }
    return status;
}

rp_status rp_archive_writer_withhold(rp_archive_writer *writer, const rp_salt *salt, rp_error *err)
{
    if (writer->finished)
        return rp_fail(err, RP_EARG, "the manifest is finished, nothing can be left out");
    writer->own_salt = *salt;
    writer->salt = &writer->own_salt;
    return RP_OK;
}

const rp_member *rp_archive_writer_withheld(const rp_archive_writer *writer, size_t *count)
{
    *count = writer->n_withheld;
    return writer->withheld;
}

/* Parts what stays from what is left out, both in order; again after a finish that failed, which set some apart. */
static rp_status set_apart(rp_archive_writer *writer, rp_error *err)
{
    rp_member *withheld;
    size_t kept = 0;

    if (writer->salt == NULL)
        return RP_OK;
    withheld = rp_reallocarray(writer->withheld, writer->n_withheld + writer->members, sizeof *withheld);
    if (withheld == NULL)
        return rp_no_memory(err);
    writer->withheld = withheld;
    for (size_t i = 0; i < writer->members; i++) {
        if (rp_member_is_input(writer->member[i].name))
            writer->withheld[writer->n_withheld++] = writer->member[i];
        else
            writer->member[kept++] = writer->member[i];
    }
    writer->members = kept;
    return RP_OK;
}

static rp_status write_manifest(rp_buffer *out, const rp_archive_writer *writer, rp_run_kind kind, const rp_json *run,
                                rp_error *err)
{
    rp_member *salted = rp_calloc(writer->n_withheld, sizeof *salted);
    rp_status status = salted ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; status == RP_OK && i < writer->n_withheld; i++) {
        salted[i] = writer->withheld[i];
        status = rp_salted_member(&salted[i].digest, writer->salt, salted[i].name, &writer->withheld[i].digest, err);
    }
    if (status == RP_OK)
        status = rp_manifest_write(out, kind, run, writer->member, writer->members, salted, writer->n_withheld, err);
    rp_free(salted);
    return status;
}

rp_status rp_archive_writer_finish(rp_archive_writer *writer, rp_run_kind kind, const rp_json *run, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status;

    if (writer->finished)
        return rp_fail(err, RP_EARG, RP_MANIFEST_NAME ": the manifest is finished already");
    status = set_apart(writer, err);
    if (status == RP_OK)
        status = write_manifest(&text, writer, kind, run, err);
    if (status == RP_OK)
        status = add_member(writer, RP_MANIFEST_NAME, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status != RP_OK)
        return status;
    writer->finished = true;
    rp_digest_hex(writer->id, &writer->member[0].digest);
    return RP_OK;
}

const char *rp_archive_writer_id(const rp_archive_writer *writer)
{
    return writer->finished ? writer->id : NULL;
}

rp_status rp_archive_writer_attach(rp_archive_writer *writer, const char *member, const void *bytes, size_t size,
                                   rp_error *err)
{
    if (!writer->finished)
        return rp_fail(err, RP_EARG, "%.100s: the manifest must be finished before it is signed", member);
    return add_member(writer, member, bytes, size, err);
}

/* Where the archive's bytes go. */
typedef struct sink {
    rp_file_writer *file; /* or else buffer */
    rp_buffer *buffer;
} sink;

static rp_status put(sink *to, const void *bytes, size_t size, rp_error *err)
{
    if (to->file != NULL)
        return rp_file_write(to->file, bytes, size, err);
    rp_buffer_append(to->buffer, bytes, size);
    return rp_buffer_status(to->buffer, err);
}

static rp_status put_zeros(sink *to, size_t size, rp_error *err)
{
    static const unsigned char zeros[2 * RP_BLOCK];

    return put(to, zeros, size, err);
}

static rp_status put_body(sink *to, const rp_archive_writer *writer, const rp_member *member, rp_error *err)
{
    unsigned char block[COPY];
    rp_status status = RP_OK;

    for (uint64_t done = 0; status == RP_OK && done < member->size;) {
        size_t part = member->size - done < COPY ? (size_t)(member->size - done) : COPY;

        status = read_body(writer, member, done, block, part, err);
        if (status == RP_OK)
            status = put(to, block, part, err);
        done += part;
    }
    return status;
}

rp_status rp_archive_writer_body(const rp_archive_writer *writer, const rp_member *member, rp_file_writer *file,
                                 rp_error *err)
{
    sink to = {.file = file};

    return put_body(&to, writer, member, err);
}

static rp_status put_member(sink *to, rp_archive_writer *writer, const rp_member *member, rp_error *err)
{
    unsigned char header[RP_BLOCK];
    rp_status status;

    (void)rp_ustar_header(header, member->name, member->size); /* name and size were checked when it was added */
    status = put(to, header, sizeof header, err);
    if (status == RP_OK)
        status = put_body(to, writer, member, err);
    return status == RP_OK ? put_zeros(to, (size_t)(rp_ustar_padded(member->size) - member->size), err) : status;
}

static rp_status save(rp_archive_writer *writer, sink to, rp_error *err)
{
    rp_status status = RP_OK;

    if (!writer->finished)
        return rp_fail(err, RP_EARG, "the manifest must be finished before the archive is saved");
    for (size_t i = 0; status == RP_OK && i < writer->members; i++)
        status = put_member(&to, writer, &writer->member[i], err);
    return status == RP_OK ? put_zeros(&to, 2 * RP_BLOCK, err) : status;
}

rp_status rp_archive_writer_save(rp_archive_writer *writer, rp_file_writer *file, rp_error *err)
{
    return save(writer, (sink){.file = file}, err);
}

rp_status rp_archive_writer_append(rp_archive_writer *writer, rp_buffer *out, rp_error *err)
{
    return save(writer, (sink){.buffer = out}, err);
}
