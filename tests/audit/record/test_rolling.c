/* SPDX-License-Identifier: Apache-2.0
 * Rolling state digests: the bytes FORMAT.md 10 says, a forged leaf found within a period and by nothing else, replay
 * and diff of runs so recorded, and what the last steps leave open bound by the manifest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/archive.h"
#include "audit/record/recorder.h"
#include "audit/record/rolling.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/rp.h"

static rp_error err;
static char folder[] = "/tmp/rp-rolling-XXXXXX";

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

/* ---- the bytes ---- */

enum { STATES = 5 };
static const size_t state_count[STATES] = {5000, 0, 256, 1024, 257};
static const char *const state_name[STATES] = {"b", "zero", "a", "big", "c"};

static void states_make(rp_device_tensor named[STATES])
{
    for (int i = 0; i < STATES; i++) {
        float *x = calloc(state_count[i] + 1, sizeof *x);

        for (size_t k = 0; k < state_count[i]; k++)
            x[k] = (float)(k * 17 % 101) - (float)i;
        named[i] = (rp_device_tensor){state_name[i], {.dtype = RP_F32, .rank = 1, .shape = {state_count[i]}}, NULL, x};
    }
}

static void states_drop(rp_device_tensor named[STATES])
{
    for (int i = 0; i < STATES; i++)
        free(named[i].memory);
}

/* FORMAT.md 10 as it reads. Names in ascending order are a, b, big, c, zero. */
static rp_digest expected(const rp_device_tensor *named, uint32_t period, uint64_t step)
{
    static const int order[STATES] = {2, 0, 3, 4, 1};
    uint32_t phase = (uint32_t)(step % period);
    uint64_t number = 0;
    rp_buffer text = {0};
    rp_digest out;

    rp_buffer_u8(&text, 4);
    rp_buffer_u32(&text, period);
    rp_buffer_u32(&text, phase);
    rp_buffer_u32(&text, STATES);
    for (int k = 0; k < STATES; k++) {
        const rp_device_tensor *s = &named[order[k]];
        size_t bytes = 4 * state_count[order[k]];

        rp_buffer_u16(&text, (uint16_t)strlen(s->name));
        rp_buffer_text(&text, s->name);
        rp_buffer_u8(&text, RP_F32);
        rp_buffer_u8(&text, 1);
        rp_buffer_u64(&text, state_count[order[k]]);
        for (size_t at = 0; at < bytes; at += 4096) {
            unsigned char leaf[4097] = {0};
            size_t part = bytes - at < 4096 ? bytes - at : 4096;
            rp_digest digest;

            memcpy(leaf + 1, (const char *)s->memory + at, part);
            OK(rp_sha256(&digest, leaf, 1 + part, &err));
            if (bytes <= 1024 || number++ % period == phase)
                rp_buffer_append(&text, digest.bytes, sizeof digest.bytes);
        }
    }
    OK(rp_buffer_status(&text, &err));
    OK(rp_sha256(&out, text.data, text.size, &err));
    rp_buffer_free(&text);
    return out;
}

static void digest_is_what_the_format_says_on_any_threads(void **state)
{
    static const uint32_t periods[] = {2, 3, 5, 16, 65536};
    static const unsigned threads[] = {1, 2, 3, 7};
    rp_device_tensor named[STATES];

    (void)state;
    states_make(named);
    for (size_t p = 0; p < sizeof periods / sizeof *periods; p++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            rp_rolling *rolling;
            rp_pool *pool;

            OK(rp_pool_new(&pool, threads[t], NULL, &err));
            OK(rp_rolling_new(&rolling, named, STATES, periods[p], &err));
            for (uint64_t step = 0; step < 20; step++) {
                rp_digest found, right = expected(named, periods[p], step);

                OK(rp_rolling_digest(&found, rolling, named, step, pool, NULL, &err));
                assert_memory_equal(&found, &right, sizeof found);
            }
            rp_rolling_free(rolling);
            rp_pool_free(pool);
        }
    states_drop(named);
}

/* Every leaf of a large state and every small one: changed for good, it is seen at its turn and at no other. */
static void forged_leaf_is_found_within_a_period_and_a_small_state_at_once(void **state)
{
    enum { PERIOD = 4 };
    rp_device_tensor named[STATES];
    rp_rolling *rolling;

    (void)state;
    states_make(named);
    OK(rp_rolling_new(&rolling, named, STATES, PERIOD, &err));
    for (int i = 0; i < STATES; i++)
        for (size_t k = 0; k < state_count[i]; k += 97) {
            float *x = (float *)named[i].memory + k, honest = *x;
            int seen = 0;

            for (uint64_t step = 8; step < 8 + PERIOD; step++) {
                rp_digest before, after;

                *x = honest;
                OK(rp_rolling_digest(&before, rolling, named, step, NULL, NULL, &err));
                *x = honest + 1;
                OK(rp_rolling_digest(&after, rolling, named, step, NULL, NULL, &err));
                seen += !rp_digest_equal(&before, &after);
            }
            *x = honest;
            assert_int_equal(seen, 4 * state_count[i] <= 1024 ? PERIOD : 1);
        }
    rp_rolling_free(rolling);
    states_drop(named);
}

static void impossible_periods_are_refused(void **state)
{
    rp_device_tensor named[STATES];
    rp_rolling *rolling;

    (void)state;
    states_make(named);
    assert_int_equal(rp_rolling_new(&rolling, named, STATES, 0, &err), RP_EARG);
    assert_int_equal(rp_rolling_new(&rolling, named, STATES, 1, &err), RP_EARG);
    assert_int_equal(rp_rolling_new(&rolling, named, STATES, 65537, &err), RP_EARG);
    assert_null(rolling);
    states_drop(named);
}

/* ---- runs ---- */

enum { COUNT = 8192, LEAVES = COUNT / 1024 }; /* 32 KiB: eight leaves */

typedef struct recorded {
    rp_run *run;
    rp_recorder *recorder;
} recorded;

/* w, whose element `forged` (when not negative) starts otherwise; w <- 2 w, so that what differs stays in its leaf. */
static recorded open_run(uint64_t period, int forged)
{
    const rp_run_options options = {.threads = 1};
    const size_t shape[] = {COUNT};
    float *w = calloc(COUNT, sizeof *w);
    recorded r;

    for (int i = 0; i < COUNT; i++)
        w[i] = (float)(i % 13) + (i == forged ? 0.5f : 0);
    OK(rp_run_new(&r.run, &options, &err));
    OK(rp_run_add_state(r.run, "w", RP_F32, 1, shape, w, &err));
    OK(rp_recorder_new(&r.recorder, r.run, &err));
    OK(rp_recorder_set_state_period(r.recorder, period, &err));
    free(w);
    return r;
}

static rp_status step_run(recorded *r)
{
    rp_tensor w;

    OK(rp_step_begin(r->run, &err));
    w = rp_state(r->run, "w");
    rp_set_state(r->run, "w", rp_add(w, w));
    return rp_step_end(r->run, &err);
}

static void close_run(recorded *r)
{
    rp_recorder_free(r->recorder);
    rp_run_free(r->run);
}

static char *path_of(const char *name)
{
    static char path[4][96];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static rp_archive *record(const char *name, uint64_t period, int forged, int steps)
{
    recorded r = open_run(period, forged);
    rp_archive *archive;

    for (int i = 0; i < steps; i++)
        OK(step_run(&r));
    OK(rp_recorder_save(r.recorder, path_of(name), NULL, true, NULL, &err));
    close_run(&r);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

static void replay_of_a_rolling_run_reproduces_it(void **state)
{
    static const uint64_t periods[] = {2, 4, 5, 100};

    (void)state;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        rp_archive *archive = record("a", periods[i], -1, 6);
        rp_job *job;

        OK(rp_replay(archive, NULL, &job, &err));
        assert_int_equal(job->steps, 6);
        rp_job_free(job);
        rp_archive_close(archive);
    }
}

static void replay_stops_within_a_period_of_a_forged_leaf(void **state)
{
    enum { PERIOD = 4 };
    rp_archive *archive = record("a", PERIOD, -1, 2 * PERIOD);

    (void)state;
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        recorded r = open_run(PERIOD, leaf * 1024 + 7);
        int step = 0;

        OK(rp_recorder_expect(r.recorder, archive, &err));
        while (step < PERIOD && step_run(&r) == RP_OK)
            step++;
        assert_int_equal(step, leaf % PERIOD);
        assert_int_equal(err.status, RP_EBITS);
        close_run(&r);
    }
    rp_archive_close(archive);
}

/* One step with a period so long that the journal looks at the first leaf only. */
static void what_no_record_looks_at_is_bound_by_the_final_state_and_found_by_diff(void **state)
{
    rp_archive *a = record("a", 1000, -1, 1), *b = record("b", 1000, 5000, 1);
    char *text;
    bool same;

    (void)state;
    OK(rp_diff(a, b, NULL, &same, &text, &err));
    assert_false(same);
    assert_non_null(strstr(text, "nothing that can be compared differs in 1 common records"));
    assert_non_null(strstr(text, "step      0 is the first that differs when both are computed again"));
    assert_non_null(strstr(text, "element   [5000]: "));
    rp_text_free(text);
    rp_archive_close(b);
    rp_archive_close(a);
}

static void diff_finds_the_step_although_digests_see_it_later(void **state)
{
    rp_archive *a = record("a", 8, -1, 8), *b = record("b", 8, 3 * 1024, 8);
    char *text;
    bool same;

    (void)state;
    OK(rp_diff(a, b, NULL, &same, &text, &err));
    assert_non_null(strstr(text, "record 3 is the first that differs (its state)"));
    assert_non_null(strstr(text, "step      0 is the first that differs when both are computed again"));
    assert_non_null(strstr(text, "element   [3072]: "));
    rp_text_free(text);
    rp_archive_close(b);
    rp_archive_close(a);
}

static void diff_of_a_rolling_and_a_whole_record_compares_what_was_computed(void **state)
{
    rp_archive *a = record("a", 1, -1, 5), *b = record("b", 4, -1, 5);
    char *text;
    bool same;

    (void)state;
    OK(rp_diff(a, b, NULL, &same, &text, &err));
    assert_false(same);
    assert_non_null(strstr(text, "A whole, period 1; B rolling, period 4"));
    assert_non_null(strstr(text, "both compute the same states"));
    rp_text_free(text);
    rp_archive_close(b);
    rp_archive_close(a);
}

/* The archive again, consistent in its hashes, with another value for a key of the manifest's run object (NULL: without
 * the key). */
static void forge_run_key(const rp_archive *from, const char *to, const char *key, rp_json *value)
{
    rp_json *run = rp_json_deep_copy(rp_archive_manifest(from)->run);
    rp_archive_writer *writer;
    rp_file_writer *file;
    rp_buffer bytes = {0};

    assert_int_equal(value ? rp_json_object_set_new(run, key, value) : rp_json_object_del(run, key), 0);
    OK(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 1; i < rp_archive_member_count(from); i++) {
        const char *name = rp_archive_member(from, i)->name;

        OK(rp_archive_read_member(from, name, (size_t)1 << 24, &bytes, &err));
        OK(rp_archive_writer_add(writer, name, bytes.data, bytes.size, &err));
    }
    OK(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    OK(rp_file_create(&file, path_of(to), true, 0644, &err));
    OK(rp_archive_writer_save(writer, file, &err));
    OK(rp_file_commit(file, &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
    rp_json_free(run);
}

static void replay_refuses_a_forged_period_and_last_state(void **state)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    rp_archive *honest = record("a", 4, -1, 6), *forged;
    const struct {
        const char *key;
        rp_json *value;
        rp_status status;
        const char *text;
    } forgery[] = {
        {"state_period", rp_json_integer(5), RP_EBITS, "step 0: digest of the state"},
        {"state_period", rp_json_integer(1), RP_EFORMAT, "run.state_period"},
        {"state_period", rp_json_integer(65537), RP_EFORMAT, "run.state_period"},
        {"state_period", rp_json_string("4"), RP_EFORMAT, "run.state_period"},
        {"state_period", NULL, RP_EBITS, "step 0: digest of the state"},
        {"final_state", rp_json_string(zeros), RP_EBITS, "digest of the state after the last step"},
        {"final_state", rp_json_integer(4), RP_EFORMAT, "run.final_state"},
        {"final_state", NULL, RP_EFORMAT, "run.final_state"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof forgery / sizeof *forgery; i++) {
        rp_job *job = NULL;

        forge_run_key(honest, "forged", forgery[i].key, forgery[i].value);
        OK(rp_archive_open(&forged, path_of("forged"), &err));
        assert_int_equal(rp_replay(forged, NULL, &job, &err), forgery[i].status);
        assert_non_null(strstr(err.text, forgery[i].text));
        assert_null(job);
        rp_archive_close(forged);
    }
    rp_archive_close(honest);
}

static void period_is_set_before_the_first_step_and_in_range(void **state)
{
    recorded r = open_run(3, -1);

    (void)state;
    assert_int_equal(rp_recorder_set_state_period(r.recorder, 0, &err), RP_EARG);
    assert_int_equal(rp_recorder_set_state_period(r.recorder, 65537, &err), RP_EARG);
    OK(rp_recorder_set_state_period(r.recorder, 1, &err));
    OK(rp_recorder_set_state_period(r.recorder, 2, &err));
    OK(step_run(&r));
    assert_int_equal(rp_recorder_set_state_period(r.recorder, 2, &err), RP_EARG);
    close_run(&r);
}

/* ---- recipes ---- */

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static rp_archive *run_recipe(const char *name, const char *tail)
{
    char text[512];
    rp_archive *archive;
    rp_job *job;

    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 2}\nmodel: {hidden: [40]}\n"
                   "train: {epochs: 2, batch: 8}\n%s",
                   tail);
    put_file(path_of("recipe.yaml"), text);
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of(name), NULL, true, NULL, &job, &err));
    rp_job_free(job);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

static void recipe_chooses_the_period_and_replay_follows_it(void **state)
{
    char rows[2048] = "x,y\n";
    rp_archive *whole, *one, *rolling;
    rp_job *job;
    rp_buffer w[2] = {{0}, {0}};

    (void)state;
    for (int i = 0; i < 32; i++)
        (void)snprintf(rows + strlen(rows), 32, "%d.5,%s\n", i * 7 % 11, i * 7 % 11 > 4 ? "yes" : "no");
    put_file(path_of("table.csv"), rows);
    whole = run_recipe("whole", "");
    one = run_recipe("one", "record: {state_period: 1}\n");
    rolling = run_recipe("rolling", "record: {state_period: 3}\n");
    assert_string_equal(rp_archive_id(whole), rp_archive_id(one));
    assert_string_not_equal(rp_archive_id(whole), rp_archive_id(rolling));
    OK(rp_replay(rolling, NULL, &job, &err));
    rp_job_free(job);
    OK(rp_archive_read_member(whole, "weights/final.safetensors", 1 << 20, &w[0], &err));
    OK(rp_archive_read_member(rolling, "weights/final.safetensors", 1 << 20, &w[1], &err));
    assert_int_equal(w[0].size, w[1].size);
    assert_memory_equal(w[0].data, w[1].data, w[0].size);
    rp_buffer_free(&w[0]);
    rp_buffer_free(&w[1]);
    rp_archive_close(rolling);
    rp_archive_close(one);
    rp_archive_close(whole);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_is_what_the_format_says_on_any_threads),
        cmocka_unit_test(forged_leaf_is_found_within_a_period_and_a_small_state_at_once),
        cmocka_unit_test(impossible_periods_are_refused),
        cmocka_unit_test(replay_of_a_rolling_run_reproduces_it),
        cmocka_unit_test(replay_stops_within_a_period_of_a_forged_leaf),
        cmocka_unit_test(replay_refuses_a_forged_period_and_last_state),
        cmocka_unit_test(what_no_record_looks_at_is_bound_by_the_final_state_and_found_by_diff),
        cmocka_unit_test(diff_finds_the_step_although_digests_see_it_later),
        cmocka_unit_test(diff_of_a_rolling_and_a_whole_record_compares_what_was_computed),
        cmocka_unit_test(period_is_set_before_the_first_step_and_in_range),
        cmocka_unit_test(recipe_chooses_the_period_and_replay_follows_it),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
