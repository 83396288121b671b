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

static void assert_bits(const void *of, const rp_program *p, store *s, rp_device *device, record *expected)
{
    const variant *v = of;

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

/* One variant's program, which is freed: its plans' bits at every level and number of threads, and the eager tape's. */
static void at_every_level(const void *of, const char *what, rp_program *p,
                           void assert_plans(const void *, const rp_program *, store *, rp_device *, record *))
{
    static const unsigned threads[] = {1, 2, 3, 7};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);
    store s = store_new(p);
    record expected = {0}, eager;

    for (size_t l = 0; l < n_levels; l++)
        for (size_t t = 0; t < COUNT(threads); t++) {
            rp_device *device;

            assert_int_equal(rp_device_cpu_new(&device, levels[l], threads[t], NULL), RP_OK);
            assert_plans(of, p, &s, device, &expected);
            if (threads[t] == 1) {
                eager = eager_step(p, device, &s);
                assert_same(p, &expected, &eager, what);
            }
            rp_device_free(device);
        }
    record_free(&expected);
    store_free(&s);
    rp_program_free(p);
}

static void sums_made_where_they_lie_show_in_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(variants); i++)
        at_every_level(&variants[i], variants[i].what, program(&variants[i]), assert_bits);
}

/* ---- with a scan of their own ---- */

/* h <- tanh(h + x w), and s <- s + a b of which a is a view of what the frame has of it, b is made of h and x. */
typedef struct apart {
    const char *what;
    size_t rows, m, n, times; /* x [rows, m], w [m, n], h [rows, n] */
    rp_dtype dtype;
    bool reverse;
    bool given;  /* b is a row that the scan gives anyhow */
    bool twice;  /* a second sum, of b with itself */
    bool half;   /* a goes through bf16: no view, so the scan gives it */
    bool shared; /* a is x plus what all frames have: the same */
    bool row;    /* b is a row of x itself: the scan gives nothing more */
    bool before; /* a is what h was: of what is carried there are no rows */
    bool reads;  /* h is made of s too */
    bool deep;   /* a is turned many times: more views than a sum's function has */
    bool onto;   /* what is expected */
} apart;

static const apart aparts[] = {
    {.what = "gradient", .rows = 7, .m = 40, .n = 72, .times = 5, .given = true, .onto = true},
    {.what = "not given", .rows = 7, .m = 40, .n = 72, .times = 5, .onto = true},
    {.what = "outer", .rows = 1, .m = 33, .n = 130, .times = 9, .reverse = true, .onto = true},
    {.what = "several chunks", .rows = 100, .m = 26, .n = 65, .times = 11, .reverse = true, .onto = true},
    {.what = "a whole chunk", .rows = 512, .m = 13, .n = 34, .times = 3, .onto = true},
    {.what = "many frames", .rows = 1, .m = 20, .n = 32, .times = 1100, .given = true, .onto = true},
    {.what = "narrow", .rows = 3, .m = 300, .n = 2, .times = 6, .reverse = true, .onto = true},
    {.what = "flat", .rows = 3, .m = 2, .n = 300, .times = 6, .onto = true},
    {.what = "f64, outer", .rows = 1, .m = 33, .n = 70, .times = 7, .dtype = RP_F64, .onto = true},
    {.what = "f64", .rows = 9, .m = 33, .n = 70, .times = 4, .dtype = RP_F64, .reverse = true, .onto = true},
    {.what = "two", .rows = 5, .m = 40, .n = 35, .times = 5, .twice = true, .onto = true},
    {.what = "bf16", .rows = 5, .m = 40, .n = 35, .times = 5, .half = true, .onto = true},
    {.what = "shared", .rows = 5, .m = 40, .n = 35, .times = 5, .shared = true, .onto = true},
    {.what = "deep", .rows = 5, .m = 40, .n = 35, .times = 5, .deep = true, .reverse = true, .onto = true},
    {.what = "of rows", .rows = 5, .m = 40, .n = 35, .times = 5, .row = true, .twice = true, .onto = true},
    {.what = "before", .rows = 5, .m = 40, .n = 35, .times = 5, .before = true},
    {.what = "reads", .rows = 5, .m = 40, .n = 35, .times = 5, .reads = true},
    {.what = "one frame", .rows = 5, .m = 40, .n = 35, .times = 1},
    {.what = "too many", .rows = 513, .m = 4, .n = 5, .times = 3},
};

enum { A_H, A_S, A_Q, A_X, A_W, A_C, A_INPUTS }; /* q: the second sum's; c: shared */

static rp_type apart_type(const apart *v, int i, bool all)
{
    const size_t made = v->before ? v->n : v->m, other = v->row ? v->m : v->n;
    const size_t rows[A_INPUTS] = {v->rows, made, other, v->rows, v->m, v->rows};
    const size_t cols[A_INPUTS] = {v->n, other, other, v->m, v->n, v->m};
    rp_type type = {.dtype = v->dtype ? v->dtype : RP_F32, .rank = 2, .shape = {rows[i], cols[i]}};

    if (all && i == A_X)
        type = (rp_type){.dtype = type.dtype, .rank = 3, .shape = {v->times, rows[i], cols[i]}};
    return type;
}

static rp_function *apart_body(const apart *v)
{
    const rp_type index = {.dtype = RP_I64};
    rp_tensor in[A_INPUTS], h, a, b, s, q;
    rp_function *f;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    for (int i = 0; i < A_INPUTS; i++) {
        const rp_type type = apart_type(v, i, false);

        in[i] = rp_function_parameter(g, &type);
    }
    h = rp_tanh(rp_add(in[A_H], rp_matmul(in[A_X], in[A_W])));
    b = v->row ? in[A_X] : rp_sub(h, in[A_H]);
    a = v->before ? in[A_H] : v->shared ? rp_add(in[A_X], in[A_C]) : in[A_X];
    a = rp_transpose(a, NULL);
    for (int i = 0; i < 20 && v->deep; i++)
        a = rp_transpose(a, NULL);
    if (v->half) {
        a = rp_cast(a, RP_BF16);
        b = rp_cast(b, RP_BF16);
    }
    s = rp_add(in[A_S], rp_matmul(a, b));
    q = v->twice ? rp_add(in[A_Q], rp_matmul(rp_transpose(b, NULL), b)) : rp_neg(in[A_Q]);
    rp_function_return(g, v->reads ? rp_add(h, rp_sum(in[A_S], NULL, 0, false)) : h);
    rp_function_return(g, s);
    rp_function_return(g, q);
    rp_function_return(g, v->given ? b : rp_sum(h, (int[]){1}, 1, false));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static rp_program *apart_program(const apart *v)
{
    static const char *const names[A_INPUTS] = {"h", "s", "q", "x", "w", "c"};
    rp_function *f = apart_body(v);
    rp_tensor in[A_INPUTS], out[4];
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    for (int i = 0; i < A_INPUTS; i++) {
        const rp_type type = apart_type(v, i, true);

        in[i] = rp_graph_declare(g, RP_INPUT_FEED, names[i], &type);
    }
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = in,
                               .n_carried = 3,
                               .sliced = in + A_X,
                               .n_sliced = 1,
                               .shared = in + A_W,
                               .n_shared = 2,
                               .times = v->times,
                               .reverse = v->reverse},
            out);
    rp_function_free(f);
    for (int i = 0; i < 4; i++)
        rp_graph_result(g, (const char *[]){"h", "s", "q", "y"}[i], out[i]);
    rp_graph_result(g, "before", rp_neg(in[A_S])); /* the operand is what it was */
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s: %s", v->what, err.text);
    return p;
}

/* How many scans add all their products at once. */
static size_t at_once(const rp_plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_calls; i++)
        n += plan->call[i].region && plan->call[i].region->rows[0];
    return n;
}

static void assert_apart(const void *of, const rp_program *p, store *s, rp_device *device, record *expected)
{
    const apart *v = of;
    const size_t sums = v->onto && rp_device_has_onto(device) ? 1 + v->twice : 0;

    for (size_t with = 0; with < 2; with++) {
        rp_plan *plan;
        char what[96];

        plan_passes = with ? RP_PASSES : RP_PASSES & ~(unsigned)RP_PASS_SUMS;
        plan = plan_new(p, device, s);
        plan_passes = RP_PASSES;
        (void)snprintf(what, sizeof what, "%s, %s, %u threads, %s", v->what, rp_device_level(device),
                       rp_device_threads(device), with ? "apart" : "together");
        if (at_once(plan) != (with ? sums : 0))
            fail_msg("%s: %zu sums at once", what, at_once(plan));
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

static void sums_with_a_scan_of_their_own_show_in_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(aparts); i++)
        at_every_level(&aparts[i], aparts[i].what, apart_program(&aparts[i]), assert_apart);
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
        cmocka_unit_test(sums_with_a_scan_of_their_own_show_in_no_bit),
        cmocka_unit_test(planning_bodies_of_many_sums_is_linear),
    };
    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
