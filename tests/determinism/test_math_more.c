/* SPDX-License-Identifier: Apache-2.0
 * The further elementary functions: binary32 against MPFR on a dense sample and at hard inputs (prove_math_more.c does
 * all inputs), binary64 against its stated bounds and golden bits, special values, arguments of any size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/math.h"
#include "tests/determinism/oracle.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define NAN32 0x7FC00000u
#define INF32 0x7F800000u
#define NAN64 0x7FF8000000000000u
#define NEGATIVE64 0x8000000000000000u

/* bound: the error CONTRACT 5 states, in units in the last place of the true value; golden: FNV-1a over the results. */
static const struct {
    const char *name;
    float (*narrow)(float);
    double (*wide)(double);
    oracle_function *exact;
    double bound, low, high;
    uint64_t golden;
} functions[] = {
#define F(name, exact, bound, low, high, golden) \
    { \
#name, rp_##name##_f32, rp_##name##_f64, exact, bound, low, high, golden \
    }
    F(exp2, mpfr_exp2, 1.0, -1076.0, 1025.0, 0xB85D5FCEBD9BCAC1),
    F(log2, mpfr_log2, 2.0, 0.0, 4.0, 0xD00B6D05DB277A9B),
    F(log10, mpfr_log10, 2.0, 0.0, 4.0, 0x95DED8A5B2F7E214),
    F(sin, mpfr_sin, 1.0, -10.0, 10.0, 0xC612C255C940EB59),
    F(cos, mpfr_cos, 1.0, -10.0, 10.0, 0xF7EF89C2447AC7D7),
    F(tan, mpfr_tan, 2.5, -10.0, 10.0, 0x725E511902AD3174),
    F(sinh, mpfr_sinh, 2.5, -30.0, 30.0, 0x4379BFBD97FB256D),
    F(cosh, mpfr_cosh, 2.0, -30.0, 30.0, 0x5385CED760799111),
    F(asin, mpfr_asin, 2.0, -1.0, 1.0, 0x4BA7F549AF7C53E0),
    F(acos, mpfr_acos, 2.0, -1.0, 1.0, 0x8C28DE7AE6469D79),
    F(atan, mpfr_atan, 2.0, -5.0, 5.0, 0xE157ED75EA0C7C4D),
    F(erfc, mpfr_erfc, 4.0, -3.0, 27.5, 0xE0E6B373745CB0FD),
    F(rsqrt, oracle_rsqrt, 1.5, 0.0, 4.0, 0xF02C764E90CC9D7C),
    F(cbrt, mpfr_cbrt, 1.25, -30.0, 30.0, 0x999F5F3088BBD70E),
    F(erf_inv, oracle_erf_inv, 3.5, -1.0, 1.0, 0xDE331B7C1730039F),
#undef F
};

static uint64_t next_random(uint64_t *state)
{
    /* Multiplier and increment of Knuth's MMIX; the high half is the good one. */
    uint64_t high = *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t low = *state = *state * 6364136223846793005u + 1442695040888963407u;

    return (high & 0xFFFFFFFF00000000u) | (low >> 32);
}

static bool rounds_correctly(size_t f, uint32_t x)
{
    uint32_t found = rp_bits_f32(functions[f].narrow(rp_from_bits_f32(x))),
             expected = oracle_f32(functions[f].exact, x);

    if (found != expected)
        print_error("%s(0x%08X): found 0x%08X, expected 0x%08X\n", functions[f].name, x, found, expected);
    return found == expected;
}

static void f32_functions_round_correctly_on_a_dense_sample(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (uint64_t x = f; x <= UINT32_MAX; x += 400009) /* a prime: every exponent and all low bits are met */
            assert_true(rounds_correctly(f, (uint32_t)x));
}

static void f32_functions_round_correctly_at_hard_inputs(void **state)
{
    /* The exceptions of the inline forms, ends of ranges, and arguments nearest to multiples of pi/2. */
    static const uint32_t hard[] = {
        0x00000000, 0x00000001, 0x00800000, 0x32000000, 0x39800000, 0x3A400000, 0x3F490FDB, 0x3F800000,
        0x3F000000, 0x40490FDB, 0x3FC90FDB, 0x3ED413CD, 0x401A827A, 0x7F800000, 0x7F7FFFFF, 0x7FC00000,
        0x43000000, 0x43150000, 0x42B2D4FC, 0x41200000, 0x4121A4A0, 0x6F5F0D0F, 0x6A1976F1, 0x5922AA80,
        0x5F18B878, 0x4B000000, 0x7E8B8B8B, 0x3B429D37, 0x3CF3A937, 0x0EFEEE7A, 0x3A1285FF, 0x328885A3,
        0x39826222, 0x3D8D6B23, 0x376C9F62, 0x46199998, 0x6115CB11,
    };

    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (size_t i = 0; i < COUNT(hard); i++)
            for (uint32_t d = 0; d < 9; d++) {
                assert_true(rounds_correctly(f, (hard[i] + d - 4) & 0x7FFFFFFFu));
                assert_true(rounds_correctly(f, (hard[i] + d - 4) | 0x80000000u));
            }
}

/* Error of found against the true value y, in ulps of y (those of subnormals being 2^-1074). */
static double error_in_ulps(mpfr_t y, double found)
{
    int exponent;

    (void)frexp(mpfr_get_d(y, MPFR_RNDN), &exponent);
    mpfr_sub_d(y, y, found, MPFR_RNDN);
    mpfr_mul_2si(y, y, 53 - (exponent < -1021 ? -1021 : exponent), MPFR_RNDN);
    return fabs(mpfr_get_d(y, MPFR_RNDN));
}

static bool within_bound(size_t f, double x)
{
    double found = functions[f].wide(x), nearest, error = 0.0;
    mpfr_t in, out;
    bool good;

    mpfr_init2(in, 53);
    mpfr_init2(out, 160);
    mpfr_set_d(in, x, MPFR_RNDN);
    functions[f].exact(out, in, MPFR_RNDN);
    nearest = mpfr_get_d(out, MPFR_RNDN);
    if (mpfr_nan_p(out))
        good = rp_bits_f64(found) == NAN64;
    else if (isinf(nearest) || isinf(found) || nearest == 0.0)
        good = rp_ulps(&found, &nearest, RP_F64) <= 1;
    else
        good = (error = error_in_ulps(out, found)) <= functions[f].bound;
    if (!good)
        print_error("%s(0x%016llX): found 0x%016llX, nearest 0x%016llX, %.2f ulp\n", functions[f].name,
                    (unsigned long long)rp_bits_f64(x), (unsigned long long)rp_bits_f64(found),
                    (unsigned long long)rp_bits_f64(nearest), error);
    mpfr_clear(in);
    mpfr_clear(out);
    return good;
}

/* Every other input from the function's interesting range, every other from all encodings. */
static double sample(size_t f, size_t i, uint64_t *seed)
{
    uint64_t word = next_random(seed);

    if (i & 1)
        return rp_from_bits_f64(word);
    return functions[f].low + (functions[f].high - functions[f].low) * ((double)(word >> 11) * 0x1p-53);
}

static void f64_functions_keep_their_error_bounds(void **state)
{
    static const uint64_t edges[] = {
        0x0000000000000000, 0x0000000000000001, 0x0010000000000000, 0x3C90000000000000, 0x3E30000000000000,
        0x3E40000000000000, 0x3FDA827999FCEF32, 0x3FE0000000000000, 0x3FE6A09E667F3BCD, 0x3FE921FB54442D18,
        0x3FF0000000000000, 0x3FF6A09E667F3BCD, 0x3FF921FB54442D18, 0x4003504F333F9DE6, 0x400921FB54442D18,
        0x4036000000000000, 0x403B000000000000, 0x4090000000000000, 0xC090C80000000000, 0x408633CE8FB9F87D,
        0x4330000000000000, 0x7FEFFFFFFFFFFFFF, 0x6381BB02A4A4F1B2, 0x7506AC5B262CA1FF, 0x4090C80000000000,
    };
    uint64_t seed = 1;
    bool good = true;

    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++) {
        for (size_t i = 0; i < 12000; i++)
            good &= within_bound(f, sample(f, i, &seed));
        for (size_t i = 0; i < COUNT(edges); i++)
            for (uint64_t d = 0; d < 9; d++) {
                good &= within_bound(f, rp_from_bits_f64((edges[i] + d - 4) & ~NEGATIVE64));
                good &= within_bound(f, rp_from_bits_f64((edges[i] + d - 4) | NEGATIVE64));
            }
    }
    assert_true(good);
}

/* Any other sequence of operations, contraction or wider format shows here. */
static void f64_functions_keep_their_golden_bits(void **state)
{
    bool same = true;

    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++) {
        uint64_t hash = 0xCBF29CE484222325u, seed = 7;

        for (size_t i = 0; i < 20000; i++) {
            uint64_t bits = rp_bits_f64(functions[f].wide(sample(f, i, &seed)));

            for (int shift = 0; shift < 64; shift += 8)
                hash = (hash ^ (bits >> shift & 0xFF)) * 0x100000001B3u;
        }
        if (hash != functions[f].golden)
            print_error("%s: hash of results 0x%016llX, golden 0x%016llX\n", functions[f].name,
                        (unsigned long long)hash, (unsigned long long)functions[f].golden);
        same &= hash == functions[f].golden;
    }
    assert_true(same);
}

static void functions_take_special_values_as_the_contract_says(void **state)
{
    static const uint32_t inputs[] = {0x00000000, 0x80000000, INF32, 0xFF800000, 0x3F800000, 0xBF800000, 0x7F800001};
    const uint32_t one = 0x3F800000, inf = INF32, minus = 0xFF800000, nan = NAN32, half_pi = 0x3FC90FDB;
    const uint32_t expected[COUNT(functions)][COUNT(inputs)] = {
        {one, one, inf, 0, 0x40000000, 0x3F000000, nan},                             /* exp2 */
        {minus, minus, inf, nan, 0, nan, nan},                                       /* log2 */
        {minus, minus, inf, nan, 0, nan, nan},                                       /* log10 */
        {0, 0x80000000, nan, nan, 0x3F576AA4, 0xBF576AA4, nan},                      /* sin */
        {one, one, nan, nan, 0x3F0A5140, 0x3F0A5140, nan},                           /* cos */
        {0, 0x80000000, nan, nan, 0x3FC75923, 0xBFC75923, nan},                      /* tan */
        {0, 0x80000000, inf, minus, 0x3F966CFE, 0xBF966CFE, nan},                    /* sinh */
        {one, one, inf, inf, 0x3FC583AB, 0x3FC583AB, nan},                           /* cosh */
        {0, 0x80000000, nan, nan, half_pi, half_pi | 0x80000000, nan},               /* asin */
        {half_pi, half_pi, nan, nan, 0, 0x40490FDB, nan},                            /* acos */
        {0, 0x80000000, half_pi, half_pi | 0x80000000, 0x3F490FDB, 0xBF490FDB, nan}, /* atan */
        {one, one, 0, 0x40000000, 0x3E21130B, 0x3FEBDD9F, nan},                      /* erfc */
        {inf, minus, 0, nan, one, nan, nan},                                         /* rsqrt */
        {0, 0x80000000, inf, minus, one, 0xBF800000, nan},                           /* cbrt */
        {0, 0x80000000, nan, nan, inf, minus, nan},                                  /* erf_inv */
    };
    bool good = true;

    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (size_t i = 0; i < COUNT(inputs); i++) {
            float x = rp_from_bits_f32(inputs[i]);
            double y = functions[f].wide((double)x);
            uint32_t narrow = rp_bits_f32(functions[f].narrow(x)), wide = rp_bits_f32((float)y);

            if (narrow != expected[f][i] || wide != expected[f][i] || (y != y && rp_bits_f64(y) != NAN64)) {
                print_error("%s(0x%08X): binary32 0x%08X, binary64 rounded 0x%08X, expected 0x%08X\n",
                            functions[f].name, inputs[i], narrow, wide, expected[f][i]);
                good = false;
            }
        }
    assert_true(good);
}

static void exact_powers_give_exact_results(void **state)
{
    (void)state;
    for (int k = -149; k < 128; k++) {
        float x = ldexpf(1.0f, k);

        assert_true(rp_exp2_f32((float)k) == x && rp_log2_f32(x) == (float)k);
        assert_true(rp_exp2_f64((double)k * 7.0) == ldexp(1.0, 7 * k) && rp_log2_f64(ldexp(1.0, 7 * k)) == 7.0 * k);
    }
    for (int i = 0; i < 203; i++) {
        float x = (float)i;

        assert_true(rp_cbrt_f32(x * x * x) == x && rp_cbrt_f32(-x * x * x) == -x);
        assert_true(i == 0 || rp_rsqrt_f32(ldexpf(1.0f, 2 * i - 100)) == ldexpf(1.0f, 50 - i) || i > 113);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_functions_round_correctly_on_a_dense_sample),
        cmocka_unit_test(f32_functions_round_correctly_at_hard_inputs),
        cmocka_unit_test(f64_functions_keep_their_error_bounds),
        cmocka_unit_test(f64_functions_keep_their_golden_bits),
        cmocka_unit_test(functions_take_special_values_as_the_contract_says),
        cmocka_unit_test(exact_powers_give_exact_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
