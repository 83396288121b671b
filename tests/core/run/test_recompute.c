/* SPDX-License-Identifier: Apache-2.0
 * Values computed again so that a step fits into less memory (core/run/recompute): the bits of the eager tape and its
 * errors under any budget, budgets that are kept or refused with a figure that then does, and what is told before. */
#include <malloc.h>
#include <time.h>

#include "core/run/run_private.h"
#include "tests/core/run/gpt_program.h"
#include "tests/core/run/plan_steps.h"
#include "tests/core/run/region_examples.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/random_chain.h"

enum { PROGRAMS = SANITIZED ? 20 : 100, CHAINS = SANITIZED ? 4 : 24, TRAININGS = SANITIZED ? 20 : 150 };
enum { WRONG = SANITIZED ? 40 : 120, REGIONS = SANITIZED ? 20 : 40, PARTS = SANITIZED ? 3 : 1 };
enum { ROWS = 12, POOL = 48, STATES = 4 };

static const unsigned percents[] = {99, 90, 75, 60, 45, 30, 15};

/* NULL: it cannot be had within the budget; 0: there is none. */
static rp_plan *plan_within(const rp_program *p, rp_device *device, const store *s, size_t memory, rp_error *err)
{
    void **inputs = calloc(s->n + 1, sizeof *inputs);
    rp_plan *plan = NULL;
    rp_status status;

    for (size_t i = 0; i < s->n; i++)
        inputs[i] = p->input[i].kind == RP_INPUT_FEED ? NULL : s->memory[i];
    *err = (rp_error){0};
    status = rp_plan_new_with(&plan, p, device, inputs,
                              &(rp_plan_options){.passes = plan_passes, .stored = RP_PLAN_STORED_MAX, .memory = memory},
                              err);
    assert_true(status == RP_OK || (memory && status == RP_ENOMEM && !plan));
    free(inputs);
    return plan;
}

static size_t bytes_of(const rp_plan *plan)
{
    return rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan);
}

/* Two steps as the tape makes them, by a plan within each budget; how many of these had something computed again. */
static size_t compare(const rp_program *p, rp_device *device, const char *of)
{
    store eager = store_new(p);
    record expected[2];
    size_t whole, again = 0;
    rp_plan *plan;
    rp_error err;
    char what[96];

    plan = plan_within(p, device, &eager, 0, &err);
    assert_int_equal(rp_plan_again(plan), 0);
    whole = bytes_of(plan);
    rp_plan_free(plan);
    for (size_t step = 0; step < 2; step++) {
        next_feeds(p, &eager, step);
        expected[step] = eager_step(p, device, &eager);
    }
    for (size_t i = 0; i < COUNT(percents); i++) {
        const size_t budget = whole * percents[i] / 100 + 1;
        store s = store_new(p);

        plan = plan_within(p, device, &s, budget, &err);
        snprintf(what, sizeof what, "%.60s, %u %%", of, percents[i]);
        for (size_t step = 0; step < 2 && plan; step++) {
            record found;

            assert_true(bytes_of(plan) <= budget);
            next_feeds(p, &s, step);
            found = plan_step(p, plan, &s);
            assert_same(p, &expected[step], &found, what);
        }
        again += plan && rp_plan_again(plan);
        rp_plan_free(plan);
        store_free(&s);
    }
    record_free(&expected[0]);
    record_free(&expected[1]);
    store_free(&eager);
    return again;
}

/* ---- random training steps ---- */

static size_t pick(uint64_t seed, uint32_t i, size_t below)
{
    return rp_random_u32(seed, i, 17, 0) % below;
}

/* One more value of the pool's shape, from two that are there. */
static rp_tensor next_value(size_t choice, rp_tensor a, rp_tensor b, rp_tensor index, rp_tensor rng, int64_t stream)
{
    const size_t half[2] = {ROWS / 2, ROWS}, none[2] = {0, 0};
    rp_tensor x, y;

    switch (choice) {
    case 0:
        return rp_matmul(a, rp_transpose(b, NULL));
    case 1:
        return rp_softmax(a);
    case 2:
        x = rp_mean(a, (int[]){1}, 1, true);
        return rp_sub(b, x);
    case 3:
        x = rp_uniform(rng, stream, RP_F32, 2, (size_t[]){ROWS, ROWS}, 0, 1);
        return rp_mul(a, x);
    case 4:
        return rp_gather(a, index, 0);
    case 5:
        x = rp_slice(a, none, half);
        y = rp_slice(b, (size_t[]){ROWS / 2, 0}, (size_t[]){ROWS, ROWS});
        return rp_concat((rp_tensor[]){x, y}, 2, 0);
    case 6:
        return rp_dropout(rp_tanh(a), 0.25, rng, stream);
    case 7:
        return rp_reshape(rp_relu(rp_reshape(a, 1, (size_t[]){ROWS * ROWS})), 2, (size_t[]){ROWS, ROWS});
    case 8:
        return rp_mul(rp_sigmoid(a), b);
    case 9:
        return rp_gelu(a);
    default:
        return rp_add(a, rp_transpose(b, NULL));
    }
}

/* Values of a random graph, each from recent ones mostly, their gradients, and updates. */
static rp_program *random_training(uint64_t seed)
{
    const rp_type type = {RP_F32, 2, {ROWS, ROWS}};
    const size_t n = 16 + pick(seed, 0, POOL - STATES - 16);
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor pool[POOL], grad[STATES], index, rng, loss;
    rp_program *p;
    rp_error err = {0};
    char name[16];

    index = rp_graph_input(g, RP_INPUT_FEED, "index", &(rp_type){RP_I64, 1, {ROWS}}, NULL);
    rng = rp_graph_input(g, RP_INPUT_FEED, "rng", &(rp_type){RP_I64, 1, {2}}, NULL);
    for (size_t i = 0; i < STATES; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        pool[i] = rp_graph_input(g, RP_INPUT_STATE, name, &type, NULL);
    }
    for (size_t i = STATES; i < STATES + n; i++) {
        const uint32_t at = (uint32_t)(4 * i);
        const size_t near = i < 6 || pick(seed, at, 4) == 0 ? i : 6, far = pick(seed, at + 1, 3) ? i : near;

        pool[i] = next_value(pick(seed, at + 2, 11), pool[i - 1 - pick(seed, at + 3, near)],
                             pool[i - 1 - pick(seed, at + 1000, far)], index, rng, (int64_t)i);
    }
    loss = rp_mean(rp_mul(pool[STATES + n - 1], pool[STATES + n - 2]), NULL, 0, false);
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", loss);
    rp_gradients_or_zeros(loss, pool, STATES, grad);
    for (size_t i = 0; i < STATES; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        rp_graph_set(g, RP_OUTPUT_STATE, name, rp_sub(pool[i], rp_scale(grad[i], 0.125)));
    }
    p = rp_graph_take_program(g, &err);
    if (!p)
        fail_msg("seed %d: %s", (int)seed, err.text);
    return p;
}

static rp_program *program_of_kind(uint64_t seed)
{
    if (seed < PROGRAMS)
        return random_program_new(seed + 7000, 4 + seed % 2, 6 - seed % 2);
    return seed < PROGRAMS + CHAINS ? random_chain_new(seed, 45, 47) : random_training(seed);
}

static void any_budget_gives_the_bits_of_the_eager_tape(void **state)
{
    rp_device *device;
    size_t again = 0;
    char what[64];

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < PROGRAMS + CHAINS + TRAININGS; seed++) {
        rp_program *p = program_of_kind(seed);

        assert_non_null(p);
        plan_passes = seed % 3 ? RP_PASSES : rp_random_u32(seed, 9, 2, 0) & RP_PASSES;
        snprintf(what, sizeof what, "seed %d, passes %u", (int)seed, plan_passes);
        again += compare(p, device, what);
        rp_program_free(p);
    }
    plan_passes = RP_PASSES;
    print_message("%zu plans with something computed again\n", again);
    assert_true(again > 2 * TRAININGS);
    rp_device_free(device);
}

static void training_steps_and_regions_have_the_same_bits(void **state)
{
    static const gpt size = {3, 32, 4, 64, 24, false, 0};
    build_fn *const build[] = {build_call, build_scan, build_map, build_cond, build_while};
    rp_program *p = gpt_program(&size);
    rp_device *device;
    char what[64];

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    assert_true(compare(p, device, "a transformer's step") >= 4);
    rp_program_free(p);
    for (uint64_t seed = 0; seed < REGIONS; seed++) {
        const example e = example_of(seed);

        p = program_of(build[seed % COUNT(build)], &e, seed % 2);
        snprintf(what, sizeof what, "region %d", (int)seed);
        (void)compare(p, device, what);
        rp_program_free(p);
    }
    rp_device_free(device);
}

/* A product whose chain waits for something as large, which takes the room of the product's operands where it is made
 * before that. */
static rp_program *joined_late(void)
{
    const rp_type type = {RP_F32, 2, {128, 128}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_DATA, "x", &type, NULL), product, other;
    rp_program *p;

    product = rp_matmul(rp_cumsum(x, 1, false), rp_cumsum(x, 0, false));
    other = rp_cumsum(rp_cumsum(x, 0, true), 1, true);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_cumsum(rp_mul(product, other), 1, false));
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    return p;
}

/* A call of several instructions needs at once what these need one after another. */
static void what_only_saves_time_goes_before_anything_is_made_again(void **state)
{
    rp_program *p = joined_late();
    store s = store_new(p);
    rp_plan *joined, *apart, *within;
    rp_device *device;
    rp_error err;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    joined = plan_within(p, device, &s, 0, &err);
    plan_passes = RP_PASSES & ~(RP_PASS_ROWS | RP_PASS_EPILOGUES);
    apart = plan_within(p, device, &s, 0, &err);
    plan_passes = RP_PASSES;
    print_message("%zu bytes joined, %zu apart\n", bytes_of(joined), bytes_of(apart));
    assert_true(bytes_of(apart) < bytes_of(joined) && rp_plan_launches(joined) < rp_plan_launches(apart));
    within = plan_within(p, device, &s, bytes_of(apart), &err);
    assert_non_null(within);
    assert_int_equal(rp_plan_again(within), 0);
    assert_int_equal(bytes_of(within), bytes_of(apart));
    rp_plan_free(within);
    rp_plan_free(apart);
    rp_plan_free(joined);
    compare(p, device, "joined late");
    store_free(&s);
    rp_program_free(p);
    rp_device_free(device);
}

/* What is drawn at random is read twice, at both ends of a step: the same numbers, drawn twice. */
static void random_values_are_drawn_again(void **state)
{
    enum { N = 64, LAYERS = 5 };
    const rp_type type = {RP_F32, 2, {N, N}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_DATA, "x", &type, NULL), w[LAYERS], grad[LAYERS], mask;
    rp_tensor rng = rp_graph_input(g, RP_INPUT_FEED, "rng", &(rp_type){RP_I64, 1, {2}}, NULL);
    rp_program *p;
    rp_device *device;
    char name[16];

    (void)state;
    for (size_t i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        w[i] = rp_graph_input(g, RP_INPUT_STATE, name, &type, NULL);
        mask = rp_uniform(rng, (int64_t)i, RP_F32, 2, (size_t[]){N, N}, 0, 1);
        x = rp_mul(rp_tanh(rp_matmul(x, w[i])), mask);
    }
    rp_gradients(rp_sum(x, NULL, 0, false), w, LAYERS, grad);
    for (size_t i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        rp_graph_set(g, RP_OUTPUT_STATE, name, rp_sub(w[i], rp_scale(grad[i], 0.01)));
    }
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_true(compare(p, device, "dropout") >= 2);
    rp_program_free(p);
    rp_device_free(device);
}

/* ---- errors ---- */

static void a_wrong_index_is_the_error_of_the_tape(void **state)
{
    rp_device *device;
    size_t failed = 0, again = 0;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (uint64_t seed = 0; seed < WRONG; seed++) {
        rp_program *p = random_training(seed + 5000);
        store s = store_new(p);
        rp_error eager = {0}, planned = {0}, ignored;
        rp_graph *g = NULL;
        rp_plan *plan = plan_within(p, device, &s, 0, &ignored), *less;
        const size_t whole = bytes_of(plan);

        less = plan_within(p, device, &s, whole * percents[1 + seed % 3] / 100, &ignored);
        for (size_t i = 0; i < s.n; i++)
            if (strcmp(p->input[i].name, "index") == 0)
                for (size_t k = 0; k < ROWS; k++)
                    ((int64_t *)s.memory[i])[k] = (int64_t)pick(seed, (uint32_t)k, ROWS + seed % 2);
        for (size_t i = 0; i < s.n && less; i++)
            if (p->input[i].kind == RP_INPUT_FEED)
                memcpy(rp_plan_feed(less, i), s.memory[i], rp_type_bytes(&p->value[p->input[i].value]));
        if (less) {
            (void)rp_graph_trace(&g, p, device, s.memory, &eager);
            (void)rp_plan_run(less, &planned);
            if (eager.status != planned.status || strcmp(eager.text, planned.text) != 0)
                fail_msg("seed %d: eager \"%s\", planned \"%s\"", (int)seed, eager.text, planned.text);
            failed += eager.status != RP_OK;
            again += rp_plan_again(less) > 0;
        }
        rp_graph_free(g);
        rp_plan_free(plan);
        rp_plan_free(less);
        store_free(&s);
        rp_program_free(p);
    }
    print_message("%zu steps failed, %zu plans with something computed again\n", failed, again);
    assert_true(failed > WRONG / 10 && again > WRONG / 3);
    rp_device_free(device);
}

/* ---- budgets ---- */

static const gpt middle = {6, 64, 4, 256, 64, false, 0};

static void set_states(rp_run *run, const rp_program *p)
{
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_input *in = &p->input[i];
        const rp_type *type = &p->value[in->value];
        void *zeros = calloc(rp_type_bytes(type) + 1, 1);

        if (in->kind == RP_INPUT_STATE)
            assert_int_equal(rp_run_add_state(run, in->name, type->dtype, type->rank, type->shape, NULL, NULL), RP_OK);
        else if (in->kind == RP_INPUT_DATA)
            assert_int_equal(rp_run_add_data(run, in->name, type->dtype, type->rank, type->shape, zeros, NULL), RP_OK);
        free(zeros);
    }
}

/* Bytes that a run of the program holds, compiled under a budget; 0 with err: it is refused. */
static size_t held_by(const rp_program *p, uint64_t budget, rp_error *err)
{
    rp_compiled *compiled = NULL;
    rp_run *run;
    size_t held = 0;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1, .memory = budget}, NULL), RP_OK);
    set_states(run, p);
    if (rp_compile(&compiled, run, p, err) == RP_OK)
        held = rp_run_memory(run);
    rp_compiled_free(compiled);
    rp_run_free(run);
    return held;
}

/* What is told before anything is allocated is what a run then holds, and within its budget. */
static void what_is_told_is_what_is_held(void **state)
{
    rp_program *p = gpt_program(&middle);
    rp_memory_needed whole, less;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_program_memory(p, NULL, &whole, &err), RP_OK);
    assert_int_equal(whole.total, whole.states + whole.data + whole.own + whole.values);
    assert_int_equal(whole.work_again, 0);
    assert_int_equal(held_by(p, 0, &err), whole.total);
    for (unsigned percent = 90; percent >= 50; percent -= 10) {
        const uint64_t budget = whole.total - whole.values + whole.values * percent / 100;

        assert_int_equal(rp_program_memory(p, &(rp_run_options){.memory = budget}, &less, &err), RP_OK);
        assert_true(less.total <= budget && less.work_again > 0);
        assert_int_equal(held_by(p, budget, &err), less.total);
    }
    rp_program_free(p);
}

/* One line, with a figure that is then enough. */
static void what_cannot_be_met_is_refused_with_the_least(void **state)
{
    rp_program *p = gpt_program(&middle);
    rp_memory_needed whole, least;
    unsigned long long figure;
    rp_error err = {0};
    const char *at;

    (void)state;
    assert_int_equal(rp_program_memory(p, NULL, &whole, NULL), RP_OK);
    assert_int_equal(
        rp_program_memory(p, &(rp_run_options){.memory = whole.total - whole.values * 95 / 100}, &least, &err),
        RP_ENOMEM);
    assert_null(strchr(err.text, '\n'));
    at = strstr(err.text, "results take ");
    assert_non_null(at);
    figure = strtoull(at + strlen("results take "), NULL, 10);
    print_message("%llu bytes at the least of %llu\n", figure, (unsigned long long)(whole.own + whole.values));
    assert_true(figure > whole.own && figure < whole.own + whole.values * 3 / 4);
    assert_int_equal(
        rp_program_memory(p, &(rp_run_options){.memory = whole.states + whole.data + figure}, &least, &err), RP_OK);
    assert_int_equal(held_by(p, whole.total - whole.values * 95 / 100, &err), 0);
    assert_int_equal(err.status, RP_ENOMEM);
    assert_non_null(strstr(err.text, "results take "));
    assert_int_equal(held_by(p, whole.states / 2, &err), 0);
    assert_non_null(strstr(err.text, "states, data, and feeds"));
    rp_program_free(p);
}

/* Whoever takes the least that a refusal names is not refused again, however far below it the budget was. */
static void the_least_that_is_told_is_enough(void **state)
{
    static const gpt sizes[] = {{3, 48, 2, 256, 256, true, 0}, {1, 32, 2, 100, 64, false, 0}};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        rp_program *p = gpt_program(&sizes[i]);
        rp_memory_needed whole, needed;
        size_t refusals = 0;

        assert_int_equal(rp_program_memory(p, NULL, &whole, NULL), RP_OK);
        for (uint64_t part = 1; part < 16; part += PARTS) {
            rp_run_options o = {.memory = whole.total - whole.values + whole.values * part / 16};
            rp_error err = {0};

            if (rp_program_memory(p, &o, &needed, &err) == RP_OK)
                continue;
            assert_int_equal(err.status, RP_ENOMEM);
            o.memory = whole.states + whole.data + strtoull(strstr(err.text, "take ") + strlen("take "), NULL, 10);
            if (rp_program_memory(p, &o, &needed, &err) != RP_OK)
                fail_msg("with the least of %zu/16, %llu bytes: %s", (size_t)part, (unsigned long long)o.memory,
                         err.text);
            refusals++;
        }
        print_message("%zu refusals\n", refusals);
        assert_true(refusals > 0);
        rp_program_free(p);
    }
}

/* A row of functions whose values are read from the last to the first, none twice or never, and a scan. */
static rp_program *row_and_scan(uint64_t times)
{
    enum { N = 64, LENGTH = 12 };
    const rp_type type = {RP_F32, 2, {N, N}}, index = {.dtype = RP_I64}, scalar = {.dtype = RP_F32};
    rp_graph *g = rp_graph_new(NULL), *inner = rp_graph_new(NULL);
    rp_tensor x[LENGTH], y, s;
    rp_function *f;
    rp_program *p;

    y = rp_graph_input(g, RP_INPUT_DATA, "x", &type, NULL);
    for (int i = 0; i < LENGTH; i++)
        x[i] = rp_tanh(i ? x[i - 1] : y);
    for (int i = LENGTH; i-- > 0;)
        y = rp_matmul(y, x[i]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    (void)rp_function_parameter(inner, &index);
    rp_function_return(inner, rp_tanh(rp_function_parameter(inner, &scalar)));
    assert_int_equal(rp_function_finish(inner, &f, NULL), RP_OK);
    s = rp_graph_input(g, RP_INPUT_FEED, "s", &scalar, NULL);
    rp_scan(g, &(rp_scan_options){.function = f, .carried = &s, .n_carried = 1, .times = times}, &s);
    rp_graph_set(g, RP_OUTPUT_RESULT, "s", s);
    rp_function_free(f);
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    return p;
}

/* A program that executes as many instructions as programs may: nothing can be made again, which is no error of its
 * own. */
static void what_a_limit_of_programs_refuses_cannot_be_made_smaller(void **state)
{
    rp_program *p = row_and_scan(1), *two = row_and_scan(2), *most;
    const uint64_t each = two->executed - p->executed;
    rp_memory_needed whole, less;
    rp_error err = {0};

    (void)state;
    most = row_and_scan(1 + (rp_executed_max - p->executed) / each);
    assert_int_equal(rp_program_memory(p, NULL, &whole, NULL), RP_OK);
    less = whole;
    assert_int_equal(rp_program_memory(p, &(rp_run_options){.memory = whole.total - whole.values / 4}, &less, &err),
                     RP_OK);
    assert_int_equal(rp_program_memory(most, NULL, &less, NULL), RP_OK);
    assert_int_equal(less.total, whole.total);
    assert_int_equal(rp_program_memory(most, &(rp_run_options){.memory = whole.total - whole.values / 4}, &less, &err),
                     RP_ENOMEM);
    if (!strstr(err.text, "results take "))
        fail_msg("%s", err.text);
    rp_program_free(p);
    rp_program_free(two);
    rp_program_free(most);
}

/* A program that comes when another has had all that was left is refused, and the first one goes on. */
static void all_steps_of_a_run_share_its_budget(void **state)
{
    rp_program *p = gpt_program(&middle);
    rp_compiled *first = NULL, *second = NULL;
    rp_memory_needed whole;
    rp_error err = {0};
    rp_run *run;

    (void)state;
    assert_int_equal(rp_program_memory(p, NULL, &whole, NULL), RP_OK);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1, .memory = whole.total + whole.own / 2}, NULL),
                     RP_OK);
    set_states(run, p);
    assert_int_equal(rp_compile(&first, run, p, &err), RP_OK);
    assert_int_equal(rp_compile(&second, run, p, &err), RP_ENOMEM);
    assert_null(second);
    assert_non_null(strstr(err.text, "all steps together"));
    assert_int_equal(rp_run_memory(run), whole.total);
    rp_compiled_free(first);
    rp_run_free(run);
    rp_program_free(p);
}

/* ---- what a process takes, and how long it takes to know ---- */

static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long all, pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &all, &pages) != 2)
        pages = 0;
    fclose(file);
    return pages * 4096;
}

static void feed(rp_compiled *compiled, const rp_program *p)
{
    for (size_t i = 0; i < p->n_inputs; i++) {
        const size_t bytes = rp_type_bytes(&p->value[p->input[i].value]);
        void *zeros = calloc(bytes, 1);

        if (p->input[i].kind == RP_INPUT_FEED)
            assert_int_equal(rp_compiled_write(compiled, p->input[i].name, zeros, bytes, NULL), RP_OK);
        free(zeros);
    }
}

/* Bytes that a run of one step adds to the process. */
static size_t taken(const rp_program *p, uint64_t budget)
{
    rp_compiled *compiled;
    rp_error err = {0};
    rp_run *run;
    size_t before, after;

    (void)malloc_trim(0);
    before = resident();
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1, .memory = budget}, NULL), RP_OK);
    set_states(run, p);
    assert_int_equal(rp_compile(&compiled, run, p, &err), RP_OK);
    feed(compiled, p);
    assert_int_equal(rp_compiled_step(compiled, &err), RP_OK);
    after = resident();
    rp_compiled_free(compiled);
    rp_run_free(run);
    return after > before ? after - before : 0;
}

/* What a process has more after a step than before the run was made, with and without a budget: what was told, to 2 %.
 * What kernels hold for a thread comes once, whatever runs there are: it is there from the first of them on. */
static void a_process_takes_what_was_told(void **state)
{
    static const gpt size = {2, 512, 8, 12000, 64, false, 0};
    rp_program *p;
    rp_memory_needed needed = {0};

    (void)state;
    if (SANITIZED || !resident())
        skip();
    p = gpt_program(&size);
    rp_set_allocator(NULL);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 17); /* what is freed is the system's again at once */
    (void)taken(p, 0);
    for (int tight = 0; tight < 2; tight++) {
        const uint64_t budget = tight ? needed.total - needed.values / 8 : 0;
        size_t bytes;

        assert_int_equal(rp_program_memory(p, &(rp_run_options){.memory = budget}, &needed, NULL), RP_OK);
        bytes = taken(p, budget);
        print_message("told %.1f MiB, taken %.1f MiB, %.4f\n", (double)needed.total / (1 << 20),
                      (double)bytes / (1 << 20), (double)bytes / (double)needed.total);
        assert_true(bytes <= needed.total + needed.total / 50);
        assert_true(bytes >= needed.total - needed.total / 50);
    }
    rp_set_allocator(&poisoning);
    rp_program_free(p);
}

/* Graph, gradients, and the plan with all its figures, of shapes alone; seconds of the process. */
static void large_networks_are_planned_in_seconds(void **state)
{
    static const struct {
        gpt size;
        double parameters, seconds;
    } net[] = {{{8, 512, 8, 24000, 512, false, 0}, 50e6, 0.2},
               {{24, 1024, 16, 50257, 1024, true, 0}, 350e6, 1},
               {{32, 4096, 32, 50257, 2048, false, 0}, 6.8e9, 10}};

    (void)state;
    for (size_t i = 0; i < COUNT(net); i++) {
        const clock_t start = clock();
        rp_program *p = gpt_program(&net[i].size);
        rp_memory_needed needed;
        double seconds;

        assert_int_equal(rp_program_memory(p, NULL, &needed, NULL), RP_OK);
        seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        print_message("%.0f M parameters: %.3f s; states %.1f GiB, a step %.2f GiB\n", (double)needed.states / 12e6,
                      seconds, (double)needed.states / (1 << 30), (double)needed.values / (1 << 30));
        assert_true((double)needed.states / 12 > 0.95 * net[i].parameters);
        assert_true(SANITIZED || seconds < net[i].seconds);
        rp_program_free(p);
    }
}

/* ---- failing allocations ---- */

static size_t allowed = SIZE_MAX, held;

static void *counted(void *self, size_t bytes)
{
    void *block = allowed ? malloc(bytes) : NULL;

    (void)self;
    allowed -= allowed && allowed != SIZE_MAX;
    held += block != NULL;
    return block;
}

static void *counted_again(void *self, void *block, size_t bytes)
{
    void *bigger;

    if (!block)
        return counted(self, bytes);
    bigger = allowed ? realloc(block, bytes) : NULL;
    allowed -= allowed && allowed != SIZE_MAX;
    return bigger;
}

static void uncounted(void *self, void *block)
{
    (void)self;
    held -= block != NULL;
    free(block);
}

static void every_allocation_may_fail(void **state)
{
    const rp_allocator counting = {counted, counted_again, uncounted, NULL};
    rp_device *device;
    rp_program *p;
    rp_plan *plan;
    rp_error err;
    size_t failures = 0, budget;
    store s;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    p = random_training(3);
    s = store_new(p);
    plan = plan_within(p, device, &s, 0, &err);
    budget = bytes_of(plan) * 4 / 5;
    rp_plan_free(plan);
    for (bool done = false; !done; failures += done ? 0 : 1 + failures / 64) {
        const size_t before = held;

        allowed = failures;
        plan = plan_within(p, device, &s, budget, &err);
        done = plan && allowed > 0;
        allowed = SIZE_MAX;
        rp_plan_free(plan);
        assert_int_equal(held, before);
    }
    print_message("%zu allocations\n", failures);
    assert_true(failures > 100);
    store_free(&s);
    rp_program_free(p);
    rp_device_free(device);
    rp_set_allocator(&poisoning);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_budget_gives_the_bits_of_the_eager_tape),
        cmocka_unit_test(training_steps_and_regions_have_the_same_bits),
        cmocka_unit_test(what_only_saves_time_goes_before_anything_is_made_again),
        cmocka_unit_test(random_values_are_drawn_again),
        cmocka_unit_test(a_wrong_index_is_the_error_of_the_tape),
        cmocka_unit_test(what_is_told_is_what_is_held),
        cmocka_unit_test(what_cannot_be_met_is_refused_with_the_least),
        cmocka_unit_test(the_least_that_is_told_is_enough),
        cmocka_unit_test(what_a_limit_of_programs_refuses_cannot_be_made_smaller),
        cmocka_unit_test(all_steps_of_a_run_share_its_budget),
        cmocka_unit_test(a_process_takes_what_was_told),
        cmocka_unit_test(large_networks_are_planned_in_seconds),
        cmocka_unit_test(every_allocation_may_fail),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("values computed again", tests, NULL, NULL);
}
