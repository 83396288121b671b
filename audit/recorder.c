/* SPDX-License-Identifier: Apache-2.0
 * Watching a run, step by step. */
#include "audit/recorder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/safetensors.h"
#include "base/memory.h"
#include "determinism/bits.h"

typedef struct recorded_program {
    rp_buffer text;
    uint64_t compiled; /* serial of the compiled program last seen with this text */
} recorded_program;

/* A distinct feed, kept once. */
typedef struct kept_feed {
    char name[RP_DIGEST_HEX]; /* its digest in hex */
    rp_type type;
    void *data;
} kept_feed;

/* Distinct feeds of one run: their names must fit the header of one safetensors file, 256 bytes an entry at most. */
enum { FEEDS_MAX = RP_SAFETENSORS_HEADER_LIMIT / 256 };

struct rp_recorder {
    rp_run *run;
    bool keep_feeds, comparing, failed;
    time_t started;
    recorded_program *program;
    size_t n_programs, cap_programs;
    rp_buffer journal;      /* records as bytes */
    rp_buffer init;         /* weights/init.safetensors of a run of the API */
    rp_buffer feed_order;   /* data/feeds.bin */
    kept_feed *feed;        /* by name */
    size_t n_feeds, cap_feeds;
    rp_buffer expected;     /* journal of the archive, when comparing */
    rp_buffer scratch;
    uint64_t nanoseconds;
};

static uint64_t now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static rp_status tensor_digest(rp_digest *out, const rp_named *named, rp_pool *pool, rp_error *err)
{
    return rp_tensor_digest_host(out, named->type.dtype, named->type.rank, named->type.shape, named->data, pool, err);
}

rp_status rp_named_tensors_digest(rp_digest *out, const rp_named *named, size_t n, rp_pool *pool, rp_error *err)
{
    rp_named_digest few[32], *list = n <= 32 ? few : rp_malloc(n * sizeof *list);
    rp_status status = list ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        list[i].name = named[i].name;
        status = tensor_digest(&list[i].digest, &named[i], pool, err);
    }
    if (status == RP_OK)
        status = rp_named_list_digest(out, list, n, err);
    if (list != few)
        rp_free(list);
    return status;
}

/* Index of the event's program, added when it is new. */
static rp_status find_program(rp_recorder *r, const rp_step_event *event, uint32_t *index, rp_error *err)
{
    rp_status status;

    for (size_t i = 0; event->compiled && i < r->n_programs; i++)
        if (r->program[i].compiled == event->compiled) {
            *index = (uint32_t)i;
            return RP_OK;
        }
    r->scratch.size = 0;
    status = rp_program_write(event->program, &r->scratch, err);
    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < r->n_programs; i++)
        if (r->program[i].text.size == r->scratch.size &&
            memcmp(r->program[i].text.data, r->scratch.data, r->scratch.size) == 0) {
            r->program[i].compiled = event->compiled;
            *index = (uint32_t)i;
            return RP_OK;
        }
    if (r->n_programs == 10000)
        return rp_fail(err, RP_EUNSUPPORTED, "step %llu: more than 10000 distinct programs in one run",
                       (unsigned long long)event->step);
    if (r->n_programs == r->cap_programs) {
        size_t wanted = r->cap_programs ? 2 * r->cap_programs : 8;
        recorded_program *bigger = rp_reallocarray(r->program, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        r->program = bigger;
        r->cap_programs = wanted;
    }
    r->program[r->n_programs] = (recorded_program){r->scratch, event->compiled};
    r->scratch = (rp_buffer){0};
    *index = (uint32_t)r->n_programs++;
    return RP_OK;
}

static rp_status keep_feed(rp_recorder *r, const rp_named *feed, rp_error *err)
{
    rp_digest digest;
    kept_feed kept = {.type = feed->type};
    size_t bytes = rp_type_bytes(&feed->type), low = 0, high = r->n_feeds;
    rp_status status = tensor_digest(&digest, feed, NULL, err);

    if (status != RP_OK)
        return status;
    rp_buffer_append(&r->feed_order, digest.bytes, sizeof digest.bytes);
    status = rp_buffer_status(&r->feed_order, err);
    if (status != RP_OK)
        return status;
    rp_digest_hex(kept.name, &digest);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(r->feed[middle].name, kept.name);

        if (order == 0)
            return RP_OK;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (r->n_feeds == FEEDS_MAX)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "more than %d distinct feeds in one run: bind tables as data and feed row numbers", (int)FEEDS_MAX);
    if (r->n_feeds == r->cap_feeds) {
        size_t wanted = r->cap_feeds ? 2 * r->cap_feeds : 32;
        kept_feed *bigger = rp_reallocarray(r->feed, wanted, sizeof *bigger);

        if (!bigger)
            return rp_no_memory(err);
        r->feed = bigger;
        r->cap_feeds = wanted;
    }
    kept.data = rp_malloc(bytes);
    if (!kept.data)
        return rp_no_memory(err);
    if (bytes)
        memcpy(kept.data, feed->data, bytes);
    memmove(r->feed + low + 1, r->feed + low, (r->n_feeds - low) * sizeof kept);
    r->feed[low] = kept;
    r->n_feeds++;
    return RP_OK;
}

static void note_loss(rp_record *record, const rp_step_event *event)
{
    record->loss_dtype = RP_LOSS_NONE;
    for (size_t i = 0; i < event->n_results; i++) {
        const rp_named *result = &event->result[i];

        if (strcmp(result->name, "loss") != 0 || rp_type_count(&result->type) != 1)
            continue;
        if (result->type.dtype == RP_F32)
            record->loss = rp_bits_f32(rp_canonical_f32(*(const float *)result->data));
        else if (result->type.dtype == RP_F64)
            record->loss = rp_bits_f64(rp_canonical_f64(*(const double *)result->data));
        else
            continue;
        record->loss_dtype = (int32_t)result->type.dtype;
    }
}

static rp_status differs(uint64_t step, const char *what, const rp_digest *expected, const rp_digest *found, rp_error *err)
{
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];

    rp_digest_hex(e, expected);
    rp_digest_hex(f, found);
    return rp_fail(err, RP_EBITS, "step %llu: %s: recorded %s, recomputed %s", (unsigned long long)step, what, e, f);
}

static rp_status compare(const rp_recorder *r, const rp_record *found, rp_error *err)
{
    rp_record expected;

    if (found->step >= r->expected.size / RP_RECORD_SIZE)
        return rp_fail(err, RP_EBITS, "step %llu: the journal has only %zu records", (unsigned long long)found->step,
                       r->expected.size / RP_RECORD_SIZE);
    if (!rp_record_read(&expected, r->expected.data + found->step * RP_RECORD_SIZE) || expected.step != found->step)
        return rp_fail(err, RP_EFORMAT, "run/journal.bin: record %llu is malformed", (unsigned long long)found->step);
    if (expected.program != found->program)
        return rp_fail(err, RP_EBITS, "step %llu: program: recorded %04u, recomputed %04u",
                       (unsigned long long)found->step, expected.program, found->program);
    if (!rp_digest_equal(&expected.feeds, &found->feeds))
        return differs(found->step, "digest of the feeds", &expected.feeds, &found->feeds, err);
    if (expected.loss_dtype != found->loss_dtype || expected.loss != found->loss)
        return rp_fail(err, RP_EBITS, "step %llu: loss: recorded 0x%llx, recomputed 0x%llx",
                       (unsigned long long)found->step, (unsigned long long)expected.loss,
                       (unsigned long long)found->loss);
    if (!rp_digest_equal(&expected.results, &found->results))
        return differs(found->step, "digest of the results", &expected.results, &found->results, err);
    if (!rp_digest_equal(&expected.states, &found->states))
        return differs(found->step, "digest of the state", &expected.states, &found->states, err);
    return RP_OK;
}

static rp_status record_step(rp_recorder *r, const rp_step_event *event, rp_error *err)
{
    rp_pool *pool = rp_device_pool(rp_run_device(r->run));
    rp_record record = {.step = event->step};
    unsigned char bytes[RP_RECORD_SIZE];
    rp_status status = find_program(r, event, &record.program, err);

    if (status == RP_OK)
        status = rp_named_tensors_digest(&record.feeds, event->feed, event->n_feeds, pool, err);
    if (status == RP_OK)
        status = rp_named_tensors_digest(&record.results, event->result, event->n_results, pool, err);
    if (status == RP_OK)
        status = rp_named_tensors_digest(&record.states, event->state, event->n_states, pool, err);
    for (size_t i = 0; r->keep_feeds && i < event->n_feeds && status == RP_OK; i++)
        status = keep_feed(r, &event->feed[i], err);
    if (status != RP_OK)
        return status;
    note_loss(&record, event);
    if (r->comparing)
        status = compare(r, &record, err);
    if (status != RP_OK)
        return status;
    rp_record_write(bytes, &record);
    rp_buffer_append(&r->journal, bytes, sizeof bytes);
    return rp_buffer_status(&r->journal, err);
}

static rp_status on_step(void *self, const rp_step_event *event, rp_error *err)
{
    rp_recorder *r = self;
    uint64_t start = now();
    rp_status status = record_step(r, event, err);

    r->nanoseconds += now() - start;
    r->failed = r->failed || status != RP_OK;
    return status;
}

/* All present states, or those that are not an optimizer's. */
static rp_status states_file(rp_buffer *out, const rp_run *run, bool all, rp_error *err)
{
    size_t n, kept = 0;
    const rp_named *state = rp_run_states(run, &n);
    rp_safetensor *tensor = rp_calloc(n, sizeof *tensor);
    rp_status status;

    if (!tensor)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!all && strncmp(state[i].name, "optim.", 6) == 0)
            continue;
        tensor[kept] = (rp_safetensor){
            .name = state[i].name, .dtype = state[i].type.dtype, .rank = state[i].type.rank, .data = state[i].data};
        memcpy(tensor[kept++].shape, state[i].type.shape, sizeof tensor->shape);
    }
    status = rp_safetensors_write(out, tensor, kept, NULL, 0, err);
    rp_free(tensor);
    return status;
}

rp_status rp_recorder_add_states(rp_archive_writer *writer, const char *member, const rp_run *run, bool all,
                                 rp_error *err)
{
    rp_buffer file = {0};
    rp_status status = states_file(&file, run, all, err);

    if (status == RP_OK)
        status = rp_archive_writer_add(writer, member, file.data, file.size, err);
    rp_buffer_free(&file);
    return status;
}

rp_status rp_recorder_attach(rp_recorder **out, rp_run *run, bool keep_feeds, rp_error *err)
{
    rp_recorder *r = rp_calloc(1, sizeof *r);
    rp_status status = RP_OK;

    *out = NULL;
    if (!r)
        return rp_no_memory(err);
    r->run = run;
    r->keep_feeds = keep_feeds;
    r->started = time(NULL);
    if (rp_run_steps(run))
        status = rp_fail(err, RP_EARG, "recording starts before the first step; %llu were made",
                         (unsigned long long)rp_run_steps(run));
    if (status == RP_OK && keep_feeds)
        status = states_file(&r->init, run, true, err);
    if (status == RP_OK)
        status = rp_run_observe(run, (rp_observer){on_step, r}, err);
    if (status != RP_OK)
        rp_recorder_free(r);
    else
        *out = r;
    return status;
}

rp_status rp_recorder_new(rp_recorder **out, rp_run *run, rp_error *err)
{
    return rp_recorder_attach(out, run, true, err);
}

void rp_recorder_free(rp_recorder *r)
{
    if (!r)
        return;
    rp_run_unobserve(r->run, r);
    for (size_t i = 0; i < r->n_programs; i++)
        rp_buffer_free(&r->program[i].text);
    for (size_t i = 0; i < r->n_feeds; i++)
        rp_free(r->feed[i].data);
    rp_free(r->program);
    rp_free(r->feed);
    rp_buffer_free(&r->journal);
    rp_buffer_free(&r->init);
    rp_buffer_free(&r->feed_order);
    rp_buffer_free(&r->expected);
    rp_buffer_free(&r->scratch);
    rp_free(r);
}

rp_status rp_recorder_expect(rp_recorder *r, const rp_archive *archive, rp_error *err)
{
    const rp_member *member = rp_archive_find(archive, "run/journal.bin");
    rp_status status;

    if (!member || member->size % RP_RECORD_SIZE != 0)
        return rp_fail(err, RP_EFORMAT, "run/journal.bin: expected whole records of %d bytes", RP_RECORD_SIZE);
    status = rp_archive_read_member(archive, "run/journal.bin", SIZE_MAX / 2, &r->expected, err);
    r->comparing = status == RP_OK;
    return status;
}

uint64_t rp_recorder_steps(const rp_recorder *r)
{
    return r->journal.size / RP_RECORD_SIZE;
}

double rp_recorder_age(const rp_recorder *r)
{
    return difftime(time(NULL), r->started);
}

uint64_t rp_recorder_nanoseconds(const rp_recorder *r)
{
    return r->nanoseconds;
}

static rp_status add_feeds(const rp_recorder *r, rp_archive_writer *writer, rp_error *err)
{
    rp_safetensor *tensor = rp_calloc(r->n_feeds, sizeof *tensor);
    rp_buffer file = {0};
    rp_status status;

    if (!tensor)
        return rp_no_memory(err);
    for (size_t i = 0; i < r->n_feeds; i++) {
        tensor[i] = (rp_safetensor){.name = r->feed[i].name, .dtype = r->feed[i].type.dtype,
                                    .rank = r->feed[i].type.rank, .data = r->feed[i].data};
        memcpy(tensor[i].shape, r->feed[i].type.shape, sizeof tensor->shape);
    }
    status = rp_safetensors_write(&file, tensor, r->n_feeds, NULL, 0, err);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, "data/feeds.safetensors", file.data, file.size, err);
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, "data/feeds.bin", r->feed_order.data, r->feed_order.size, err);
    rp_buffer_free(&file);
    rp_free(tensor);
    return status;
}

rp_status rp_recorder_add_members(const rp_recorder *r, rp_archive_writer *writer, rp_digest *root, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_status status = RP_OK;

    if (r->failed)
        return rp_fail(err, RP_EARG, "recording failed at an earlier step: the archive would not be whole");
    for (size_t i = 0; i < r->n_programs && status == RP_OK; i++) {
        (void)snprintf(name, sizeof name, "run/programs/%04zu.json", i);
        status = rp_archive_writer_add(writer, name, r->program[i].text.data, r->program[i].text.size, err);
    }
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, "run/journal.bin", r->journal.data, r->journal.size, err);
    if (status == RP_OK && r->keep_feeds)
        status = add_feeds(r, writer, err);
    if (status == RP_OK && r->keep_feeds)
        status = rp_archive_writer_add(writer, "weights/init.safetensors", r->init.data, r->init.size, err);
    if (status == RP_OK)
        status = rp_merkle_records(root, r->journal.data, RP_RECORD_SIZE, r->journal.size / RP_RECORD_SIZE, err);
    return status;
}

const rp_run *rp_recorder_run(const rp_recorder *r)
{
    return r->run;
}
