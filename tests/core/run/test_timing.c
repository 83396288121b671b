/* SPDX-License-Identifier: Apache-2.0
 * A profile: its rows are the wall time, its operations those that were executed, and neither a bit nor the archive's
 * id changes by it, in eager steps, compiled ones and regions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/limits.h"
#include "rp/rp.h"

enum { ROWS = 64, WIDTH = 96, STEPS = 12 };

static rp_error err;

#define OK(call) need((call), #call)

static void need(rp_status status, const char *what)
{
    if (status != RP_OK)
        fail_msg("%s: %s", what, err.text);
}

static int line_of_product;

/* x w, activated; w moves against its gradient. A chain, a product, a reduction, an update. */
static rp_tensor loss_of(rp_tensor x, rp_tensor w)
{
    line_of_product = __LINE__ + 1;
    rp_tensor y = rp_matmul(x, w), sum;

    sum = rp_add(y, x);
    y = rp_relu(rp_mul(sum, y));
    return rp_sum(y, (int[]){0, 1}, 2, false);
}

/* (index, carried, shared) -> carried tanh'd and moved: what a scan repeats. */
static rp_function *scanned(void)
{
    const size_t shape[2] = {WIDTH, WIDTH};
    rp_type type = {.dtype = RP_F32, .rank = 2}, index = {.dtype = RP_I64};
    rp_function *f;
    rp_graph *g;
    rp_tensor w;

    memcpy(type.shape, shape, sizeof shape);
    OK(rp_graph_symbolic(&g, &err));
    (void)rp_function_parameter(g, &index);
    w = rp_function_parameter(g, &type);
    w = rp_tanh(rp_add(w, rp_matmul(w, w)));
    rp_function_return(g, w);
    OK(rp_function_finish(g, &f, &err));
    return f;
}

static void step_on(rp_graph *g, rp_tensor x, rp_tensor w, const rp_function *f, rp_tensor *loss, rp_tensor *next)
{
    rp_tensor dw, moved;

    *loss = loss_of(x, w);
    rp_gradients(*loss, &w, 1, &dw);
    moved = rp_sub(w, rp_mul(dw, rp_fill(g, RP_F32, 0, NULL, 1e-4)));
    rp_scan(g, &(rp_scan_options){.function = f, .carried = &moved, .n_carried = 1, .times = 3}, next);
}

static rp_run *run_new(void)
{
    const size_t shape[2] = {ROWS, WIDTH}, square[2] = {WIDTH, WIDTH};
    static float x[ROWS * WIDTH], w[WIDTH * WIDTH];
    rp_run *run;

    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        w[i] = (float)(i * 53 % 97) / 970 - 0.05f;
    OK(rp_run_new(&run, &(rp_run_options){.threads = 2}, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 2, square, w, &err));
    OK(rp_run_add_data(run, "x", RP_F32, 2, shape, x, &err));
    return run;
}

static rp_compiled *compile(rp_run *run, const rp_function *f)
{
    const rp_type types[2] = {{.dtype = RP_F32, .rank = 2, .shape = {ROWS, WIDTH}},
                              {.dtype = RP_F32, .rank = 2, .shape = {WIDTH, WIDTH}}};
    rp_tensor loss, next;
    rp_program *program;
    rp_compiled *compiled;
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    rp_tensor w = rp_graph_declare(g, RP_INPUT_STATE, "w", &types[1]);
    rp_tensor x = rp_graph_declare(g, RP_INPUT_DATA, "x", &types[0]);

    step_on(g, x, w, f, &loss, &next);
    rp_graph_result(g, "loss", loss);
    rp_graph_update(g, "w", next);
    OK(rp_graph_finish(g, &program, &err));
    OK(rp_compile(&compiled, run, program, &err));
    rp_program_free(program);
    return compiled;
}

static void eager_step(rp_run *run, const rp_function *f)
{
    rp_tensor loss, next;

    OK(rp_step_begin(run, &err));
    rp_tensor w = rp_state(run, "w"), x = rp_data(run, "x");

    step_on(rp_step_graph(run), x, w, f, &loss, &next);
    rp_result(run, "loss", loss);
    rp_set_state(run, "w", next);
    OK(rp_step_end(run, &err));
}

typedef struct found {
    char id[RP_DIGEST_HEX];
    char *json, *trace, *text;
    double seconds; /* by a clock beside it */
} found;

/* A recorded run, watched or not. */
static found record(bool compiled, bool watched)
{
    char path[] = "/tmp/reprise-profile-XXXXXX";
    const int fd = mkstemp(path);
    rp_function *f = scanned();
    rp_run *run = run_new();
    rp_recorder *recorder;
    rp_compiled *c = compiled ? compile(run, f) : NULL;
    rp_profile *profile = NULL;
    found out = {.json = NULL};
    double began;

    assert_true(fd >= 0);
    (void)close(fd);
    OK(rp_recorder_new(&recorder, run, &err));
    began = rp_seconds_now();
    if (watched)
        OK(rp_run_profile(&profile, run, &(rp_profile_options){.trace = true, .no_limits = true}, &err));
    for (int i = 0; i < STEPS; i++)
        if (compiled)
            OK(rp_compiled_step(c, &err));
        else
            eager_step(run, f);
    if (watched)
        OK(rp_profile_end(profile, &err));
    out.seconds = rp_seconds_now() - began;
    if (watched) {
        OK(rp_profile_json(profile, &out.json, &err));
        OK(rp_profile_trace(profile, &out.trace, &err));
        OK(rp_profile_text(profile, 3, &out.text, &err));
    }
    OK(rp_recorder_save(recorder, path, NULL, true, out.id, &err));
    (void)remove(path);
    rp_profile_free(profile);
    rp_compiled_free(c);
    rp_recorder_free(recorder);
    rp_run_free(run);
    rp_function_free(f);
    return out;
}

static void found_free(found *f)
{
    rp_text_free(f->json);
    rp_text_free(f->trace);
    rp_text_free(f->text);
}

/* The sum of a key's numbers between two places of the text; and how many there are. */
static double sum_of(const char *from, const char *to, const char *key, size_t *n)
{
    double sum = 0;

    *n = 0;
    for (const char *at = from; (at = strstr(at, key)) != NULL && at < to; ++*n)
        sum += strtod(at += strlen(key), NULL);
    return sum;
}

static void rows_are_the_wall_time(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        found f = record(compiled, true);
        const char *end = f.json + strlen(f.json), *instructions = strstr(f.json, "\"instructions\":["),
                   *operations = strstr(f.json, "\"operations\":["), *total = strstr(operations, "],\"seconds\":");
        const double wall = strtod(total + strlen("],\"seconds\":"), NULL);
        size_t n, rows;
        const double beside = sum_of(f.json, instructions, "\"seconds\":", &n);
        const double each = sum_of(instructions, operations, "\"seconds\":", &rows);
        double together;

        assert_int_equal(n, 3);
        assert_true(rows > 6);
        together = sum_of(operations, total, "\"seconds\":", &n);
        if (each + beside < 0.98 * wall || each + beside > 1.02 * wall)
            fail_msg("%d: rows %f, beside %f, wall %f", compiled, each, beside, wall);
        if (together + beside < 0.98 * wall || together + beside > 1.02 * wall)
            fail_msg("%d: operations %f, beside %f, wall %f", compiled, together, beside, wall);
        /* another clock sees no less, and more only by what begins and ends the profile */
        assert_true(f.seconds >= wall && wall > 0.5 * f.seconds);
        assert_true(each > 0 && end > total);
        found_free(&f);
    }
}

/* So many calls of an operation, alone or in a chain. */
static double calls_of(const char *json, const char *operation)
{
    double calls = 0;

    for (const char *at = strstr(json, "\"instructions\":["); (at = strstr(at, "{\"arithmetic\":")) != NULL; at++) {
        const char *name = strstr(at, "\"operation\":\""), *count = strstr(at, "\"calls\":");
        char with[400];
        size_t length;

        if (!strchr(name, '}') || strstr(json, "\"operations\":[") < at)
            break;
        name += strlen("\"operation\":\"");
        length = strcspn(name, "\"");
        (void)snprintf(with, sizeof with, "+%.*s+", (int)length, name);
        if (strstr(with, operation))
            calls += strtod(count + strlen("\"calls\":"), NULL);
    }
    return calls;
}

static void operations_are_those_that_were_executed(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        found f = record(compiled, true);

        assert_true(calls_of(f.json, "+relu+") >= STEPS);
        assert_true(calls_of(f.json, "+relu_grad+") >= STEPS);
        assert_int_equal((int)calls_of(f.json, "+scan+"), STEPS);
        /* forward and gradient; those of the scan's frames too, which in eager steps are the scan's */
        assert_int_equal((int)calls_of(f.json, "+matmul+"), STEPS * (compiled ? 5 : 2));
        found_free(&f);
    }
}

/* Steps of other lengths share rows: of 2 n^3 operations, and 8 n^2 bytes that a product of x and itself moves, the
 * sum. */
static void eager_rows_add_up_calls_of_any_length(void **state)
{
    static const float x[64 * 64];
    rp_run *run;
    rp_profile *profile;
    char *json, *trace;

    (void)state;
    OK(rp_run_new(&run, NULL, &err));
    OK(rp_run_profile(&profile, run, &(rp_profile_options){.trace = true, .no_limits = true}, &err));
    for (size_t n = 16; n <= 64; n += 48) {
        rp_tensor fed;

        OK(rp_step_begin(run, &err));
        fed = rp_feed(run, "x", RP_F32, 2, (size_t[]){n, n}, x);
        rp_result(run, "y", rp_matmul(fed, fed));
        OK(rp_step_end(run, &err));
    }
    OK(rp_profile_end(profile, &err));
    OK(rp_profile_json(profile, &json, &err));
    OK(rp_profile_trace(profile, &trace, &err));
    if (!strstr(json, "{\"arithmetic\":532480,\"bytes\":34816,\"calls\":2,") || !strstr(json, "\"type\":\"f32[?,?]\""))
        fail_msg("%s", json);
    if (!strstr(trace, "{\"arithmetic\":266240,\"bytes\":17408,"))
        fail_msg("%s", trace);
    rp_text_free(json);
    rp_text_free(trace);
    rp_profile_free(profile);
    rp_run_free(run);
}

/* A result that is an input has no instruction of the program's that made it. */
static void a_copy_that_a_plan_appended_stands_at_the_end(void **state)
{
    static const char text[] = "{\"contract\":1,\"inputs\":[[0,\"state\",\"w\",\"f32\",[4]]],"
                               "\"instructions\":[[\"add\",{},[0,0],[1]]],"
                               "\"outputs\":[[\"result\",\"old\",0],[\"state\",\"w\",1]]}";
    const float w[4] = {1, 2, 3, 4};
    rp_run *run;
    rp_program *program;
    rp_compiled *compiled;
    rp_profile *profile;
    const char *at;
    char *json;

    (void)state;
    OK(rp_run_new(&run, NULL, &err));
    OK(rp_run_add_state(run, "w", RP_F32, 1, (size_t[]){4}, w, &err));
    OK(rp_program_read(&program, text, strlen(text), "text", &err));
    OK(rp_compile(&compiled, run, program, &err));
    OK(rp_run_profile(&profile, run, &(rp_profile_options){.no_limits = true}, &err));
    OK(rp_compiled_step(compiled, &err));
    OK(rp_profile_end(profile, &err));
    OK(rp_profile_json(profile, &json, &err));
    at = strstr(json, "\"operation\":\"concat\",\"place\":\"");
    if (!at || strncmp(strchr(at + strlen("\"operation\":\"concat\",\"place\":\""), ':'), ":end\"", 5) != 0)
        fail_msg("%s", json);
    rp_text_free(json);
    rp_profile_free(profile);
    rp_compiled_free(compiled);
    rp_program_free(program);
    rp_run_free(run);
}

/* s + a' b, frame after frame. */
static rp_function *sum_of_products(void)
{
    const rp_type index = {.dtype = RP_I64}, types[3] = {{.dtype = RP_F32, .rank = 2, .shape = {8, 16}},
                                                         {.dtype = RP_F32, .rank = 2, .shape = {4, 8}},
                                                         {.dtype = RP_F32, .rank = 2, .shape = {4, 16}}};
    rp_tensor in[3];
    rp_function *f;
    rp_graph *g;

    OK(rp_graph_symbolic(&g, &err));
    (void)rp_function_parameter(g, &index);
    for (int i = 0; i < 3; i++)
        in[i] = rp_function_parameter(g, &types[i]);
    rp_function_return(g, rp_add(in[0], rp_matmul(rp_transpose(in[1], NULL), in[2])));
    OK(rp_function_finish(g, &f, &err));
    return f;
}

/* Ten frames are one launch, and its row has the arithmetic of all, and each operand's bytes once; a device that has no
 * way to it, as "ref", has rows for the products. */
static void sums_that_are_one_launch_tell_of_all_frames(void **state)
{
    static const char *const names[3] = {"s", "a", "b"};
    const rp_type types[3] = {{.dtype = RP_F32, .rank = 2, .shape = {8, 16}},
                              {.dtype = RP_F32, .rank = 3, .shape = {10, 4, 8}},
                              {.dtype = RP_F32, .rank = 3, .shape = {10, 4, 16}}};
    static const float numbers[10 * 4 * 16];
    rp_function *f = sum_of_products();
    rp_tensor in[3], sum;
    rp_program *program;
    rp_compiled *compiled;
    rp_profile *profile;
    rp_graph *g;
    rp_run *run;
    char *json;

    (void)state;
    OK(rp_run_new(&run, NULL, &err));
    OK(rp_graph_symbolic(&g, &err));
    for (int i = 0; i < 3; i++) {
        OK(rp_run_add_state(run, names[i], RP_F32, types[i].rank, types[i].shape, numbers, &err));
        in[i] = rp_graph_declare(g, RP_INPUT_STATE, names[i], &types[i]);
    }
    rp_scan(
        g,
        &(rp_scan_options){.function = f, .carried = in, .n_carried = 1, .sliced = in + 1, .n_sliced = 2, .times = 10},
        &sum);
    rp_graph_result(g, "sum", sum);
    OK(rp_graph_finish(g, &program, &err));
    OK(rp_compile(&compiled, run, program, &err));
    OK(rp_run_profile(&profile, run, &(rp_profile_options){.no_limits = true}, &err));
    OK(rp_compiled_step(compiled, &err));
    OK(rp_profile_end(profile, &err));
    OK(rp_profile_json(profile, &json, &err));
    if (!strstr(json, "matmul") && !strstr(json, "{\"arithmetic\":11520,\"bytes\":4864,\"calls\":1,"))
        fail_msg("%s", json);
    rp_text_free(json);
    rp_profile_free(profile);
    rp_compiled_free(compiled);
    rp_program_free(program);
    rp_run_free(run);
    rp_function_free(f);
}

/* The line of the call, of a gradient that of what it differentiates, in compiled steps through every pass too. */
static void rows_name_the_caller_s_line(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        found f = record(compiled, true);
        const char *at = f.json;
        char product[64];
        size_t n = 0;

        (void)snprintf(product, sizeof product, "\"source\":\"test_timing.c:%d", line_of_product);
        for (; (at = strstr(at, product)) != NULL; at++)
            n += at[strlen(product)] == '"' || at[strlen(product)] == ',';
        assert_true(n >= 2); /* forward, and its gradient */
        found_free(&f);
    }
}

static void a_chain_names_the_lines_of_all_its_operations(void **state)
{
    found f = record(true, true);
    char lines[64], behind[64];
    const int at = line_of_product;

    (void)state;
    (void)snprintf(lines, sizeof lines, "\"source\":\"test_timing.c:%d, %d", at + 2, at + 3);
    (void)snprintf(behind, sizeof behind, "\"source\":\"test_timing.c:%d, %d, %d", at, at + 2, at + 3);
    if (!strstr(f.json, lines) && !strstr(f.json, behind))
        fail_msg("no row with %s in %s", lines, f.json);
    found_free(&f);
}

static void watching_changes_no_bit(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        found plain = record(compiled, false), watched = record(compiled, true);

        assert_string_equal(plain.id, watched.id);
        found_free(&plain);
        found_free(&watched);
    }
}

static void a_trace_has_its_threads_and_spans(void **state)
{
    found f = record(true, true);
    size_t steps = 0, spans = 0, named = 0;

    (void)state;
    for (const char *at = f.trace; (at = strstr(at, "\"name\":\"thread_name\"")) != NULL; at++)
        named++;
    for (const char *at = f.trace; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++)
        spans++;
    for (const char *at = f.trace; (at = strstr(at, "\"cat\":\"step\"")) != NULL; at++)
        steps++;
    assert_int_equal(named, 2);
    assert_int_equal(steps, STEPS);
    assert_true(spans > 8 * STEPS);
    assert_non_null(strstr(f.trace, "\"events_left_out\":\"0\""));
    found_free(&f);
}

/* The first step is made before the clock begins; and no row has more alive than the arena holds. */
static void a_trace_counts_the_run_s_steps(void **state)
{
    rp_function *f = scanned();
    rp_run *run = run_new();
    rp_compiled *c = compile(run, f);
    rp_profile *profile = NULL;
    char *trace, *json;
    size_t n = 0;

    (void)state;
    OK(rp_compiled_step(c, &err));
    OK(rp_run_profile(&profile, run, &(rp_profile_options){.trace = true, .no_limits = true}, &err));
    OK(rp_compiled_step(c, &err));
    OK(rp_profile_end(profile, &err));
    OK(rp_profile_trace(profile, &trace, &err));
    OK(rp_profile_json(profile, &json, &err));
    assert_non_null(strstr(trace, "\"name\":\"step 1\""));
    assert_null(strstr(trace, "\"name\":\"step 0\""));
    for (const char *at = json; (at = strstr(at, "\"memory\":")) != NULL; n++)
        assert_true(strtod(at += strlen("\"memory\":"), NULL) <= strtod(json + strlen("{\"arena_bytes\":"), NULL));
    assert_true(n > 3);
    rp_text_free(trace);
    rp_text_free(json);
    rp_profile_free(profile);
    rp_compiled_free(c);
    rp_run_free(run);
    rp_function_free(f);
}

static void wrong_calls_are_told(void **state)
{
    rp_run *run = run_new();
    rp_profile *profile, *other;
    char *text;

    (void)state;
    OK(rp_run_profile(&profile, run, NULL, &err));
    assert_int_equal(rp_run_profile(&other, run, NULL, &err), RP_EARG);
    assert_null(other);
    assert_int_equal(rp_profile_text(profile, 0, &text, &err), RP_EARG);
    OK(rp_step_begin(run, &err));
    assert_int_equal(rp_profile_end(profile, &err), RP_EARG);
    (void)rp_step_end(run, &err);
    rp_profile_free(profile); /* the run goes on unwatched */
    OK(rp_run_profile(&profile, run, &(rp_profile_options){.no_limits = true}, &err));
    OK(rp_profile_end(profile, &err));
    OK(rp_profile_end(profile, &err));
    assert_int_equal(rp_profile_trace(profile, &text, &err), RP_EARG);
    OK(rp_profile_text(profile, 0, &text, &err));
    assert_non_null(strstr(text, "profile   0 steps"));
    rp_text_free(text);
    rp_profile_free(profile);
    OK(rp_run_profile(&profile, run, NULL, &err));
    rp_run_free(run); /* before its profile ended */
    assert_int_equal(rp_profile_text(profile, 0, &text, &err), RP_EARG);
    rp_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_wall_time),
        cmocka_unit_test(operations_are_those_that_were_executed),
        cmocka_unit_test(eager_rows_add_up_calls_of_any_length),
        cmocka_unit_test(sums_that_are_one_launch_tell_of_all_frames),
        cmocka_unit_test(a_copy_that_a_plan_appended_stands_at_the_end),
        cmocka_unit_test(rows_name_the_caller_s_line),
        cmocka_unit_test(a_chain_names_the_lines_of_all_its_operations),
        cmocka_unit_test(watching_changes_no_bit),
        cmocka_unit_test(a_trace_has_its_threads_and_spans),
        cmocka_unit_test(a_trace_counts_the_run_s_steps),
        cmocka_unit_test(wrong_calls_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
