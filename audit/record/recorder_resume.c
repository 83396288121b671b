/* SPDX-License-Identifier: Apache-2.0
 * Going on with a run of the API: an archive of its first steps holds all that the recorder knew then, and the states.
 */
#include <stdio.h>
#include <string.h>

#include "audit/record/driver.h"
#include "audit/record/recorder_private.h"
#include "audit/archive/safetensors.h"
#include "base/memory.h"
#include "determinism/bits.h"

static rp_status another(const char *what, rp_error *err)
{
    return rp_fail(err, RP_EARG, "not an archive of this run: %s", what);
}

static bool same_parent(const rp_recorder *r, const rp_archive *archive)
{
    const rp_json *said = rp_json_object_get(rp_archive_manifest(archive)->run, "parent");

    return r->parent && said ? rp_json_equal(said, r->parent) : !r->parent && !said;
}

/* The same first states, data and ways of recording. */
static rp_status check_same_run(const rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    static const char data[] = RP_TENSORS_MEMBER;
    const rp_member *init = rp_archive_find(archive, RP_INIT_MEMBER), *was, *is;
    uint64_t states, checkpoints;
    rp_archive_writer *writer;
    rp_digest digest;
    rp_status status = rp_sha256(&digest, r->init.data, r->init.size, err);

    if (status == RP_OK && (!init || !rp_digest_equal(&init->digest, &digest)))
        return another("its first states are others", err);
    if (status == RP_OK)
        status = rp_archive_state_period(archive, &states, err);
    if (status == RP_OK)
        status = rp_archive_checkpoint_period(archive, &checkpoints, err);
    if (status == RP_OK && (states != (r->rolling ? rp_rolling_period(r->rolling) : 1) ||
                            (checkpoints && checkpoints != r->checkpoint_period)))
        return another("its state period or checkpoint period is another", err);
    if (status == RP_OK && !same_parent(r, archive))
        return another("its parent is another", err);
    if (status == RP_OK)
        status = rp_archive_writer_new(&writer, NULL, err);
    if (status != RP_OK)
        return status;
    status = rp_add_data_tensors(writer, r->run, err);
    was = rp_archive_find(archive, data);
    is = rp_archive_writer_find(writer, data);
    if (status == RP_OK && (!was != !is || (was && !rp_digest_equal(&was->digest, &is->digest))))
        status = another("its data are others", err);
    rp_archive_writer_free(writer);
    return status;
}

static rp_status take_programs(rp_recorder *r, const rp_archive *archive, rp_buffer *bytes, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK; i++) {
        (void)rp_program_name(name, i);
        if (!rp_archive_find(archive, name))
            break;
        status = rp_archive_read_member(archive, name, (size_t)64 << 20, bytes, err);
        if (status == RP_OK)
            status = rp_recorder_add_program(r, bytes->data, bytes->size, err);
    }
    return status;
}

/* Tensors of a file in host order, each in memory of its own; to be freed also after a failure. */
static rp_status to_host(rp_named **out, const rp_safetensors *file, rp_error *err)
{
    *out = rp_calloc(file->count ? file->count : 1, sizeof **out);
    if (!*out)
        return rp_no_memory(err);
    for (size_t i = 0; i < file->count; i++) {
        const rp_safetensor *t = &file->tensor[i];
        void *host = rp_malloc(t->size);

        if (!host)
            return rp_no_memory(err);
        rp_to_host(host, t->data, t->dtype, t->size / rp_dtype_size(t->dtype));
        (*out)[i] = (rp_named){.name = t->name, .type = {.dtype = t->dtype, .rank = t->rank}, .data = host};
        memcpy((*out)[i].type.shape, t->shape, sizeof t->shape);
    }
    return RP_OK;
}

static void free_host(rp_named *named, size_t n)
{
    for (size_t i = 0; named && i < n; i++)
        rp_free((void *)named[i].data);
    rp_free(named);
}

/* The feeds, which come by name and so in the recorder's order; their memory becomes the recorder's. */
static rp_status put_feeds(rp_recorder *r, rp_named *feed, size_t n, rp_error *err)
{
    r->feed = rp_calloc(n ? n : 1, sizeof *r->feed);
    if (!r->feed)
        return rp_no_memory(err);
    r->cap_feeds = n;
    for (size_t i = 0; i < n; i++) {
        kept_feed *kept = &r->feed[i];

        if (strlen(feed[i].name) != RP_DIGEST_HEX - 1)
            return rp_fail(err, RP_EFORMAT, RP_FEEDS_MEMBER ": a name is no digest");
        memcpy(kept->name, feed[i].name, RP_DIGEST_HEX);
        kept->type = feed[i].type;
        kept->data = (void *)feed[i].data;
        feed[i].data = NULL;
        r->n_feeds++;
    }
    return RP_OK;
}

/* Reads a member of tensors and gives them to the recorder as feeds, or to the run as states after `steps` steps. */
static rp_status take_tensors(rp_recorder *r, const rp_archive *archive, const char *member, bool feeds, uint64_t steps,
                              rp_buffer *bytes, rp_error *err)
{
    rp_safetensors *file = NULL;
    rp_named *named = NULL;
    rp_status status = rp_archive_read_member(archive, member, SIZE_MAX / 2, bytes, err);

    if (status == RP_OK)
        status = rp_safetensors_parse(&file, bytes->data, bytes->size, member, err);
    if (status == RP_OK)
        status = to_host(&named, file, err);
    if (status == RP_OK)
        status = feeds ? put_feeds(r, named, file->count, err) : rp_run_restore(r->run, steps, named, file->count, err);
    if (status == RP_EDATA)
        status = rp_fail_at(err, RP_EFORMAT, "%s", member);
    if (named)
        free_host(named, file->count);
    rp_safetensors_free(file);
    return status;
}

static rp_status take_checkpoints(rp_recorder *r, const rp_archive *archive, uint64_t steps, rp_buffer *bytes,
                                  rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_status status = RP_OK;

    for (uint64_t at = r->checkpoint_period; at && at < steps && status == RP_OK; at += r->checkpoint_period) {
        status = rp_archive_read_member(archive, rp_checkpoint_name(name, at), SIZE_MAX / 2, bytes, err);
        if (status == RP_OK)
            status = rp_archive_writer_add(r->checkpoints, name, bytes->data, bytes->size, err);
        r->n_checkpoints += status == RP_OK;
    }
    /* the last step's states are no checkpoint of an archive that ends with them */
    return status == RP_OK ? rp_recorder_checkpoint(r, steps, err) : status;
}

static rp_status take(rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    rp_buffer bytes = {0};
    uint64_t steps = 0;
    rp_status status = take_programs(r, archive, &bytes, err);

    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_JOURNAL_MEMBER, SIZE_MAX / 2, &bytes, err);
    if (status == RP_OK) {
        steps = bytes.size / RP_RECORD_SIZE;
        status = rp_recorder_continue(r, bytes.data, bytes.size, err);
    }
    if (status == RP_OK)
        status = rp_archive_read_member(archive, RP_FEED_ORDER_MEMBER, SIZE_MAX / 2, &r->feed_order, err);
    if (status == RP_OK)
        status = take_tensors(r, archive, RP_FEEDS_MEMBER, true, steps, &bytes, err);
    if (status == RP_OK)
        status = take_tensors(r, archive, RP_FINAL_MEMBER, false, steps, &bytes, err);
    if (status == RP_OK)
        status = take_checkpoints(r, archive, steps, &bytes, err);
    rp_buffer_free(&bytes);
    return status;
}

rp_status rp_recorder_resume(rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    rp_status status;

    if (!r->keep_feeds || rp_run_steps(r->run) || r->journal.size || r->failed)
        return rp_fail(err, RP_EARG, "a run goes on before its first step, with a recorder that was just made");
    if (rp_archive_manifest(archive)->kind != RP_RUN_API)
        return another("a recipe made it", err);
    if (r->salted)
        return rp_fail(err, RP_EUNSUPPORTED, "a run that withholds its data cannot go on from an archive");
    status = check_same_run(r, archive, err);
    if (status == RP_OK) {
        status = take(r, archive, err);
        r->failed = status != RP_OK;
        r->resumes = 1;
    }
    return status;
}
