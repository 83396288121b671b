/* SPDX-License-Identifier: Apache-2.0
 * Reductions beside sum, mean and max, and running sums: the examples of CONTRACT 4.3, other computations of the same
 * values, and what is special. Orders of summation are those of test_kernel_orders.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "tests/kernels/kernel_call.h"

enum { N = 5000 };
#define INF32 __builtin_inff()
#define NAN32 rp_from_bits_f32(0x7FC00000u)

/* x [n] into y [m], along the only axis, at the best level; second: the attribute behind it. */
static void along(rp_kernel_id id, void *y, rp_dtype out_dtype, int m, void *x, rp_dtype dtype, int n, int64_t second)
{
    rp_view in = view_of(x, dtype, n, -1), out = view_of(y, out_dtype, m, -1);
    rp_attr attr[RP_MAX_ATTR] = {{.n = 1}, {.i = second}};

    call_kernel("", id, &out, 1, &in, 1, attr);
}

static float real(rp_kernel_id id, float *x, int n, int64_t second)
{
    float y;

    along(id, &y, RP_F32, 1, x, RP_F32, n, second);
    return y;
}

static void assert_bits(const char *what, float found, uint32_t expected)
{
    if (rp_bits_f32(found) != expected)
        fail_msg("%s: expected %08x, found %08x", what, expected, rp_bits_f32(found));
}

static void fill(float *x, int n, uint64_t stream)
{
    for (int i = 0; i < n; i++)
        x[i] = 8 * rp_uniform_f32(rp_random_u32(5, stream, 0, (uint64_t)i)) - 3;
}

static void examples_of_the_clause_have_their_bits(void **state)
{
    float x[4] = {1, -0.5f, 2, 0.25f};

    (void)state;
    assert_bits("min", real(RP_K_min, x, 4, 0), 0xbf000000u);
    assert_bits("var", real(RP_K_var, x, 4, 1), 0x3f920000u);
    assert_bits("logsumexp", real(RP_K_logsumexp, x, 4, 0), 0x401f05d6u);
}

/* Rows of 0 to 70 elements, of both signs and -0, with infinities and NaN in some, at every level. */
static void short_sums_are_those_of_the_reference(void **state)
{
    enum { ROWS = 9, LONGEST = 70 };
    static float x[ROWS * LONGEST], y[2][ROWS];
    static double wide[ROWS * LONGEST], z[2][ROWS];
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 1, .list = {1}}};
    const char *const *names;
    const size_t levels = rp_kernel_levels(&names);

    (void)state;
    for (int n = 0; n <= LONGEST; n++)
        for (int id = 0; id < 2; id++) {
            const rp_kernel_id kernel = id ? RP_K_mean : RP_K_sum;
            const rp_view in = view_of(x, RP_F32, ROWS, n, -1), in_wide = view_of(wide, RP_F64, ROWS, n, -1);

            fill(x, ROWS * n, (uint64_t)n);
            for (int i = 0; i < ROWS * n; i++) {
                x[i] = i < 3 * n ? -0.0f : i % 97 == 96 ? (i % 2 ? NAN32 : INF32) : x[i];
                wide[i] = x[i];
            }
            for (size_t l = 0; l < levels; l++) {
                const rp_view out = view_of(y[l > 0], RP_F32, ROWS, -1), out_wide = view_of(z[l > 0], RP_F64, ROWS, -1);

                call_kernel(names[l], kernel, &out, 1, &in, 1, attr);
                call_kernel(names[l], kernel, &out_wide, 1, &in_wide, 1, attr);
                if (l > 0 && (memcmp(y[0], y[1], sizeof y[0]) != 0 || memcmp(z[0], z[1], sizeof z[0]) != 0))
                    fail_msg("%s of %d elements at %s", rp_kernel_name(kernel), n, names[l]);
            }
        }
}

static void minima_are_those_of_a_search(void **state)
{
    static float x[N];

    (void)state;
    for (int n = 1; n < N; n = n * 3 / 2 + 1) {
        int least = 0;

        fill(x, n, (uint64_t)n);
        for (int i = 1; i < n; i++)
            least = x[i] < x[least] ? i : least;
        assert_true(real(RP_K_min, x, n, 0) == x[least]);
    }
}

static void minima_know_nan_zeros_and_nothing(void **state)
{
    float nan[3] = {1, NAN32, -INF32}, zeros[3] = {0.0f, -0.0f, 0.0f};
    int32_t integers[3] = {5, INT32_MIN, 7}, least;

    (void)state;
    assert_bits("a NaN wins", real(RP_K_min, nan, 3, 0), 0x7FC00000u);
    assert_bits("-0 is under +0", real(RP_K_min, zeros, 3, 0), 0x80000000u);
    assert_bits("of no elements", real(RP_K_min, nan, 0, 0), rp_bits_f32(INF32));
    along(RP_K_min, &least, RP_I32, 1, integers, RP_I32, 3, 0);
    assert_int_equal(least, INT32_MIN);
    along(RP_K_min, &least, RP_I32, 1, integers, RP_I32, 0, 0);
    assert_int_equal(least, INT32_MAX);
}

static int64_t place(float *x, int n)
{
    int64_t y;

    along(RP_K_argmin, &y, RP_I64, 1, x, RP_F32, n, 0);
    return y;
}

static void the_first_minimum_has_its_place(void **state)
{
    static float x[N];
    float nan[3] = {1, NAN32, NAN32}, zeros[3] = {0.0f, -0.0f, 0.0f}, example[4] = {1, -0.5f, 2, 0.25f};

    (void)state;
    for (int n = 1; n < N; n = n * 3 / 2 + 1) {
        int least = 0;

        fill(x, n, (uint64_t)n);
        x[n / 2] = x[n / 3] = -5; /* a tie */
        for (int i = 1; i < n; i++)
            least = x[i] < x[least] ? i : least;
        assert_int_equal(place(x, n), least);
    }
    assert_int_equal(place(nan, 3), 1);
    assert_int_equal(place(zeros, 3), 0);
    assert_int_equal(place(example, 4), 1);
}

static void running_sums_go_one_by_one_and_integers_wrap(void **state)
{
    static float x[N], y[N];
    float example[4] = {1, -0.5f, 2, 0.25f}, negative_zero = -0.0f;
    const float sums[4] = {1, 0.5f, 2.5f, 2.75f}, back[4] = {2.75f, 1.75f, 2.25f, 0.25f};
    int32_t integers[3] = {INT32_MAX, 1, -1}, wrapped[3];
    volatile float sum;

    (void)state;
    fill(x, N, 3);
    along(RP_K_cumsum, y, RP_F32, N, x, RP_F32, N, 0);
    sum = x[0];
    for (int i = 0; i < N; i++) {
        if (i > 0)
            sum = sum + x[i];
        assert_true(y[i] == sum);
    }
    along(RP_K_cumsum, y, RP_F32, N, x, RP_F32, N, 1);
    sum = x[N - 1];
    for (int i = N - 1; i >= 0; i--) {
        if (i < N - 1)
            sum = sum + x[i];
        assert_true(y[i] == sum);
    }
    along(RP_K_cumsum, y, RP_F32, 4, example, RP_F32, 4, 0);
    assert_memory_equal(y, sums, sizeof sums);
    along(RP_K_cumsum, y, RP_F32, 4, example, RP_F32, 4, 1);
    assert_memory_equal(y, back, sizeof back);
    along(RP_K_cumsum, wrapped, RP_I32, 3, integers, RP_I32, 3, 0);
    assert_int_equal(wrapped[1], INT32_MIN);
    assert_int_equal(wrapped[2], INT32_MAX);
    along(RP_K_cumsum, y, RP_F32, 1, &negative_zero, RP_F32, 1, 0);
    assert_bits("the first sum is the first element", y[0], 0x80000000u);
}

/* |found - exact| / |exact| */
static double relative(float found, const mpfr_t exact)
{
    mpfr_t apart;
    double result;

    mpfr_init2(apart, 200);
    mpfr_sub_d(apart, exact, found, MPFR_RNDN);
    mpfr_div(apart, apart, exact, MPFR_RNDN);
    result = __builtin_fabs(mpfr_get_d(apart, MPFR_RNDN));
    mpfr_clear(apart);
    return result;
}

static void variances_are_close_to_exact_ones(void **state)
{
    static float x[N];
    float one[1] = {3}, spread;
    mpfr_t mean, sum, d;

    (void)state;
    mpfr_inits2(400, mean, sum, d, (mpfr_ptr)NULL);
    for (int n = 2; n < N; n = n * 2 + 1)
        for (int correction = 0; correction < 2; correction++) {
            double found;

            fill(x, n, 7 + (uint64_t)n);
            mpfr_set_zero(mean, 1);
            mpfr_set_zero(sum, 1);
            for (int i = 0; i < n; i++)
                mpfr_add_d(mean, mean, x[i], MPFR_RNDN);
            mpfr_div_si(mean, mean, n, MPFR_RNDN);
            for (int i = 0; i < n; i++) {
                mpfr_sub_d(d, mean, x[i], MPFR_RNDN);
                mpfr_sqr(d, d, MPFR_RNDN);
                mpfr_add(sum, sum, d, MPFR_RNDN);
            }
            mpfr_div_si(sum, sum, n - correction, MPFR_RNDN);
            found = relative(real(RP_K_var, x, n, correction), sum);
            if (!(found <= 0x1p-20))
                fail_msg("var of %d, correction %d: off by %g", n, correction, found);
        }
    mpfr_clears(mean, sum, d, (mpfr_ptr)NULL);
    spread = real(RP_K_var, one, 1, 1);
    assert_true(spread != spread); /* 0 / 0 */
    assert_bits("no spread", real(RP_K_var, one, 1, 0), 0);
    assert_bits("a correction over n counts as n", real(RP_K_var, x, 2, 5), rp_bits_f32(INF32));
}

static void logarithms_of_sums_are_close_to_exact_ones(void **state)
{
    static float x[N];
    float low[2] = {-INF32, -INF32}, high[2] = {INF32, 1}, nan[2] = {NAN32, 1}, far[2] = {1000, 1000};
    mpfr_t sum, e;

    (void)state;
    mpfr_inits2(200, sum, e, (mpfr_ptr)NULL);
    for (int n = 1; n < N; n = n * 2 + 1) {
        double found;

        fill(x, n, 11 + (uint64_t)n);
        for (int i = 0; i < n; i++)
            x[i] += 20; /* away from a result of 0 */
        mpfr_set_zero(sum, 1);
        for (int i = 0; i < n; i++) {
            mpfr_set_d(e, x[i], MPFR_RNDN);
            mpfr_exp(e, e, MPFR_RNDN);
            mpfr_add(sum, sum, e, MPFR_RNDN);
        }
        mpfr_log(sum, sum, MPFR_RNDN);
        found = relative(real(RP_K_logsumexp, x, n, 0), sum);
        if (!(found <= 0x1p-22))
            fail_msg("logsumexp of %d: off by %g", n, found);
    }
    mpfr_clears(sum, e, (mpfr_ptr)NULL);
    assert_bits("of -inf", real(RP_K_logsumexp, low, 2, 0), rp_bits_f32(-INF32));
    assert_bits("of +inf", real(RP_K_logsumexp, high, 2, 0), rp_bits_f32(INF32));
    assert_bits("of a NaN", real(RP_K_logsumexp, nan, 2, 0), 0x7FC00000u);
    assert_bits("of no elements", real(RP_K_logsumexp, nan, 0, 0), rp_bits_f32(-INF32));
    assert_true(real(RP_K_logsumexp, far, 2, 0) == 1000 + 0x1.62e43p-1f);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_clause_have_their_bits),
        cmocka_unit_test(short_sums_are_those_of_the_reference),
        cmocka_unit_test(minima_are_those_of_a_search),
        cmocka_unit_test(minima_know_nan_zeros_and_nothing),
        cmocka_unit_test(the_first_minimum_has_its_place),
        cmocka_unit_test(running_sums_go_one_by_one_and_integers_wrap),
        cmocka_unit_test(variances_are_close_to_exact_ones),
        cmocka_unit_test(logarithms_of_sums_are_close_to_exact_ones),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
