/* SPDX-License-Identifier: Apache-2.0
 * Sums that a scan carries are made where they lie, and products that are added to them by the sum's call
 * (core/run/places/over.c): which are, and that no bit shows it, at every level and number of threads. */
#include "tests/core/run/plan_steps.h"

#include "core/run/plan_private.h" /* behind: its names are as short as theirs */
#include "kernels/onto.h"
#include "tests/house/sanitized.h"

#include <time.h>

/* How a program differs from s <- s + a b over the rows a [M, K] and b [K, N] of each frame. */
typedef struct variant {
    const char *what;
    size_t m, k, n, times;
    rp_dtype dtype;
    bool half;       /* a and b go through bf16 */
    bool turned;     /* a comes as its transpose */
    bool behind;     /* the sum is a b + s */
    bool read_twice; /* what s was is read too */
    bool given;      /* the product is a row of its own */
    bool shifted;    /* something stands between product and sum */
    bool none;       /* s <- s + x, without a product */
    bool history;    /* a gradient reads what s was in each frame */
    bool over, onto; /* what is expected; onto: where the level has a way */
} variant;

static const variant variants[] = {
    {.what = "plain", .m = 96, .k = 32, .n = 160, .times = 5, .over = true, .onto = true},
    {.what = "f64", .m = 40, .k = 8, .n = 72, .times = 4, .dtype = RP_F64, .over = true, .onto = true},
    {.what = "turned", .m = 130, .k = 7, .n = 66, .times = 5, .turned = true, .over = true, .onto = true},
    {.what = "outer", .m = 33, .k = 1, .n = 41, .times = 6, .turned = true, .over = true, .onto = true},
    {.what = "a row", .m = 1, .k = 64, .n = 320, .times = 4, .over = true, .onto = true},
    {.what = "a column", .m = 300, .k = 9, .n = 1, .times = 4, .over = true, .onto = true},
    {.what = "three columns", .m = 300, .k = 9, .n = 3, .times = 4, .over = true, .onto = true},
    {.what = "a whole chain", .m = 20, .k = 512, .n = 70, .times = 3, .over = true, .onto = true},
    {.what = "bf16", .m = 37, .k = 19, .n = 70, .times = 4, .half = true, .over = true, .onto = true},
    {.what = "a row of bf16", .m = 1, .k = 64, .n = 90, .times = 4, .half = true, .over = true, .onto = true},
    {.what = "two chains", .m = 20, .k = 513, .n = 70, .times = 3, .over = true},
    {.what = "one frame", .m = 20, .k = 4, .n = 70, .times = 1, .over = true, .onto = true},
    {.what = "behind", .m = 20, .k = 4, .n = 70, .times = 4, .behind = true},
    {.what = "read twice", .m = 20, .k = 4, .n = 70, .times = 4, .read_twice = true},
    {.what = "given", .m = 20, .k = 4, .n = 70, .times = 4, .given = true, .over = true},
    {.what = "shifted", .m = 20, .k = 4, .n = 70, .times = 4, .shifted = true, .over = true},
    {.what = "no product", .m = 20, .k = 4, .n = 70, .times = 4, .none = true, .over = true},
    {.what = "history", .m = 20, .k = 4, .n = 70, .times = 4, .history = true},
};

static rp_type matrix(const variant *v, size_t rows, size_t cols)
{
    return (rp_type){.dtype = v->dtype ? v->dtype : RP_F32, .rank = 2, .shape = {rows, cols}};
}

static rp_function *body(const variant *v)
{
    const rp_type index = {.dtype = RP_I64}, sum = matrix(v, v->m, v->n), right = matrix(v, v->k, v->n);
    const rp_type left = v->turned ? matrix(v, v->k, v->m) : matrix(v, v->m, v->k);
    rp_tensor s, a, b, x, y;
    rp_function *f;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    s = rp_function_parameter(g, &sum);
    a = rp_function_parameter(g, &left);
    b = rp_function_parameter(g, &right);
    if (v->turned)
        a = rp_transpose(a, NULL);
    if (v->half) {
        a = rp_cast(a, RP_BF16);
        b = rp_cast(b, RP_BF16);
    }
    x = v->none ? rp_broadcast_to(rp_slice(b, (size_t[]){0, 0}, (size_t[]){1, v->n}), 2, sum.shape) : rp_matmul(a, b);
    y = v->shifted ? rp_scale(x, 0.5) : x;
    y = v->behind ? rp_add(y, s) : rp_add(s, y);
    rp_function_return(g, v->history ? rp_tanh(y) : y);
    if (v->read_twice)
        rp_function_return(g, rp_sum(s, (int[]){0}, 1, false));
    else if (v->given)
        rp_function_return(g, x);
    else
        rp_function_return(g, rp_sum(y, (int[]){1}, 1, false));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static rp_program *program(const variant *v)
{
    const rp_type sum = matrix(v, v->m, v->n);
    rp_type left = v->turned ? matrix(v, v->k, v->m) : matrix(v, v->m, v->k), right = matrix(v, v->k, v->n);
    rp_function *f = body(v);
    rp_tensor in[3], out[2], grad[3];
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    for (rp_type *type = &left; type; type = type == &left ? &right : NULL) {
        type->rank = 3;
        memmove(type->shape + 1, type->shape, 2 * sizeof *type->shape);
        type->shape[0] = v->times;
    }
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "s", &sum);
    in[1] = rp_graph_declare(g, RP_INPUT_FEED, "a", &left);
    in[2] = rp_graph_declare(g, RP_INPUT_FEED, "b", &right);
    rp_scan(g,
            &(rp_scan_options){
                .function = f, .carried = in, .n_carried = 1, .sliced = in + 1, .n_sliced = 2, .times = v->times},
            out);
    rp_function_free(f);
    rp_graph_result(g, "s", out[0]);
    rp_graph_result(g, "y", out[1]);
    rp_graph_result(g, "before", rp_neg(in[0])); /* the operand is what it was */
    if (v->history) {
        rp_gradients(rp_sum(rp_mul(out[0], out[0]), NULL, 0, false), in, 3, grad);
        for (int i = 0; i < 3; i++)
            rp_graph_result(g, (const char *[]){"gs", "ga", "gb"}[i], grad[i]);
    }
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s: %s", v->what, err.text);
    return p;
}

/* Whether some body has such a call, and a value that lies over its parameter. */
static void look(const rp_plan *plan, bool *over, bool *onto)
{
    *over = *onto = false;
    for (size_t i = 0; i < plan->bodies.n; i++) {
        *over = *over || plan->bodies.plan[i]->over & 1;
        for (size_t k = 0; k < plan->bodies.plan[i]->n_calls; k++)
            *onto = *onto || plan->bodies.plan[i]->call[k].onto;
    }
}

static void assert_bits(const variant *v, const rp_program *p, store *s, rp_device *device, record *expected)
{
    for (size_t with = 0; with < 2; with++) {
        bool over, onto;
        char what[96];
        rp_plan *plan;

        plan_passes = with ? RP_PASSES : RP_PASSES & ~(unsigned)(RP_PASS_INPLACE | RP_PASS_FUSE);
        plan = plan_new(p, device, s);
        plan_passes = RP_PASSES;
        look(plan, &over, &onto);
        (void)snprintf(what, sizeof what, "%s, %s, %u threads, %s", v->what, rp_device_level(device),
                       rp_device_threads(device), with ? "together" : "apart");
        if (!v->history && (over != (with && v->over) || onto != (with && v->onto && rp_device_has_onto(device))))
            fail_msg("%s: made %s, product %s", what, over ? "in place" : "elsewhere", onto ? "by it" : "apart");
        for (int again = 0; again < 2; again++) {
            record found = plan_step(p, plan, s);

            if (!expected->bytes)
                *expected = found;
            else
                assert_same(p, expected, &found, what);
        }
        rp_plan_free(plan);
    }
}

static void sums_made_where_they_lie_show_in_no_bit(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    (void)state;
    for (size_t i = 0; i < COUNT(variants); i++) {
        rp_program *p = program(&variants[i]);
        store s = store_new(p);
        record expected = {0}, eager;

        for (size_t l = 0; l < n_levels; l++)
            for (size_t t = 0; t < COUNT(threads); t++) {
                rp_device *device;

                assert_int_equal(rp_device_cpu_new(&device, levels[l], threads[t], NULL), RP_OK);
                assert_bits(&variants[i], p, &s, device, &expected);
                if (threads[t] == 1) {
                    eager = eager_step(p, device, &s);
                    assert_same(p, &expected, &eager, variants[i].what);
                }
                rp_device_free(device);
            }
        record_free(&expected);
        store_free(&s);
        rp_program_free(p);
    }
}

/* s <- s + a b, and n products more that are added to one another, for a frame's row. */
static rp_program *many(size_t n)
{
    const rp_type index = {.dtype = RP_I64}, square = {RP_F32, 2, {2, 2}}, squares = {RP_F32, 3, {2, 2, 2}};
    rp_tensor in[2], out[2], s, a, x;
    rp_function *f;
    rp_program *p;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    s = rp_function_parameter(g, &square);
    x = a = rp_function_parameter(g, &square);
    for (size_t i = 0; i < n; i++)
        x = rp_add(x, rp_matmul(x, a));
    rp_function_return(g, rp_add(s, rp_matmul(a, a)));
    rp_function_return(g, x);
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "s", &square);
    in[1] = rp_graph_declare(g, RP_INPUT_FEED, "a", &squares);
    rp_scan(
        g,
        &(rp_scan_options){.function = f, .carried = in, .n_carried = 1, .sliced = in + 1, .n_sliced = 1, .times = 2},
        out);
    rp_function_free(f);
    rp_graph_result(g, "s", out[0]);
    rp_graph_result(g, "x", out[1]);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    return p;
}

static double microseconds_a_product(rp_device *device, size_t n)
{
    rp_program *p = many(n);
    store s = store_new(p);
    double least = 1e9;

    for (int i = 0; i < 3; i++) {
        const clock_t start = clock();
        bool over, onto;
        rp_plan *plan;
        double took;

        plan_passes = RP_PASSES & ~(unsigned)RP_PASS_WRITE_OUT;
        plan = plan_new(p, device, &s);
        plan_passes = RP_PASSES;
        took = (double)(clock() - start) / CLOCKS_PER_SEC / (double)n * 1e6;
        least = took < least ? took : least;
        look(plan, &over, &onto);
        assert_true(over);
        rp_plan_free(plan);
    }
    store_free(&s);
    rp_program_free(p);
    return least;
}

/* Sixteen times the body: what is quadratic would take sixteen times as long a product. */
static void planning_bodies_of_many_sums_is_linear(void **state)
{
    double small, large;
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    small = microseconds_a_product(device, 500);
    large = microseconds_a_product(device, 8000);
    rp_device_free(device);
    print_message("us a product: %.2f of 500, %.2f of 8,000\n", small, large);
    assert_true(SANITIZED || large < 5 * small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_made_where_they_lie_show_in_no_bit),
        cmocka_unit_test(planning_bodies_of_many_sums_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
