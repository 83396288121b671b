/* SPDX-License-Identifier: Apache-2.0
 * The passes over scans where bodies are not what a model has: very many sums, views or matrices; and where
 * allocations fail. Their bits: test_scan_sums.c, test_scan_panels.c. */
#include "tests/core/run/plan_steps.h"

#include "core/run/plan_private.h" /* behind: its names are as short as theirs */
#include "kernels/onto.h"
#include "tests/house/sanitized.h"

#include <time.h>

static const rp_type number_type = {.dtype = RP_I64}, square = {RP_F32, 2, {2, 2}}, squares = {RP_F32, 3, {2, 2, 2}};

static rp_graph *new_graph(void)
{
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    return g;
}

/* The program whose results are the n of the scan; frees the function. */
static rp_program *scanned(rp_graph *g, rp_scan_options *o, rp_function *f, size_t n)
{
    rp_tensor *out = malloc(n * sizeof *out);
    rp_program *p;
    rp_error err = {0};

    assert_non_null(out);
    o->function = f;
    rp_scan(g, o, out);
    rp_function_free(f);
    for (size_t i = 0; i < n; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "r%zu", i);
        rp_graph_result(g, name, out[i]);
    }
    free(out);
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    return p;
}

/* sums <- sums + a y, y = tanh x, of which a is y turned so many times. */
static rp_program *sums_of_views(size_t sums, size_t turns)
{
    rp_tensor *in = malloc((sums + 1) * sizeof *in), a, x, y;
    rp_graph *g = new_graph();
    rp_function *f;
    rp_program *p;

    assert_non_null(in);
    (void)rp_function_parameter(g, &number_type);
    for (size_t i = 0; i < sums; i++)
        in[i] = rp_function_parameter(g, &square);
    x = rp_function_parameter(g, &square);
    a = y = rp_tanh(x);
    for (size_t i = 0; i < turns; i++)
        a = rp_transpose(a, NULL);
    for (size_t i = 0; i < sums; i++)
        rp_function_return(g, rp_add(in[i], rp_matmul(a, y)));
    rp_function_return(g, rp_neg(x));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    g = new_graph();
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "s", &square);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &squares);
    for (size_t i = 1; i < sums; i++)
        in[i] = in[0];
    p = scanned(g, &(rp_scan_options){.carried = in, .n_carried = sums, .sliced = &x, .n_sliced = 1, .times = 2}, f,
                sums + 1);
    free(in);
    return p;
}

static rp_program *sums_and_as_many_views(size_t n)
{
    return sums_of_views(n, n);
}

/* sums <- sums + a a', each a a value of its own that the scan does not give. */
static rp_program *sums_of_values(size_t sums)
{
    rp_tensor *in = malloc((sums + 1) * sizeof *in), x, a;
    rp_graph *g = new_graph();
    rp_function *f;
    rp_program *p;

    assert_non_null(in);
    (void)rp_function_parameter(g, &number_type);
    for (size_t i = 0; i < sums; i++)
        in[i] = rp_function_parameter(g, &square);
    x = rp_function_parameter(g, &square);
    for (size_t i = 0; i < sums; i++) {
        a = rp_scale(x, (double)(i + 1));
        rp_function_return(g, rp_add(in[i], rp_matmul(a, rp_transpose(a, NULL))));
    }
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    g = new_graph();
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "s", &square);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &squares);
    for (size_t i = 1; i < sums; i++)
        in[i] = in[0];
    p = scanned(g, &(rp_scan_options){.carried = in, .n_carried = sums, .sliced = &x, .n_sliced = 1, .times = 2}, f,
                sums);
    free(in);
    return p;
}

/* x <- x + w' for very many w that are no matrices to lay out, in enough frames to. */
static rp_program *small_matrices(size_t n)
{
    rp_tensor *w = malloc(n * sizeof *w), x;
    rp_graph *g = new_graph();
    rp_function *f;
    rp_program *p;

    assert_non_null(w);
    (void)rp_function_parameter(g, &number_type);
    x = rp_function_parameter(g, &square);
    for (size_t i = 0; i < n; i++)
        w[i] = rp_function_parameter(g, &square);
    for (size_t i = 0; i < n; i++)
        x = rp_add(x, rp_transpose(w[i], NULL));
    rp_function_return(g, x);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    g = new_graph();
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &square);
    w[0] = rp_graph_declare(g, RP_INPUT_FEED, "w", &square);
    for (size_t i = 1; i < n; i++)
        w[i] = w[0];
    p = scanned(g, &(rp_scan_options){.carried = &x, .n_carried = 1, .shared = w, .n_shared = n, .times = 64}, f, 1);
    free(w);
    return p;
}

/* Of planning, a part of n. */
static double microseconds(rp_program *(*build)(size_t), size_t n)
{
    rp_program *p = build(n);
    store s = store_new(p);
    rp_device *device;
    double least = 1e9;

    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    plan_passes = RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;
    for (int i = 0; i < 3; i++) {
        const clock_t start = clock();
        rp_plan *plan = plan_new(p, device, &s);
        const double took = (double)(clock() - start) / CLOCKS_PER_SEC / (double)n * 1e6;

        least = took < least ? took : least;
        rp_plan_free(plan);
    }
    plan_passes = RP_PASSES;
    rp_device_free(device);
    store_free(&s);
    rp_program_free(p);
    return least;
}

/* Sixteen times the body: what is quadratic would take sixteen times as long a part. */
static void planning_is_linear(void **state)
{
    static const struct {
        const char *what;
        rp_program *(*build)(size_t);
        size_t n;
    } body[] = {{"sums and as many views", sums_and_as_many_views, 150},
                {"sums of values of their own", sums_of_values, 1500},
                {"small matrices that are turned", small_matrices, 1500}};

    (void)state;
    for (size_t i = 0; i < COUNT(body); i++) {
        const double small = microseconds(body[i].build, body[i].n),
                     large = microseconds(body[i].build, 16 * body[i].n);

        print_message("%s, us each: %.2f of %zu, %.2f of %zu\n", body[i].what, small, body[i].n, large, 16 * body[i].n);
        assert_true(SANITIZED || large < 5 * small);
    }
}

/* More than a stack has room for, were they followed by a function that calls itself. */
static void a_view_of_very_many_views_is_planned(void **state)
{
    rp_program *p = sums_of_views(1, 400000);
    store s = store_new(p);
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    plan_passes = RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;
    rp_plan_free(plan_new(p, device, &s));
    plan_passes = RP_PASSES;
    rp_device_free(device);
    store_free(&s);
    rp_program_free(p);
}

/* ---- memory that fails ---- */

static size_t held, allowed = SIZE_MAX;

static void *counted(void *self, size_t bytes)
{
    void *memory = allowed == SIZE_MAX || allowed-- > 0 ? malloc(bytes) : NULL;

    (void)self;
    held += memory != NULL;
    return memory;
}

static void *recounted(void *self, void *memory, size_t bytes)
{
    if (!memory)
        return counted(self, bytes);
    return allowed == SIZE_MAX || allowed-- > 0 ? realloc(memory, bytes) : NULL;
}

static void uncounted(void *self, void *memory)
{
    (void)self;
    held -= memory != NULL;
    free(memory);
}

static void every_allocation_of_sums_may_fail(void **state)
{
    static const rp_allocator counting = {counted, recounted, uncounted, NULL};
    void *memory[2] = {NULL};
    size_t failures = 0;
    rp_device *device;
    rp_program *p;
    bool whole = false;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    p = sums_of_views(2, 3);
    for (size_t n = 0; !whole; n++) {
        const size_t before = held;
        rp_plan *plan;
        rp_status status;

        allowed = n;
        status = rp_plan_new_with(
            &plan, p, device, memory,
            &(rp_plan_options){.passes = RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT, .stored = RP_PLAN_STORED_MAX}, NULL);
        whole = allowed != SIZE_MAX && allowed > 0 && status == RP_OK;
        allowed = SIZE_MAX;
        assert_true(status == RP_OK || status == RP_ENOMEM);
        if (whole && rp_device_has_onto(device))
            assert_int_equal(plan->bodies.n, 3); /* both sums', and what is left */
        failures += !whole;
        rp_plan_free(plan);
        assert_int_equal(held, before);
    }
    assert_true(failures > 50);
    rp_program_free(p);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planning_is_linear),
        cmocka_unit_test(a_view_of_very_many_views_is_planned),
        cmocka_unit_test(every_allocation_of_sums_may_fail),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("scans of rare kinds", tests, NULL, NULL);
}
