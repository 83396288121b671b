/* SPDX-License-Identifier: Apache-2.0
 * Cholesky factors and triangular systems: the examples of CONTRACT 4.7 at every level, what a column left out does,
 * and that a factor's product is the matrix. The levels' bits are compared by test_kernels.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/philox.h"
#include "tests/kernels/kernel_call.h"

static void factor(const char *level, float *l, float *a, int n, double tolerance)
{
    rp_view in = view_of(a, RP_F32, n, n, -1), out = view_of(l, RP_F32, n, n, -1);
    rp_attr attr[RP_MAX_ATTR] = {{.r = tolerance}};

    call_kernel(level, RP_K_cholesky, &out, 1, &in, 1, attr);
}

static void solve(const char *level, float *x, float *a, float *b, int n, int m, bool upper, bool transposed)
{
    rp_view in[2] = {view_of(a, RP_F32, n, n, -1), view_of(b, RP_F32, n, m, -1)}, out = view_of(x, RP_F32, n, m, -1);
    rp_attr attr[RP_MAX_ATTR] = {{.i = 0}};

    RP_AT(attr, triangular_solve, transposed).i = transposed;
    RP_AT(attr, triangular_solve, upper).i = upper;
    call_kernel(level, RP_K_triangular_solve, &out, 1, in, 2, attr);
}

static void assert_floats(const char *level, const float *found, const float *expected, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("%s: element %d: expected %a, found %a", level, i, (double)expected[i], (double)found[i]);
}

static void examples_of_the_clause_have_their_bits(void **state)
{
    const float inf = __builtin_inff();
    float a[9] = {4, 9, 9, 2, 5, 9, -2, 1, 6}, near[9] = {4, 0, 0, 2, 5, 0, 2, 5, 6}, b[3] = {2, 3, 5}, l[9], x[3];
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        factor(levels[i], l, a, 3, 0);
        assert_floats(levels[i], l, (float[]){2, 0, 0, 1, 2, 0, -1, 1, 2}, 9);
        solve(levels[i], x, l, b, 3, 1, false, false);
        assert_floats(levels[i], x, (float[]){1, 1, 2.5f}, 3);
        solve(levels[i], x, l, b, 3, 1, false, true);
        assert_floats(levels[i], x, (float[]){2.125f, 0.25f, 2.5f}, 3);
        factor(levels[i], l, near, 3, 0.125);
        assert_floats(levels[i], l, (float[]){2, 0, 0, 1, 2, 0, 1, 2, 1}, 9);
        factor(levels[i], l, near, 3, 0.25);
        assert_floats(levels[i], l, (float[]){2, 0, 0, 1, 2, 0, 1, 2, inf}, 9);
        solve(levels[i], x, l, b, 3, 1, false, false);
        assert_floats(levels[i], x, (float[]){1, 1, 0}, 3);
    }
}

/* The same triangle, stored below or above and read either way. */
static void all_four_ways_solve_their_system(void **state)
{
    float lower[4] = {2, 77, 3, 4}, upper[4] = {2, 3, 77, 4}, b[4] = {2, 4, 11, 10}, x[4];

    (void)state;
    solve("", x, lower, b, 2, 2, false, false); /* 2 x = 2, 3 x + 4 y = 11 */
    assert_floats("lower", x, (float[]){1, 2, 2, 1}, 4);
    solve("", x, upper, b, 2, 2, true, true);
    assert_floats("upper transposed", x, (float[]){1, 2, 2, 1}, 4);
    solve("", x, upper, b, 2, 2, true, false); /* 2 x + 3 y = 2, 4 y = 11 */
    assert_floats("upper", x, (float[]){-3.125f, -1.75f, 2.75f, 2.5f}, 4);
    solve("", x, lower, b, 2, 2, false, true);
    assert_floats("lower transposed", x, (float[]){-3.125f, -1.75f, 2.75f, 2.5f}, 4);
}

enum { N = 70 };

/* A duplicate of a column is left out, and everything else is as if it were not there. */
static void a_column_left_out_changes_nothing_of_the_others(void **state)
{
    static double a[N * N], small[(N - 1) * (N - 1)], l[N * N], ls[(N - 1) * (N - 1)], v[N][N];
    const int twin = 40, of = 3;
    rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-9}};
    rp_view in = view_of(a, RP_F64, N, N, -1), out = view_of(l, RP_F64, N, N, -1);
    rp_view in_small = view_of(small, RP_F64, N - 1, N - 1, -1), out_small = view_of(ls, RP_F64, N - 1, N - 1, -1);

    (void)state;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            v[i][k] = rp_uniform_f32(rp_random_u32(9, 1, 0, (uint64_t)(i * N + k))) - 0.5 + (i == k) * 3;
    memcpy(v[twin], v[of], sizeof v[of]);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i * N + j] = 0;
            for (int k = 0; k < N; k++)
                a[i * N + j] += v[i][k] * v[j][k];
            if (i != twin && j != twin)
                small[(i - (i > twin)) * (N - 1) + j - (j > twin)] = a[i * N + j];
        }
    call_kernel("", RP_K_cholesky, &out, 1, &in, 1, attr);
    call_kernel("", RP_K_cholesky, &out_small, 1, &in_small, 1, attr);
    assert_true(l[twin * N + twin] == __builtin_inf());
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            if (i != twin && j != twin)
                assert_memory_equal(&l[i * N + j], &ls[(i - (i > twin)) * (N - 1) + j - (j > twin)], sizeof *l);
            else if (i != twin)
                assert_true(l[i * N + j] == 0);
    for (int i = 0; i < N; i++) /* and the factor's product is the matrix */
        for (int j = 0; j <= i && i != twin && j != twin; j++) {
            double sum = 0;

            for (int k = 0; k <= j; k++)
                sum += l[i * N + k] * l[j * N + k];
            assert_true(__builtin_fabs(sum - a[i * N + j]) < 1e-12 * a[j * N + j]);
        }
}

static void a_nan_stays_one_and_a_negative_pivot_shows(void **state)
{
    float a[4] = {1, 0, 2, 3}, l[4], bad[4] = {__builtin_nanf(""), 0, 2, 3};

    (void)state;
    factor("", l, a, 2, 0); /* 3 - 4 is negative */
    assert_true(l[3] == __builtin_inff() && l[2] == 2);
    factor("", l, bad, 2, 0);
    assert_true(l[0] != l[0] && l[2] != l[2] && l[3] != l[3] && l[1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_clause_have_their_bits),
        cmocka_unit_test(all_four_ways_solve_their_system),
        cmocka_unit_test(a_column_left_out_changes_nothing_of_the_others),
        cmocka_unit_test(a_nan_stays_one_and_a_negative_pivot_shows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
