/* SPDX-License-Identifier: Apache-2.0
 * The summation order of CONTRACT 4 against an implementation that follows its text literally (chunk sums from the
 * bottom up, in allocated memory), against the worked examples, and against the orders it must not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/philox.h"
#include "determinism/sum.h"

enum { MOST = 70000, SPREAD = 3 };

static float *data32;
static double *data64;

static int make_data(void **state)
{
    (void)state;
    data32 = malloc((size_t)MOST * SPREAD * sizeof *data32);
    data64 = malloc((size_t)MOST * SPREAD * sizeof *data64);
    if (!data32 || !data64)
        return 1;
    for (size_t i = 0; i < (size_t)MOST * SPREAD; i++) {
        data32[i] = rp_uniform_f32(rp_random_u32(42, 3, 1, i)) - 0.5f;
        data64[i] = rp_uniform_f64(rp_random_u32(42, 3, 1, 2 * i), rp_random_u32(42, 3, 1, 2 * i + 1)) - 0.5;
    }
    return 0;
}

static int free_data(void **state)
{
    (void)state;
    free(data32);
    free(data64);
    return 0;
}

static float chunk32(const float *x, size_t n)
{
    float lane[64] = {0};

    for (size_t i = 0; i < n; i++)
        lane[i % 64] += x[i];
    for (size_t width = 32; width >= 1; width /= 2)
        for (size_t l = 0; l < width; l++)
            lane[l] = lane[l] + lane[l + width];
    return lane[0];
}

static double chunk64(const double *x, size_t n)
{
    double lane[64] = {0};

    for (size_t i = 0; i < n; i++)
        lane[i % 64] += x[i];
    for (size_t width = 32; width >= 1; width /= 2)
        for (size_t l = 0; l < width; l++)
            lane[l] = lane[l] + lane[l + width];
    return lane[0];
}

/* x is used up: chunk sums overwrite its front. */
static float literal32(float *x, size_t n)
{
    for (;;) {
        size_t chunks = 0;

        for (size_t at = 0; at < n; at += 4096)
            x[chunks++] = chunk32(x + at, n - at < 4096 ? n - at : 4096);
        if (chunks <= 1)
            return chunks ? x[0] : 0;
        n = chunks;
    }
}

static double literal64(double *x, size_t n)
{
    for (;;) {
        size_t chunks = 0;

        for (size_t at = 0; at < n; at += 4096)
            x[chunks++] = chunk64(x + at, n - at < 4096 ? n - at : 4096);
        if (chunks <= 1)
            return chunks ? x[0] : 0;
        n = chunks;
    }
}

static void assert_sums_follow_the_text(size_t n, size_t offset, ptrdiff_t stride)
{
    size_t first = stride < 0 ? offset + (n ? n - 1 : 0) * (size_t)-stride : offset;
    float *copy32 = malloc((n + 1) * sizeof *copy32);
    double *copy64 = malloc((n + 1) * sizeof *copy64);
    float found32 = rp_sum_f32(data32 + first, n, stride), expected32;
    double found64 = rp_sum_f64(data64 + first, n, stride), expected64;

    assert_non_null(copy32);
    assert_non_null(copy64);
    for (size_t i = 0; i < n; i++) {
        copy32[i] = data32[(ptrdiff_t)first + (ptrdiff_t)i * stride];
        copy64[i] = data64[(ptrdiff_t)first + (ptrdiff_t)i * stride];
    }
    expected32 = literal32(copy32, n);
    expected64 = literal64(copy64, n);
    free(copy32);
    free(copy64);
    if (rp_bits_f32(found32) != rp_bits_f32(expected32) || rp_bits_f64(found64) != rp_bits_f64(expected64))
        fail_msg("n %zu offset %zu stride %td: f32 %a, expected %a; f64 %a, expected %a", n, offset, stride,
                 (double)found32, (double)expected32, found64, expected64);
}

static void sum_has_same_bits_for_every_length_and_offset(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 300; n++)
        for (size_t offset = 0; offset < 5; offset++)
            assert_sums_follow_the_text(n, offset, 1);
    for (size_t n = 4090; n <= 4230; n++)
        assert_sums_follow_the_text(n, n % 17, 1);
    for (size_t n = 301; n < MOST - 16; n += 997)
        assert_sums_follow_the_text(n, n % 16, 1);
}

static void sum_has_same_bits_for_every_stride(void **state)
{
    static const size_t length[] = {1, 63, 64, 65, 1000, 4096, 4097, 12345, MOST};

    (void)state;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++)
        for (ptrdiff_t stride = -3; stride <= 3; stride++)
            assert_sums_follow_the_text(length[i] - (length[i] == MOST), 0, stride);
}

/* One element in a stride of zero stands for any number: 4096^2 + 5000 elements need a third level. */
static void sum_of_three_levels_follows_the_text(void **state)
{
    const size_t n = (size_t)4096 * 4096 + 5000;
    const float third = 1.0f / 3;
    float *copy = malloc(n * sizeof *copy);
    float expected;

    (void)state;
    assert_non_null(copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = third;
    expected = literal32(copy, n);
    free(copy);
    assert_int_equal(rp_bits_f32(rp_sum_f32(&third, n, 0)), rp_bits_f32(expected));
}

static void sums_match_the_worked_examples(void **state)
{
    static const struct {
        size_t n;
        uint32_t bits32;
        uint64_t bits64;
    } example[] = {
        {1, 0x3e60ea40, 0x3fcc1d481304da4c},     {64, 0xc0243833, 0xbfeaa58a2cbfe664},
        {65, 0xc037ca79, 0xbfe5e9a87a4a1cc3},    {100, 0xc05b1182, 0xbff2b85c99c2afd0},
        {4096, 0xc1c4ab84, 0xc049d17a06b25c04},  {4097, 0xc1c502c0, 0xc049af691445d9e9},
        {10000, 0xc20ed43e, 0xc048ce723add861e},
    };
    float harmonic32[200];
    double harmonic64[200];

    (void)state;
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        assert_int_equal(rp_bits_f32(rp_sum_f32(data32, example[i].n, 1)), example[i].bits32);
        assert_true(rp_bits_f64(rp_sum_f64(data64, example[i].n, 1)) == example[i].bits64);
    }
    for (int i = 0; i < 200; i++) {
        harmonic64[i] = 1.0 / (i + 1);
        harmonic32[i] = (float)harmonic64[i];
    }
    assert_int_equal(rp_bits_f32(rp_sum_f32(harmonic32, 200, 1)), 0x40bc18d5);
    assert_true(rp_bits_f64(rp_sum_f64(harmonic64, 200, 1)) == 0x4017831a8b7c3ada);
}

static void the_order_is_visible_in_the_bits(void **state)
{
    float left_to_right = 0, wide_lanes[128] = {0}, other;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        left_to_right += data32[i];
        wide_lanes[i % 128] += data32[i];
    }
    for (int width = 64; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            wide_lanes[l] += wide_lanes[l + width];
    other = rp_sum_f32(data32, 10000, 1);
    assert_int_not_equal(rp_bits_f32(left_to_right), rp_bits_f32(other));
    assert_int_not_equal(rp_bits_f32(wide_lanes[0]), rp_bits_f32(other));
}

static void sums_of_nothing_and_of_minus_zeros_are_plus_zero(void **state)
{
    const float minus32 = -0.0f;
    const double minus64 = -0.0;

    (void)state;
    assert_int_equal(rp_bits_f32(rp_sum_f32(NULL, 0, 1)), 0);
    assert_true(rp_bits_f64(rp_sum_f64(NULL, 0, 1)) == 0);
    assert_int_equal(rp_bits_f32(rp_sum_f32(&minus32, 100, 0)), 0);
    assert_true(rp_bits_f64(rp_sum_f64(&minus64, 5000, 0)) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_has_same_bits_for_every_length_and_offset),
        cmocka_unit_test(sum_has_same_bits_for_every_stride),
        cmocka_unit_test(sum_of_three_levels_follows_the_text),
        cmocka_unit_test(sums_match_the_worked_examples),
        cmocka_unit_test(the_order_is_visible_in_the_bits),
        cmocka_unit_test(sums_of_nothing_and_of_minus_zeros_are_plus_zero),
    };

    return cmocka_run_group_tests(tests, make_data, free_data);
}
