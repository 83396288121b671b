/* SPDX-License-Identifier: Apache-2.0
 * pow, atan2 and hypot: special values in both formats, binary64 against its stated bounds and golden bits, binary32
 * where results lie midway or next to it (prove_math_bivariate.c compares many more pairs with MPFR). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <mpfr.h>

#include "determinism/bits.h"
#include "determinism/math.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define INF ((double)INFINITY)
#define NOT ((double)NAN)
#define PI 0x1.921fb54442d18p+1

typedef struct function {
    const char *name;
    float (*narrow)(float, float);
    double (*wide)(double, double);
    int (*exact)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
    double bound; /* CONTRACT 5.15 to 5.17 */
    uint64_t golden;
} function;

static const function functions[] = {
    {"pow", rp_pow_f32, rp_pow_f64, mpfr_pow, 1.0, 0x46CB8E0F14E99B66u},
    {"atan2", rp_atan2_f32, rp_atan2_f64, mpfr_atan2, 2.0, 0x613A933CF134DC7Au},
    {"hypot", rp_hypot_f32, rp_hypot_f64, mpfr_hypot, 1.0, 0x5CB388D36ACA00EBu},
};

typedef struct special {
    double a, b, result; /* rounded to binary32 for binary32 */
} special;

/* IEEE 754-2019 9.2.1 and C11 F.10.4.4, F.10.1.4, F.10.4.3, line by line. */
static const special powers[] = {
    {0.0, -3, INF},     {-0.0, -3, -INF},
    {0.0, -2, INF},     {-0.0, -2, INF},
    {-0.0, -2.5, INF},  {0.0, -INF, INF},
    {-0.0, -INF, INF},  {0.0, 3, 0.0},
    {-0.0, 3, -0.0},    {0.0, 0.5, 0.0},
    {-0.0, 0.5, 0.0},   {-0.0, 2, 0.0},
    {-0.0, 0.1, 0.0},   {0.0, -0.1, INF},
    {-1, INF, 1},       {-1, -INF, 1},
    {1, NOT, 1},        {1, INF, 1},
    {1, -INF, 1},       {1, -7.5, 1},
    {NOT, 0.0, 1},      {NOT, -0.0, 1},
    {INF, 0.0, 1},      {-INF, -0.0, 1},
    {0.0, 0.0, 1},      {-0.0, -0.0, 1},
    {-2, 0.5, NOT},     {-0.5, -1.5, NOT},
    {0.5, -INF, INF},   {-0.5, -INF, INF},
    {2, -INF, 0.0},     {-2, -INF, 0.0},
    {0.5, INF, 0.0},    {-0.5, INF, 0.0},
    {2, INF, INF},      {-2, INF, INF},
    {-INF, -3, -0.0},   {-INF, -2, 0.0},
    {-INF, -2.5, 0.0},  {-INF, 3, -INF},
    {-INF, 2, INF},     {-INF, 0.5, INF},
    {INF, -0.1, 0.0},   {INF, 0.1, INF},
    {NOT, 1, NOT},      {2, NOT, NOT},
    {NOT, NOT, NOT},    {-INF, NOT, NOT},
    {-2, 3, -8},        {-2, -1, -0.5},
    {-2, 4, 16},        {-3, 2, 9},
    {9, 0.5, 3},        {-8, 16777216, INF},
    {-1, 16777215, -1}, {-1, 16777216, 1},
    {-1, 8388609, -1},  {0x1p-149, 1, 0x1p-149},
};
static const special angles[] = {
    {0.0, 1, 0.0},         {-0.0, 1, -0.0},      {0.0, 0.0, 0.0},         {-0.0, 0.0, -0.0},
    {0.0, -0.0, PI},       {-0.0, -0.0, -PI},    {0.0, -2, PI},           {-0.0, -2, -PI},
    {3, 0.0, PI / 2},      {3, -0.0, PI / 2},    {-3, 0.0, -PI / 2},      {-3, -0.0, -PI / 2},
    {5, -INF, PI},         {-5, -INF, -PI},      {5, INF, 0.0},           {-5, INF, -0.0},
    {INF, 7, PI / 2},      {-INF, -7, -PI / 2},  {INF, -INF, 3 * PI / 4}, {-INF, -INF, -3 * PI / 4},
    {INF, INF, PI / 4},    {-INF, INF, -PI / 4}, {0.0, INF, 0.0},         {0.0, -INF, PI},
    {INF, 0.0, PI / 2},    {NOT, 1, NOT},        {1, NOT, NOT},           {NOT, INF, NOT},
    {INF, NOT, NOT},       {1, 1, PI / 4},       {0x1p-149, 1, 0x1p-149}, {0x1p-149, -1, PI},
    {1, 0x1p-149, PI / 2},
};
static const special lengths[] = {
    {INF, NOT, INF}, {NOT, -INF, INF}, {-INF, 3, INF}, {0.0, -0.0, 0.0},         {-0.0, -0.0, 0.0},     {-0.0, -3, 3},
    {NOT, 1, NOT},   {0.0, NOT, NOT},  {3, 4, 5},      {-0x1p-149, 0, 0x1p-149}, {0x1p100, 1, 0x1p100},
};

static void check_specials(const function *f, const special *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double a = list[i].a, b = list[i].b, wide = rp_canonical_f64(f->wide(a, b)), wanted = list[i].result;
        float narrow = f->narrow((float)a, (float)b), rounded = rp_canonical_f32((float)wanted);

        if (rp_bits_f64(wide) != rp_bits_f64(rp_canonical_f64(wanted)))
            fail_msg("%s(%a, %a): found %a, expected %a", f->name, a, b, wide, wanted);
        if (rp_bits_f32(narrow) != rp_bits_f32(rounded))
            fail_msg("%s(%a, %a) in binary32: found %a, expected %a", f->name, a, b, (double)narrow, (double)rounded);
    }
}

static void special_values_are_those_of_ieee_754(void **state)
{
    (void)state;
    check_specials(&functions[0], powers, COUNT(powers));
    check_specials(&functions[1], angles, COUNT(angles));
    check_specials(&functions[2], lengths, COUNT(lengths));
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static double operand(uint64_t *state, unsigned kind)
{
    uint64_t u = next_random(state);
    double unit = (double)(u >> 11) * 0x1p-53;

    switch (kind % 5) {
    case 0:
        return rp_from_bits_f64(u);
    case 1:
        return 20 * unit - 10;
    case 2:
        return (double)((int)(u >> 40) % 41 - 20);
    case 3:
        return 1 + (unit - 0.5) * 0x1p-14;
    default:
        return rp_from_bits_f64((u >> 12) | (uint64_t)(923 + u % 200) << 52);
    }
}

/* Error in units in the last place of the true value, those of subnormals being 2^-1074. Infinity counts as 2^1024. */
static double error_in_ulps(const function *f, double a, double b, double found)
{
    mpfr_t x, y, z;
    double error;
    mpfr_exp_t exponent;

    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(z, 160);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    f->exact(z, x, y, MPFR_RNDN);
    if (mpfr_nan_p(z) || found != found)
        error = mpfr_nan_p(z) && found != found ? 0 : INF;
    else if (mpfr_get_d(z, MPFR_RNDN) == found)
        error = 0.5;
    else if (mpfr_inf_p(z))
        error = INF;
    else {
        if (isinf(found))
            mpfr_set_d(x, copysign(0x1p1023, found), MPFR_RNDN);
        exponent = mpfr_zero_p(z) || mpfr_get_exp(z) < -1021 ? -1021 : mpfr_get_exp(z) > 1024 ? 1024 : mpfr_get_exp(z);
        if (isinf(found)) {
            mpfr_mul_2si(x, x, 1, MPFR_RNDN);
            mpfr_sub(z, z, x, MPFR_RNDN);
        } else
            mpfr_sub_d(z, z, found, MPFR_RNDN);
        mpfr_mul_2si(z, z, 53 - exponent, MPFR_RNDN);
        error = fabs(mpfr_get_d(z, MPFR_RNDN));
    }
    mpfr_clears(x, y, z, (mpfr_ptr)0);
    return error;
}

static void f64_keeps_its_error_bounds(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++) {
        uint64_t random = 88172645463325252u;
        double worst = 0;

        for (unsigned i = 0; i < 200000; i++) {
            double a = operand(&random, i), b = operand(&random, i / 5), found = functions[f].wide(a, b);
            double error = error_in_ulps(&functions[f], a, b, found);

            if (!(error <= functions[f].bound))
                fail_msg("%s(%a, %a): found %a, %.3f ulp off", functions[f].name, a, b, found, error);
            worst = error > worst ? error : worst;
        }
        print_message("%s: worst %.3f ulp\n", functions[f].name, worst);
    }
}

static void f64_keeps_its_golden_bits(void **state)
{
    bool same = true;

    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++) {
        uint64_t random = 1, digest = 0xCBF29CE484222325u;

        for (unsigned i = 0; i < 100000; i++) {
            double a = operand(&random, i), b = operand(&random, i / 5);

            digest = (digest ^ rp_bits_f64(rp_canonical_f64(functions[f].wide(a, b)))) * 0x100000001B3u;
        }
        if (digest != functions[f].golden)
            print_error("%s: found 0x%016llX\n", functions[f].name, (unsigned long long)digest);
        same &= digest == functions[f].golden;
    }
    assert_true(same);
}

/* Squares with 25 bits lie midway between two binary32 and go to the even one; a step aside decides. */
static void midway_results_go_to_even(void **state)
{
    (void)state;
    for (uint32_t r = 4097; r < 8192; r += 2) {
        uint64_t square = (uint64_t)r * r;

        if (square < 0x1000000u)
            continue;
        assert_true(rp_pow_f32((float)r, 2.0f) == (float)(double)square);
        assert_true(rp_pow_f32((float)r * (float)r, 0.5f) == (float)sqrt((double)((float)r * (float)r)));
    }
    assert_true(rp_pow_f32(0.5f, 150.0f) == 0.0f); /* 2^-150, midway between 0 and 2^-149 */
    assert_true(rp_pow_f32(0x1.000002p-1f, 150.0f) == 0x1p-149f);
    /* y/x midway between two subnormals: its arc tangent lies below */
    assert_true(rp_atan2_f32(0x1.8p-148f, 2.0f) == 0x1p-149f);
    assert_true(rp_atan2_f32(0x1.4p-147f, 2.0f) == 0x1p-148f);
    assert_true(rp_bits_f32(rp_atan2_f32(-0x1p-149f, 2.0f)) == 0x80000000u);
    /* 3^2 + 4^2 scaled into the subnormals, and whole triangles with hypotenuses of 25 bits: a^2 + b^2 = (a + 1)^2 */
    assert_true(rp_hypot_f32(0x1.8p-148f, 0x1p-147f) == 0x1.4p-147f);
    for (uint32_t m = 2898; m <= 4096; m++) {
        uint32_t a = 2 * m * (m - 1), b = 2 * m - 1;

        assert_true(rp_hypot_f32((float)a, (float)b) == (float)(a + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values_are_those_of_ieee_754),
        cmocka_unit_test(f64_keeps_its_error_bounds),
        cmocka_unit_test(f64_keeps_its_golden_bits),
        cmocka_unit_test(midway_results_go_to_even),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
