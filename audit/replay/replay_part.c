/* SPDX-License-Identifier: Apache-2.0
 * A segment is replayed from the states recorded where it begins to those recorded where it ends. Several go on side by
 * side in threads, each on a run of its own; the data are prepared once. */
#include "audit/replay/replay_part.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "audit/record/job_options.h"
#include "audit/record/recorder_private.h"
#include "audit/replay/replay.h"
#include "base/memory.h"

enum { PARALLEL_MAX = 1024 };

/* What the workers share. */
typedef struct shared {
    const rp_part *part;
    pthread_mutex_t lock;
    size_t next;      /* of part->chosen, to be taken by who is free */
    size_t failed_at; /* of part->chosen, the first that failed; n_chosen: none did */
    bool canceled;
    uint64_t done; /* steps */
    rp_status status;
    rp_error error;
} shared;

typedef struct worker {
    shared *shared;
    rp_driver *driver;
    rp_recorder *recorder;
    pthread_t thread;
    bool own, running; /* own: the driver is a clone */
} worker;

/* ---- one segment ---- */

static rp_status add_programs(rp_recorder *recorder, const rp_archive *archive, rp_error *err)
{
    rp_buffer text = {0};
    rp_status status = RP_OK;

    for (size_t i = 0; i < 10000 && status == RP_OK; i++) {
        char name[RP_MEMBER_NAME];

        (void)rp_program_name(name, i);
        if (!rp_archive_find(archive, name))
            break;
        status = rp_archive_read_member(archive, name, (size_t)64 << 20, &text, err);
        if (status == RP_OK)
            status = rp_recorder_add_program(recorder, text.data, text.size, err);
    }
    rp_buffer_free(&text);
    return status;
}

rp_status rp_part_watch(rp_recorder **out, rp_driver *driver, const rp_archive *archive, rp_error *err)
{
    rp_status status = rp_recorder_attach(out, rp_driver_run(driver), false, err);

    if (status == RP_OK)
        status = rp_recorder_set_state_period(*out, rp_driver_state_period(driver), err);
    if (status == RP_OK)
        status = add_programs(*out, archive, err);
    if (status == RP_OK && rp_archive_salt(archive))
        status = rp_recorder_set_salt(*out, rp_archive_salt(archive), err);
    return status == RP_OK ? rp_recorder_expect(*out, archive, err) : status;
}

/* Where the journal commits to whole states, its record before a checkpoint must be of the checkpoint's. */
static rp_status compare_with_record(const worker *w, uint64_t steps, const char *member, rp_error *err)
{
    char expected[RP_DIGEST_HEX], found[RP_DIGEST_HEX];
    rp_digest digest;
    rp_record record;
    rp_status status;

    if (rp_driver_state_period(w->driver) != 1)
        return RP_OK;
    status = rp_journal_record(w->recorder->expected, steps - 1, &record, err);
    if (status != RP_OK)
        return status;
    status = rp_recorder_final_state(w->recorder, &digest, err);
    if (status != RP_OK || rp_digest_equal(&digest, &record.states))
        return status;
    rp_digest_hex(expected, &record.states);
    rp_digest_hex(found, &digest);
    (void)rp_fail(err, RP_EBITS, "%s: digest of the states: the journal's record %llu has %s, found %s", member,
                  (unsigned long long)steps - 1, expected, found);
    return rp_note_difference(err, (int64_t)steps - 1, member, "digest of the states", expected, found);
}

static rp_status go_to(worker *w, uint64_t steps, rp_error *err)
{
    char member[RP_MEMBER_NAME];
    rp_status status;

    if (steps == rp_run_steps(rp_driver_run(w->driver)))
        return RP_OK; /* fresh, or the segment before has just been replayed, and its end compared */
    status = rp_driver_restore_checkpoint(w->driver, steps, w->shared->part->archive, err);
    return status == RP_OK ? compare_with_record(w, steps, rp_checkpoint_name(member, steps), err) : status;
}

static rp_status compare_member(const rp_archive *archive, const rp_member *made, rp_error *err)
{
    const rp_member *expected = rp_archive_find(archive, made->name);
    char e[RP_DIGEST_HEX], f[RP_DIGEST_HEX];

    if (!expected)
        return rp_differs(err, -1, made->name, NULL, NULL, "present");
    if (rp_digest_equal(&made->digest, &expected->digest))
        return RP_OK;
    rp_digest_hex(e, &expected->digest);
    rp_digest_hex(f, &made->digest);
    return rp_differs(err, -1, made->name, "SHA-256", e, f);
}

/* The present states must be the set's, byte for byte. */
static rp_status compare_states(const rp_archive *archive, const char *set, const rp_run *run, bool all, rp_error *err)
{
    rp_archive_writer *writer;
    rp_status status = rp_archive_writer_digests(&writer, err);

    if (status != RP_OK)
        return status;
    status = rp_states_add(writer, set, run, all, err);
    for (size_t i = 0; status == RP_OK && i < rp_archive_writer_member_count(writer); i++)
        status = compare_member(archive, rp_archive_writer_member(writer, i), err);
    rp_archive_writer_free(writer);
    return status;
}

static rp_status compare_at(const worker *w, uint64_t steps, rp_error *err)
{
    const rp_part *part = w->shared->part;
    const rp_run *run = rp_driver_run(w->driver);
    const bool recipe = rp_driver_kind(w->driver) != RP_RUN_API;
    char member[RP_MEMBER_NAME];
    rp_status status = RP_OK;

    if (steps == 1 && recipe)
        status = compare_states(part->archive, RP_INIT_MEMBER, run, false, err);
    if (status == RP_OK && steps == part->segments.total) {
        status = rp_replay_final_state(w->driver, w->recorder, part->archive, err);
        if (status == RP_OK)
            status = compare_states(part->archive, RP_FINAL_MEMBER, run, !recipe, err);
    } else if (status == RP_OK && steps % part->segments.period == 0 && steps < part->segments.end) {
        status = compare_states(part->archive, rp_checkpoint_name(member, steps), run, true, err);
    }
    return status;
}

/* False when the caller wants no more. */
static bool tell(worker *w)
{
    shared *s = w->shared;
    const rp_job_options *options = s->part->options;
    bool go_on;

    (void)pthread_mutex_lock(&s->lock);
    s->done++;
    if (!s->canceled && options && options->progress &&
        !options->progress(options->self,
                           &(rp_progress){.step = s->done, .steps = s->part->steps, .loss = rp_driver_loss(w->driver)}))
        s->canceled = true;
    go_on = !s->canceled;
    (void)pthread_mutex_unlock(&s->lock);
    return go_on;
}

static rp_status replay_segment(worker *w, size_t segment, rp_error *err)
{
    const rp_part *part = w->shared->part;
    const uint64_t begin = rp_segment_begin(&part->segments, segment), whole = rp_segment_end(&part->segments, segment);
    const uint64_t end = whole < part->end ? whole : part->end;
    rp_status status = go_to(w, begin, err);

    for (uint64_t i = begin; i < end && status == RP_OK; i++) {
        status = rp_driver_step(w->driver, err);
        if (status == RP_OK)
            status = compare_at(w, i + 1, err);
        if (status == RP_OK && !tell(w))
            status = rp_fail(err, RP_ECANCELED, "interrupted at step %llu", (unsigned long long)i);
    }
    return status;
}

/* ---- several of them ---- */

static bool take(shared *s, size_t *index)
{
    bool any;

    (void)pthread_mutex_lock(&s->lock);
    any = s->next < s->part->n_chosen && s->failed_at == s->part->n_chosen && !s->canceled;
    *index = any ? s->next++ : 0;
    (void)pthread_mutex_unlock(&s->lock);
    return any;
}

/* Segments are taken in order and a taken one is brought to its end, so the first that differs is always found. */
static void *work(void *arg)
{
    worker *w = arg;
    shared *s = w->shared;
    size_t index;

    while (take(s, &index)) {
        rp_error error = {0};
        rp_status status = replay_segment(w, s->part->chosen[index], &error);

        if (status == RP_OK)
            continue;
        (void)pthread_mutex_lock(&s->lock);
        if (index < s->failed_at) {
            s->failed_at = index;
            s->status = status;
            s->error = error;
        }
        (void)pthread_mutex_unlock(&s->lock);
        break; /* a run whose observer failed is given up */
    }
    return NULL;
}

/* Metrics and predictions are of the final weights, whose moments no evaluation reads: the evaluations are made again
 * from them, and compared with the journal but for the digest of the states. */
static rp_status evaluate(worker *w, rp_error *err)
{
    const rp_archive *archive = w->shared->part->archive;
    rp_status status = rp_driver_restore_final(w->driver, archive, err);

    if (status == RP_OK)
        status = compare_states(archive, RP_FINAL_MEMBER, rp_driver_run(w->driver), false, err);
    rp_recorder_forget_states(w->recorder);
    while (status == RP_OK && rp_run_steps(rp_driver_run(w->driver)) < rp_driver_total(w->driver))
        status = rp_driver_step(w->driver, err);
    return status;
}

static rp_status start_workers(shared *s, worker *w, size_t count, rp_driver *driver, rp_error *err)
{
    const rp_job_options *options = s->part->options;
    const rp_run_options run = rp_job_run_options(options);
    rp_status status = RP_OK;

    for (size_t i = 0; i < count && status == RP_OK; i++) {
        w[i] = (worker){.shared = s, .driver = driver, .own = i > 0};
        if (i > 0)
            status = rp_driver_clone(&w[i].driver, driver, s->part->archive, &run, err);
        if (status == RP_OK)
            status = rp_part_watch(&w[i].recorder, w[i].driver, s->part->archive, err);
    }
    /* the first worker is the calling thread */
    for (size_t i = 1; i < count && status == RP_OK; i++) {
        w[i].running = pthread_create(&w[i].thread, NULL, work, &w[i]) == 0;
        if (!w[i].running)
            break; /* the others do its part */
    }
    return status;
}

/* Waits for the others; then says what the first segment that failed said, or lets the first worker end the work. */
static rp_status finish(shared *s, worker *w, size_t count, rp_error *err)
{
    for (size_t i = 1; i < count; i++)
        if (w[i].running)
            (void)pthread_join(w[i].thread, NULL);
    if (s->failed_at < s->part->n_chosen) {
        if (err)
            *err = s->error;
        return s->status;
    }
    if (rp_driver_kind(w->driver) != RP_RUN_API && rp_run_steps(rp_driver_run(w->driver)) != rp_driver_total(w->driver))
        return evaluate(w, err);
    return RP_OK;
}

rp_status rp_part_replay(const rp_part *part, rp_driver *driver, uint64_t *nanoseconds, rp_error *err)
{
    shared s = {.part = part, .failed_at = part->n_chosen};
    size_t count = part->parallel < part->n_chosen ? part->parallel : part->n_chosen;
    worker *w;
    rp_status status;

    if (count < 1)
        count = 1;
    if (count > PARALLEL_MAX)
        count = PARALLEL_MAX;
    w = rp_calloc(count, sizeof *w);
    if (!w || pthread_mutex_init(&s.lock, NULL) != 0) {
        rp_free(w);
        return rp_no_memory(err);
    }
    status = start_workers(&s, w, count, driver, err);
    if (status == RP_OK) {
        (void)work(&w[0]);
        status = finish(&s, w, count, err);
    }
    *nanoseconds = 0;
    for (size_t i = 0; i < count; i++) {
        *nanoseconds += w[i].recorder ? rp_recorder_nanoseconds(w[i].recorder) : 0;
        rp_recorder_free(w[i].recorder);
        if (w[i].own)
            rp_driver_free(w[i].driver);
    }
    (void)pthread_mutex_destroy(&s.lock);
    rp_free(w);
    return status;
}
