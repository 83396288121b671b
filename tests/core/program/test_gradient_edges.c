/* SPDX-License-Identifier: Apache-2.0
 * Gradients where a function has a kink, a jump or an infinite slope: what CONTRACT 11.4 gives there, beside PyTorch's
 * (2.15, binary64), which are the same but where a row says so. */
#include <math.h>

#include "rp/composite.h"
#include "tests/core/program/eager_step.h"

typedef rp_tensor call(rp_tensor a, rp_tensor b);

enum { MOST = 4 };

static rp_tensor of_abs(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_abs(a);
}

static rp_tensor of_l1_norm(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_norm(a, 1, NULL, 0, false);
}

static rp_tensor of_norm(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_norm(a, 2, NULL, 0, false);
}

static rp_tensor of_prod(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_prod(a, NULL, 0, false);
}

static rp_tensor of_cumprod(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_cumprod(a, 0, false);
}

static rp_tensor of_cumprod_back(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_cumprod(a, 0, true);
}

static rp_tensor of_sqrt(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_sqrt(a);
}

static rp_tensor of_relu(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_relu(a);
}

static rp_tensor of_hardtanh(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_hardtanh(a, -1, 1);
}

static rp_tensor of_clamp(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_clamp(a, -1, 1);
}

static rp_tensor of_max(rp_tensor a, rp_tensor b)
{
    (void)b;
    return rp_max(a, NULL, 0, false);
}

/* The gradient of the sum of what the call gives by a and by b. */
static const struct {
    const char *name;
    call *call;
    size_t n;
    double a[MOST], b[MOST], by_a[MOST], by_b[MOST];
} rows[] = {
    {"abs", of_abs, 3, {0, -0.0, -2}, {0}, {0, 0, -1}, {0}},
    {"l1 norm", of_l1_norm, 3, {0, 3, -2}, {0}, {0, 1, -1}, {0}},
    {"norm", of_norm, 2, {0, 0}, {0}, {0, 0}, {0}},
    {"sqrt", of_sqrt, 2, {0, 4}, {0}, {INFINITY, 0.25}, {0}},
    {"relu", of_relu, 2, {0, 1}, {0}, {0, 1}, {0}},
    {"pow, zeros", rp_pow, 4, {0, 0, 0, 0}, {0, 1, 2, 0.5}, {0, 1, 0, INFINITY}, {0, 0, 0, 0}},
    {"pow, poles",
     rp_pow,
     4,
     {0, 2, -2, -2},
     {-1, 0, 2, 3},
     {-INFINITY, 0, -4, 12},
     {-INFINITY, 0.6931471805599453, NAN, NAN}},
    {"atan2", rp_atan2, 2, {0, 1}, {0, 0}, {0, 0}, {0, -1}},
    {"hypot", rp_hypot, 1, {0}, {0}, {NAN}, {NAN}},
    {"prod, a zero", of_prod, 3, {0, 2, 3}, {0}, {6, 0, 0}, {0}},
    {"prod, two", of_prod, 3, {0, 0, 3}, {0}, {0, 0, 0}, {0}},
    {"prod, none", of_prod, 3, {1, 2, 3}, {0}, {6, 3, 2}, {0}},
    {"cumprod, a zero", of_cumprod, 3, {2, 0, 3}, {0}, {1, 8, 0}, {0}},
    {"cumprod, two", of_cumprod, 4, {2, 0, 0, 3}, {0}, {1, 2, 0, 0}, {0}},
    {"cumprod, reverse", of_cumprod_back, 4, {3, 0, 0, 2}, {0}, {0, 0, 2, 1}, {0}},
    {"hardtanh", of_hardtanh, 3, {-1, 1, 2}, {0}, {0, 0, 0}, {0}},
    {"max", of_max, 3, {1, 1, 0}, {0}, {0.5, 0.5, 0}, {0}},
    /* ours: a bound itself passes, PyTorch 2.15: 0; a tie is the first's, PyTorch: a half each */
    {"clamp", of_clamp, 3, {-1, 1, 2}, {0}, {1, 1, 0}, {0}},
    {"maximum", rp_maximum, 2, {1, 2}, {1, 1}, {1, 1}, {0, 0}},
    {"minimum", rp_minimum, 2, {1, 2}, {1, 1}, {1, 0}, {0, 1}},
};

static void near(const char *name, const char *by, const double *expected, const double *found, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(expected[i] == found[i] || (expected[i] != expected[i] && found[i] != found[i]) ||
              fabs(expected[i] - found[i]) < 1e-15))
            fail_msg("%s, by %s: element %zu: expected %g, found %g", name, by, i, expected[i], found[i]);
}

static void gradients_at_edges_are_the_contracts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        rp_run *run = step_new();
        rp_tensor x[2], y, grad[2];
        double found[MOST];

        x[0] = put(run, RP_F64, 1, &rows[i].n, rows[i].a);
        x[1] = put(run, RP_F64, 1, &rows[i].n, rows[i].b);
        y = rp_sum(rows[i].call(x[0], x[1]), NULL, 0, false);
        rp_gradients_or_zeros(y, x, 2, grad);
        assert_int_equal(rp_read(run, grad[0], found, rows[i].n * sizeof *found, NULL), RP_OK);
        near(rows[i].name, "a", rows[i].by_a, found, rows[i].n);
        assert_int_equal(rp_read(run, grad[1], found, rows[i].n * sizeof *found, NULL), RP_OK);
        near(rows[i].name, "b", rows[i].by_b, found, rows[i].n);
        rp_run_free(run);
    }
}

/* d2 (x1 x2 x3) / dx1 dx2 = x3 at x1 = 0, where the first derivative by x1 comes from the row with a 1 in its place. */
static void a_product_with_a_zero_has_second_gradients(void **state)
{
    rp_run *run = step_new();
    rp_tensor x = put(run, RP_F64, SHAPE(3), (double[]){0, 2, 5}), grad, second;
    double found[3];

    (void)state;
    rp_gradients(rp_prod(x, NULL, 0, false), &x, 1, &grad);
    grad = rp_sum(rp_mul(grad, put(run, RP_F64, SHAPE(3), (double[]){1, 10, 100})), NULL, 0, false);
    rp_gradients(grad, &x, 1, &second);
    assert_int_equal(rp_read(run, second, found, sizeof found, NULL), RP_OK);
    near("prod", "x twice", (double[]){10 * 5 + 100 * 2, 5, 2}, found, 3);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_at_edges_are_the_contracts),
        cmocka_unit_test(a_product_with_a_zero_has_second_gradients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
