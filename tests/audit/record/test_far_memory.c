/* SPDX-License-Identifier: Apache-2.0
 * Every kind of job on a device whose memory the host cannot touch (tests/kernels/far_device.h; with RP_FAR_DEVICE on
 * another such device): no touch, and whatever is written has the bytes that the CPU device gives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/record/recorder.h"
#include "base/file.h"
#include "rp/program.h"
#include "rp/rp.h"
#include "tests/kernels/far_device.h"

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static const char *devices[] = {"cpu", "far"}; /* the second: far_device_name() */
static char folder[] = "/tmp/rp_far_XXXXXX";
static char path_text[8][200];
static rp_error err;

static const char *path_of(const char *name, const char *device)
{
    static unsigned next;
    char *out = path_text[next++ % 8];

    (void)snprintf(out, sizeof path_text[0], "%s/%s%s%s", folder, name, *device ? "." : "", device);
    return out;
}

static void put_file(const char *name, const char *text)
{
    OK(rp_file_save(path_of(name, ""), text, strlen(text), true, 0644, &err));
}

static void no_touch(const char *what)
{
    const size_t faults = far_device_faults();

    if (faults)
        far_device_places(stderr);
    if (faults || far_device_blocks())
        fail_msg("%s: the host touched device memory %zu times, and left %zu blocks", what, faults,
                 far_device_blocks());
}

static void same_text(const char *what, const void *a, size_t a_size, const void *b, size_t b_size)
{
    if (a_size != b_size || memcmp(a, b, a_size) != 0)
        fail_msg("%s differs between the devices: %zu and %zu bytes\n%.600s\n---\n%.600s", what, a_size, b_size,
                 a_size < 5000 ? (const char *)a : "", b_size < 5000 ? (const char *)b : "");
}

static void same_files(const char *name)
{
    rp_buffer a = {0}, b = {0};

    OK(rp_file_read(path_of(name, "cpu"), SIZE_MAX / 2, &a, &err));
    OK(rp_file_read(path_of(name, devices[1]), SIZE_MAX / 2, &b, &err));
    assert_true(a.size > 0);
    same_text(name, a.data, a.size, b.data, b.size);
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

/* The job's file `name` on both devices, and what it cost the far one. */
static void on_both(const char *name, void (*job)(const char *name, const char *device))
{
    const size_t before = far_device_launches();

    job(name, devices[0]);
    assert_int_equal(far_device_launches(), before);
    job(name, devices[1]);
    assert_true(far_device_launches() > before);
    no_touch(name);
    same_files(name);
}

/* ---- recipes ---- */

#define DATA "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4, fold: 1}\n"
#define SMALL_MODEL "model: {hidden: [5], activation: gelu, dropout: 0.2, layer_norm: true}\n"

static const struct {
    const char *name, *text;
} recipes[] = {
    {"parts", DATA SMALL_MODEL "train: {epochs: 3, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.5}\n"},
    {"other", DATA SMALL_MODEL "train: {epochs: 3, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.25}\n"},
    {"checkpoints", DATA SMALL_MODEL "train: {epochs: 4, batch: 7, optimizer: {kind: rmsprop, lr: 0.01}}\n"
                                     "record: {checkpoint_every: 3}\n"},
    {"rolling", DATA "model: {hidden: [90, 40]}\ntrain: {epochs: 3, batch: 9, clip_norm: 0.5}\n"
                     "record: {checkpoint_every: 4, state_period: 3}\n"},
    {"rolling_other", DATA "model: {hidden: [90, 40]}\ntrain: {epochs: 3, batch: 9, clip_norm: 0.001}\n"
                           "record: {checkpoint_every: 4, state_period: 3}\n"},
    /* 0.8 MiB of states: hashed beside the next step */
    {"large", DATA "model: {hidden: [256, 256]}\ntrain: {epochs: 2, batch: 20, optimizer: {kind: adam}}\n"},
    {"regression",
     "reprise: 1\nseed: 4\ndata: {csv: table.csv, target: x, folds: 4}\nmodel: {hidden: [4]}\n"
     "train: {task: regression, epochs: 2, batch: 16, optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}}\n"},
};

/* 60 rows: x informative, colour categorical. */
static void put_table(void)
{
    rp_buffer csv = {0};

    rp_buffer_text(&csv, "x,colour,y\n");
    for (int i = 0; i < 60; i++)
        rp_buffer_printf(&csv, "%s%d.%d,%s,%s\n", i % 7 ? "" : "-", i % 11, i % 5, i % 3 ? "red" : "blue",
                         (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    rp_buffer_u8(&csv, 0);
    put_file("table.csv", (const char *)csv.data);
    rp_buffer_free(&csv);
}

static rp_job_options options_of(const char *device)
{
    return (rp_job_options){.threads = 2, .device = device};
}

static void train_as(const char *recipe, const char *archive, const rp_job_options *options)
{
    rp_job *job = NULL;

    OK(rp_train_recipe(recipe, archive, NULL, true, options, &job, &err));
    rp_job_free(job);
}

static void train(const char *name, const char *device)
{
    char recipe[64];
    const rp_job_options options = options_of(device);

    (void)snprintf(recipe, sizeof recipe, "%s.yaml", name);
    train_as(path_of(recipe, ""), path_of(name, device), &options);
}

static void recipes_are_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        on_both(recipes[i].name, train);
}

static void train_image(const char *name, const char *device)
{
    const rp_job_options options = options_of(device);

    train_as(RP_SOURCE_DIR "/golden/image.yaml", path_of(name, device), &options);
}

static void a_recipe_of_images_is_recorded(void **state)
{
    (void)state;
    on_both("image", train_image);
}

static bool stop_at_five(void *self, const rp_progress *progress)
{
    (void)self;
    return progress->step != 5;
}

static void train_interrupted(const char *name, const char *device)
{
    rp_job_options options = options_of(device);
    rp_job *job = NULL;

    options.save_every = 1e-9;
    options.progress = stop_at_five;
    assert_int_equal(
        rp_train_recipe(path_of("checkpoints.yaml", ""), path_of(name, device), NULL, true, &options, &job, &err),
        RP_ECANCELED);
    options.progress = NULL;
    options.resume = true;
    OK(rp_train_recipe(path_of("checkpoints.yaml", ""), path_of(name, device), NULL, true, &options, &job, &err));
    assert_int_equal(job->resumed_at, 5);
    rp_job_free(job);
}

static void an_interrupted_run_goes_on(void **state)
{
    (void)state;
    on_both("interrupted", train_interrupted);
}

static void train_withheld(const char *name, const char *device)
{
    rp_job_options options = options_of(device);
    char home[200];

    (void)snprintf(home, sizeof home, "%s/home.%s", folder, device);
    options.withhold = home;
    train_as(path_of("parts.yaml", ""), path_of(name, device), &options);
}

static rp_archive *archive_of(const char *path)
{
    rp_archive *archive;

    OK(rp_archive_open(&archive, path, &err));
    return archive;
}

/* Two salts are two archives: that they replay is what can be compared. */
static void withheld_data_come_back_for_a_replay(void **state)
{
    const rp_job_options options = options_of(devices[1]);
    rp_archive *archive;
    rp_job *job;

    (void)state;
    train_withheld("withheld", devices[1]);
    archive = archive_of(path_of("withheld", devices[1]));
    OK(rp_archive_disclose(archive, path_of("home", devices[1]), &err));
    OK(rp_replay(archive, &options, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    no_touch("withheld");
}

/* ---- what is done with archives ---- */

static void replay(const char *path, const rp_replay_choice *choice)
{
    rp_job_options options = options_of(devices[1]);
    rp_archive *archive = archive_of(path);
    rp_job *job;

    options.choice = choice;
    OK(rp_replay(archive, &options, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    no_touch(path);
}

static void archives_of_the_cpu_replay(void **state)
{
    const rp_replay_choice range = {.mode = RP_REPLAY_RANGE, .first = 4, .last = 9},
                           sample = {.mode = RP_REPLAY_SAMPLE, .share = 500000, .seed = "seed", .parallel = 2};

    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        replay(path_of(recipes[i].name, "cpu"), NULL);
    replay(RP_SOURCE_DIR "/golden/branch.reprise", NULL);
    replay(path_of("checkpoints", "cpu"), &range);
    replay(path_of("checkpoints", "cpu"), &sample);
    replay(path_of("rolling", "cpu"), &sample);
}

static void compare(const char *a_name, const char *b_name, const char *says)
{
    char *text[2];
    bool same;

    for (int i = 0; i < 2; i++) {
        const rp_job_options options = options_of(devices[i]);
        rp_archive *a = archive_of(path_of(a_name, "cpu")), *b = archive_of(path_of(b_name, "cpu"));

        OK(rp_diff(a, b, &options, &same, &text[i], &err));
        assert_false(same);
        rp_archive_close(a);
        rp_archive_close(b);
    }
    no_touch("diff");
    same_text("diff", text[0], strlen(text[0]), text[1], strlen(text[1]));
    if (!strstr(text[1], says))
        fail_msg("expected %s in\n%s", says, text[1]);
    rp_text_free(text[0]);
    rp_text_free(text[1]);
}

static void diff_names_the_same_element(void **state)
{
    (void)state;
    compare("parts", "other", "element ");
    compare("rolling", "rolling_other", "element ");
}

static void predict(const char *name, const char *device)
{
    static const char rows[] = "x,colour\n1.5,red\n-2,blue\n";
    const rp_job_options options = options_of(device);
    rp_archive *archive = archive_of(path_of("parts", "cpu"));
    char *text;
    size_t length;

    OK(rp_predict(archive, rows, sizeof rows - 1, "rows", &options, &text, &length, &err));
    OK(rp_file_save(path_of(name, device), text, length, true, 0644, &err));
    rp_text_free(text);
    rp_archive_close(archive);
}

static void predictions_are_the_same(void **state)
{
    (void)state;
    on_both("predictions", predict);
}

static void train_child(const char *name, const char *device)
{
    const rp_job_options options = options_of(device);
    rp_archive *parent, *child;

    train_as(path_of("child.yaml", ""), path_of(name, device), &options);
    parent = archive_of(path_of("parts", "cpu"));
    child = archive_of(path_of(name, device));
    OK(rp_check_parent(child, parent, &err));
    rp_archive_close(parent);
    rp_archive_close(child);
}

static void a_child_starts_from_its_parent(void **state)
{
    (void)state;
    put_file("child.yaml", DATA SMALL_MODEL
             "train: {epochs: 1, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.5}\nparent: {archive: parts.cpu}\n");
    on_both("child", train_child);
}

static void reports_are_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_archive *archive = archive_of(path_of("parts", devices[i]));
        char *text;
        size_t length;

        OK(rp_report(archive, NULL, NULL, &text, &length, &err));
        OK(rp_file_save(path_of("report", devices[i]), text, length, true, 0644, &err));
        rp_text_free(text);
        rp_archive_close(archive);
    }
    no_touch("report");
    same_files("report");
}

/* ---- runs of the API ---- */

enum { WIDE = 300, ROWS = 12, CLASSES = 4 };

/* A network with a branch on what it reads, indices of three kinds, results of every type. */
static void eager_step(rp_run *run, uint64_t step)
{
    const size_t rows[] = {6}, scalar[] = {1};
    int64_t index[6], label[6];
    float rate = 0.05f / (float)(step + 1), mean;
    rp_tensor x, y, h, w, v, b, loss, grad[3], param[3], i;

    for (int k = 0; k < 6; k++) {
        index[k] = (int64_t)((step * 5 + (uint64_t)k * 7) % ROWS);
        label[k] = (int64_t)((step + (uint64_t)k) % CLASSES);
    }
    OK(rp_step_begin(run, &err));
    i = rp_feed(run, "rows", RP_I64, 1, rows, index);
    x = rp_gather(rp_data(run, "table"), i, 0);
    y = rp_feed(run, "labels", RP_I64, 1, rows, label);
    param[0] = w = rp_state(run, "w");
    param[1] = v = rp_state(run, "v");
    param[2] = b = rp_state(run, "b");
    h = rp_relu(rp_matmul(x, w));
    rp_tensor_release(x); /* the gradients read it, and then it goes */
    loss = rp_mean(rp_cross_entropy(rp_linear(h, v, b), y), NULL, 0, false);
    OK(rp_read(run, rp_mean(h, NULL, 0, false), &mean, sizeof mean, &err));
    if (mean > 0.2f)
        loss = rp_mul(loss, rp_fill(rp_step_graph(run), RP_F32, 0, NULL, 0.5));
    rp_gradients(loss, param, 3, grad);
    for (int k = 0; k < 3; k++)
        rp_set_state(run,
                     k == 0   ? "w"
                     : k == 1 ? "v"
                              : "b",
                     rp_sub(param[k], rp_mul(grad[k], rp_feed(run,
                                                              k == 0   ? "r0"
                                                              : k == 1 ? "r1"
                                                                       : "r2",
                                                              RP_F32, 1, scalar, &rate))));
    rp_result(run, "loss", loss);
    rp_result(run, "half", rp_cast(h, RP_BF16));
    rp_result(run, "wide", rp_cast(rp_transpose(h, NULL), RP_F64));
    rp_result(run, "hot", rp_one_hot(y, CLASSES, RP_F32));
    rp_tensor_release(h); /* goes at once, and is computed again */
    rp_result(run, "counts", rp_scatter_add(rp_cast(h, RP_F32), i, 0, ROWS));
    OK(rp_step_end(run, &err));
}

static rp_run *new_run(const char *device)
{
    const rp_run_options options = {.threads = 2, .device = device};
    static float w[ROWS * WIDE * 3], table[ROWS * ROWS], v[3 * WIDE * CLASSES];
    const size_t w_shape[] = {ROWS, 3 * WIDE}, v_shape[] = {3 * WIDE, CLASSES}, b_shape[] = {CLASSES},
                 table_shape[] = {ROWS, ROWS}, big_shape[] = {1 << 18};
    rp_run *run;

    for (size_t i = 0; i < sizeof w / sizeof *w; i++)
        w[i] = (float)(i * 37 % 101) / 101.0f - 0.5f;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        v[i] = (float)(i * 53 % 97) / 97.0f - 0.5f;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        table[i] = (float)(i * 29 % 31) / 31.0f;
    OK(rp_run_new(&run, &options, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 2, w_shape, w, &err));
    OK(rp_run_add_state(run, "v", RP_F32, 2, v_shape, v, &err));
    OK(rp_run_add_state(run, "b", RP_F32, 1, b_shape, NULL, &err));
    OK(rp_run_add_state(run, "idle", RP_F32, 1, big_shape, NULL, &err)); /* 1 MiB: hashed beside the next step */
    OK(rp_run_add_data(run, "table", RP_F32, 2, table_shape, table, &err));
    return run;
}

typedef struct api_kind {
    const char *name;
    uint64_t period, checkpoints;
    unsigned beside;
} api_kind;

static const api_kind api_kinds[] = {{"api", 1, 0, 0}, {"api_beside", 1, 2, 2}, {"api_rolling", 3, 2, 0}};
static const api_kind *kind;

static rp_recorder *watch(rp_run *run)
{
    rp_recorder *recorder;

    OK(rp_recorder_new(&recorder, run, &err));
    OK(rp_recorder_set_state_period(recorder, kind->period, &err));
    OK(rp_recorder_set_checkpoint_period(recorder, kind->checkpoints, &err));
    rp_recorder_set_beside(recorder, kind->beside);
    return recorder;
}

static void record_api(const char *name, const char *device)
{
    rp_run *run = new_run(device);
    rp_recorder *recorder = watch(run);
    float b[CLASSES];

    for (uint64_t step = 0; step < 6; step++)
        eager_step(run, step);
    OK(rp_run_get_state(run, "b", b, sizeof b, &err));
    assert_true(b[0] != 0);
    OK(rp_recorder_save(recorder, path_of(name, device), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static void runs_of_the_api_are_recorded_and_replay(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof api_kinds / sizeof *api_kinds; i++) {
        const size_t before = far_device_hashes();

        kind = &api_kinds[i];
        on_both(kind->name, record_api);
        replay(path_of(kind->name, "cpu"), NULL);
        /* where it hashes itself it did so in each of the six steps, and again for the replay */
        assert_true(before == SIZE_MAX || far_device_hashes() >= before + 12);
    }
}

static void record_api_in_two(const char *name, const char *device)
{
    for (uint64_t part = 0; part < 2; part++) {
        rp_run *run = new_run(device);
        rp_recorder *recorder = watch(run);
        rp_archive *first = part ? archive_of(path_of("first", device)) : NULL;

        if (part)
            OK(rp_recorder_resume(recorder, first, &err));
        for (uint64_t step = rp_run_steps(run); step < 3 + 3 * part; step++)
            eager_step(run, step);
        OK(rp_recorder_save(recorder, path_of(part ? name : "first", device), NULL, true, NULL, &err));
        rp_archive_close(first);
        rp_recorder_free(recorder);
        rp_run_free(run);
    }
}

static void a_run_of_the_api_goes_on_and_has_children(void **state)
{
    rp_run *run;
    rp_recorder *recorder;

    (void)state;
    kind = &api_kinds[1];
    on_both("in_two", record_api_in_two);
    run = new_run(devices[1]);
    recorder = watch(run);
    OK(rp_recorder_set_parent(recorder, path_of("api", "cpu"), 0, &err)); /* the idle state is the parent's */
    eager_step(run, 0);
    OK(rp_recorder_save(recorder, path_of("api_child", devices[1]), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
    replay(path_of("api_child", devices[1]), NULL);
}

static void a_wrong_index_says_the_same_and_changes_nothing(void **state)
{
    char text[2][256];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const size_t shape[] = {2, 3};
        const int64_t index[] = {4, 3, 11, 12, -1, 700};
        float before[CLASSES], after[CLASSES] = {1};
        rp_run *run = new_run(devices[i]);
        rp_tensor g;

        OK(rp_run_get_state(run, "b", before, sizeof before, &err));
        OK(rp_step_begin(run, &err));
        g = rp_gather(rp_data(run, "table"), rp_transpose(rp_feed(run, "i", RP_I64, 2, shape, index), NULL), 0);
        rp_set_state(run, "b", rp_add(rp_state(run, "b"), rp_mean(g, NULL, 0, false)));
        assert_int_equal(rp_step_end(run, &err), RP_EDATA);
        (void)snprintf(text[i], sizeof text[i], "%.255s", err.text);
        OK(rp_run_get_state(run, "b", after, sizeof after, &err));
        assert_memory_equal(before, after, sizeof before);
        eager_step(run, 0); /* the run goes on */
        rp_run_free(run);
    }
    assert_string_equal(text[0], "instruction 1, gather: index 12 at position 1 is out of range, expected 0 to 11 "
                                 "(step 0, after 5 instructions)");
    assert_string_equal(text[0], text[1]);
    no_touch("wrong index");
}

/* w += mean(table[rows]) * rate: a program made without a run. */
static rp_program *compiled_program(void)
{
    const rp_type rows = {.dtype = RP_I32, .rank = 1, .shape = {3}}, rate = {.dtype = RP_F32},
                  table = {.dtype = RP_F32, .rank = 2, .shape = {ROWS, ROWS}},
                  bias = {.dtype = RP_F32, .rank = 1, .shape = {CLASSES}};
    rp_graph *graph;
    rp_program *program;
    rp_tensor b, taken, step;

    OK(rp_graph_symbolic(&graph, &err));
    b = rp_graph_declare(graph, RP_INPUT_STATE, "b", &bias);
    taken = rp_graph_declare(graph, RP_INPUT_DATA, "table", &table);
    taken = rp_gather(taken, rp_graph_declare(graph, RP_INPUT_FEED, "rows", &rows), 0);
    step = rp_mul(rp_mean(taken, NULL, 0, false), rp_graph_declare(graph, RP_INPUT_FEED, "rate", &rate));
    rp_graph_update(graph, "b", rp_add(b, step));
    rp_graph_result(graph, "taken", taken);
    OK(rp_graph_finish(graph, &program, &err));
    return program;
}

static void record_compiled(const char *name, const char *device)
{
    static const int32_t right[] = {3, 0, 11}, wrong[] = {5, -2, 12};
    const float rate = 0.5f;
    rp_run *run = new_run(device);
    rp_recorder *recorder = watch(run);
    rp_program *program = compiled_program();
    rp_compiled *compiled;
    float taken[3 * ROWS], row[ROWS];

    OK(rp_compile(&compiled, run, program, &err));
    for (int step = 0; step < 3; step++) {
        OK(rp_compiled_write(compiled, "rows", right, sizeof right, &err));
        OK(rp_compiled_write(compiled, "rate", &rate, sizeof rate, &err));
        OK(rp_compiled_step(compiled, &err));
    }
    OK(rp_compiled_read(compiled, "taken", taken, sizeof taken, &err));
    for (size_t i = 0; i < ROWS; i++)
        row[i] = (float)(i * 29 % 31) / 31.0f;
    assert_memory_equal(taken + ROWS, row, sizeof row);
    OK(rp_recorder_save(recorder, path_of(name, device), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    OK(rp_compiled_write(compiled, "rows", wrong, sizeof wrong, &err));
    assert_int_equal(rp_compiled_step(compiled, &err), RP_EDATA);
    assert_ptr_equal(
        strstr(err.text, "instruction 0, gather: index -2 at position 1 is out of range, expected 0 to 11 ("),
        err.text);
    assert_non_null(strstr(err.text, "test_far_memory.c:547) (step 3)"));
    rp_compiled_free(compiled);
    rp_program_free(program);
    rp_run_free(run);
}

static void compiled_programs_are_fed_and_read(void **state)
{
    (void)state;
    kind = &api_kinds[1];
    on_both("compiled", record_compiled);
    replay(path_of("compiled", "cpu"), NULL);
}

/* (index, x, y) -> x * y, or another function of the same parameters. */
static rp_function *body_of(rp_tensor (*op)(rp_tensor a, rp_tensor b), bool indexed, bool truth)
{
    const rp_type index = {.dtype = RP_I64}, row = {.dtype = RP_F32, .rank = 1, .shape = {ROWS}};
    rp_function *function;
    rp_tensor x, y;
    rp_graph *graph;

    OK(rp_graph_symbolic(&graph, &err));
    if (indexed)
        (void)rp_function_parameter(graph, &index);
    x = rp_function_parameter(graph, &row);
    y = rp_function_parameter(graph, &row);
    x = op(x, y);
    rp_function_return(graph, truth ? rp_lt(rp_mean(x, NULL, 0, false), rp_fill(graph, RP_F32, 0, NULL, 3)) : x);
    OK(rp_function_finish(graph, &function, &err));
    return function;
}

/* A shard of two rows: their sum. */
static rp_function *shard_body(void)
{
    const rp_type index = {.dtype = RP_I64}, rows = {.dtype = RP_F32, .rank = 2, .shape = {2, ROWS}};
    rp_function *function;
    rp_graph *graph;

    OK(rp_graph_symbolic(&graph, &err));
    (void)rp_function_parameter(graph, &index);
    rp_function_return(graph, rp_sum(rp_function_parameter(graph, &rows), (const int[]){0}, 1, false));
    OK(rp_function_finish(graph, &function, &err));
    return function;
}

/* Every kind of region: scan and its gradient, map, while, cond; what decides is read from the device, and nothing
 * else. */
static rp_program *program_of_regions(rp_function *const function[4])
{
    const rp_type table = {.dtype = RP_F32, .rank = 2, .shape = {ROWS, ROWS}};
    const rp_function *const either[] = {function[0], function[1]}, *const shard[] = {function[3]};
    const uint64_t cuts[] = {0, 2, 4, 6, 8, 10, 12};
    const rp_combine tree = RP_COMBINE_TREE;
    rp_function *chosen[2] = {body_of(rp_mul, false, false), body_of(rp_sub, false, false)};
    rp_tensor x, row, last, sum, many[2], one, args[2], product, grad[2];
    rp_program *program;
    rp_graph *graph;

    OK(rp_graph_symbolic(&graph, &err));
    x = rp_graph_declare(graph, RP_INPUT_DATA, "table", &table);
    row = rp_mean(x, (const int[]){0}, 1, false);
    rp_scan(graph,
            &(rp_scan_options){
                .function = either[1], .carried = &row, .sliced = &x, .n_carried = 1, .n_sliced = 1, .times = ROWS},
            &last);
    rp_map(graph,
           &(rp_map_options){.function = shard,
                             .n_function = 1,
                             .sliced = &x,
                             .n_sliced = 1,
                             .cuts = cuts,
                             .n_cuts = 7,
                             .combine = &tree,
                             .n_combine = 1},
           &sum);
    rp_while(graph,
             &(rp_while_options){.body = either[1],
                                 .predicate = function[2],
                                 .carried = &row,
                                 .shared = &row,
                                 .n_carried = 1,
                                 .n_shared = 1,
                                 .limit = 20},
             many);
    args[0] = last;
    args[1] = sum;
    rp_cond(graph, rp_lt(rp_mean(last, NULL, 0, false), rp_mean(sum, NULL, 0, false)),
            (const rp_function *const[]){chosen[0], chosen[1]}, 2, args, 2, &one);
    rp_scan(graph,
            &(rp_scan_options){
                .function = either[0], .carried = &row, .sliced = &x, .n_carried = 1, .n_sliced = 1, .times = ROWS},
            &product);
    args[0] = row;
    args[1] = x;
    rp_gradients(rp_mean(product, NULL, 0, false), args, 2, grad);
    rp_graph_result(graph, "by_row", grad[0]);
    rp_graph_result(graph, "by_table", grad[1]);
    rp_graph_result(graph, "last", last);
    rp_graph_result(graph, "sum", sum);
    rp_graph_result(graph, "times", many[0]);
    rp_graph_result(graph, "many", many[1]);
    rp_graph_result(graph, "one", one);
    OK(rp_graph_finish(graph, &program, &err));
    rp_function_free(chosen[0]);
    rp_function_free(chosen[1]);
    return program;
}

static void record_regions(const char *name, const char *device)
{
    rp_function *function[] = {body_of(rp_mul, true, false), body_of(rp_add, true, false), body_of(rp_add, true, true),
                               shard_body()};
    rp_program *program = program_of_regions(function);
    rp_run *run = new_run(device);
    rp_recorder *recorder = watch(run);
    rp_compiled *compiled;
    int64_t times = 0;

    OK(rp_compile(&compiled, run, program, &err));
    OK(rp_compiled_step(compiled, &err));
    OK(rp_compiled_step(compiled, &err));
    OK(rp_compiled_read(compiled, "times", &times, sizeof times, &err));
    assert_true(times > 0 && times < 20);
    OK(rp_recorder_save(recorder, path_of(name, device), NULL, true, NULL, &err));
    rp_compiled_free(compiled);
    rp_recorder_free(recorder);
    rp_run_free(run);
    rp_program_free(program);
    for (size_t i = 0; i < sizeof function / sizeof *function; i++)
        rp_function_free(function[i]);
}

static void regions_run_where_the_memory_is(void **state)
{
    (void)state;
    kind = &api_kinds[1];
    on_both("regions", record_regions);
    replay(path_of("regions", "cpu"), NULL);
}

/* The device does what it is for: one touch is one fault, and the program lives to tell. */
static void a_touch_is_counted_and_survived(void **state)
{
    rp_run *run = new_run("far");
    size_t n;
    const rp_device_tensor *tensor = rp_run_states(run, &n);
    volatile float seen;

    (void)state;
    far_device_faults();
    seen = *(volatile float *)tensor[0].memory;
    (void)seen;
    assert_int_equal(far_device_faults(), 1);
    rp_run_free(run);
    no_touch("after the touch");
}

static int setup(void **state)
{
    (void)state;
    far_device_register();
    devices[1] = far_device_name();
    if (!mkdtemp(folder))
        return -1;
    put_table();
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "%s.yaml", recipes[i].name);
        put_file(name, recipes[i].text);
    }
    return 0;
}

static int teardown(void **state)
{
    char command[160];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_are_recorded),
        cmocka_unit_test(a_recipe_of_images_is_recorded),
        cmocka_unit_test(an_interrupted_run_goes_on),
        cmocka_unit_test(withheld_data_come_back_for_a_replay),
        cmocka_unit_test(archives_of_the_cpu_replay),
        cmocka_unit_test(diff_names_the_same_element),
        cmocka_unit_test(predictions_are_the_same),
        cmocka_unit_test(a_child_starts_from_its_parent),
        cmocka_unit_test(reports_are_the_same),
        cmocka_unit_test(runs_of_the_api_are_recorded_and_replay),
        cmocka_unit_test(a_run_of_the_api_goes_on_and_has_children),
        cmocka_unit_test(compiled_programs_are_fed_and_read),
        cmocka_unit_test(regions_run_where_the_memory_is),
        cmocka_unit_test(a_wrong_index_says_the_same_and_changes_nothing),
        cmocka_unit_test(a_touch_is_counted_and_survived),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
