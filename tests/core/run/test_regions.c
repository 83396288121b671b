/* SPDX-License-Identifier: Apache-2.0
 * Regions are their frames (CONTRACT 11.6): random functions as regions and written out give the same bits, on the tape
 * and compiled, at every level and number of threads. */
#include "tests/core/run/region_examples.h"

enum { SEEDS = 300, LEVELS = 8 };

static void assert_frames(build_fn *build, const char *name, rp_device **device, size_t devices)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const example e = example_of(seed);
        rp_program *flat = program_of(build, &e, true), *p = program_of(build, &e, false), *again = read_again(p);
        store s = store_new(flat);
        record expected, found;
        char what[80];

        strew(flat, &s, seed);
        expected = eager_step(flat, device[0], &s);
        assert_int_equal(p->n_outputs, flat->n_outputs);
        assert_int_equal(p->n_inputs, flat->n_inputs);
        for (size_t k = 0; k < 3; k++) {
            rp_device *d = device[(seed * 3 + k) % devices];
            rp_plan *plan = plan_new(k % 2 ? p : again, d, &s);

            snprintf(what, sizeof what, "%s, seed %d, %s, %u threads, compiled", name, (int)seed, rp_device_level(d),
                     rp_device_threads(d));
            for (int twice = 0; twice < 2; twice++) {
                found = plan_step(p, plan, &s);
                assert_same(p, &expected, &found, what);
            }
            rp_plan_free(plan);
            found = eager_step(p, d, &s);
            assert_same(p, &expected, &found, what);
        }
        record_free(&expected);
        store_free(&s);
        rp_program_free(flat);
        rp_program_free(p);
        rp_program_free(again);
    }
}

typedef struct devices {
    rp_device *device[4 * LEVELS];
    size_t n;
} devices;

static devices devices_new(void)
{
    static const unsigned threads[] = {1, 3, 7, 64};
    devices d = {.n = 0};
    const char *const *levels;
    size_t n = rp_kernel_levels(&levels);

    for (size_t l = 0; l < n && l < LEVELS; l++)
        for (size_t t = 0; t < COUNT(threads); t++)
            assert_int_equal(rp_device_cpu_new(&d.device[d.n++], levels[l], threads[t], NULL), RP_OK);
    return d;
}

static void devices_free(devices *d)
{
    for (size_t i = 0; i < d->n; i++)
        rp_device_free(d->device[i]);
}

#define FRAMES_TEST(region) \
    static void region##_is_its_frames(void **state) \
    { \
        devices d = devices_new(); \
\
        (void)state; \
        assert_frames(build_##region, #region, d.device, d.n); \
        devices_free(&d); \
    }

FRAMES_TEST(call)
FRAMES_TEST(scan)
FRAMES_TEST(map)
FRAMES_TEST(cond)
FRAMES_TEST(while)

/* ---- what fails, and when ---- */

/* Takes row `at` of x [2]. */
static rp_function *taking(int64_t at)
{
    rp_graph *g;
    rp_function *f;
    const rp_type type = {.dtype = RP_F32, .rank = 1, .shape = {2}};
    rp_tensor x;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    x = rp_function_parameter(g, &type);
    rp_function_return(g, rp_gather(x, rp_fill(g, RP_I64, 1, (size_t[]){2}, (double)at), 0));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* cond of a good and a bad branch by the feed `which`; on the tape and compiled. */
static rp_status branch(rp_device *device, int64_t which, rp_error *err)
{
    const rp_type scalar = {.dtype = RP_I64}, vector = {.dtype = RP_F32, .rank = 1, .shape = {2}};
    float x[2] = {1, 2};
    void *memory[2] = {&which, x}, *none[2] = {NULL, NULL};
    const rp_function *f[2] = {taking(1), taking(99)};
    rp_graph *g, *trace;
    rp_program *p;
    rp_plan *plan;
    rp_tensor selector, operand, y;
    rp_error eager = {0};
    rp_status status, compiled;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    selector = rp_graph_declare(g, RP_INPUT_FEED, "which", &scalar);
    operand = rp_graph_declare(g, RP_INPUT_FEED, "x", &vector);
    rp_cond(g, selector, f, 2, &operand, 1, &y);
    rp_graph_result(g, "y", y);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    status = rp_graph_trace(&trace, p, device, memory, &eager);
    assert_int_equal(rp_plan_new(&plan, p, device, none, NULL), RP_OK);
    memcpy(rp_plan_feed(plan, 0), &which, sizeof which);
    memcpy(rp_plan_feed(plan, 1), x, sizeof x);
    compiled = rp_plan_run(plan, err);
    assert_int_equal(status, compiled);
    if (status != RP_OK)
        assert_string_equal(eager.text, err->text);
    else
        assert_memory_equal(rp_plan_output(plan, 0), ((float[]){2, 2}), 8);
    rp_plan_free(plan);
    rp_graph_free(trace);
    rp_program_free(p);
    rp_function_free((rp_function *)f[0]);
    rp_function_free((rp_function *)f[1]);
    return status;
}

static void only_the_branch_that_runs_can_fail(void **state)
{
    rp_device *device;
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    assert_int_equal(branch(device, 0, &err), RP_OK);
    assert_int_equal(branch(device, 1, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "gather: index 99 at position 0 is out of range"));
    assert_int_equal(branch(device, 2, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "selector 2 is out of range, expected 0 to 1"));
    assert_int_equal(branch(device, -1, &err), RP_EDATA);
    assert_int_equal(branch(device, 0, &err), RP_OK); /* nothing of a failure stays */
    rp_device_free(device);
}

/* ---- randomness ---- */

/* Draws by {seed, step, offset}, beside those of the stream that the sum is. */
static void an_offset_is_added_to_the_stream(void **state)
{
    static const struct {
        int64_t stream, offset, sum;
    } cases[] = {{5, 0, 5}, {5, 17, 22}, {0xFFFFFFFF, 2, 1}, {7, -3, 4}, {1, (int64_t)1 << 32, 1}};
    devices d = devices_new();

    (void)state;
    for (size_t c = 0; c < COUNT(cases); c++)
        for (size_t i = 0; i < d.n; i++) {
            const rp_type vector = {.dtype = RP_I64, .rank = 1, .shape = {2}}, wide = f32_type(9, 7);
            int64_t words[2] = {42, 3};
            float ones[63];
            void *memory[2] = {words, ones};
            rp_tensor rng, x, offset;
            rp_graph *g, *trace;
            rp_program *p;

            for (size_t k = 0; k < 63; k++)
                ones[k] = 1;
            assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
            rng = rp_graph_declare(g, RP_INPUT_FEED, "rng", &vector);
            x = rp_graph_declare(g, RP_INPUT_FEED, "x", &wide);
            offset = rp_fill(g, RP_I64, 1, (size_t[]){1}, (double)cases[c].offset);
            offset = rp_concat((rp_tensor[]){rng, offset}, 2, 0);
            rp_graph_result(g, "a0", rp_dropout(x, 0.5, offset, cases[c].stream));
            rp_graph_result(g, "b0", rp_dropout(x, 0.5, rng, cases[c].sum));
            rp_graph_result(g, "a1", rp_normal(offset, cases[c].stream, RP_F64, 2, wide.shape, 0, 1));
            rp_graph_result(g, "b1", rp_normal(rng, cases[c].sum, RP_F64, 2, wide.shape, 0, 1));
            rp_graph_result(g, "a2", rp_uniform(offset, cases[c].stream, RP_F32, 2, wide.shape, 0, 1));
            rp_graph_result(g, "b2", rp_uniform(rng, cases[c].sum, RP_F32, 2, wide.shape, 0, 1));
            assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
            assert_int_equal(rp_graph_trace(&trace, p, d.device[i], memory, NULL), RP_OK);
            for (size_t o = 0; o < 6; o += 2)
                assert_memory_equal(trace->view[p->output[o].value].data, trace->view[p->output[o + 1].value].data,
                                    rp_type_bytes(&p->value[p->output[o].value]));
            rp_graph_free(trace);
            rp_program_free(p);
        }
    devices_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_is_its_frames),
        cmocka_unit_test(scan_is_its_frames),
        cmocka_unit_test(map_is_its_frames),
        cmocka_unit_test(cond_is_its_frames),
        cmocka_unit_test(an_offset_is_added_to_the_stream),
        cmocka_unit_test(while_is_its_frames),
        cmocka_unit_test(only_the_branch_that_runs_can_fail),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}
