/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints in archives: where they are and what they hold, that the journal goes on from each of them bit by bit, in
 * runs of recipes and of the API, that replay makes them again, and that what is not one is refused. */
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
#include "audit/drive/driver.h"
#include "audit/record/recorder.h"
#include "audit/archive/safetensors.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/rp.h"

static rp_error err;
static char folder[] = "/tmp/rp-checkpoints-XXXXXX";

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static char *path_of(const char *name)
{
    static char path[4][96];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* 24 training and 8 validation rows in batches of 7: 1 + 2 * 4 + 2 = 11 steps, every fourth of a shorter batch. */
enum { RECIPE_STEPS = 11 };

static rp_archive *run_recipe(const char *name, const char *record)
{
    char text[512];
    rp_archive *archive;
    rp_job *job;

    (void)snprintf(
        text, sizeof text,
        "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4}\nmodel: {hidden: [40], dropout: 0.25}\n"
        "train: {epochs: 2, batch: 7, schedule: {kind: cosine, warmup_steps: 2}}\n%s",
        record);
    put_file(path_of("recipe.yaml"), text);
    OK(rp_train_recipe(path_of("recipe.yaml"), path_of(name), NULL, true, NULL, &job, &err));
    assert_int_equal(job->steps, RECIPE_STEPS);
    rp_job_free(job);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

/* w of 2048 elements (8 KiB); a branch on a value that was read chooses between two programs with one and two feeds. */
static bool has_table; /* the run's data have a part in its steps */

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
    if (i % 3 == 1) {
        rp_tensor scale = rp_feed(run, "scale", RP_F32, 0, NULL, &x[i]);

        next = rp_mul(next, scale);
        rp_set_state(run, "optim.count", rp_add(rp_state(run, "optim.count"), scale));
    }
    if (has_table)
        next = rp_mul(next, rp_data(run, "table"));
    rp_set_state(run, "w", next);
    OK(rp_step_end(run, &err));
}

static rp_archive *run_api(const char *name, uint64_t period, uint64_t rolling, int steps, int saved_after)
{
    const rp_run_options options = {.threads = 2};
    const size_t shape[] = {2048};
    rp_run *run;
    rp_recorder *recorder;
    rp_archive *archive;

    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, NULL, &err));
    OK(rp_run_add_state(run, "optim.count", RP_F32, 0, NULL, NULL, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    OK(rp_recorder_set_state_period(recorder, rolling, &err));
    OK(rp_recorder_set_checkpoint_period(recorder, period, &err));
    for (int i = 0; i < steps; i++) {
        api_step(run, i);
        if (i + 1 == saved_after)
            OK(rp_recorder_save(recorder, path_of("between"), NULL, true, NULL, &err));
    }
    OK(rp_recorder_save(recorder, path_of(name), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    OK(rp_archive_open(&archive, path_of(name), &err));
    return archive;
}

static size_t checkpoints_in(const rp_archive *archive)
{
    size_t n = 0;

    for (size_t i = 0; i < rp_archive_member_count(archive); i++)
        n += strncmp(rp_archive_member(archive, i)->name, "checkpoints/", 12) == 0;
    return n;
}

static int64_t said(const rp_archive *archive)
{
    return rp_json_integer_value(rp_json_object_get(rp_archive_manifest(archive)->run, "checkpoint_every"));
}

static void replay(const rp_archive *archive)
{
    rp_job *job;

    OK(rp_replay(archive, NULL, &job, &err));
    rp_job_free(job);
}

/* Exactly after period, 2 period, ... of the steps, never after the last. */
static void expect_checkpoints(const rp_archive *archive, uint64_t period, uint64_t steps)
{
    char name[RP_MEMBER_NAME];
    size_t n = 0;

    for (uint64_t at = period; period && at < steps; at += period, n++)
        if (!rp_archive_find(archive, rp_checkpoint_name(name, at)))
            fail_msg("%s is missing", name);
    assert_int_equal(checkpoints_in(archive), n);
    assert_int_equal(said(archive), n ? period : 0);
    assert_string_equal(rp_checkpoint_name(name, 123456789012), "checkpoints/123456789012.safetensors");
}

static void recipe_says_when_and_the_archive_is_else_the_same(void **state)
{
    static const int every[] = {1, 2, 3, 5, 10, 11, 1000};
    rp_archive *none = run_recipe("none", ""), *zero = run_recipe("zero", "record: {checkpoint_every: 0}\n");
    const rp_member *last = rp_archive_find(none, "weights/final.safetensors");
    const rp_member *journal = rp_archive_find(none, "run/journal.bin");

    (void)state;
    assert_string_equal(rp_archive_id(none), rp_archive_id(zero));
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        char record[64];
        rp_archive *archive;

        (void)snprintf(record, sizeof record, "record: {checkpoint_every: %d}\n", every[i]);
        archive = run_recipe("some", record);
        expect_checkpoints(archive, (uint64_t)every[i], RECIPE_STEPS);
        assert_true(rp_digest_equal(&rp_archive_find(archive, "weights/final.safetensors")->digest, &last->digest));
        assert_true(rp_digest_equal(&rp_archive_find(archive, "run/journal.bin")->digest, &journal->digest));
        replay(archive);
        rp_archive_close(archive);
    }
    rp_archive_close(zero);
    rp_archive_close(none);
}

static void api_run_keeps_them_and_saving_in_between_changes_nothing(void **state)
{
    static const uint64_t every[] = {0, 1, 2, 4, 8, 9};

    (void)state;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        rp_archive *straight = run_api("straight", every[i], 1, 8, 0), *saved = run_api("saved", every[i], 1, 8, 4),
                   *between;

        OK(rp_archive_open(&between, path_of("between"), &err));
        expect_checkpoints(straight, every[i], 8);
        expect_checkpoints(between, every[i], 4);
        assert_string_equal(rp_archive_id(straight), rp_archive_id(saved));
        replay(straight);
        replay(between);
        rp_archive_close(between);
        rp_archive_close(saved);
        rp_archive_close(straight);
    }
}

static void recorder_refuses_periods_out_of_range_or_too_late(void **state)
{
    const rp_run_options options = {.threads = 1};
    const size_t shape[] = {2048};
    rp_run *run;
    rp_recorder *recorder;

    (void)state;
    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, NULL, &err));
    OK(rp_run_add_state(run, "optim.count", RP_F32, 0, NULL, NULL, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    assert_int_equal(rp_recorder_set_checkpoint_period(recorder, 1000000001, &err), RP_EARG);
    OK(rp_recorder_set_checkpoint_period(recorder, 3, &err));
    OK(rp_recorder_set_checkpoint_period(recorder, 2, &err));
    api_step(run, 0);
    assert_int_equal(rp_recorder_set_checkpoint_period(recorder, 2, &err), RP_EARG);
    rp_recorder_free(recorder);
    rp_run_free(run);
    put_file(path_of("many.yaml"), "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y}\n"
                                   "train: {epochs: 50001, batch: 16}\nrecord: {checkpoint_every: 1}\n");
    {
        rp_job *job;

        assert_int_equal(rp_train_recipe(path_of("many.yaml"), path_of("many"), NULL, true, NULL, &job, &err), RP_EARG);
        assert_non_null(strstr(err.text, "at most 50000 fit"));
        assert_int_equal(access(path_of("many"), F_OK), -1);
    }
}

/* FORMAT.md 11: the digest of the tensors as they stand in the file is that of the record before. */
static void journal_binds_what_a_checkpoint_holds(void **state)
{
    rp_archive *archive = run_recipe("bound", "record: {checkpoint_every: 2}\n");
    rp_buffer file = {0}, journal = {0};
    char name[RP_MEMBER_NAME];

    (void)state;
    OK(rp_archive_read_member(archive, "run/journal.bin", 1 << 20, &journal, &err));
    for (uint64_t at = 2; at < RECIPE_STEPS; at += 2) {
        rp_named_digest list[64];
        rp_digest digest[64], whole;
        rp_safetensors *tensors;
        rp_record record;

        OK(rp_archive_read_member(archive, rp_checkpoint_name(name, at), 1 << 20, &file, &err));
        OK(rp_safetensors_parse(&tensors, file.data, file.size, name, &err));
        assert_in_range(tensors->count, 1, 64);
        assert_non_null(rp_safetensors_find(tensors, "optim.m.layer0.weight"));
        for (size_t i = 0; i < tensors->count; i++) {
            const rp_safetensor *t = &tensors->tensor[i];

            OK(rp_tensor_digest_host(&digest[i], t->dtype, t->rank, t->shape, t->data, NULL, &err));
            list[i] = (rp_named_digest){t->name, digest[i]};
        }
        OK(rp_named_list_digest(&whole, list, tensors->count, &err));
        assert_true(rp_record_read(&record, journal.data + (at - 1) * RP_RECORD_SIZE));
        assert_true(rp_digest_equal(&whole, &record.states));
        rp_safetensors_free(tensors);
    }
    rp_buffer_free(&journal);
    rp_buffer_free(&file);
    rp_archive_close(archive);
}

/* ---- going on ---- */

static void know_programs(rp_recorder *recorder, const rp_archive *archive)
{
    rp_buffer text = {0};
    char name[RP_MEMBER_NAME];

    for (int i = 0;; i++) {
        (void)snprintf(name, sizeof name, "run/programs/%04d.json", i);
        if (!rp_archive_find(archive, name))
            break;
        OK(rp_archive_read_member(archive, name, 1 << 24, &text, &err));
        OK(rp_recorder_add_program(recorder, text.data, text.size, &err));
    }
    rp_buffer_free(&text);
}

/* rp_driver_restore from bytes, through a file. */
static rp_status restore(rp_driver *driver, uint64_t step, const void *bytes, size_t size)
{
    rp_tensor_set *set = NULL;
    FILE *file = tmpfile();
    rp_digest digest;
    rp_status status;

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fflush(file), 0);
    OK(rp_sha256(&digest, bytes, size, &err));
    status = rp_tensor_set_open_file(&set, fileno(file), 0, size, &digest, "point", &err);
    if (status == RP_OK)
        status = rp_driver_restore(driver, step, set, "point", &err);
    rp_tensor_set_free(set);
    (void)fclose(file);
    return status;
}

/* One driver goes through all checkpoints, last one first; from each of them every further record is that of the
 * archive, and so are the last states and the outputs. */
static void goes_on_from_each(const rp_archive *archive, uint64_t period, const rp_run_options *options)
{
    rp_driver *driver;
    rp_buffer file = {0};
    char name[RP_MEMBER_NAME];
    uint64_t total;

    OK(rp_driver_from_archive(&driver, archive, options, &err));
    total = rp_driver_total(driver);
    assert_int_equal(rp_driver_checkpoint_period(driver), period);
    for (uint64_t at = (total - 1) / period * period; at > 0; at -= period) {
        rp_recorder *recorder;
        rp_archive_writer *writer;
        rp_json *run = rp_json_object();

        OK(rp_archive_read_member(archive, rp_checkpoint_name(name, at), 1 << 20, &file, &err));
        OK(rp_driver_restore_checkpoint(driver, at, archive, &err));
        assert_int_equal(rp_run_steps(rp_driver_run(driver)), at);
        /* a recorder attaches before the first step; restoring does not tell it */
        OK(restore(driver, 0, file.data, file.size));
        OK(rp_recorder_attach(&recorder, rp_driver_run(driver), false, &err));
        OK(rp_recorder_set_state_period(recorder, rp_driver_state_period(driver), &err));
        OK(rp_recorder_expect(recorder, archive, &err));
        know_programs(recorder, archive);
        OK(rp_driver_restore_checkpoint(driver, at, archive, &err));
        while (rp_run_steps(rp_driver_run(driver)) < total)
            OK(rp_driver_step(driver, &err));
        assert_int_equal(rp_recorder_steps(recorder), total - at);
        OK(rp_archive_writer_new(&writer, folder, &err));
        OK(rp_driver_add_members(driver, writer, run, &err));
        for (size_t i = 0; i < rp_archive_writer_member_count(writer); i++) {
            const rp_member *made = rp_archive_writer_member(writer, i), *was = rp_archive_find(archive, made->name);

            assert_non_null(was);
            if (!rp_digest_equal(&made->digest, &was->digest))
                fail_msg("from step %d: %s differs", (int)at, made->name);
        }
        rp_archive_writer_free(writer);
        rp_json_free(run);
        rp_recorder_free(recorder);
    }
    rp_driver_free(driver);
    rp_buffer_free(&file);
}

static void every_checkpoint_of_a_recipe_leads_to_the_same_end(void **state)
{
    static const char *const record[] = {"record: {checkpoint_every: 1}\n",
                                         "record: {checkpoint_every: 3, state_period: 2}\n"};
    static const uint64_t period[] = {1, 3};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_archive *archive = run_recipe("from", record[i]);

        goes_on_from_each(archive, period[i], &(rp_run_options){.threads = 1, .level = "ref"});
        goes_on_from_each(archive, period[i], &(rp_run_options){.threads = 3});
        rp_archive_close(archive);
    }
}

static void every_checkpoint_of_an_api_run_leads_to_the_same_end(void **state)
{
    (void)state;
    for (uint64_t rolling = 1; rolling <= 2; rolling++)
        for (uint64_t period = 1; period <= 3; period++) {
            rp_archive *archive = run_api("from", period, rolling, 8, 0);

            goes_on_from_each(archive, period, &(rp_run_options){.threads = 1, .level = "ref"});
            goes_on_from_each(archive, period, &(rp_run_options){.threads = 2});
            rp_archive_close(archive);
        }
}

/* ---- a program that goes on ---- */

static rp_run *open_api(rp_recorder **recorder, float first, float datum, uint64_t period, uint64_t rolling)
{
    const rp_run_options options = {.threads = 2};
    const size_t shape[] = {2048};
    float *w = calloc(2048, sizeof *w);
    rp_run *run;

    assert_non_null(w);
    w[7] = first;
    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, shape, w, &err));
    OK(rp_run_add_state(run, "optim.count", RP_F32, 0, NULL, NULL, &err));
    OK(rp_run_add_data(run, "table", RP_F32, 0, NULL, &datum, &err));
    has_table = true;
    OK(rp_recorder_new(recorder, run, &err));
    OK(rp_recorder_set_state_period(*recorder, rolling, &err));
    OK(rp_recorder_set_checkpoint_period(*recorder, period, &err));
    free(w);
    return run;
}

static void close_api(rp_run *run, rp_recorder *recorder)
{
    rp_recorder_free(recorder);
    rp_run_free(run);
    has_table = false;
}

static void save_after(const char *name, int steps, uint64_t period, uint64_t rolling, char id[RP_DIGEST_HEX])
{
    rp_recorder *recorder;
    rp_run *run = open_api(&recorder, 1, 2, period, rolling);

    for (int i = 0; i < steps; i++)
        api_step(run, i);
    OK(rp_recorder_save(recorder, path_of(name), NULL, true, id, &err));
    close_api(run, recorder);
}

static void a_program_goes_on_from_its_own_archive_after_any_step(void **state)
{
    (void)state;
    for (uint64_t period = 0; period <= 2; period++)
        for (int stop = 1; stop < 8; stop++) {
            char whole[RP_DIGEST_HEX], resumed[RP_DIGEST_HEX];
            rp_archive *begun, *done;
            rp_recorder *recorder;
            rp_run *run;

            save_after("whole", 8, period, period + 1, whole);
            save_after("begun", stop, period, period + 1, NULL);
            run = open_api(&recorder, 1, 2, period, period + 1);
            OK(rp_archive_open(&begun, path_of("begun"), &err));
            OK(rp_recorder_resume(recorder, begun, &err));
            rp_archive_close(begun);
            assert_int_equal(rp_run_steps(run), stop);
            for (int i = stop; i < 8; i++)
                api_step(run, i);
            OK(rp_recorder_save(recorder, path_of("resumed"), NULL, true, resumed, &err));
            assert_string_equal(whole, resumed);
            close_api(run, recorder);
            OK(rp_archive_open(&done, path_of("resumed"), &err));
            replay(done);
            rp_archive_close(done);
        }
}

static void a_program_does_not_go_on_from_another_run(void **state)
{
    const struct {
        float first, datum;
        uint64_t period, rolling;
        const char *text;
    } other[] = {{3, 2, 2, 1, "first states"}, {1, 3, 2, 1, "data"}, {1, 2, 3, 1, "period"}, {1, 2, 2, 2, "period"}};
    rp_archive *begun, *recipe = run_recipe("recipe", "");
    rp_recorder *recorder;
    rp_run *run;

    (void)state;
    save_after("begun", 5, 2, 1, NULL);
    OK(rp_archive_open(&begun, path_of("begun"), &err));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        run = open_api(&recorder, other[i].first, other[i].datum, other[i].period, other[i].rolling);
        assert_int_equal(rp_recorder_resume(recorder, begun, &err), RP_EARG);
        if (!strstr(err.text, other[i].text))
            fail_msg("%s", err.text);
        close_api(run, recorder);
    }
    run = open_api(&recorder, 1, 2, 2, 1);
    assert_int_equal(rp_recorder_resume(recorder, recipe, &err), RP_EARG);
    api_step(run, 0);
    assert_int_equal(rp_recorder_resume(recorder, begun, &err), RP_EARG);
    close_api(run, recorder);
    rp_archive_close(begun);
    rp_archive_close(recipe);
}

/* ---- refusals ---- */

/* The checkpoint with one tensor renamed, retyped, added or left out. */
static void broken_checkpoint(rp_buffer *out, const rp_safetensors *from, const char *how)
{
    rp_safetensor tensor[64];
    size_t n = from->count;

    memcpy(tensor, from->tensor, n * sizeof *tensor);
    if (strcmp(how, "name") == 0)
        tensor[1].name = "another";
    else if (strcmp(how, "dtype") == 0)
        tensor[1].dtype = RP_I32;
    else if (strcmp(how, "shape") == 0)
        tensor[1].rank = 1, tensor[1].shape[0] = 1;
    else if (strcmp(how, "more") == 0)
        tensor[n++] = (rp_safetensor){.name = "zzz", .dtype = RP_I32, .rank = 0, .data = tensor[0].data};
    else
        n--;
    out->size = 0;
    OK(rp_safetensors_write(out, tensor, n, NULL, 0, &err));
}

static void what_is_no_checkpoint_of_this_run_is_refused(void **state)
{
    static const char *const how[] = {"name", "dtype", "shape", "more", "fewer"};
    rp_archive *archive = run_recipe("refused", "record: {checkpoint_every: 2}\n");
    rp_buffer file = {0}, broken = {0};
    rp_safetensors *tensors;
    rp_driver *driver;

    (void)state;
    OK(rp_driver_from_archive(&driver, archive, NULL, &err));
    OK(rp_archive_read_member(archive, "checkpoints/000000000002.safetensors", 1 << 20, &file, &err));
    OK(rp_safetensors_parse(&tensors, file.data, file.size, "checkpoint", &err));
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        broken_checkpoint(&broken, tensors, how[i]);
        assert_int_equal(restore(driver, 2, broken.data, broken.size), RP_EFORMAT);
        assert_non_null(strstr(err.text, "point: "));
    }
    assert_int_equal(restore(driver, RECIPE_STEPS + 1, file.data, file.size), RP_EFORMAT);
    assert_int_not_equal(restore(driver, 2, file.data, file.size - 1), RP_OK);
    OK(restore(driver, 2, file.data, file.size));
    rp_driver_free(driver);
    rp_safetensors_free(tensors);
    rp_buffer_free(&broken);
    rp_buffer_free(&file);
    rp_archive_close(archive);
}

/* The archive again, consistent in its hashes, with another checkpoint_every (NULL: none) or another byte of a state.
 */
static void forge(const rp_archive *from, bool change_key, rp_json *value, const char *member, const char *rename_to)
{
    rp_json *run = rp_json_deep_copy(rp_archive_manifest(from)->run);
    rp_archive_writer *writer;
    rp_file_writer *file;
    rp_buffer bytes = {0};

    if (change_key)
        assert_int_equal(value ? rp_json_object_set_new(run, "checkpoint_every", value)
                               : rp_json_object_del(run, "checkpoint_every"),
                         0);
    OK(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 1; i < rp_archive_member_count(from); i++) {
        const char *name = rp_archive_member(from, i)->name;
        bool chosen = member && strcmp(name, member) == 0;

        OK(rp_archive_read_member(from, name, (size_t)1 << 24, &bytes, &err));
        if (chosen && !rename_to)
            bytes.data[bytes.size - 5] ^= 1;
        OK(rp_archive_writer_add(writer, chosen && rename_to ? rename_to : name, bytes.data, bytes.size, &err));
    }
    OK(rp_archive_writer_finish(writer, rp_archive_manifest(from)->kind, run, &err));
    OK(rp_file_create(&file, path_of("forged"), true, 0644, &err));
    OK(rp_archive_writer_save(writer, file, &err));
    OK(rp_file_commit(file, &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
    rp_json_free(run);
}

static void refused(rp_status status, const char *text)
{
    rp_archive *forged;
    rp_job *job = NULL;

    OK(rp_archive_open(&forged, path_of("forged"), &err));
    assert_int_equal(rp_replay(forged, NULL, &job, &err), status);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\" in: %s", text, err.text);
    assert_null(job);
    rp_archive_close(forged);
}

static void replay_refuses_forged_checkpoints_and_periods(void **state)
{
    static const char second[] = "checkpoints/000000000004.safetensors";
    rp_archive *archive[] = {run_recipe("recipe", "record: {checkpoint_every: 2}\n"), run_api("api", 2, 1, 8, 0)};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_status other = i == 0 ? RP_EFORMAT : RP_EBITS;

        forge(archive[i], false, NULL, second, NULL);
        refused(RP_EBITS, second);
        forge(archive[i], false, NULL, second, "checkpoints/000000000005.safetensors");
        refused(RP_EBITS, "000000000005");
        forge(archive[i], true, rp_json_integer(3), NULL, NULL);
        refused(other, i == 0 ? "run.checkpoint_every is 3" : "checkpoints/000000000002");
        forge(archive[i], true, NULL, NULL, NULL);
        refused(RP_EBITS, i == 0 ? "manifest.json" : "checkpoints/000000000002");
        forge(archive[i], true, rp_json_integer(0), NULL, NULL);
        refused(RP_EFORMAT, "run.checkpoint_every");
        forge(archive[i], true, rp_json_string("2"), NULL, NULL);
        refused(RP_EFORMAT, "run.checkpoint_every");
        rp_archive_close(archive[i]);
    }
}

static int setup(void **state)
{
    char rows[2048] = "x,colour,y\n";

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (int i = 0; i < 32; i++)
        (void)snprintf(rows + strlen(rows), 32, "%d.5,%s,%s\n", i * 7 % 11, i % 3 ? "red" : "blue",
                       i * 7 % 11 > 4 ? "yes" : "no");
    put_file(path_of("table.csv"), rows);
    return 0;
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
        cmocka_unit_test(recipe_says_when_and_the_archive_is_else_the_same),
        cmocka_unit_test(api_run_keeps_them_and_saving_in_between_changes_nothing),
        cmocka_unit_test(recorder_refuses_periods_out_of_range_or_too_late),
        cmocka_unit_test(journal_binds_what_a_checkpoint_holds),
        cmocka_unit_test(every_checkpoint_of_a_recipe_leads_to_the_same_end),
        cmocka_unit_test(every_checkpoint_of_an_api_run_leads_to_the_same_end),
        cmocka_unit_test(a_program_goes_on_from_its_own_archive_after_any_step),
        cmocka_unit_test(a_program_does_not_go_on_from_another_run),
        cmocka_unit_test(what_is_no_checkpoint_of_this_run_is_refused),
        cmocka_unit_test(replay_refuses_forged_checkpoints_and_periods),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
