/* SPDX-License-Identifier: Apache-2.0
 * The passes of plans: any choice of them gives the bits of the eager tape and its errors, each does what it is for,
 * and all together grow with a program as it does. */
#include "core/run/run_private.h"
#include "tests/core/run/deep_program.h"
#include "tests/core/run/gpt_program.h"
#include "tests/core/run/plan_steps.h"
#include "tests/kernels/random_chain.h"

enum { PROGRAMS = 200, CHAINS = 48, WRONG = 480, WRONG_LEAST = 150, PASSES = 17, CHOICES = 2 * PASSES + 4 };
_Static_assert(RP_PASSES == (1 << PASSES) - 1, "CHOICES has each pass alone and each left out");

static rp_device *device_new(unsigned threads)
{
    rp_device *device;

    assert_int_equal(rp_device_cpu_new(&device, NULL, threads, NULL), RP_OK);
    return device;
}

/* All, none, each alone, each left out, and others by the seed. */
static unsigned passes_of(uint64_t seed, unsigned i)
{
    if (i < 2)
        return i ? 0 : RP_PASSES;
    if (i < 2 + PASSES)
        return 1u << (i - 2);
    if (i < 2 + 2 * PASSES)
        return RP_PASSES & ~(1u << (i - 2 - PASSES));
    return rp_random_u32(seed, 1, 2, i) & RP_PASSES;
}

static void every_choice_of_passes_gives_the_bits_of_the_eager_tape(void **state)
{
    rp_device *device = device_new(1);
    char what[80];

    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS + CHAINS; seed++) {
        rp_program *p = seed < PROGRAMS ? random_program_new(seed + 1000, 4 + seed % 2, 6 - seed % 2)
                                        : random_chain_new(seed, 45, 47);
        tape expected = tape_new(p, device);

        for (unsigned i = 0; i < CHOICES; i++) {
            plan_passes = passes_of(seed, i);
            snprintf(what, sizeof what, "seed %d, passes %u", (int)seed, plan_passes);
            assert_plan_is(p, &expected, device, what);
        }
        tape_free(&expected);
        rp_program_free(p);
    }
    plan_passes = RP_PASSES;
    rp_device_free(device);
}

/* ---- outputs that are inputs or views ---- */

/* The states take values of each other, of feeds and data, views of them, or what they had; results are any values. */
static void mix_outputs(random_program *r, uint64_t seed)
{
    const rp_type state = r->p->value[r->p->input[state_of(r->p, "s0")].value];
    char name[24];

    r->seed = seed;
    for (size_t s = 0; s < r->states; s++) {
        uint32_t v = r->state[draw(r, r->states)];

        for (int tries = 0; tries < 40 && draw(r, 3); tries++) {
            const uint32_t other = (uint32_t)draw(r, r->p->n_values);

            if (rp_type_equal(&r->p->value[other], &state))
                v = other;
        }
        snprintf(name, sizeof name, "s%zu", s);
        if (draw(r, 6))
            assert_int_equal(rp_program_add_output(r->p, RP_OUTPUT_STATE, name, v, NULL), RP_OK);
    }
    for (int i = 0; i < 6; i++) {
        const uint32_t v = draw(r, 2) ? r->state[draw(r, r->states)] : (uint32_t)draw(r, r->p->n_values);

        snprintf(name, sizeof name, "any%d", i);
        assert_int_equal(rp_program_add_output(r->p, RP_OUTPUT_RESULT, name, v, NULL), RP_OK);
    }
}

/* Views of each state that have its type, so that some states take them. */
static void add_views(random_program *r)
{
    for (size_t s = 0; s < r->states; s++) {
        const rp_type type = r->p->value[r->state[s]];
        rp_attr shape[RP_MAX_ATTR] = {{.n = 2, .list = {(int64_t)type.shape[0], (int64_t)type.shape[1]}}};
        rp_attr back[RP_MAX_ATTR] = {{.n = 2, .list = {1, 0}}};
        uint32_t last = r->state[s];

        (void)append(r, RP_OP_transpose, back, &last, 1);
        last = (uint32_t)r->p->n_values - 1;
        if (s % 2 == 0)
            (void)append(r, RP_OP_reshape, shape, &last, 1);
        else
            (void)append(r, RP_OP_transpose, back, &last, 1);
        (void)append(r, RP_OP_stop_gradient, back, &r->state[s], 1);
    }
}

static void outputs_may_be_inputs_or_views_and_states_exchange_values(void **state)
{
    rp_device *device = device_new(1);
    char what[80];

    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        random_program r = {.p = random_program_new(seed + 2000, 4 + seed % 3, 6 - seed % 3)};
        tape expected;

        for (size_t i = 0; i < r.p->n_inputs; i++)
            if (r.p->input[i].kind == RP_INPUT_STATE)
                r.state[r.states++] = r.p->input[i].value;
        add_views(&r);
        mix_outputs(&r, seed);
        expected = tape_new(r.p, device);
        for (unsigned i = 0; i < 6; i++) {
            plan_passes = passes_of(seed, i < 2 ? i : 14 + i);
            snprintf(what, sizeof what, "seed %d, passes %u", (int)seed, plan_passes);
            assert_plan_is(r.p, &expected, device, what);
        }
        tape_free(&expected);
        rp_program_free(r.p);
    }
    plan_passes = RP_PASSES;
    rp_device_free(device);
}

/* ---- errors ---- */

/* The text of a step's error by the tape and by a plan; empty when there is none. */
static void errors_of(const rp_program *p, rp_device *device, unsigned passes, uint64_t seed, rp_error *eager,
                      rp_error *planned)
{
    store s = store_new(p);
    rp_graph *g = NULL;
    rp_plan *plan;

    *eager = *planned = (rp_error){0};
    for (size_t i = 0; i < s.n; i++)
        if (strcmp(p->input[i].name, "index") == 0)
            for (size_t k = 0; k < 3; k++)
                ((int64_t *)s.memory[i])[k] = rp_random_u32(seed, 4, (uint32_t)k, 0) % 9;
    plan_passes = passes;
    plan = plan_new(p, device, &s);
    for (size_t i = 0; i < s.n; i++)
        if (p->input[i].kind == RP_INPUT_FEED)
            memcpy(rp_plan_feed(plan, i), s.memory[i], rp_type_bytes(&p->value[p->input[i].value]));
    (void)rp_graph_trace(&g, p, device, s.memory, eager);
    (void)rp_plan_run(plan, planned);
    rp_graph_free(g);
    rp_plan_free(plan);
    store_free(&s);
    plan_passes = RP_PASSES;
}

static void a_wrong_index_is_the_error_of_the_tape_whatever_is_dead_or_common(void **state)
{
    rp_device *device = device_new(1);
    size_t failed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < WRONG; seed++) {
        /* rows of more than a chain's block: gathers wait for chains there */
        const bool large = seed % 3 == 0;
        rp_program *p = random_program_new(seed + 5000, large ? 48 : 5, large ? 48 : 4);

        for (unsigned i = 0; i < 4; i++) {
            rp_error eager, planned;

            errors_of(p, device, passes_of(seed, i < 2 ? i : 12 + i), seed, &eager, &planned);
            if (eager.status != planned.status || strcmp(eager.text, planned.text) != 0)
                fail_msg("seed %d: eager \"%s\", planned \"%s\"", (int)seed, eager.text, planned.text);
            failed += eager.status != RP_OK;
        }
        rp_program_free(p);
    }
    assert_true(failed > WRONG_LEAST); /* there is something to get wrong */
    rp_device_free(device);
}

static rp_tensor matrix(rp_graph *g, rp_input_kind kind, const char *name, size_t n)
{
    return rp_graph_input(g, kind, name, &(rp_type){RP_F32, 2, {n, n}}, NULL);
}

/* Both of two gathers have a wrong index. The first in the program waits for a chain and the second does not (large),
 * or the second could come early since it frees its operand (small): the error is the first one's. */
static void errors_keep_the_order_of_the_program(void **state)
{
    static const int64_t wrong[2][2] = {{0, 70}, {80, 0}};
    static float x[64][64];
    rp_device *device = device_new(1);

    (void)state;
    for (size_t large = 0; large < 2; large++) {
        rp_graph *g = rp_graph_new(NULL);
        rp_tensor m = matrix(g, RP_INPUT_DATA, "x", large ? 64 : 40), index[2], y = rp_exp(rp_neg(m));
        rp_error err = {0};
        rp_plan *plan;
        rp_program *p;

        for (int i = 0; i < 2; i++)
            index[i] = rp_graph_input(g, RP_INPUT_FEED, i ? "i1" : "i0", &(rp_type){RP_I64, 1, {2}}, NULL);
        rp_graph_set(g, RP_OUTPUT_RESULT, "a", rp_gather(large ? y : m, index[0], 0));
        rp_graph_set(g, RP_OUTPUT_RESULT, "b", rp_gather(large ? m : y, index[1], 0));
        p = rp_graph_take_program(g, NULL);
        assert_int_equal(rp_plan_new(&plan, p, device, (void *[]){x, NULL, NULL}, NULL), RP_OK);
        for (size_t i = 0; i < 2; i++)
            memcpy(rp_plan_feed(plan, 1 + i), wrong[i], sizeof wrong[i]);
        assert_int_equal(rp_plan_run(plan, &err), RP_EDATA);
        assert_non_null(strstr(err.text, "index 70"));
        rp_plan_free(plan);
        rp_program_free(p);
    }
    rp_device_free(device);
}

/* ---- what each is for ---- */

static rp_plan *plan_of(const rp_program *p, rp_device *device, unsigned passes)
{
    static char stands_in[64]; /* for states and data: nothing is run */
    void **memory = calloc(p->n_inputs + 1, sizeof *memory);
    rp_plan *plan;
    rp_error err = {0};

    for (size_t i = 0; i < p->n_inputs; i++)
        memory[i] = p->input[i].kind == RP_INPUT_FEED ? NULL : stands_in;
    if (rp_plan_new_in(&plan, p, device, memory, NULL, passes, &err) != RP_OK)
        fail_msg("%s", err.text);
    free(memory);
    return plan;
}

static size_t launches(const rp_program *p, rp_device *device, unsigned passes)
{
    rp_plan *plan = plan_of(p, device, passes);
    size_t n = rp_plan_launches(plan);

    rp_plan_free(plan);
    return n;
}

static size_t arena(const rp_program *p, rp_device *device, unsigned passes)
{
    rp_plan *plan = plan_of(p, device, passes);
    size_t bytes = rp_plan_arena_bytes(plan);

    rp_plan_free(plan);
    return bytes;
}

static void what_no_output_needs_is_not_executed_unless_it_can_fail(void **state)
{
    rp_device *device = device_new(1);
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = matrix(g, RP_INPUT_DATA, "x", 1024);
    rp_tensor rows = rp_graph_input(g, RP_INPUT_FEED, "rows", &(rp_type){RP_I64, 1, {3}}, NULL);
    rp_program *p;

    (void)state;
    (void)rp_transpose(rp_exp(rp_matmul(x, x)), NULL);
    (void)rp_gather(x, rows, 0);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_neg(rows));
    p = rp_graph_take_program(g, NULL);
    assert_int_equal(launches(p, device, RP_PASSES), 2);
    assert_int_equal(launches(p, device, RP_PASSES & ~(unsigned)(RP_PASS_DEAD | RP_PASS_EPILOGUES)), 4);
    rp_program_free(p);
    rp_device_free(device);
}

static void equal_instructions_are_executed_once(void **state)
{
    rp_device *device = device_new(1);
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = matrix(g, RP_INPUT_DATA, "x", 64), a, b;
    rp_program *p;

    (void)state;
    a = rp_matmul(x, rp_transpose(x, NULL));
    b = rp_matmul(x, rp_transpose(x, NULL));
    rp_graph_set(g, RP_OUTPUT_RESULT, "a", rp_softmax(a));
    rp_graph_set(g, RP_OUTPUT_RESULT, "b", rp_softmax(b));
    rp_graph_set(g, RP_OUTPUT_RESULT, "c", rp_softmax(rp_matmul(x, x))); /* another operand */
    rp_graph_set(g, RP_OUTPUT_RESULT, "d", rp_sum(a, (int[]){0}, 1, true));
    rp_graph_set(g, RP_OUTPUT_RESULT, "e", rp_sum(a, (int[]){1}, 1, true)); /* another attribute */
    p = rp_graph_take_program(g, NULL);
    assert_int_equal(launches(p, device, RP_PASSES), 6);
    assert_int_equal(launches(p, device, RP_PASSES & ~(unsigned)RP_PASS_COMMON), 8);
    rp_program_free(p);
    rp_device_free(device);
}

/* Each layer's gradient is used up when the next one's is made: two of them and a few rows are alive, not all. */
static void states_are_updated_when_their_gradient_exists(void **state)
{
    enum { LAYERS = 12, N = 96 };
    const size_t weight = sizeof(float[N][N]);
    rp_device *device = device_new(1);
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor w[LAYERS], grad[LAYERS],
        x = rp_slice(matrix(g, RP_INPUT_DATA, "x", N), (size_t[]){0, 0}, (size_t[]){4, N});
    rp_tensor rate = rp_graph_input(g, RP_INPUT_FEED, "lr", &(rp_type){.dtype = RP_F32}, NULL);
    char name[24];
    rp_program *p;

    (void)state;
    for (size_t i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        w[i] = matrix(g, RP_INPUT_STATE, name, N);
        x = rp_tanh(rp_matmul(x, w[i]));
    }
    rp_gradients(rp_sum(x, NULL, 0, false), w, LAYERS, grad);
    for (size_t i = 0; i < LAYERS; i++) { /* by hand: three instructions an update */
        snprintf(name, sizeof name, "w%zu", i);
        rp_graph_set(g, RP_OUTPUT_STATE, name, rp_sub(w[i], rp_mul(grad[i], rate)));
    }
    p = rp_graph_take_program(g, NULL);
    assert_true(arena(p, device, RP_PASSES) < 3 * weight);
    assert_true(arena(p, device, RP_PASSES & ~(unsigned)RP_PASS_EARLY) > LAYERS / 2 * weight);
    rp_program_free(p);
    rp_device_free(device);
}

static void a_large_transformer_is_planned_in_760_mib(void **state)
{
    const gpt size[] = {{24, 1024, 16, 50257, 256, false, 0}, {24, 1024, 16, 50257, 256, true, 0}};
    rp_device *device = device_new(1);

    (void)state;
    for (size_t i = 0; i < COUNT(size); i++) {
        rp_program *p = gpt_program(&size[i]);

        assert_non_null(p);
        assert_true(arena(p, device, RP_PASSES) <= (size_t)760 << 20);
        rp_program_free(p);
    }
    rp_device_free(device);
}

/* ---- one arena ---- */

static rp_compiled *compile_length(rp_run *run, size_t length)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &(rp_type){RP_F32, 2, {length, 64}}, NULL), y;
    rp_compiled *compiled = NULL;

    y = rp_matmul(rp_softmax(rp_matmul(x, rp_transpose(x, NULL))), x);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_sum(y, (int[]){0}, 1, false));
    assert_int_equal(rp_run_compile(&compiled, run, rp_graph_take_program(g, NULL), NULL), RP_OK);
    return compiled;
}

static void step_of_length(rp_compiled *c, size_t length, unsigned char *bytes)
{
    float *x = malloc(length * 64 * sizeof *x);

    for (size_t i = 0; i < length * 64; i++)
        x[i] = (float)(i % 31) / 100;
    assert_int_equal(rp_compiled_write(c, "x", x, length * 64 * sizeof *x, NULL), RP_OK);
    assert_int_equal(rp_compiled_step(c, NULL), RP_OK);
    assert_int_equal(rp_compiled_read(c, "y", bytes, 64 * sizeof(float), NULL), RP_OK);
    free(x);
}

/* Programs of many lengths share the memory of the longest, and results stay until their own program runs again. */
static void all_programs_of_a_run_share_one_arena(void **state)
{
    enum { LENGTHS = 12 };
    static unsigned char bytes[2][LENGTHS][64 * sizeof(float)];
    rp_compiled *c[LENGTHS];
    size_t longest = 0;
    rp_run *run;

    (void)state;
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    for (size_t i = 0; i < LENGTHS; i++) {
        c[i] = compile_length(run, 20 + 10 * i);
        step_of_length(c[i], 20 + 10 * i, bytes[0][i]);
        if (run->arena.bytes > longest)
            longest = run->arena.bytes;
    }
    assert_true(longest >= 2 * sizeof(float[130][130]) && longest < 4 * sizeof(float[130][130]));
    assert_int_equal(run->arena.bytes, longest);
    for (size_t i = 0; i < LENGTHS; i++) { /* others have run since, and the arena has moved */
        assert_int_equal(rp_compiled_read(c[i], "y", bytes[1][i], sizeof bytes[1][i], NULL), RP_OK);
        assert_memory_equal(bytes[1][i], bytes[0][i], sizeof bytes[0][i]);
        step_of_length(c[i], 20 + 10 * i, bytes[1][i]);
    }
    assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
    for (size_t i = 0; i < LENGTHS; i++)
        rp_compiled_free(c[i]);
    rp_run_free(run);
}

/* ---- growth ---- */

static double microseconds_an_instruction(size_t layers)
{
    double least = 1e9;

    for (int i = 0; i < 3; i++) {
        deep_cost cost = {0};
        rp_error err = {0};

        if (deep_measure(layers, &cost, &err) != RP_OK)
            fail_msg("%s", err.text);
        assert_true(cost.instructions >= 8 * layers);
        if ((cost.build + cost.compile) / (double)cost.instructions < least)
            least = (cost.build + cost.compile) / (double)cost.instructions;
    }
    return least * 1e6;
}

/* Sixteen times the program: what is quadratic anywhere would take sixteen times as long an instruction. The bound
 * leaves room for caches, which the small program fits. */
static void building_and_compiling_are_linear(void **state)
{
    const double small = microseconds_an_instruction(1000), large = microseconds_an_instruction(16000);

    (void)state;
    print_message("us an instruction: %.2f at 9,000, %.2f at 144,000\n", small, large);
    assert_true(large < 5 * small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_of_passes_gives_the_bits_of_the_eager_tape),
        cmocka_unit_test(outputs_may_be_inputs_or_views_and_states_exchange_values),
        cmocka_unit_test(a_wrong_index_is_the_error_of_the_tape_whatever_is_dead_or_common),
        cmocka_unit_test(errors_keep_the_order_of_the_program),
        cmocka_unit_test(what_no_output_needs_is_not_executed_unless_it_can_fail),
        cmocka_unit_test(equal_instructions_are_executed_once),
        cmocka_unit_test(states_are_updated_when_their_gradient_exists),
        cmocka_unit_test(a_large_transformer_is_planned_in_760_mib),
        cmocka_unit_test(all_programs_of_a_run_share_one_arena),
    };
    const struct CMUnitTest growth[] = {cmocka_unit_test(building_and_compiling_are_linear)};
    int failed = cmocka_run_group_tests_name("growth", growth, NULL, NULL);

    rp_set_allocator(&poisoning);
    return failed + cmocka_run_group_tests_name("passes of plans", tests, NULL, NULL);
}
