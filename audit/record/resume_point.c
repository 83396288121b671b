/* SPDX-License-Identifier: Apache-2.0
 * A resume point as a file: 8 bytes of magic, size (u64) and SHA-256 of a header, the header in canonical JSON, the
 * pieces that the header lists with size and SHA-256, one behind the other (programs, then the journal), and to the end
 * the states, as safetensors. Journal and states are neither written from nor read into memory as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/archive/journal.h"
#include "audit/record/resume.h"
#include "audit/record/states.h"
#include "base/memory.h"
#include "determinism/pins.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

/* HEADER_MEMORY: more than the values of RP_MEMBER_LIMIT members and all programs take. */
enum { WINDOW = 1 << 16 };
enum { MAGIC = 8, HEAD = MAGIC + 8 + RP_DIGEST_SIZE, HEADER_MAX = 1 << 28, HEADER_MEMORY = 1 << 28 };
static const char magic[MAGIC + 1] = "RPRESUM3";

static rp_json *piece_json(uint64_t size, const rp_digest *digest)
{
    char hex[RP_DIGEST_HEX];

    rp_digest_hex(hex, digest);
    return rp_json_pack("{s:s,s:I}", "sha256", hex, "size", (int64_t)size);
}

static rp_json *members_json(const rp_resume_point *p)
{
    rp_json *list = rp_json_array();
    char hex[RP_DIGEST_HEX];

    for (size_t i = 0; list && i < p->members; i++) {
        const rp_member *m = &p->member[i];

        rp_digest_hex(hex, &m->digest);
        if (rp_json_array_append_new(list, rp_json_pack("{s:I,s:s,s:s,s:I}", "offset", (int64_t)m->offset, "path",
                                                        m->name, "sha256", hex, "size", (int64_t)m->size)) != 0) {
            rp_json_free(list);
            return NULL;
        }
    }
    return list;
}

/* digest: of the programs. */
static rp_status header_text(rp_buffer *out, const rp_resume_point *p, const rp_resume_identity *identity,
                             const rp_digest *digest, rp_error *err)
{
    char recipe[RP_DIGEST_HEX], data[RP_DIGEST_HEX];
    rp_json *list = rp_json_array(), *members = members_json(p), *header;
    int failed = !list || !members;
    rp_status status;

    for (size_t i = 0; i < p->programs && !failed; i++)
        failed |= rp_json_array_append_new(list, piece_json(p->program[i].size, &digest[i]));
    failed = failed || rp_json_array_append_new(list, piece_json(p->journal.size, &p->journal_digest));
    rp_digest_hex(recipe, &identity->recipe);
    rp_digest_hex(data, &identity->data);
    header = failed ? NULL
                    : rp_json_pack("{s:i,s:s,s:s,s:O,s:O,s:s,s:I,s:I,s:I,s:o,s:I}", "contract",
                                   (int)RP_CONTRACT_VERSION, "data", data, "library", RP_VERSION, "members", members,
                                   "pieces", list, "recipe", recipe, "resumes", (int64_t)p->resumes, "spooled",
                                   (int64_t)p->spooled, "started", (int64_t)p->started, "states",
                                   piece_json(p->states_size, &p->states_digest), "step", (int64_t)p->step);
    rp_json_free(members);
    rp_json_free(list);
    status = header ? rp_json_write(header, out, err) : rp_no_memory(err);
    rp_json_free(header);
    return status;
}

static rp_status digest_programs(rp_digest *digest, const rp_resume_point *p, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < p->programs && status == RP_OK; i++)
        status = rp_sha256(&digest[i], p->program[i].data, p->program[i].size, err);
    return status;
}

/* All of a source, in windows. */
static rp_status stream(const rp_byte_source *from, const rp_byte_sink *to, rp_error *err)
{
    unsigned char block[WINDOW];
    rp_status status = RP_OK;

    for (uint64_t at = 0; at < from->size && status == RP_OK; at += WINDOW) {
        const size_t part = from->size - at < WINDOW ? (size_t)(from->size - at) : WINDOW;

        status = from->read(from->self, at, block, part, err);
        if (status == RP_OK)
            status = to->put(to->self, block, part, err);
    }
    return status;
}

static rp_status hash(void *self, const void *bytes, size_t size, rp_error *err)
{
    (void)err;
    rp_sha256_stream_update(self, bytes, size);
    return RP_OK;
}

static rp_status digest_source(rp_digest *digest, const rp_byte_source *from, rp_error *err)
{
    rp_sha256_stream *all = NULL;
    rp_status status = rp_sha256_stream_new(&all, err);

    if (status == RP_OK)
        status = stream(from, &(rp_byte_sink){hash, all}, err);
    if (status == RP_OK)
        status = rp_sha256_stream_finish(all, digest, err);
    rp_sha256_stream_free(all);
    return status;
}

/* Bytes on their way to the file, hashed as they pass. */
typedef struct passing {
    rp_sha256_stream *hash;
    rp_file_writer *file;
} passing;

static rp_status put_in_file(void *self, const void *bytes, size_t size, rp_error *err)
{
    const passing *to = self;

    if (to->hash)
        rp_sha256_stream_update(to->hash, bytes, size);
    return rp_file_write(to->file, bytes, size, err);
}

static rp_status put_states(rp_file_writer *file, rp_resume_point *p, rp_error *err)
{
    passing all = {.file = file};
    const rp_byte_sink to = {put_in_file, &all};
    rp_status status = rp_sha256_stream_new(&all.hash, err);

    if (status == RP_OK)
        status = rp_tensors_stream(&to, p->state, p->n_states, err);
    if (status == RP_OK)
        status = rp_sha256_stream_finish(all.hash, &p->states_digest, err);
    rp_sha256_stream_free(all.hash);
    return status;
}

/* All that lies before the pieces. programs: their digests. */
static rp_status head_of(rp_buffer *head, const rp_resume_point *p, const rp_resume_identity *identity,
                         const rp_digest *programs, rp_error *err)
{
    rp_buffer header = {0};
    rp_digest digest;
    rp_status status = header_text(&header, p, identity, programs, err);

    if (status == RP_OK)
        status = rp_sha256(&digest, header.data, header.size, err);
    if (status == RP_OK) {
        rp_buffer_append(head, magic, MAGIC);
        rp_buffer_u64(head, header.size);
        rp_buffer_append(head, digest.bytes, sizeof digest.bytes);
        rp_buffer_append(head, header.data, header.size);
        status = rp_buffer_status(head, err);
    }
    rp_buffer_free(&header);
    return status;
}

static rp_status put_pieces(rp_file_writer *file, const rp_resume_point *p, rp_error *err)
{
    passing all = {.file = file};
    const rp_byte_sink to = {put_in_file, &all};
    rp_status status = RP_OK;

    for (size_t i = 0; i < p->programs && status == RP_OK; i++)
        status = rp_file_write(file, p->program[i].data, p->program[i].size, err);
    return status == RP_OK ? stream(&p->journal, &to, err) : status;
}

/* ---- reading ---- */

void rp_resume_point_free(rp_resume_point *p)
{
    rp_buffer_free(&p->file);
    rp_free(p->member);
    rp_free(p->program);
    if (p->fd >= 0)
        (void)close(p->fd);
    *p = (rp_resume_point){.fd = -1};
}

static rp_status damaged(const char *path, const char *what, rp_error *err)
{
    return rp_fail(err, RP_EHASH, "%s: damaged: %s", path, what);
}

static rp_status another(const char *path, const char *what, rp_error *err)
{
    return rp_fail(err, RP_EARG, "%s: belongs to %s: give what the run was started with, or start again with --force",
                   path, what);
}

static bool get_number(const rp_json *object, const char *key, uint64_t *out)
{
    const rp_json *value = rp_json_object_get(object, key);

    *out = (uint64_t)rp_json_integer_value(value);
    return rp_json_is_integer(value) && rp_json_integer_value(value) >= 0;
}

static bool get_digest(const rp_json *object, const char *key, rp_digest *out)
{
    const char *hex = rp_json_string_value(rp_json_object_get(object, key));

    return hex && rp_unhex(out->bytes, RP_DIGEST_SIZE, hex);
}

static rp_status read_members(rp_resume_point *p, const rp_json *list, const char *path, rp_error *err)
{
    p->members = rp_json_array_size(list);
    if (p->members > RP_MEMBER_LIMIT)
        return damaged(path, "its list of members", err);
    p->member = rp_calloc(p->members ? p->members : 1, sizeof *p->member);
    if (!p->member)
        return rp_no_memory(err);
    for (size_t i = 0; i < p->members; i++) {
        const rp_json *row = rp_json_array_get(list, i);
        const char *name = rp_json_string_value(rp_json_object_get(row, "path"));
        rp_member *m = &p->member[i];

        if (!name || !rp_member_name_valid(name) || !get_number(row, "offset", &m->offset) ||
            !get_number(row, "size", &m->size) || !get_digest(row, "sha256", &m->digest))
            return damaged(path, "its list of members", err);
        memcpy(m->name, name, strlen(name) + 1);
    }
    return RP_OK;
}

/* The file's first `size` bytes are in memory. Pointers into them end. */
static rp_status hold(rp_resume_point *p, uint64_t size, const char *path, rp_error *err)
{
    unsigned char block[WINDOW];

    while (p->file.size < size) {
        const size_t part = size - p->file.size < WINDOW ? (size_t)(size - p->file.size) : WINDOW;
        ssize_t n = pread(p->fd, block, part, (off_t)p->file.size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rp_fail(err, RP_EIO, "%s: cannot read: %s", path, strerror(errno));
        if (n == 0)
            return damaged(path, "shorter than its pieces", err);
        rp_buffer_append(&p->file, block, (size_t)n);
        if (rp_buffer_status(&p->file, err) != RP_OK)
            return RP_ENOMEM;
    }
    return RP_OK;
}

/* The programs, each with its digest. */
static rp_status read_programs(rp_resume_point *p, const rp_json *list, size_t at, const char *path, rp_error *err)
{
    p->programs = rp_json_array_size(list) - 1;
    p->program = rp_calloc(p->programs + 1, sizeof *p->program);
    if (!p->program)
        return rp_no_memory(err);
    for (size_t i = 0; i < p->programs; i++) {
        const rp_json *row = rp_json_array_get(list, i);
        rp_digest expected, found;
        uint64_t size;
        rp_status status;

        if (!get_number(row, "size", &size) || !get_digest(row, "sha256", &expected) || size > p->file.size - at)
            return damaged(path, "shorter than its pieces", err);
        status = rp_sha256(&found, p->file.data + at, (size_t)size, err);
        if (status != RP_OK)
            return status;
        if (!rp_digest_equal(&found, &expected))
            return damaged(path, "a digest differs", err);
        p->program[i] = (rp_bytes){p->file.data + at, (size_t)size};
        at += (size_t)size;
    }
    return RP_OK;
}

static rp_status read_behind(const rp_resume_point *p, uint64_t from, void *out, size_t size, rp_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(p->fd, (char *)out + done, size - done, (off_t)(from + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rp_fail(err, RP_EIO, "resume point: cannot read: %s", strerror(errno));
        if (n == 0)
            return rp_fail(err, RP_EHASH, "resume point: damaged: shorter than its pieces");
        done += (size_t)n;
    }
    return RP_OK;
}

static rp_status read_journal(void *self, uint64_t at, void *out, size_t size, rp_error *err)
{
    const rp_resume_point *p = self;

    return read_behind(p, p->journal_at + at, out, size, err);
}

static rp_status read_states(void *self, uint64_t at, void *out, size_t size, rp_error *err)
{
    const rp_resume_point *p = self;

    return read_behind(p, p->states_at + at, out, size, err);
}

/* Journal and states, which fill the rest of the file, are what they were: a point that is not whole is passed over
 * before any of it is believed. */
static rp_status check_rest(rp_resume_point *p, const char *path, rp_error *err)
{
    const rp_byte_source states = {read_states, p, p->states_size};
    rp_digest found;
    rp_status status = digest_source(&found, &p->journal, err);

    if (status == RP_OK && !rp_digest_equal(&found, &p->journal_digest))
        status = damaged(path, "its journal's digest differs", err);
    if (status == RP_OK)
        status = digest_source(&found, &states, err);
    if (status == RP_OK && !rp_digest_equal(&found, &p->states_digest))
        status = damaged(path, "its states' digest differs", err);
    return status;
}

/* Bytes of all that lies before the states; the sizes' sum cannot overflow, each being no more than the file's. */
static rp_status measure(rp_resume_point *p, const rp_json *header, uint64_t at, uint64_t file, const char *path,
                         rp_error *err)
{
    const rp_json *list = rp_json_object_get(header, "pieces"), *states = rp_json_object_get(header, "states");
    uint64_t size = 0;

    if (rp_json_array_size(list) < 1)
        return damaged(path, "its list of pieces", err);
    for (size_t i = 0; i < rp_json_array_size(list); i++) {
        if (!get_number(rp_json_array_get(list, i), "size", &size) || size > file - at)
            return damaged(path, "shorter than its pieces", err);
        at += size;
    }
    p->journal = (rp_byte_source){read_journal, p, size};
    p->journal_at = at - size;
    p->states_at = at;
    if (!get_digest(rp_json_array_get(list, rp_json_array_size(list) - 1), "sha256", &p->journal_digest) ||
        !get_number(states, "size", &p->states_size) || !get_digest(states, "sha256", &p->states_digest) ||
        p->states_size != file - at)
        return damaged(path, "shorter or longer than its pieces", err);
    return RP_OK;
}

/* All that the header says but the pieces. */
static rp_status read_header(rp_resume_point *p, const rp_json *header, const rp_resume_identity *identity,
                             const char *path, rp_error *err)
{
    const char *library = rp_json_string_value(rp_json_object_get(header, "library"));
    rp_digest recipe, data;
    uint64_t started, contract;

    if (!library || !get_number(header, "contract", &contract) || !get_digest(header, "recipe", &recipe) ||
        !get_digest(header, "data", &data) || !get_number(header, "step", &p->step) ||
        !get_number(header, "resumes", &p->resumes) || !get_number(header, "spooled", &p->spooled) ||
        !get_number(header, "started", &started))
        return damaged(path, "its header", err);
    if (strcmp(library, RP_VERSION) != 0 || contract != RP_CONTRACT_VERSION)
        return another(path, "another version of Reprise", err);
    if (!rp_digest_equal(&recipe, &identity->recipe))
        return another(path, "another recipe", err);
    if (!rp_digest_equal(&data, &identity->data))
        return another(path, "other data", err);
    p->started = (int64_t)started;
    return read_members(p, rp_json_object_get(header, "members"), path, err);
}

/* The header lists every member so far, so it may be as long as a manifest. */
static rp_status parse_header(rp_json **header, rp_resume_point *p, const rp_resume_identity *identity,
                              const void *text, size_t size, const char *path, rp_error *err)
{
    rp_status status = rp_json_parse_within(header, text, size, HEADER_MEMORY, true, path, err);

    if (status == RP_OK)
        status = read_header(p, *header, identity, path, err);
    else if (status == RP_EFORMAT)
        status = damaged(path, "its header", err);
    return status;
}

static rp_status read_checked_header(rp_json **header, rp_resume_point *p, const rp_resume_identity *identity,
                                     uint64_t *end, uint64_t file, const char *path, rp_error *err)
{
    rp_digest expected, found;
    uint64_t size;
    rp_status status = file < HEAD ? damaged(path, "not a resume point", err) : hold(p, HEAD, path, err);

    if (status != RP_OK)
        return status;
    if (memcmp(p->file.data, magic, MAGIC) != 0)
        return damaged(path, "not a resume point", err);
    size = rp_load_u64(p->file.data + MAGIC);
    if (size > HEADER_MAX || size > file - HEAD)
        return damaged(path, "shorter than its header", err);
    memcpy(expected.bytes, p->file.data + MAGIC + 8, RP_DIGEST_SIZE);
    *end = HEAD + size;
    status = hold(p, *end, path, err);
    if (status == RP_OK)
        status = rp_sha256(&found, p->file.data + HEAD, (size_t)size, err);
    if (status != RP_OK)
        return status;
    if (!rp_digest_equal(&found, &expected))
        return damaged(path, "the header's digest differs", err);
    return parse_header(header, p, identity, p->file.data + HEAD, (size_t)size, path, err);
}

static rp_status read_point(rp_resume_point *p, const rp_resume_identity *identity, uint64_t file, const char *path,
                            rp_error *err)
{
    rp_json *header = NULL;
    uint64_t end = 0;
    rp_status status = read_checked_header(&header, p, identity, &end, file, path, err);

    if (status == RP_OK)
        status = measure(p, header, end, file, path, err);
    if (status == RP_OK)
        status = hold(p, p->journal_at, path, err);
    if (status == RP_OK)
        status = read_programs(p, rp_json_object_get(header, "pieces"), (size_t)end, path, err);
    if (status == RP_OK)
        status = check_rest(p, path, err);
    if (status == RP_OK &&
        (p->step == 0 || p->journal.size % RP_RECORD_SIZE || p->journal.size / RP_RECORD_SIZE != p->step))
        status = damaged(path, "its journal", err);
    rp_json_free(header);
    return status;
}

rp_status rp_resume_point_read(rp_resume_point *out, const rp_resume_identity *identity, const char *path,
                               rp_error *err)
{
    struct stat info;
    rp_status status;

    *out = (rp_resume_point){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (out->fd < 0 || fstat(out->fd, &info) != 0)
        status = rp_fail(err, RP_EIO, "%s: cannot open: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = rp_fail(err, RP_EIO, "%s: is not a regular file", path);
    else
        status = read_point(out, identity, (uint64_t)info.st_size, path, err);
    if (status != RP_OK)
        rp_resume_point_free(out);
    return status;
}

/* ---- a point is written only when it can be read: good ones make way for it ---- */

static rp_status check_header(const rp_resume_point *p, const rp_resume_identity *identity, const void *text,
                              size_t size, const char *path, rp_error *err)
{
    rp_resume_point again = {.fd = -1};
    rp_json *header = NULL;
    rp_status status = parse_header(&header, &again, identity, text, size, path, err);

    if (status == RP_OK && (size > HEADER_MAX || again.step != p->step || again.members != p->members))
        status = damaged(path, "its header", err);
    if (status == RP_EHASH)
        status = rp_fail(err, RP_EUNSUPPORTED, "%s: could not be read again: too many members or programs", path);
    rp_json_free(header);
    rp_resume_point_free(&again);
    return status;
}

/* The head before the states and, as it has their digest, once more behind them: digests are all of one length. So the
 * states are read once. */
static rp_status put_all(rp_file_writer *file, rp_resume_point *p, const rp_resume_identity *identity,
                         const rp_digest *programs, const rp_buffer *before, rp_error *err)
{
    rp_buffer head = {0};
    rp_status status = rp_file_write(file, before->data, before->size, err);

    if (status == RP_OK)
        status = put_pieces(file, p, err);
    if (status == RP_OK)
        status = put_states(file, p, err);
    if (status == RP_OK)
        status = head_of(&head, p, identity, programs, err);
    if (status == RP_OK)
        status = rp_file_write_again(file, 0, head.data, head.size, err);
    rp_buffer_free(&head);
    return status;
}

static rp_status write_point(rp_resume_point *p, const rp_resume_identity *identity, const rp_digest *programs,
                             const char *path, rp_error *err)
{
    rp_file_writer *file = NULL;
    rp_buffer before = {0};
    rp_status status = head_of(&before, p, identity, programs, err);

    if (status == RP_OK)
        status = check_header(p, identity, before.data + HEAD, before.size - HEAD, path, err);
    if (status == RP_OK)
        status = rp_file_create(&file, path, true, 0600, err);
    if (status == RP_OK)
        status = put_all(file, p, identity, programs, &before, err);
    rp_buffer_free(&before);
    if (status == RP_OK)
        return rp_file_commit(file, err);
    rp_file_abort(file);
    return status;
}

rp_status rp_resume_point_write(rp_resume_point *p, const rp_resume_identity *identity, const char *path, rp_error *err)
{
    rp_digest *digest = rp_calloc(p->programs + 1, sizeof *digest);
    rp_status status = digest ? digest_programs(digest, p, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = digest_source(&p->journal_digest, &p->journal, err);
    if (status == RP_OK)
        status = rp_tensors_measure(&p->states_size, p->state, p->n_states, err);
    if (status == RP_OK)
        status = write_point(p, identity, digest, path, err);
    rp_free(digest);
    return status;
}
