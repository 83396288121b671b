/* SPDX-License-Identifier: Apache-2.0
 * Regions of eager steps: executed by plans from the second time on, and gradients of scans from what these have kept,
 * they have the bits and the errors of the frames, whatever of a step has gone meanwhile, and in whatever memory. */
#include "core/run/eager/eager.h"
#include "tests/core/run/region_examples.h"
#include "tests/house/sanitized.h"

enum { SEEDS = SANITIZED ? 12 : 40, STEPS = 4 };

/* ---- steps on one graph, as a run makes them ---- */

typedef struct stepper {
    rp_graph *graph;
    rp_eager *eager;
    uint64_t dropped; /* 0: every value stays */
} stepper;

static stepper stepper_new(rp_device *device, size_t stored)
{
    stepper s = {.graph = rp_graph_new(device)};

    assert_non_null(s.graph);
    s.graph->defers = true;
    assert_int_equal(rp_eager_new(&s.eager, s.graph, stored, NULL), RP_OK);
    return s;
}

static void stepper_free(stepper *s)
{
    rp_eager_free(s->eager);
    rp_graph_free(s->graph);
}

/* A value of the step goes, as it does when its handle is released. */
static void drop(stepper *s)
{
    if (s->dropped && s->graph->status == RP_OK && chance(&s->dropped, 2))
        rp_graph_drop(s->graph, (uint32_t)chance(&s->dropped, s->graph->program->n_values));
}

/* The program's instructions, one after another. */
static rp_status step(stepper *s, const rp_program *p, void *const *memory, rp_error *err)
{
    rp_graph *g = s->graph;
    size_t inputs = 0;

    rp_eager_turn(s->eager);
    rp_graph_reset(g);
    for (size_t k = 0; g->status == RP_OK && (inputs < p->n_inputs || k < p->n_instrs);) {
        if (inputs < p->n_inputs && p->input[inputs].value == g->program->n_values) {
            const rp_input *in = &p->input[inputs];

            (void)rp_graph_input(g, in->kind, in->name, &p->value[in->value], memory[inputs++]);
        } else {
            g->status = rp_program_copy_instr(g->program, p, &p->instr[k++], &g->error);
            rp_graph_execute_last(g);
            drop(s);
        }
    }
    for (size_t o = 0; o < p->n_outputs && g->status == RP_OK; o++)
        g->status = rp_graph_pin(g, p->output[o].value);
    return rp_graph_status(g, err);
}

static record values_of(const rp_graph *g, const rp_program *p)
{
    record r = record_new(p);

    for (size_t o = 0; o < p->n_outputs; o++) {
        void *value = in_order(g->device, &p->value[p->output[o].value], &g->view[p->output[o].value]);

        put(&r.bytes[o], &p->value[p->output[o].value], value);
        rp_free(value);
    }
    return r;
}

static void assert_step(stepper *s, const rp_program *p, void *const *memory, const char *what)
{
    rp_graph *trace;
    record expected, found;
    rp_error err = {0};

    if (rp_graph_trace(&trace, p, s->graph->device, memory, &err) != RP_OK || step(s, p, memory, &err) != RP_OK)
        fail_msg("%s: %s", what, err.text);
    expected = values_of(trace, p);
    found = values_of(s->graph, p);
    assert_same(p, &expected, &found, what);
    record_free(&expected);
    rp_graph_free(trace);
}

/* ---- random regions and their gradients ---- */

/* Of all outputs together. */
static void differentiate(rp_graph *g, const char *name)
{
    const size_t n_out = seen.n_out, n_in = seen.n_in;
    rp_tensor seed[4 * BODY_PARAMS], grad[4 * BODY_PARAMS], y[4 * BODY_PARAMS];
    size_t n = 0;

    for (size_t i = 0; i < n_out; i++) {
        const rp_type type = *rp_tensor_type(seen.out[i]);

        if (type.dtype != RP_F32)
            continue;
        y[n] = seen.out[i];
        seed[n++] = input(g, name, i, type);
    }
    seen.n_in = n_in;
    seen.n_out = 0;
    rp_vjp_or_zeros(y, seed, n, seen.in, n_in, grad);
    for (size_t i = 0; i < n_in; i++)
        result(g, name, i, grad[i]);
}

static rp_program *differentiated(build_fn *build, const example *e, int order)
{
    static const char *const names[] = {"g", "gg"};
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    seen.n_in = seen.n_out = 0;
    build(g, e, false);
    for (int i = 0; i < order; i++)
        differentiate(g, names[i]);
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("seed %d: %s", (int)e->b.seed, err.text);
    return p;
}

/* Functions are made anew for every step; steps of two kinds take turns on one graph, and the others' come between. */
static rp_eager_counts compare(build_fn *build, const char *name, int order, size_t stored, bool drops)
{
    devices all = devices_new();
    rp_eager_counts sum = {0};

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        stepper s = stepper_new(all.device[seed % all.n], stored);
        example e = example_of(seed);
        char what[96];

        e.times += e.times == 0;
        s.dropped = drops ? seed + 1 : 0;
        for (size_t k = 0; k < STEPS * 2; k++) {
            rp_program *p = differentiated(build, &e, k % 2 ? 0 : order);
            store memory = store_new(p);

            next_feeds(p, &memory, k);
            strew(p, &memory, seed);
            snprintf(what, sizeof what, "%s, seed %d, step %d", name, (int)seed, (int)k);
            assert_step(&s, p, memory.memory, what);
            store_free(&memory);
            rp_program_free(p);
        }
        sum.planned += rp_eager_count(s.eager).planned;
        sum.kept += rp_eager_count(s.eager).kept;
        stepper_free(&s);
    }
    devices_free(&all);
    return sum;
}

static void regions_have_the_bits_of_their_frames(void **state)
{
    (void)state;
    assert_true(compare(build_call, "call", 1, RP_PLAN_STORED_MAX, false).planned > SEEDS);
    assert_true(compare(build_map, "map", 1, RP_PLAN_STORED_MAX, false).planned > SEEDS);
    assert_true(compare(build_cond, "cond", 1, RP_PLAN_STORED_MAX, false).planned > SEEDS);
    assert_true(compare(build_while, "while", 0, RP_PLAN_STORED_MAX, false).planned > SEEDS);
}

static void gradients_of_scans_read_what_was_kept(void **state)
{
    rp_eager_counts n = compare(build_scan, "scan", 1, RP_PLAN_STORED_MAX, false);

    (void)state;
    assert_true(n.planned > 2 * SEEDS);
    assert_true(n.kept > SEEDS / 4);
    assert_int_equal(compare(build_scan, "scan, nothing kept", 1, 0, false).kept, 0);
}

static void second_derivatives_are_those_of_the_frames(void **state)
{
    (void)state;
    assert_true(compare(build_scan, "scan twice", 2, RP_PLAN_STORED_MAX, false).kept > SEEDS / 8);
}

static void what_has_gone_is_made_again(void **state)
{
    (void)state;
    assert_true(compare(build_scan, "scan, dropped", 1, RP_PLAN_STORED_MAX, true).kept > SEEDS / 8);
    (void)compare(build_cond, "cond, dropped", 1, RP_PLAN_STORED_MAX, true);
}

/* More kinds of regions than patterns are held of: those that come again and again stay right. */
static void many_regions_take_turns(void **state)
{
    rp_device *device;
    stepper s;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    s = stepper_new(device, RP_PLAN_STORED_MAX);
    for (size_t k = 0; k < 200; k++) {
        example e = example_of(k % 3 ? 1000 + k : k / 3 % 2);
        rp_program *p;
        store memory;

        e.times += e.times == 0;
        p = differentiated(build_scan, &e, 1);
        memory = store_new(p);
        next_feeds(p, &memory, k);
        assert_step(&s, p, memory.memory, "many");
        store_free(&memory);
        rp_program_free(p);
    }
    stepper_free(&s);
    rp_device_free(device);
}

/* ---- errors ---- */

/* Rows of a table by indices that come in, each step's sum of squares, and its gradient. */
static rp_program *gathering(int64_t branch)
{
    const rp_type index = {.dtype = RP_I64}, row = f32_type(1, COLS), table = f32_type(4, COLS);
    const rp_type wide = {.dtype = RP_I64, .rank = 2, .shape = {5, 1}},
                  one = {.dtype = RP_I64, .rank = 1, .shape = {1}};
    rp_graph *g;
    rp_program *p;
    rp_function *f;
    rp_tensor h, at, t, in[3], out[2], grad;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &row);
    at = rp_function_parameter(g, &one);
    t = rp_function_parameter(g, &table);
    t = rp_gather(t, at, 0);
    rp_function_return(g, rp_tanh(rp_mul(h, t)));
    rp_function_return(g, rp_mul(t, t));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "h", &row);
    in[1] = rp_graph_declare(g, RP_INPUT_FEED, "at", &wide);
    in[2] = rp_graph_declare(g, RP_INPUT_FEED, "t", &table);
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = in,
                               .n_carried = 1,
                               .sliced = in + 1,
                               .n_sliced = 1,
                               .shared = in + 2,
                               .n_shared = 1,
                               .times = 5},
            out);
    t = rp_sum(out[0], NULL, 0, false);
    rp_gradients(t, &in[2], 1, &grad);
    rp_graph_result(g, "g", grad);
    rp_function_free(f);
    if (branch) {
        const rp_function *twice[2];
        rp_graph *b;
        rp_tensor selected;

        assert_int_equal(rp_graph_symbolic(&b, NULL), RP_OK);
        rp_function_return(b, rp_neg(rp_function_parameter(b, &row)));
        assert_int_equal(rp_function_finish(b, &f, NULL), RP_OK);
        twice[0] = twice[1] = f;
        rp_cond(g, index_of(g, branch), twice, 2, in, 1, &selected);
        rp_graph_result(g, "selected", selected);
        rp_function_free(f);
    }
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    return p;
}

static void errors_are_those_of_the_frames(void **state)
{
    rp_device *device;
    stepper s;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    s = stepper_new(device, RP_PLAN_STORED_MAX);
    for (size_t k = 0; k < 9; k++) {
        const bool wrong = k % 3 == 2;
        rp_program *p = gathering(k > 5 ? 1 + wrong : 0);
        store memory = store_new(p);
        rp_graph *trace;
        rp_error expected = {0}, found = {0};

        ((int64_t *)memory.memory[1])[3] = wrong && k < 6 ? 4 : 1;
        assert_int_equal(rp_graph_trace(&trace, p, device, memory.memory, &expected), wrong ? RP_EDATA : RP_OK);
        assert_int_equal(step(&s, p, memory.memory, &found), wrong ? RP_EDATA : RP_OK);
        assert_string_equal(found.text, expected.text);
        rp_graph_free(trace);
        store_free(&memory);
        rp_program_free(p);
    }
    assert_true(rp_eager_count(s.eager).kept > 2);
    stepper_free(&s);
    rp_device_free(device);
}

/* ---- memory ---- */

static size_t allowed = SIZE_MAX; /* allocations until one fails */

static void *counted(void *self, size_t bytes)
{
    (void)self;
    return allowed != SIZE_MAX && allowed-- == 0 ? NULL : malloc(bytes);
}

static void *recounted(void *self, void *block, size_t bytes)
{
    (void)self;
    return allowed != SIZE_MAX && allowed-- == 0 ? NULL : realloc(block, bytes);
}

static const rp_allocator counting = {counted, recounted, release, NULL};

/* Each allocation of three steps fails once: the step says so, or has its bits without it. */
static void no_memory_is_an_error_or_no_loss(void **state)
{
    rp_device *device;
    rp_program *p;
    store memory;
    rp_graph *trace;
    record expected;
    size_t failed = 0;
    bool through = false;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    p = gathering(1);
    memory = store_new(p);
    assert_int_equal(rp_graph_trace(&trace, p, device, memory.memory, NULL), RP_OK);
    expected = values_of(trace, p);
    for (size_t n = 0; !through; n++) {
        stepper s = stepper_new(device, RP_PLAN_STORED_MAX);
        rp_status status = RP_OK;

        rp_set_allocator(&counting);
        allowed = n;
        for (size_t k = 0; k < 3 && status == RP_OK; k++)
            status = step(&s, p, memory.memory, NULL);
        through = allowed != SIZE_MAX; /* none failed: SIZE_MAX is where the count goes when one does */
        allowed = SIZE_MAX;
        rp_set_allocator(NULL);
        assert_true(status == RP_OK || status == RP_ENOMEM);
        failed += status != RP_OK;
        if (status == RP_OK) {
            record found = values_of(s.graph, p);

            assert_same(p, &expected, &found, "memory");
        }
        stepper_free(&s);
    }
    assert_true(failed > 10);
    record_free(&expected);
    rp_graph_free(trace);
    store_free(&memory);
    rp_program_free(p);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_have_the_bits_of_their_frames),
        cmocka_unit_test(gradients_of_scans_read_what_was_kept),
        cmocka_unit_test(second_derivatives_are_those_of_the_frames),
        cmocka_unit_test(what_has_gone_is_made_again),
        cmocka_unit_test(many_regions_take_turns),
        cmocka_unit_test(errors_are_those_of_the_frames),
        cmocka_unit_test(no_memory_is_an_error_or_no_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
