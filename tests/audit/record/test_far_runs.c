/* SPDX-License-Identifier: Apache-2.0
 * Runs of the API on a device whose memory the host cannot touch (far_jobs.h): eager steps, compiled programs and
 * regions, recorded, resumed and replayed. */
#include "tests/audit/record/far_jobs.h"

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

static int gathers_at; /* the line below that errors name */

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
    gathers_at = __LINE__ + 1;
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
    char where[64];

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
    (void)snprintf(where, sizeof where, "test_far_runs.c:%d) (step 3)", gathers_at);
    assert_non_null(strstr(err.text, where));
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
    return far_setup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_the_api_are_recorded_and_replay),
        cmocka_unit_test(a_run_of_the_api_goes_on_and_has_children),
        cmocka_unit_test(compiled_programs_are_fed_and_read),
        cmocka_unit_test(regions_run_where_the_memory_is),
        cmocka_unit_test(a_wrong_index_says_the_same_and_changes_nothing),
        cmocka_unit_test(a_touch_is_counted_and_survived),
    };

    return cmocka_run_group_tests(tests, setup, far_teardown);
}
