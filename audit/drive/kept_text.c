/* SPDX-License-Identifier: Apache-2.0
 * A table's text in a file of our own: written and hashed as it is read, mapped for whoever prepares it, and lent to
 * the archive in the end. A mapping of the user's file would show whatever is written to that one during the run. */
#include "audit/drive/kept_text.h"

#include "audit/record/save.h"
#include "base/memory.h"

static const size_t limit = (size_t)4 << 30;

static void tell(const rp_kept_text *t, size_t done, size_t size)
{
    if (t->options && t->options->reading)
        t->options->reading(t->options->self, done, size);
}

/* Into the file, or into memory where there is none. */
static rp_status put(void *self, const void *bytes, size_t size, rp_error *err)
{
    rp_kept_text *t = self;
    rp_status status;

    if (size > limit - t->text.size)
        return rp_fail(err, RP_EDATA, "%s: as a table it takes more than %zu bytes", t->where, limit);
    status = t->store ? rp_archive_writer_put(t->store, bytes, size, err) : rp_buffer_take(&t->held, bytes, size, err);
    t->text.size += size;
    tell(t, t->text.size, 0);
    return status;
}

static void leave(void *self, size_t done, size_t size)
{
    const rp_kept_text *t = self;

    if (t->store)
        rp_archive_writer_leave(t->store);
    tell(t, done, size);
}

rp_status rp_table_stream(const rp_job_options *options, const char *path, rp_file_taker take, void *self,
                          rp_error *err)
{
    return options && options->read_table ? options->read_table(path, limit, take, self, err)
                                          : rp_file_stream(path, limit, take, self, err);
}

static rp_status take_all(rp_kept_text *t, const char *path, const rp_text_origin *from, const rp_job_options *options,
                          rp_error *err)
{
    return from ? from->stream(from->self, put, t, err) : rp_table_stream(options, path, put, t, err);
}

static rp_status keep(rp_kept_text *t, const char *path, const rp_text_origin *from, const char *archive,
                      const rp_job_options *options, rp_error *err)
{
    rp_status status = rp_save_writer(&t->store, archive, err);

    if (status == RP_OK)
        status = rp_archive_writer_begin(t->store, t->member, err);
    if (status == RP_OK)
        status = take_all(t, path, from, options, err);
    if (status == RP_OK)
        status = rp_archive_writer_end(t->store, err);
    if (status != RP_OK)
        return status;
    return rp_archive_writer_map(t->store, &t->text.bytes, err);
}

rp_status rp_kept_text_read(rp_kept_text *t, const char *member, const char *path, const rp_text_origin *from,
                            const char *archive, const rp_job_options *options, rp_error *err)
{
    rp_status status;

    t->member = member;
    t->where = rp_strdup(path);
    if (!t->where)
        return rp_no_memory(err);
    t->options = options;
    t->text = (rp_source_text){.where = t->where, .leave = leave, .self = t};
    if (archive)
        return keep(t, path, from, archive, options, err);
    status = take_all(t, path, from, options, err);
    t->text.bytes = t->held.data;
    return status;
}

void rp_kept_text_clear(rp_kept_text *t)
{
    rp_archive_writer_free(t->store);
    rp_buffer_free(&t->held);
    rp_free(t->where);
    *t = (rp_kept_text){.where = NULL};
}

rp_status rp_kept_text_add(const rp_kept_text *t, rp_archive_writer *writer, rp_error *err)
{
    return t->store ? rp_archive_writer_borrow(writer, t->store, rp_archive_writer_member(t->store, 0), err)
                    : rp_archive_writer_add(writer, t->member, t->held.data, t->held.size, err);
}

const rp_digest *rp_kept_text_digest(const rp_kept_text *t)
{
    return &rp_archive_writer_member(t->store, 0)->digest;
}
