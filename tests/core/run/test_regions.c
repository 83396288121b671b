/* SPDX-License-Identifier: Apache-2.0
 * Regions are their frames (CONTRACT 11.6): random functions as regions and written out give the same bits, on the tape
 * and compiled, at every level and number of threads. */
#include "tests/core/run/region_examples.h"

enum { SEEDS = 300 };

/* All passes, all but writing out, and any choice of them. */
static unsigned passes_of(uint64_t seed, size_t k)
{
    const unsigned stay = RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;

    return k == 0 ? stay : k == 1 ? RP_PASSES : rp_random_u32(seed, 2, 3, k) & (k == 2 ? stay : RP_PASSES);
}

/* What is not written out fits what its text promises. */
static void assert_memory(const rp_program *p, const rp_plan *plan, const char *what)
{
    const size_t bytes = rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan);

    if (!(plan_passes & RP_PASS_WRITE_OUT) && bytes > rp_program_price(p).memory)
        fail_msg("%s: %zu bytes, expected at most %llu", what, bytes, (unsigned long long)rp_program_price(p).memory);
}

static void assert_frames(build_fn *build, const char *name, rp_device **device, size_t n_devices)
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
        for (size_t k = 0; k < 4; k++) {
            rp_device *d = device[(seed * 4 + k) % n_devices];
            rp_plan *plan;

            plan_passes = passes_of(seed, k);
            plan = plan_new(k % 2 ? p : again, d, &s);
            snprintf(what, sizeof what, "%s, seed %d, %s, %u threads, passes %u", name, (int)seed, rp_device_level(d),
                     rp_device_threads(d), plan_passes);
            assert_memory(p, plan, what);
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

/* ---- operands that are views ---- */

/* Rows of a transposed feed, on what is broadcast to be carried, by a transposed weight. */
static rp_program *program_of_views(void)
{
    const body b = {.seed = 5, .wide = 2, .shared = 1, .rows = 4, .outs = 2};
    const rp_type x = {.dtype = RP_F32, .rank = 3, .shape = {4, 6, COLS}}, w = f32_type(COLS, COLS),
                  row = f32_type(1, COLS);
    rp_function *f = body_function(&b);
    rp_tensor carried, sliced, shared, out[3];
    rp_graph *g;
    rp_program *p;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    carried = rp_graph_declare(g, RP_INPUT_FEED, "row", &row);
    carried = rp_broadcast_to(carried, 2, (size_t[]){4, COLS});
    sliced = rp_graph_declare(g, RP_INPUT_FEED, "x", &x);
    sliced = rp_transpose(sliced, (int[]){1, 0, 2});
    shared = rp_graph_declare(g, RP_INPUT_FEED, "w", &w);
    shared = rp_transpose(shared, (int[]){1, 0});
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = &carried,
                               .n_carried = 1,
                               .sliced = &sliced,
                               .n_sliced = 1,
                               .shared = &shared,
                               .n_shared = 1,
                               .times = 6,
                               .history = true},
            out);
    for (size_t i = 0; i < 3; i++)
        rp_graph_result(g, (const char *[]){"last", "all", "before"}[i], out[i]);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    rp_function_free(f);
    return p;
}

static void operands_may_be_views(void **state)
{
    rp_program *p = program_of_views();
    devices d = devices_new();

    (void)state;
    plan_passes = RP_PASSES;
    for (size_t i = 0; i < d.n; i++)
        assert_plan_is_eager(p, d.device[0], d.device[i], "views");
    devices_free(&d);
    rp_program_free(p);
}

/* ---- errors around the first write to a state ---- */

/* x [2] plus row at[index] of it. */
static rp_function *taking_in_turn(void)
{
    const rp_type vector = f32_type(2, 1), scalar = {.dtype = RP_I64, .rank = 1, .shape = {1}};
    rp_tensor x, at;
    rp_graph *g;
    rp_function *f;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    x = rp_function_parameter(g, &vector);
    at = rp_function_parameter(g, &scalar);
    at = rp_gather(x, at, 0);
    rp_function_return(g, rp_add(x, at));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* Two scans of four steps, by the indices "first" and "second"; between them the state takes its new value. */
static rp_program *program_around_a_write(void)
{
    const rp_type vector = f32_type(2, 1), rows = {.dtype = RP_I64, .rank = 2, .shape = {4, 1}};
    rp_function *f = taking_in_turn();
    rp_tensor x, w, at[2], y;
    rp_graph *g;
    rp_program *p;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &vector);
    at[0] = rp_graph_declare(g, RP_INPUT_FEED, "first", &rows);
    at[1] = rp_graph_declare(g, RP_INPUT_FEED, "second", &rows);
    w = rp_graph_declare(g, RP_INPUT_STATE, "w", &vector);
    for (size_t i = 0; i < 2; i++) {
        rp_scan(g,
                &(rp_scan_options){
                    .function = f, .carried = &x, .n_carried = 1, .sliced = &at[i], .n_sliced = 1, .times = 4},
                &y);
        if (i == 0)
            w = rp_add(w, y);
        x = y;
    }
    rp_graph_update(g, "w", w);
    rp_graph_result(g, "y", y);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    rp_function_free(f);
    return p;
}

/* The error is the tape's, and a plan knows whether the state was new when it came, though both scans are one body. */
static void an_index_in_a_loop_is_told_before_states_change(void **state)
{
    rp_program *p = program_around_a_write();
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (int which = 0; which < 3; which++) {
        float x[2] = {1, 2}, w[2] = {3, 4};
        int64_t at[2][4] = {{0, 1, which == 1 ? 7 : 0, 1}, {1, 1, 1, which == 2 ? -1 : 0}};
        void *memory[4] = {x, at[0], at[1], w}, *fixed[4] = {NULL, NULL, NULL, w};
        rp_graph *trace;
        rp_plan *plan;
        rp_error eager = {0}, planned = {0};

        assert_int_equal(rp_plan_new(&plan, p, device, fixed, NULL), RP_OK);
        assert_int_equal(rp_graph_trace(&trace, p, device, memory, &eager), which ? RP_EDATA : RP_OK);
        for (size_t i = 0; i < 3; i++)
            memcpy(rp_plan_feed(plan, i), memory[i], i ? sizeof at[0] : sizeof x);
        assert_int_equal(rp_plan_run(plan, &planned), which ? RP_EDATA : RP_OK);
        assert_string_equal(eager.text, planned.text);
        assert_int_equal(rp_plan_mixed(plan), which == 2);
        assert_int_equal(w[0] != 3, which != 1);
        rp_graph_free(trace);
        rp_plan_free(plan);
    }
    rp_device_free(device);
    rp_program_free(p);
}

/* ---- written out ---- */

/* Row 1 of a slice [4, 2], at a place that its index and the shared `at` give: adds two instructions before. */
static rp_function *row_of_slice(void)
{
    rp_graph *g;
    rp_function *f;
    const rp_type scalar = {.dtype = RP_I64}, rows = f32_type(4, 2);
    rp_tensor index, x, at;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    index = rp_function_parameter(g, &scalar);
    x = rp_function_parameter(g, &rows);
    at = rp_function_parameter(g, &scalar);
    at = rp_reshape(rp_add(rp_mul(index, index), at), 1, (size_t[]){1});
    rp_function_return(g, rp_gather(x, at, 0));
    rp_function_return(g, rp_reshape(x, 1, (size_t[]){8}));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* Shards 0, 1, 2 (empty), 3 of x [12, 2] take rows index^2 + at. A state is handed through as a view of itself. */
static rp_program *taking_program(void)
{
    static const rp_combine combine[] = {RP_COMBINE_STACK, RP_COMBINE_TREE};
    const uint64_t cuts[] = {0, 4, 8, 8, 12};
    const rp_type scalar = {.dtype = RP_I64}, rows = f32_type(12, 2), wide = f32_type(4, 2);
    rp_function *f = row_of_slice();
    rp_graph *g;
    rp_program *p;
    rp_tensor x, at, held, y[2], z[2];

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    at = rp_graph_declare(g, RP_INPUT_FEED, "at", &scalar);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    held = rp_graph_declare(g, RP_INPUT_DATA, "held", &wide);
    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const *)&f,
                             .n_function = 1,
                             .sliced = &x,
                             .n_sliced = 1,
                             .shared = &at,
                             .n_shared = 1,
                             .cuts = cuts,
                             .n_cuts = COUNT(cuts),
                             .combine = combine,
                             .n_combine = 2},
           y);
    rp_call(g, f, (rp_tensor[]){rp_fill(g, RP_I64, 0, NULL, 0), held, rp_fill(g, RP_I64, 0, NULL, 1)}, 3, z);
    rp_graph_result(g, "rows", y[0]);
    rp_graph_result(g, "sum", y[1]);
    rp_graph_result(g, "row", z[0]);
    rp_graph_result(g, "view", z[1]);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    rp_function_free(f);
    return p;
}

/* An index out of range in a frame is told in the same words, by the function's numbers, whether the frames were
 * executed one by one or written out. */
static void what_is_written_out_fails_as_its_frames(void **state)
{
    static const struct {
        int64_t at;
        const char *said;
    } cases[] = {{-9, "instruction 3, gather: index -9 at position 0 is out of range, expected 0 to 3 ("},
                 {3, "instruction 3, gather: index 4 at position 0 is out of range, expected 0 to 3 ("},
                 {2, "instruction 3, gather: index 11 at position 0 is out of range, expected 0 to 3 ("}};
    rp_device *device;
    rp_program *p = taking_program();
    float x[24] = {1, 2, 3}, held[8] = {1, -0.0f, 3};

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const unsigned passes = i % 2 ? RP_PASSES : RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;
        void *memory[3] = {NULL, NULL, held};
        rp_plan *plan;
        rp_error err = {0};

        assert_int_equal(rp_plan_new_in(&plan, p, device, memory, NULL, passes, &err), RP_OK);
        assert_true(passes != RP_PASSES || rp_plan_launches(plan) > 6);
        memcpy(rp_plan_feed(plan, 0), &cases[i / 2].at, sizeof(int64_t));
        memcpy(rp_plan_feed(plan, 1), x, sizeof x);
        assert_int_equal(rp_plan_run(plan, &err), RP_EDATA);
        assert_ptr_equal(strstr(err.text, cases[i / 2].said), err.text);
        assert_non_null(strstr(err.text, "test_regions.c:298)")); /* the line that wrote it */
        rp_plan_free(plan);
    }
    rp_program_free(p);
    rp_device_free(device);
}

enum { MAPPED_ROWS = 8 };

/* y = f of each row of x. */
static rp_program *mapped_program(rp_function *f, rp_combine combine)
{
    rp_graph *g;
    rp_program *p;
    rp_tensor x, y;
    uint64_t cuts[MAPPED_ROWS + 1];

    for (uint64_t s = 0; s <= MAPPED_ROWS; s++)
        cuts[s] = s;
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &(rp_type){.dtype = RP_F32, .rank = 2, .shape = {MAPPED_ROWS, 1}});
    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const *)&f,
                             .n_function = 1,
                             .sliced = &x,
                             .n_sliced = 1,
                             .cuts = cuts,
                             .n_cuts = COUNT(cuts),
                             .combine = &combine,
                             .n_combine = 1},
           &y);
    rp_graph_result(g, "y", y);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    return p;
}

/* A loop stays a region, and each frame has its values: too many of them are not written out either. A map that joins
 * rows is a region for ever: its frames put them in their places. */
static void regions_that_stay_are_bounded_by_their_values(void **state)
{
    enum { WIDE = 60 };
    const rp_type row = f32_type(1, 1);
    rp_graph *g;
    rp_function *f, *outer;
    rp_tensor x, many[WIDE + 1];
    rp_program *p, *written;
    uint32_t *number;

    (void)state;
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    x = rp_function_parameter(g, &row);
    for (size_t i = 0; i < WIDE; i++)
        rp_function_return(g, rp_reshape(x, 2, (size_t[]){1, 1}));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    x = rp_function_parameter(g, &row);
    rp_scan(g, &(rp_scan_options){.function = f, .shared = &x, .n_shared = 1, .times = 0}, many);
    rp_function_return(g, rp_neg(x));
    assert_int_equal(rp_function_finish(g, &outer, NULL), RP_OK);
    p = mapped_program(outer, RP_COMBINE_STACK);
    for (size_t budget = 100; budget < 1000; budget += 800) {
        assert_int_equal(rp_program_write_out(p, NULL, budget, &written, &number, NULL), RP_OK);
        assert_int_equal(written != NULL, budget > 100);
        rp_program_free(written);
        rp_free(number);
    }
    rp_program_free(p);
    p = mapped_program(outer, RP_COMBINE_CONCAT);
    assert_int_equal(rp_program_write_out(p, NULL, 100000, &written, &number, NULL), RP_OK);
    assert_null(written);
    rp_function_free(f);
    rp_function_free(outer);
    rp_program_free(p);
}

static rp_status written_of(const rp_program *p, size_t budget, size_t *instrs, uint32_t *last)
{
    rp_program *written;
    uint32_t *number;
    rp_status status = rp_program_write_out(p, NULL, budget, &written, &number, NULL);

    *instrs = written ? written->n_instrs : 0;
    for (size_t k = 0; written && k < written->n_instrs; k++)
        assert_null(written->instr[k].region);
    *last = written ? number[written->n_instrs - 1] : 0;
    rp_program_free(written);
    rp_free(number);
    return status;
}

/* Three frames of the map: an index, a slice, 5 instructions and the row's new axis; two additions and a concat. The
 * fills and the call's 5. The result that is only a view in its frame is copied. */
static void what_is_written_out_fits_its_budget(void **state)
{
    const size_t all = 3 * (2 + 5 + 1) + 3 + 2 + 5 + 1;
    rp_program *p = taking_program();
    size_t instrs;
    uint32_t last;

    (void)state;
    assert_int_equal(written_of(p, all, &instrs, &last), RP_OK);
    assert_int_equal(instrs, all);
    assert_int_equal(last, 3); /* the call */
    assert_int_equal(written_of(p, all - 1, &instrs, &last), RP_OK);
    assert_int_equal(instrs, 0);
    assert_int_equal(written_of(p, (size_t)rp_program_price(p).executed - 1, &instrs, &last), RP_OK);
    assert_int_equal(instrs, 0);
    rp_program_free(p);
}

/* (which, x) -> a cond of many branches on x. */
static rp_function *choosing_function(const rp_function *const *branch, size_t n)
{
    const rp_type scalar = {.dtype = RP_I64}, row = f32_type(1, 1);
    rp_graph *g;
    rp_function *f;
    rp_tensor which, x, y;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    which = rp_function_parameter(g, &scalar);
    x = rp_function_parameter(g, &row);
    rp_cond(g, which, branch, n, &x, 1, &y);
    rp_function_return(g, y);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* What a text says once, a program that is written out has in every frame: beyond a limit on texts it stays as it is,
 * and is compiled all the same. */
static void what_would_break_a_limit_written_out_stays_a_region(void **state)
{
    enum { CALLS = 1400 };
    static const rp_function *branch[RP_FUNCTIONS_MAX - 1];
    const rp_type scalar = {.dtype = RP_I64}, row = f32_type(1, 1);
    rp_function *negate, *f;
    rp_graph *g;
    rp_tensor in[2], x;
    rp_program *p;
    rp_device *device;

    (void)state;
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    x = rp_function_parameter(g, &row);
    rp_function_return(g, rp_neg(x));
    assert_int_equal(rp_function_finish(g, &negate, NULL), RP_OK);
    for (size_t i = 0; i < COUNT(branch); i++)
        branch[i] = negate;
    f = choosing_function(branch, COUNT(branch));
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "which", &scalar);
    in[1] = rp_graph_declare(g, RP_INPUT_FEED, "x", &row);
    for (size_t i = 0; i < CALLS; i++) {
        rp_call(g, f, in, 2, &x);
        in[1] = x;
    }
    rp_graph_result(g, "y", x);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    assert_true(CALLS * (COUNT(branch) - 1) * 3 > RP_COMPARED_MAX);
    assert_true(rp_program_price(p).executed < RP_PLAN_WRITTEN_MAX);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_plan_is_eager(p, device, device, "many branches");
    rp_device_free(device);
    rp_function_free(negate);
    rp_function_free(f);
    rp_program_free(p);
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

/* ---- what may be written out ---- */

/* A function with a concat of many operands, called often: a little text, and gigabytes if it were written out. */
static void many_operands_are_not_written_out(void **state)
{
    enum { OPERANDS = 20000, CALLS = 1000 };
    rp_buffer text = {0};
    rp_program *p, *written;
    uint32_t *number;

    (void)state;
    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[{\"instructions\":[[\"concat\",{\"axis\":0},[0");
    for (int i = 1; i < OPERANDS; i++)
        rp_buffer_text(&text, ",0");
    rp_buffer_text(&text,
                   "],[1]]],\"outputs\":[1],\"parameters\":[[\"f32\",[1]]]}],\"inputs\":[[0,\"feed\",\"x\",\"f32\","
                   "[1]]],\"instructions\":[");
    for (int i = 0; i < CALLS; i++)
        rp_buffer_printf(&text, "%s[\"call\",{\"function\":0},[0],[%d]]", i ? "," : "", 1 + i);
    rp_buffer_text(&text, "],\"outputs\":[[\"result\",\"y\",1]]}");
    assert_int_equal(rp_program_parse(&p, text.data, text.size, "text", NULL), RP_OK);
    assert_int_equal(rp_program_write_out(p, NULL, 32768, &written, &number, NULL), RP_OK);
    assert_null(written); /* its calls stay calls */
    rp_program_free(p);
    rp_buffer_free(&text);
}

/* ---- what may be executed ---- */

static rp_function *carried_function(bool predicate)
{
    rp_graph *g;
    rp_function *f;
    rp_tensor x;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    x = rp_function_parameter(g, &(rp_type){.dtype = RP_F32});
    rp_function_return(g, predicate ? rp_lt(x, x) : rp_neg(x));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* A loop that could execute more than readers accept is refused by the call, though it would end at once. */
static void an_eager_loop_beyond_the_limit_is_an_error_of_the_call(void **state)
{
    rp_function *loop = carried_function(false), *predicate = carried_function(true);
    const float one = 1;
    rp_run *run;
    rp_error err;

    (void)state;
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    for (int k = 0; k < 2; k++) {
        rp_tensor x, out[2];

        assert_int_equal(rp_step_begin(run, NULL), RP_OK);
        x = rp_feed(run, "x", RP_F32, 0, NULL, &one);
        rp_while(rp_step_graph(run),
                 &(rp_while_options){.body = loop,
                                     .predicate = predicate,
                                     .carried = &x,
                                     .n_carried = 1,
                                     .limit = (uint64_t)1 << (k ? 38 : 40)},
                 out);
        if (k == 0) {
            assert_int_equal(rp_graph_status(rp_step_graph(run), &err), RP_ESHAPE);
            assert_non_null(strstr(err.text, "while: with it, more than 2^40 instructions would be executed"));
            assert_int_equal(rp_step_end(run, NULL), RP_ESHAPE);
        } else {
            rp_result(run, "y", out[1]);
            assert_int_equal(rp_step_end(run, NULL), RP_OK);
        }
    }
    rp_run_free(run);
    rp_function_free(loop);
    rp_function_free(predicate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_operands_are_not_written_out),
        cmocka_unit_test(an_eager_loop_beyond_the_limit_is_an_error_of_the_call),
        cmocka_unit_test(call_is_its_frames),
        cmocka_unit_test(scan_is_its_frames),
        cmocka_unit_test(map_is_its_frames),
        cmocka_unit_test(cond_is_its_frames),
        cmocka_unit_test(an_offset_is_added_to_the_stream),
        cmocka_unit_test(while_is_its_frames),
        cmocka_unit_test(only_the_branch_that_runs_can_fail),
        cmocka_unit_test(operands_may_be_views),
        cmocka_unit_test(an_index_in_a_loop_is_told_before_states_change),
        cmocka_unit_test(what_is_written_out_fails_as_its_frames),
        cmocka_unit_test(what_is_written_out_fits_its_budget),
        cmocka_unit_test(what_would_break_a_limit_written_out_stays_a_region),
        cmocka_unit_test(regions_that_stay_are_bounded_by_their_values),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}
