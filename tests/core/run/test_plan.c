/* SPDX-License-Identifier: Apache-2.0
 * Plans: every operation runs the same compiled as eager, states keep their old values until the step ends, programs
 * that do not fit are refused. Random programs are in test_plan_random.c. */
#include "tests/core/run/plan_steps.h"

/* y = relu(x + row) * x - x; nothing but y and the feed is stored. */
static void what_lives_within_a_chain_has_no_memory(void **state)
{
    enum { ROWS = 50, COLS = 60 };
    const rp_type whole = {RP_F32, 2, {ROWS, COLS}}, row = {RP_F32, 1, {COLS}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &whole, NULL);
    rp_tensor r = rp_graph_input(g, RP_INPUT_FEED, "row", &row, NULL), y;
    rp_program *p;
    rp_device *device;
    rp_plan *plan;
    void *none[2] = {NULL, NULL};

    (void)state;
    y = rp_relu(rp_add(x, r));
    y = rp_mul(y, x);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_sub(y, x));
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_int_equal(rp_plan_new(&plan, p, device, none, NULL), RP_OK);
    assert_int_equal(rp_plan_launches(plan), 1);
    assert_true(rp_plan_arena_bytes(plan) < 2 * sizeof(float[ROWS][COLS]) + 512);
    rp_plan_free(plan);
    rp_device_free(device);
    rp_program_free(p);
}

/* Outputs past the size from which they are streamed, one of them read again in the chain, one bool, with a tail. */
static void streamed_outputs_have_the_same_bits(void **state)
{
    const rp_type whole = {RP_F32, 2, {2051, 2053}}, row = {RP_F32, 1, {2053}};
    const unsigned threads[] = {1, 3};

    (void)state;
    for (size_t i = 0; i < COUNT(threads); i++) {
        rp_graph *g = rp_graph_new(NULL);
        rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &whole, NULL);
        rp_tensor r = rp_graph_input(g, RP_INPUT_FEED, "row", &row, NULL), y = rp_add(x, r), z;
        rp_device *device;
        rp_program *p;

        rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
        z = rp_mul(rp_relu(y), y);
        rp_graph_set(g, RP_OUTPUT_RESULT, "z", rp_cast(z, RP_F64));
        rp_graph_set(g, RP_OUTPUT_RESULT, "w", rp_lt(z, x));
        p = rp_graph_take_program(g, NULL);
        assert_int_equal(rp_device_cpu_new(&device, NULL, threads[i], NULL), RP_OK);
        assert_plan_is_eager(p, device, device, "streamed");
        rp_device_free(device);
        rp_program_free(p);
    }
}

/* The transposed state is read by the chain that makes its new value: an earlier block must not have overwritten it. */
static void a_state_read_across_its_chain_keeps_its_old_value(void **state)
{
    enum { N = 80 };
    const rp_type type = {RP_F32, 2, {N, N}};
    static float x[N][N], expected[N][N];
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor s = rp_graph_input(g, RP_INPUT_STATE, "s", &type, NULL), y = rp_neg(rp_transpose(s, NULL));
    rp_program *p;
    rp_device *device;
    rp_plan *plan;
    void *memory = x;

    (void)state;
    rp_graph_set(g, RP_OUTPUT_STATE, "s", rp_sub(s, y));
    p = rp_graph_take_program(g, NULL);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            x[i][k] = (float)(i * N + k);
            expected[i][k] = (float)(i * N + k + k * N + i);
        }
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_int_equal(rp_plan_new(&plan, p, device, &memory, NULL), RP_OK);
    assert_int_equal(rp_plan_run(plan, NULL), RP_OK);
    assert_memory_equal(x, expected, sizeof x);
    rp_plan_free(plan);
    rp_device_free(device);
    rp_program_free(p);
}

static void every_operation_runs_the_same_eager_and_compiled(void **state)
{
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t i = 0; i < OP_SAMPLES; i++) {
        const op_sample *s = &op_samples[i];
        rp_program *p = sample_program(s), *again;
        rp_buffer text = text_of(p);
        store in = store_new(p);
        rp_plan *plan;
        record expected, found;

        for (size_t k = 0; k < in.n; k++)
            sample_fill(s, k, in.memory[k]);
        expected = eager_step(p, device, &in);
        assert_int_equal(rp_program_parse(&again, text.data, text.size, "p", NULL), RP_OK);
        plan = plan_new(again, device, &in);
        found = plan_step(again, plan, &in);
        assert_same(p, &expected, &found, rp_op_get(s->op)->name);
        record_free(&expected);
        rp_plan_free(plan);
        store_free(&in);
        rp_buffer_free(&text);
        rp_program_free(p);
        rp_program_free(again);
    }
    rp_device_free(device);
}

/* ---- states ---- */

static void add_states(rp_run *run, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x[3] = {(float)i + 1, (float)i * 10, (float)-(int)i};
        char name[24];

        snprintf(name, sizeof name, "s%zu", i);
        assert_int_equal(rp_run_add_state(run, name, RP_F32, 1, (size_t[]){3}, x, NULL), RP_OK);
    }
}

/* What a step does to its states, written once for both graphs. */
typedef void body(rp_tensor *s, rp_tensor *to);

static void exchange(rp_tensor *s, rp_tensor *to) /* a, b, c, d = b, a, d, c */
{
    to[0] = s[1], to[1] = s[0], to[2] = s[3], to[3] = s[2];
}

static void rotate_sums(rp_tensor *s, rp_tensor *to) /* each from two old ones, in positions that invite overwriting */
{
    for (int i = 0; i < 4; i++)
        to[i] = rp_add(s[i], s[(i + 1) % 4]);
}

static void read_after_update(rp_tensor *s, rp_tensor *to) /* s0 is read again after its new value was made */
{
    to[0] = rp_neg(s[0]);
    to[1] = rp_mul(s[1], s[0]);
    to[2] = rp_add(to[0], s[0]);
    to[3] = rp_sub(s[3], rp_broadcast_to(rp_slice(s[0], (size_t[]){1}, (size_t[]){2}), 1, (size_t[]){3}));
}

static void one_value_for_all(rp_tensor *s, rp_tensor *to) /* made in place of s0, copied to the others */
{
    to[0] = to[1] = to[2] = rp_tanh(s[0]);
    to[3] = rp_add(s[3], to[0]);
}

static void crossed_optimizer(rp_tensor *s, rp_tensor *to) /* parameter and moment change places */
{
    rp_tensor lr = rp_fill(s[0].graph, RP_F32, 0, NULL, 0.5), m = s[1];

    to[1] = rp_sgd(s[0], &m, s[2], lr, 0.5, false, 0);
    to[0] = m;
    m = s[3];
    to[2] = rp_sgd(s[2], &m, s[2], lr, 0.5, true, 0);
    to[3] = m;
}

static body *const bodies[] = {exchange, rotate_sums, read_after_update, one_value_for_all, crossed_optimizer};

static void read_states(rp_run *run, float x[4][3])
{
    for (size_t i = 0; i < 4; i++) {
        char name[24];

        snprintf(name, sizeof name, "s%zu", i);
        assert_int_equal(rp_run_get_state(run, name, x[i], sizeof x[i], NULL), RP_OK);
    }
}

static void run_eager(rp_run *run, body *b)
{
    rp_tensor s[4], to[4];
    rp_error err = {0};

    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    for (size_t i = 0; i < 4; i++)
        s[i] = rp_state(run, (const char *[]){"s0", "s1", "s2", "s3"}[i]);
    b(s, to);
    for (size_t i = 0; i < 4; i++)
        rp_set_state(run, (const char *[]){"s0", "s1", "s2", "s3"}[i], to[i]);
    if (rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static rp_compiled *compile_body(rp_run *run, body *b)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor s[4], to[4];
    rp_program *program;
    rp_compiled *compiled = NULL;
    rp_error err = {0};

    for (size_t i = 0; i < 4; i++)
        s[i] = rp_graph_state(g, run, (const char *[]){"s0", "s1", "s2", "s3"}[i]);
    b(s, to);
    for (size_t i = 0; i < 4; i++)
        rp_graph_set(g, RP_OUTPUT_STATE, (const char *[]){"s0", "s1", "s2", "s3"}[i], to[i]);
    program = rp_graph_take_program(g, &err);
    if (!program || rp_run_compile(&compiled, run, program, &err) != RP_OK)
        fail_msg("%s", err.text);
    return compiled;
}

static void states_see_their_old_values_everywhere_in_the_step(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(bodies); k++) {
        rp_run *eager, *run;
        rp_compiled *compiled;
        float a[4][3], b[4][3];

        assert_int_equal(rp_run_new(&eager, &(rp_run_options){.threads = 1}, NULL), RP_OK);
        assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
        add_states(eager, 4);
        add_states(run, 4);
        compiled = compile_body(run, bodies[k]);
        for (int step = 0; step < 3; step++) {
            run_eager(eager, bodies[k]);
            assert_int_equal(rp_compiled_step(compiled, NULL), RP_OK);
            read_states(eager, a);
            read_states(run, b);
            if (memcmp(a, b, sizeof a) != 0)
                fail_msg("body %zu, step %d: eager and compiled differ", k, step);
            if (step == 0 && k == 0) /* by hand: the values are really exchanged */
                assert_memory_equal(a, ((float[4][3]){{2, 10, -1}, {1, 0, 0}, {4, 30, -3}, {3, 20, -2}}), sizeof a);
            if (step == 0 && k == 1)
                assert_memory_equal(a, ((float[4][3]){{3, 10, -1}, {5, 30, -3}, {7, 50, -5}, {5, 30, -3}}), sizeof a);
        }
        rp_compiled_free(compiled);
        rp_run_free(eager);
        rp_run_free(run);
    }
}

static void assert_plan_refused(const char *text, const char *fragment)
{
    rp_program *p;
    rp_run *run;
    rp_compiled *compiled;
    rp_error err = {0};
    rp_status status;

    assert_int_equal(rp_program_parse(&p, text, strlen(text), "p", NULL), RP_OK);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, (size_t[]){2, 3}, NULL, NULL), RP_OK);
    status = rp_run_compile(&compiled, run, p, &err);
    if (status != RP_EFORMAT || !strstr(err.text, fragment))
        fail_msg("expected \"%s\", found %s: %s", fragment, rp_status_name(status), err.text);
    assert_null(compiled);
    rp_run_free(run);
}

static void assert_text_refused(const char *text, const char *fragment)
{
    rp_program *p;
    rp_error err = {0};
    rp_status status = rp_program_parse(&p, text, strlen(text), "p", &err);

    if (status != RP_EFORMAT || !strstr(err.text, fragment))
        fail_msg("expected \"%s\", found %s: %s", fragment, rp_status_name(status), err.text);
    assert_null(p);
}

static void programs_that_do_not_fit_the_run_are_refused(void **state)
{
#define W "{\"contract\":1,\"inputs\":[[0,\"state\",\"w\",\"f32\",[2,3]]],\"instructions\":"
    (void)state;
    assert_text_refused(W "[[\"sum\",{\"axes\":[0]},[0],[1]]],\"outputs\":[[\"state\",\"w\",1]]}",
                        "p: output state w: found f32[1,3], expected the input's type, f32[2,3]");
    assert_text_refused(W "[[\"neg\",{},[0],[1]]],\"outputs\":[[\"state\",\"v\",1]]}",
                        "p: output state v: no input is the state of that name, expected one");
    assert_plan_refused(
        "{\"contract\":1,\"inputs\":[[0,\"state\",\"w\",\"f32\",[3,2]]],\"instructions\":[],\"outputs\":[]}",
        "input w");
    assert_plan_refused(
        "{\"contract\":1,\"inputs\":[[0,\"data\",\"w\",\"f32\",[2,3]]],\"instructions\":[],\"outputs\":[]}", "input w");
#undef W
}

static void an_empty_program_runs(void **state)
{
    static const char text[] = "{\"contract\":1,\"inputs\":[],\"instructions\":[],\"outputs\":[]}";
    rp_program *p;
    rp_run *run;
    rp_compiled *compiled;

    (void)state;
    assert_int_equal(rp_program_parse(&p, text, strlen(text), "p", NULL), RP_OK);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    assert_int_equal(rp_run_compile(&compiled, run, p, NULL), RP_OK);
    assert_int_equal(rp_compiled_step(compiled, NULL), RP_OK);
    assert_int_equal(rp_run_steps(run), 1);
    rp_compiled_free(compiled);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lives_within_a_chain_has_no_memory),
        cmocka_unit_test(streamed_outputs_have_the_same_bits),
        cmocka_unit_test(a_state_read_across_its_chain_keeps_its_old_value),
        cmocka_unit_test(every_operation_runs_the_same_eager_and_compiled),
        cmocka_unit_test(states_see_their_old_values_everywhere_in_the_step),
        cmocka_unit_test(programs_that_do_not_fit_the_run_are_refused),
        cmocka_unit_test(an_empty_program_runs),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
