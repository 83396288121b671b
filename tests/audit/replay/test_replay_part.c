/* SPDX-License-Identifier: Apache-2.0
 * Replaying a part of a run: ranges, samples and several segments at a time; what a forged segment is caught by, and by
 * what not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/statements/statement.h"
#include "audit/drive/run_archive.h"
#include "audit/record/recorder_private.h"
#include "audit/replay/sample.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/rp.h"

static rp_error err;
static char folder[] = "/tmp/rp-replay-part-XXXXXX";

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static const char *path_of(const char *name)
{
    static char path[4][96];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put_file(const char *name, const char *text)
{
    OK(rp_file_save(path_of(name), text, strlen(text), true, 0644, &err));
}

static int setup(void **state)
{
    rp_buffer csv = {0};

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    rp_buffer_text(&csv, "x,colour,y\n");
    for (int i = 0; i < 32; i++)
        rp_buffer_printf(&csv, "%s%d.%d,%s,%s\n", i % 7 ? "" : "-", i % 11, i % 5, i % 3 ? "red" : "blue",
                         (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    rp_buffer_u8(&csv, 0);
    put_file("table.csv", (const char *)csv.data);
    rp_buffer_free(&csv);
    return 0;
}

static int teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* 24 training and 8 validation rows in batches of 7: 1 + 4 * 4 + 2 = 19 steps. */
enum { STEPS = 19 };

static rp_archive *run_recipe(const char *name, const char *record)
{
    char text[512];
    rp_archive *archive;
    rp_job *job;

    (void)snprintf(
        text, sizeof text,
        "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4}\nmodel: {hidden: [40], dropout: 0.25}\n"
        "train: {epochs: 4, batch: 7, schedule: {kind: cosine, warmup_steps: 2}}\nrecord: {%s}\n",
        record);
    put_file("recipe.yaml", text);
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of(name), NULL, true, NULL, &job, &err));
    assert_int_equal(job->steps, STEPS);
    rp_job_free(job);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

/* w of 2048 elements; a branch on a value that was read chooses between two programs with one and two feeds. */
static void api_step(rp_run *run, int i)
{
    const size_t shape[] = {2048};
    float x[2048], first;
    rp_tensor w, next;

    for (int k = 0; k < 2048; k++)
        x[k] = (float)((k + 3 * i) % 17 - 8) / 16;
    OK(rp_step_begin(run, &err));
    w = rp_state(run, "w");
    next = rp_add(rp_tanh(w), rp_feed(run, "x", RP_F32, 1, shape, x));
    OK(rp_read(run, rp_sum(next, NULL, 0, false), &first, sizeof first, &err));
    if (i % 3 == 1)
        next = rp_mul(next, rp_feed(run, "scale", RP_F32, 0, NULL, &x[i]));
    rp_set_state(run, "w", next);
    OK(rp_step_end(run, &err));
}

static rp_archive *run_api(const char *name, uint64_t period, uint64_t rolling, int steps)
{
    const rp_run_options options = {.threads = 2};
    const size_t shape[] = {2048};
    rp_run *run;
    rp_recorder *recorder;
    rp_archive *archive;

    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, NULL, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    OK(rp_recorder_set_state_period(recorder, rolling, &err));
    OK(rp_recorder_set_checkpoint_period(recorder, period, &err));
    for (int i = 0; i < steps; i++)
        api_step(run, i);
    OK(rp_recorder_save(recorder, path_of(name), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

static rp_status part(const rp_archive *archive, const rp_replay_choice *choice, unsigned threads, rp_job **job)
{
    return rp_replay(archive, &(rp_job_options){.threads = threads, .choice = choice}, job, &err);
}

static void range_is_fine(const rp_archive *archive, uint64_t first, uint64_t last, uint64_t period, uint64_t total)
{
    const rp_replay_choice choice = {.mode = RP_REPLAY_RANGE, .first = first, .last = last};
    const uint64_t from = first / period * period;
    rp_job *job;

    OK(part(archive, &choice, 1, &job));
    assert_int_equal(job->scope.mode, RP_REPLAY_RANGE);
    assert_int_equal(job->scope.first, from);
    assert_int_equal(job->scope.last, last);
    assert_int_equal(job->scope.steps, last - from + 1);
    assert_int_equal(job->steps, job->scope.steps);
    assert_int_equal(job->scope.steps_total, total);
    assert_int_equal(job->scope.segments_total, (total - 1) / period + 1);
    assert_int_equal(job->scope.segments,
                     (last + 1 == total ? (total - 1) / period + 1 : (last + 1) / period) - from / period);
    rp_job_free(job);
}

static void ranges_begin_at_the_checkpoint_before(void **state)
{
    static const char *const record[] = {"checkpoint_every: 4", "checkpoint_every: 4, state_period: 3",
                                         "checkpoint_every: 9", "checkpoint_every: 18", "state_period: 2"};
    static const uint64_t period[] = {4, 4, 9, 18, STEPS};

    (void)state;
    for (size_t k = 0; k < sizeof period / sizeof *period; k++) {
        rp_archive *archive = run_recipe("ranges", record[k]);

        for (uint64_t first = 0; first < STEPS; first += k < 2 ? 1 : 3)
            for (uint64_t last = first; last < STEPS; last += k < 2 ? 2 : 5)
                range_is_fine(archive, first, last, period[k], STEPS);
        rp_archive_close(archive);
    }
}

static void ranges_of_an_api_run(void **state)
{
    (void)state;
    for (uint64_t rolling = 1; rolling <= 2; rolling++) {
        rp_archive *archive = run_api("api", 3, rolling, 11);

        for (uint64_t first = 0; first < 11; first++)
            for (uint64_t last = first; last < 11; last += 2)
                range_is_fine(archive, first, last, 3, 11);
        rp_archive_close(archive);
    }
}

/* ---- samples ---- */

/* Computed apart from the library, by the Python text of docs/replay.md. */
static void draw_is_the_documented_one(void **state)
{
    static const char id[] = "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5";
    static const size_t expected[] = {59, 106, 211, 231, 611, 716, 808, 926, 930, 953, 988, 998};
    size_t out[sizeof expected / sizeof *expected], again[1000], count = sizeof expected / sizeof *expected;

    (void)state;
    OK(rp_sample_draw(out, count, 1000, "audit 17 of 2026", id, &err));
    assert_memory_equal(out, expected, sizeof expected);
    OK(rp_sample_draw(again, 1000, 1000, "audit 17 of 2026", id, &err));
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(again[i], i); /* without replacement */
    OK(rp_sample_draw(again, count, 1000, "audit 18 of 2026", id, &err));
    assert_memory_not_equal(out, again, sizeof expected);
}

static void shares_are_rounded_up_to_whole_segments(void **state)
{
    (void)state;
    assert_int_equal(rp_sample_count(100, 50000), 5);
    assert_int_equal(rp_sample_count(100, 70000), 7); /* where 0.07 * 100 in binary64 is above 7 */
    assert_int_equal(rp_sample_count(100, 50001), 6);
    assert_int_equal(rp_sample_count(1, 1), 1);
    assert_int_equal(rp_sample_count(65536, 1000000), 65536);
}

static void chances_are_those_of_drawing_without_replacement(void **state)
{
    (void)state;
    assert_true(rp_sample_catches(20, 1, 1) == 1 - 19.0 / 20);
    assert_true(rp_sample_catches(10, 10, 1) == 1);
    assert_true(rp_sample_catches(10, 0, 5) == 0);
    assert_true(rp_sample_catches(10, 5, 0) == 0);
    assert_true(rp_sample_catches(10, 5, 6) == 1);
    /* C(8, 3) / C(10, 3) = 56 / 120 */
    assert_float_equal(rp_sample_catches(10, 3, 2), 1 - 56.0 / 120, 1e-12);
    assert_float_equal(rp_sample_catches(100, 5, 10), 1 - 0.58375236, 1e-8);
}

static void sample_replays_what_was_drawn(void **state)
{
    rp_archive *archive = run_recipe("sampled", "checkpoint_every: 2");
    static const uint32_t shares[] = {1, 200000, 500000, 1000000};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (unsigned parallel = 0; parallel <= 3; parallel += 3) {
            const rp_replay_choice choice = {
                .mode = RP_REPLAY_SAMPLE, .share = shares[i], .seed = "a b", .parallel = parallel};
            const size_t count = rp_sample_count(10, shares[i]);
            size_t drawn[10];
            uint64_t steps = 0;
            rp_replay_begun begun;
            rp_job *job;

            OK(rp_sample_draw(drawn, count, 10, "a b", rp_archive_id(archive), &err));
            for (size_t k = 0; k < count; k++)
                steps += drawn[k] == 9 ? 1 : 2;
            OK(rp_replay(archive, &(rp_job_options){.threads = 1, .choice = &choice, .begun = &begun}, &job, &err));
            assert_int_equal(job->scope.mode, RP_REPLAY_SAMPLE);
            assert_int_equal(job->scope.segments, count);
            assert_int_equal(job->scope.segments_total, 10);
            assert_int_equal(job->scope.steps, steps);
            assert_int_equal(job->scope.first, 2 * drawn[0]);
            assert_string_equal(job->scope.seed, "a b");
            assert_memory_equal(&begun.scope, &job->scope, sizeof begun.scope);
            assert_non_null(strstr(job->metrics, "validation"));
            rp_job_free(job);
        }
    rp_archive_close(archive);
}

static void choices_that_the_run_does_not_have_are_refused(void **state)
{
    static const rp_replay_choice bad[] = {
        {.mode = RP_REPLAY_RANGE, .first = 3, .last = 2},
        {.mode = RP_REPLAY_RANGE, .first = 0, .last = STEPS},
        {.mode = RP_REPLAY_RANGE, .first = UINT64_MAX, .last = UINT64_MAX},
        {.mode = RP_REPLAY_SAMPLE, .share = 0, .seed = "x"},
        {.mode = RP_REPLAY_SAMPLE, .share = 1000001, .seed = "x"},
        {.mode = RP_REPLAY_SAMPLE, .share = 1000, .seed = NULL},
        {.mode = RP_REPLAY_SAMPLE, .share = 1000, .seed = ""},
        {.mode = RP_REPLAY_SAMPLE, .share = 1000, .seed = " x"},
        {.mode = RP_REPLAY_SAMPLE, .share = 1000, .seed = "x\n"},
    };
    rp_archive *archive = run_recipe("bad", "checkpoint_every: 4");
    rp_job *job;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(part(archive, &bad[i], 1, &job), RP_EARG);
        assert_null(job);
    }
    rp_archive_close(archive);
}

static bool stop_at_three(void *self, const rp_progress *progress)
{
    (void)self;
    return progress->step < 3;
}

static void replay_of_a_part_can_be_stopped(void **state)
{
    const rp_replay_choice choice = {.mode = RP_REPLAY_FULL, .parallel = 3};
    rp_archive *archive = run_recipe("stopped", "checkpoint_every: 2");
    rp_job *job;

    (void)state;
    assert_int_equal(
        rp_replay(archive, &(rp_job_options){.threads = 1, .choice = &choice, .progress = stop_at_three}, &job, &err),
        RP_ECANCELED);
    assert_null(job);
    rp_archive_close(archive);
}

/* ---- forgeries: archives whose every hash and signature is right ---- */

static void save(rp_archive_writer *writer, const char *name, const rp_key *key)
{
    rp_file_writer *file;

    if (key) {
        rp_json *predicate = rp_json_object();

        OK(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, "https://slsa.dev/provenance/v1", predicate, &err));
        rp_json_free(predicate);
    }
    OK(rp_file_create(&file, path_of(name), true, 0644, &err));
    OK(rp_archive_writer_save(writer, file, &err));
    OK(rp_file_commit(file, &err));
    rp_archive_writer_free(writer);
}

/* One member's last byte flipped; with flip 0 the member is left out. */
static rp_archive *forge_member(const rp_archive *from, const char *member, unsigned char flip)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer body = {0};

    OK(rp_archive_writer_new(&writer, folder, &err));
    for (size_t i = 1; i < rp_archive_member_count(from); i++) {
        const rp_member *m = rp_archive_member(from, i);
        const bool forged = strcmp(m->name, member) == 0;

        OK(rp_archive_read_member(from, m->name, SIZE_MAX / 2, &body, &err));
        if (forged)
            body.data[body.size - 1] ^= flip;
        if (!forged || flip)
            OK(rp_archive_writer_add(writer, m->name, body.data, body.size, &err));
    }
    rp_buffer_free(&body);
    OK(rp_archive_writer_finish(writer, rp_archive_manifest(from)->kind, rp_archive_manifest(from)->run, &err));
    save(writer, "forged", NULL);
    OK(rp_archive_open(&archive, path_of("forged"), &err));
    return archive;
}

static void range_says(const rp_archive *archive, uint64_t first, uint64_t last, rp_status expected, const char *says)
{
    const rp_replay_choice choice = {.mode = RP_REPLAY_RANGE, .first = first, .last = last};
    rp_job *job;
    rp_status status;

    err.text[0] = '\0';
    status = part(archive, &choice, 1, &job);
    if (status != expected || (says && !strstr(err.text, says)))
        fail_msg("steps %d to %d: found %s \"%s\", expected %s \"%s\"", (int)first, (int)last, rp_status_name(status),
                 err.text, rp_status_name(expected), says ? says : "");
    rp_job_free(job);
}

static void false_members_are_named(void **state)
{
    static const char eighth[] = "checkpoints/000000000008.safetensors";
    rp_archive *honest = run_recipe("honest", "checkpoint_every: 4"), *forged;

    (void)state;
    /* a checkpoint alone: it is not what the journal's record says, nor what its segment leads to */
    forged = forge_member(honest, eighth, 1);
    range_says(forged, 8, 11, RP_EBITS,
               "checkpoints/000000000008.safetensors: digest of the states: the journal's record 7");
    range_says(forged, 4, 7, RP_EBITS, "checkpoints/000000000008.safetensors: SHA-256: recorded");
    range_says(forged, 0, 3, RP_OK, NULL);
    range_says(forged, 12, 15, RP_OK, NULL);
    rp_archive_close(forged);
    /* left out; one that should not be there */
    forged = forge_member(honest, eighth, 0);
    range_says(forged, 0, 3, RP_EFORMAT, "checkpoints/: 3 members");
    rp_archive_close(forged);
    /* what follows from the final weights is seen whatever was chosen */
    forged = forge_member(honest, "outputs/metrics.json", 0);
    range_says(forged, 0, 3, RP_EBITS, "outputs/metrics.json: made by the replay, but not in the archive");
    rp_archive_close(forged);
    forged = forge_member(honest, "outputs/predictions.csv", 1);
    range_says(forged, 0, 3, RP_EBITS, "outputs/predictions.csv: SHA-256: recorded");
    rp_archive_close(forged);
    forged = forge_member(honest, "weights/final.safetensors", 0x40);
    range_says(forged, 0, 3, RP_EBITS, "step 17: ");
    range_says(forged, 16, 18, RP_EBITS, "weights/final.safetensors: SHA-256: recorded");
    rp_archive_close(forged);
    forged = forge_member(honest, "weights/init.safetensors", 1);
    range_says(forged, 0, 0, RP_EBITS, "weights/init.safetensors: SHA-256: recorded");
    range_says(forged, 4, 7, RP_OK, NULL);
    rp_archive_close(forged);
    forged = forge_member(honest, "data/prepared.json", 0);
    range_says(forged, 4, 7, RP_EBITS, "data/prepared.json");
    rp_archive_close(forged);
    /* the journal has its root in the manifest */
    forged = forge_member(honest, "run/journal.bin", 1);
    range_says(forged, 4, 7, RP_EBITS, "run.journal_root");
    rp_archive_close(forged);
    rp_archive_close(honest);
}

static const rp_device_tensor *state_named(const rp_run *run, const char *name)
{
    size_t n;
    const rp_device_tensor *list = rp_run_states(run, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    fail_msg("no state %s", name);
    return NULL;
}

/* The run goes its way honestly to step `at`, after which a weight is made a little larger; journal and checkpoint say
 * so, and everything behind it is honestly computed from there. Hashes, journal root and signature are right: only that
 * the forged step leads from the state before to the state after is a lie. */
static rp_archive *forge_step(const rp_archive *honest, const char *name, uint64_t at, const char *what,
                              const rp_key *key)
{
    rp_driver *driver;
    rp_recorder *recorder;
    rp_archive_writer *writer;
    rp_archive *archive;

    OK(rp_driver_from_archive(&driver, honest, &(rp_run_options){.threads = 1}, &err));
    OK(rp_archive_writer_new(&writer, folder, &err));
    OK(rp_recorder_attach(&recorder, rp_driver_run(driver), false, &err));
    OK(rp_recorder_set_state_period(recorder, rp_driver_state_period(driver), &err));
    OK(rp_recorder_checkpoints_into(recorder, rp_driver_checkpoint_period(driver), rp_driver_total(driver), writer,
                                    &err));
    for (uint64_t i = 0; i < rp_driver_total(driver); i++) {
        OK(rp_driver_step(driver, &err));
        if (i == 0)
            OK(rp_driver_add_init(driver, writer, &err));
        if (i + 2 == at)
            recorder->checkpoint_period = 0; /* the honest one is not kept */
        if (i + 1 == at) {
            const rp_device_tensor *w = state_named(rp_driver_run(driver), what);
            size_t n;
            const rp_device_tensor *all = rp_run_states(rp_driver_run(driver), &n);
            rp_digest states;

            ((float *)w->memory)[0] += 0.25f;
            if (recorder->rolling)
                OK(rp_rolling_digest(&states, recorder->rolling, all, i, NULL, NULL, &err));
            else
                OK(rp_device_tensors_digest(&states, all, n, NULL, &err));
            memcpy(recorder->journal.tail.data + i * RP_RECORD_SIZE + 80, states.bytes, sizeof states.bytes);
            recorder->checkpoint_period = rp_driver_checkpoint_period(driver);
            OK(rp_recorder_checkpoint(recorder, i + 1, &err));
        }
    }
    OK(rp_compose_archive(driver, recorder, writer, &err));
    save(writer, name, key);
    rp_recorder_free(recorder);
    rp_driver_free(driver);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

/* Segments of 3 steps; the lie is in one of them. */
static void forged_segment_is_caught_by_its_own_replay_alone(const char *record, uint64_t at, const char *what,
                                                             const char *says)
{
    rp_archive *honest = run_recipe("honest", record), *forged;
    rp_verification *result;
    rp_key *key;

    OK(rp_key_generate(&key, &err));
    forged = forge_step(honest, "lie", at, what, key);
    OK(rp_verify(path_of("lie"), (const rp_key *const *)&key, 1, NULL, &result, NULL, &err));
    rp_verification_free(result);
    for (uint64_t first = 0; first < STEPS; first += 3) {
        const uint64_t last = first + 3 < STEPS ? first + 2 : STEPS - 1;
        const bool caught = at - 1 >= first && at - 1 <= last;

        range_says(forged, first, last, caught ? RP_EBITS : RP_OK, caught ? says : NULL);
    }
    assert_int_equal(rp_replay(forged, NULL, &(rp_job *){NULL}, &err), RP_EBITS);
    rp_key_free(key);
    rp_archive_close(forged);
    rp_archive_close(honest);
}

static void forged_segments(void **state)
{
    (void)state;
    /* at the checkpoint, and within a segment; a weight, and a moment that only the optimizer sees */
    forged_segment_is_caught_by_its_own_replay_alone("checkpoint_every: 3", 9, "layer0.weight",
                                                     "step 8: digest of the state");
    forged_segment_is_caught_by_its_own_replay_alone("checkpoint_every: 3", 8, "layer0.weight",
                                                     "step 7: digest of the state");
    forged_segment_is_caught_by_its_own_replay_alone("checkpoint_every: 3", 12, "optim.v.layer1.bias",
                                                     "step 11: digest of the state");
    /* a rolling digest may not look at the forged leaf: the checkpoint's bytes are compared in any case */
    forged_segment_is_caught_by_its_own_replay_alone("checkpoint_every: 3, state_period: 7", 9, "layer0.weight", NULL);
}

/* The first difference is the same one however many work on it. */
static void many_at_a_time_find_the_same_first_difference(void **state)
{
    rp_archive *honest = run_recipe("honest", "checkpoint_every: 2"), *once, *more;

    (void)state;
    once = forge_step(honest, "once", 14, "layer1.weight", NULL);
    more = forge_member(once, "checkpoints/000000000016.safetensors", 1);
    for (unsigned parallel = 2; parallel <= 7; parallel++) {
        const rp_replay_choice all = {.mode = RP_REPLAY_FULL, .parallel = parallel};
        rp_job *job;

        assert_int_equal(part(once, &all, 1, &job), RP_EBITS);
        assert_non_null(strstr(err.text, "step 13: digest of the state"));
        assert_int_equal(part(more, &all, 1, &job), RP_EBITS);
        assert_non_null(strstr(err.text, "step 13: digest of the state"));
        OK(part(honest, &all, 1, &job));
        assert_int_equal(job->scope.steps, STEPS);
        assert_int_equal(job->scope.segments, 10);
        rp_job_free(job);
    }
    rp_archive_close(more);
    rp_archive_close(once);
    rp_archive_close(honest);
}

/* The archive with a member or a key of the manifest's run object that no run leaves. */
static rp_archive *add_to(const rp_archive *from, const char *member, const char *key)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer body = {0};
    rp_json *run = rp_json_deep_copy(rp_archive_manifest(from)->run);

    OK(rp_archive_writer_new(&writer, folder, &err));
    for (size_t i = 1; i < rp_archive_member_count(from); i++) {
        OK(rp_archive_read_member(from, rp_archive_member(from, i)->name, SIZE_MAX / 2, &body, &err));
        OK(rp_archive_writer_add(writer, rp_archive_member(from, i)->name, body.data, body.size, &err));
    }
    if (member)
        OK(rp_archive_writer_add(writer, member, "{}", 2, &err));
    if (key)
        assert_int_equal(rp_json_object_set_new(run, key,
                                                strcmp(key, "parent")
                                                    ? rp_json_string("abc")
                                                    : rp_json_pack("{s:s}", "archive_id", rp_archive_id(from))),
                         0);
    OK(rp_archive_writer_finish(writer, rp_archive_manifest(from)->kind, run, &err));
    save(writer, "more", NULL);
    OK(rp_archive_open(&archive, path_of("more"), &err));
    rp_buffer_free(&body);
    rp_json_free(run);
    return archive;
}

static void what_no_run_makes_is_refused_by_every_replay(void **state)
{
    static const char *const members[] = {"outputs/fairness.json", "run/programs/0099.json", "run/programs/notes.json",
                                          "weights/other.safetensors", "data/more.csv"};
    static const char *const keys[] = {"approved_by", "final_state", "parent"};
    const rp_replay_choice all = {.mode = RP_REPLAY_FULL}, parallel = {.mode = RP_REPLAY_FULL, .parallel = 2},
                           range = {.mode = RP_REPLAY_RANGE, .first = 0, .last = 1},
                           sample = {.mode = RP_REPLAY_SAMPLE, .share = 1000000, .seed = "x"};
    const rp_replay_choice *const choices[] = {&all, &parallel, &range, &sample};
    rp_archive *recipe = run_recipe("honest", "checkpoint_every: 4"), *api = run_api("api", 3, 1, 11);
    rp_job *job;

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof members / sizeof *members + sizeof keys / sizeof *keys); i++) {
        const size_t k = i / 2, count = sizeof members / sizeof *members;
        const char *member = k < count ? members[k] : NULL, *key = k < count ? NULL : keys[k - count];
        rp_archive *lie;

        lie = add_to(i % 2 ? api : recipe, member, key);
        for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
            if (part(lie, choices[c], 1, &job) == RP_OK)
                fail_msg("%s %s: choice %zu found every bit the same", member ? "member" : "key", member ? member : key,
                         c);
            if (!strstr(err.text, member ? member : c ? key : "manifest.json"))
                fail_msg("%s is not named: %s", member ? member : key, err.text);
        }
        rp_archive_close(lie);
    }
    rp_archive_close(api);
    rp_archive_close(recipe);
}

/* Feeds behind the last one, which a full replay would not make again. */
static void feeds_that_no_step_takes_are_refused(void **state)
{
    const rp_replay_choice sample = {.mode = RP_REPLAY_SAMPLE, .share = 1000000, .seed = "x"};
    rp_archive *honest = run_api("api", 3, 1, 11), *lie;
    rp_archive_writer *writer;
    rp_buffer body = {0};
    rp_job *job;

    (void)state;
    OK(rp_archive_writer_new(&writer, folder, &err));
    for (size_t i = 1; i < rp_archive_member_count(honest); i++) {
        const char *name = rp_archive_member(honest, i)->name;

        OK(rp_archive_read_member(honest, name, SIZE_MAX / 2, &body, &err));
        if (strcmp(name, "data/feeds.bin") == 0) {
            unsigned char first[32];

            memcpy(first, body.data, sizeof first);
            rp_buffer_append(&body, first, sizeof first);
        }
        OK(rp_archive_writer_add(writer, name, body.data, body.size, &err));
    }
    OK(rp_archive_writer_finish(writer, RP_RUN_API, rp_archive_manifest(honest)->run, &err));
    save(writer, "feeds", NULL);
    OK(rp_archive_open(&lie, path_of("feeds"), &err));
    assert_int_equal(part(lie, &sample, 1, &job), RP_EBITS);
    assert_non_null(strstr(err.text, "data/feeds.bin"));
    rp_archive_close(lie);
    rp_archive_close(honest);
    rp_buffer_free(&body);
}

/* Whichever of them takes the last segment, the final states are those of the run's end, and false ones are seen. */
static void many_at_a_time_over_a_run_of_the_api(void **state)
{
    rp_archive *honest = run_api("api-many", 10, 1, 75), *forged = forge_member(honest, "weights/final.safetensors", 1);

    (void)state;
    for (unsigned parallel = 2; parallel <= 4; parallel++)
        for (int again = 0; again < 12; again++) {
            const rp_replay_choice all = {.mode = RP_REPLAY_FULL, .parallel = parallel};
            rp_job *job;

            if (part(honest, &all, 1, &job) != RP_OK)
                fail_msg("%u at a time: %s", parallel, err.text);
            assert_int_equal(job->scope.segments, 8);
            rp_job_free(job);
            assert_int_equal(part(forged, &all, 1, &job), RP_EBITS);
            assert_non_null(strstr(err.text, "weights/final.safetensors"));
        }
    rp_archive_close(forged);
    rp_archive_close(honest);
}

static void samples_that_hold_the_lie_catch_it(void **state)
{
    rp_archive *honest = run_recipe("honest", "checkpoint_every: 2"),
               *forged = forge_step(honest, "lie", 10, "layer0.bias", NULL);
    size_t caught = 0, expected = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        char seed[16];
        const rp_replay_choice choice = {.mode = RP_REPLAY_SAMPLE, .share = 300000, .seed = seed};
        size_t drawn[3];
        rp_job *job;
        rp_status status;

        (void)snprintf(seed, sizeof seed, "seed %d", i);
        OK(rp_sample_draw(drawn, 3, 10, seed, rp_archive_id(forged), &err));
        expected += drawn[0] == 4 || drawn[1] == 4 || drawn[2] == 4;
        status = part(forged, &choice, 1, &job);
        caught += status == RP_EBITS;
        assert_true(status == RP_EBITS || status == RP_OK);
        rp_job_free(job);
    }
    assert_int_equal(caught, expected);
    assert_in_range(caught, 1, 19);
    rp_archive_close(forged);
    rp_archive_close(honest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_begin_at_the_checkpoint_before),
        cmocka_unit_test(ranges_of_an_api_run),
        cmocka_unit_test(draw_is_the_documented_one),
        cmocka_unit_test(shares_are_rounded_up_to_whole_segments),
        cmocka_unit_test(chances_are_those_of_drawing_without_replacement),
        cmocka_unit_test(sample_replays_what_was_drawn),
        cmocka_unit_test(choices_that_the_run_does_not_have_are_refused),
        cmocka_unit_test(replay_of_a_part_can_be_stopped),
        cmocka_unit_test(false_members_are_named),
        cmocka_unit_test(forged_segments),
        cmocka_unit_test(many_at_a_time_find_the_same_first_difference),
        cmocka_unit_test(feeds_that_no_step_takes_are_refused),
        cmocka_unit_test(what_no_run_makes_is_refused_by_every_replay),
        cmocka_unit_test(many_at_a_time_over_a_run_of_the_api),
        cmocka_unit_test(samples_that_hold_the_lie_catch_it),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
