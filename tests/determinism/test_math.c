/* SPDX-License-Identifier: Apache-2.0
 * Elementary functions: binary32 against MPFR on a dense sample and on every known hard case
 * (tests/determinism/prove_math.c does all inputs), binary64 against its stated error bounds and its golden bits,
 * software fma, powers, special values. */
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
#include "determinism/math_f32_inline.h"
#include "determinism/math_inline.h"
#include "tests/determinism/oracle.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define NAN32 0x7FC00000u
#define INF32 0x7F800000u
#define INF64 0x7FF0000000000000u
#define ONE64 0x3FF0000000000000u
#define NEGATIVE64 0x8000000000000000u

typedef float function32(float);
typedef double function64(double);

/* The inline forms, compiled with this file's flags: a compiler may vectorise or inline them differently. */
static float inline_exp(float x)
{
    return rp_exp_f32_inline(x);
}
static float inline_expm1(float x)
{
    return rp_expm1_f32_inline(x);
}
static float inline_log(float x)
{
    return rp_log_f32_inline(x);
}
static float inline_log1p(float x)
{
    return rp_log1p_f32_inline(x);
}
static float inline_tanh(float x)
{
    return rp_tanh_f32_inline(x);
}
static float inline_sigmoid(float x)
{
    return rp_sigmoid_f32_inline(x);
}
static float inline_erf(float x)
{
    return rp_erf_f32_inline(x);
}

static const struct {
    const char *name;
    function32 *f, *inlined;
    oracle_function *exact;
} narrow[] = {
    {"exp", rp_exp_f32, inline_exp, mpfr_exp},     {"expm1", rp_expm1_f32, inline_expm1, mpfr_expm1},
    {"log", rp_log_f32, inline_log, mpfr_log},     {"log1p", rp_log1p_f32, inline_log1p, mpfr_log1p},
    {"tanh", rp_tanh_f32, inline_tanh, mpfr_tanh}, {"sigmoid", rp_sigmoid_f32, inline_sigmoid, oracle_sigmoid},
    {"erf", rp_erf_f32, inline_erf, mpfr_erf},
};

static uint64_t next_random(uint64_t *state)
{
    /* Multiplier and increment of Knuth's MMIX; the high half is the good one. */
    uint64_t high = *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t low = *state = *state * 6364136223846793005u + 1442695040888963407u;

    return (high & 0xFFFFFFFF00000000u) | (low >> 32);
}

static bool same_f32(const char *name, uint32_t x, float found, uint32_t expected)
{
    float wanted = rp_from_bits_f32(expected);

    if (rp_bits_f32(found) == expected)
        return true;
    print_error("%s(0x%08X): found 0x%08X, expected 0x%08X, %llu ulp\n", name, x, rp_bits_f32(found), expected,
                (unsigned long long)rp_ulps(&found, &wanted, RP_F32));
    return false;
}

static bool same_f64(const char *name, double x, double found, uint64_t expected)
{
    if (rp_bits_f64(found) == expected)
        return true;
    print_error("%s(0x%016llX): found 0x%016llX, expected 0x%016llX\n", name, (unsigned long long)rp_bits_f64(x),
                (unsigned long long)rp_bits_f64(found), (unsigned long long)expected);
    return false;
}

static bool rounds_correctly(size_t which, uint32_t x)
{
    uint32_t expected = oracle_f32(narrow[which].exact, x);

    return same_f32(narrow[which].name, x, narrow[which].f(rp_from_bits_f32(x)), expected) &&
           same_f32(narrow[which].name, x, narrow[which].inlined(rp_from_bits_f32(x)), expected);
}

static void f32_functions_round_correctly_on_a_dense_sample(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(narrow); f++)
        for (uint64_t x = f; x <= UINT32_MAX; x += 200003) /* a prime: every exponent and all low bits are met */
            assert_true(rounds_correctly(f, (uint32_t)x));
}

static void f32_inline_and_out_of_line_forms_agree(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(narrow); f++)
        for (uint64_t x = f; x <= UINT32_MAX; x += 4999) {
            float value = rp_from_bits_f32((uint32_t)x);

            assert_true(
                same_f32(narrow[f].name, (uint32_t)x, narrow[f].inlined(value), rp_bits_f32(narrow[f].f(value))));
        }
}

static void f32_functions_round_correctly_at_known_hard_inputs(void **state)
{
    /* The exceptions of math_inline.h, and inputs on which a binary64 evaluation rounded once went wrong in trials. */
    static const uint32_t hard[] = {
        0x3C413D3A, 0x41178FEB, 0x4C5D65A5, 0x65D890D3, 0x6F31A8EC,                         /* log */
        0x35400003, 0x3710001B, 0x3EFD81AD, 0x41078FEB, 0xB53FFFFD, 0xB70FFFE5, 0xBB0EC8C4, /* log1p */
        0x3940EAD6, 0xB940EAD6,                                                             /* erf */
        0xBA928601, 0x34C00000, 0x35600000, 0x35B00000, 0x36180000, 0xB4400000, 0xB5980000,
        0xB6EA0000, 0xB7730000, /* sigmoid */
    };

    (void)state;
    for (size_t f = 0; f < COUNT(narrow); f++)
        for (size_t i = 0; i < COUNT(hard); i++)
            for (uint32_t d = 0; d < 5; d++)
                assert_true(rounds_correctly(f, hard[i] + d - 2));
    /* sigmoid: all inputs of few bits near 0 are near ties. */
    for (uint32_t high = 0x330; high < 0x3D0; high++)
        for (uint32_t low = 0; low < 16; low++)
            for (uint32_t sign = 0; sign < 2; sign++)
                assert_true(rounds_correctly(5, sign << 31 | high << 20 | low << 16));
}

static void f32_functions_round_correctly_at_the_ends_of_their_ranges(void **state)
{
    static const uint32_t edges[] = {
        0x00000000, 0x00800000, 0x33000000, 0x33800000, 0x3F800000, 0x3F000000, 0x3F3504F3, 0x7F800000, 0x7F7FFFFF,
        0x42B17218, 0x42AEAC50, 0x42CFF1B5, 0x4102CB04, 0x41102CB4, 0x4078B0E4, 0x418AA123, 0x43480000, 0x447A0000,
        0x7FC00000, 0x7FFFFFF0, 0x42D00000, 0x42F00000, 0x5A000000, 0x40800000, 0x40C00000, 0x3B800000,
    };

    (void)state;
    for (size_t f = 0; f < COUNT(narrow); f++)
        for (size_t i = 0; i < COUNT(edges); i++)
            for (uint32_t d = 0; d < 17; d++) {
                assert_true(rounds_correctly(f, (edges[i] + d - 8) & 0x7FFFFFFFu));
                assert_true(rounds_correctly(f, (edges[i] + d - 8) | 0x80000000u));
            }
}

static void f32_functions_take_special_values_as_the_contract_says(void **state)
{
    static const uint32_t inputs[] = {0x00000000, 0x80000000, INF32, 0xFF800000, 0x7F800001, 0xFFC12345};
    static const uint32_t expected[COUNT(narrow)][COUNT(inputs)] = {
        {0x3F800000, 0x3F800000, INF32, 0, NAN32, NAN32},      /* exp */
        {0, 0x80000000, INF32, 0xBF800000, NAN32, NAN32},      /* expm1 */
        {0xFF800000, 0xFF800000, INF32, NAN32, NAN32, NAN32},  /* log */
        {0, 0x80000000, INF32, NAN32, NAN32, NAN32},           /* log1p */
        {0, 0x80000000, 0x3F800000, 0xBF800000, NAN32, NAN32}, /* tanh */
        {0x3F000000, 0x3F000000, 0x3F800000, 0, NAN32, NAN32}, /* sigmoid */
        {0, 0x80000000, 0x3F800000, 0xBF800000, NAN32, NAN32}, /* erf */
    };

    (void)state;
    for (size_t f = 0; f < COUNT(narrow); f++)
        for (size_t i = 0; i < COUNT(inputs); i++)
            assert_true(same_f32(narrow[f].name, inputs[i], narrow[f].f(rp_from_bits_f32(inputs[i])), expected[f][i]));
}

/* --- binary64 --------------------------------------------------------------------------------------------------- */

/* sin or cos of pi x at 200 bits; x mod 2 is exact, and so are the multiples of a half. */
static int oracle_pi(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding, bool cosine)
{
    mpfr_t r, pi;
    long twice;
    bool exact;

    mpfr_init2(r, 1200);
    mpfr_init2(pi, 200);
    mpfr_set_ui(pi, 2, MPFR_RNDN);
    mpfr_fmod(r, x, pi, MPFR_RNDN);
    mpfr_mul_2ui(r, r, 1, MPFR_RNDN);
    exact = mpfr_integer_p(r) != 0;
    twice = (mpfr_get_si(r, MPFR_RNDN) + (cosine ? 1 : 0)) & 3;
    if (exact) {
        mpfr_set_si(y, twice == 1 ? 1 : twice == 3 ? -1 : 0, rounding);
    } else {
        mpfr_const_pi(pi, MPFR_RNDN);
        mpfr_mul(pi, pi, r, MPFR_RNDN);
        mpfr_div_2ui(pi, pi, 1, MPFR_RNDN);
        (cosine ? mpfr_cos : mpfr_sin)(y, pi, rounding);
    }
    mpfr_clear(r);
    mpfr_clear(pi);
    return 0;
}

static int oracle_sinpi(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)
{
    return oracle_pi(y, x, rounding, false);
}
static int oracle_cospi(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)
{
    return oracle_pi(y, x, rounding, true);
}

/* bound: the error CONTRACT 5 states, in units in the last place of the true value. golden: see the test of that name.
 */
static const struct {
    const char *name;
    function64 *f;
    oracle_function *exact;
    double bound, low, high;
    uint64_t golden;
} wide[] = {
    {"exp", rp_exp_f64, mpfr_exp, 1.0, -745.5, 710.0, 0x6EAE8669E3B418A0},
    {"expm1", rp_expm1_f64, mpfr_expm1, 1.25, -40.0, 60.0, 0x096662FB9F04D39D},
    {"log", rp_log_f64, mpfr_log, 1.0, 0.0, 4.0, 0x0C109464A7D9D8C8},
    {"log1p", rp_log1p_f64, mpfr_log1p, 1.0, -1.0, 3.0, 0x8FFFABFCCDDE7B59},
    {"tanh", rp_tanh_f64, mpfr_tanh, 2.5, -3.0, 3.0, 0x027E594E262E6774},
    {"sigmoid", rp_sigmoid_f64, oracle_sigmoid, 2.5, -40.0, 40.0, 0x613ACEF85CCA323D},
    {"erf", rp_erf_f64, mpfr_erf, 1.75, -3.0, 3.0, 0xB0620BAE09B735BF},
    {"sinpi", rp_sinpi_f64, oracle_sinpi, 1.5, -4.0, 4.0, 0x26F5F21F71A4440F},
    {"cospi", rp_cospi_f64, oracle_cospi, 1.5, -4.0, 4.0, 0x1610EBC16D7EC742},
};

/* Error of found against the true value y, in ulps of y (those of subnormals being 2^-1074). */
static double error_in_ulps(mpfr_t y, double found)
{
    int exponent;
    double error;

    (void)frexp(mpfr_get_d(y, MPFR_RNDN), &exponent);
    mpfr_sub_d(y, y, found, MPFR_RNDN);
    mpfr_mul_2si(y, y, 53 - (exponent < -1021 ? -1021 : exponent), MPFR_RNDN);
    error = mpfr_get_d(y, MPFR_RNDN);
    return error < 0 ? -error : error;
}

static bool within_bound(size_t which, double x)
{
    double found = wide[which].f(x), nearest, error;
    mpfr_t in, out;
    bool good;

    mpfr_init2(in, 53);
    mpfr_init2(out, 160);
    mpfr_set_d(in, x, MPFR_RNDN);
    wide[which].exact(out, in, MPFR_RNDN);
    nearest = mpfr_get_d(out, MPFR_RNDN);
    if (mpfr_nan_p(out))
        good = rp_bits_f64(found) == RP_NAN_F64;
    else if (isinf(nearest) || isinf(found) || nearest == 0.0)
        good = rp_ulps(&found, &nearest, RP_F64) <= 1;
    else
        good = (error = error_in_ulps(out, found)) <= wide[which].bound;
    if (!good)
        print_error("%s(0x%016llX): found 0x%016llX, nearest 0x%016llX\n", wide[which].name,
                    (unsigned long long)rp_bits_f64(x), (unsigned long long)rp_bits_f64(found),
                    (unsigned long long)rp_bits_f64(nearest));
    mpfr_clear(in);
    mpfr_clear(out);
    return good;
}

/* The sample of a function: every other input from its interesting range, every other from all encodings. */
static double sample(size_t which, size_t i, uint64_t *seed)
{
    uint64_t word = next_random(seed);

    if (i & 1)
        return rp_from_bits_f64(word);
    return wide[which].low + (wide[which].high - wide[which].low) * ((double)(word >> 11) * 0x1p-53);
}

static void f64_functions_keep_their_error_bounds(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (size_t f = 0; f < COUNT(wide); f++)
        for (size_t i = 0; i < 12000; i++)
            assert_true(within_bound(f, sample(f, i, &seed)));
}

static void f64_functions_keep_their_error_bounds_at_edges(void **state)
{
    static const uint64_t edges[] = {
        0x0000000000000000, 0x0010000000000000, 0x3C90000000000000, 0x3CA0000000000000, 0x3E30000000000000,
        0x3FD62E42FEFA39EF, 0x3FE0000000000000, 0x3FE6A09E667F3BCD, 0x3FF0000000000000, 0x3FF6A09E667F3BCD,
        0x4018000000000000, 0x4034000000000000, 0x4049000000000000, 0x40862E42FEFA39EF, 0x40874910D52D3051,
        0x4086232BDD7ABCD2, 0x4330000000000000, 0x4340000000000000, 0x7FEFFFFFFFFFFFFF, 0x3FD0000000000000,
    };

    (void)state;
    for (size_t f = 0; f < COUNT(wide); f++)
        for (size_t i = 0; i < COUNT(edges); i++)
            for (uint64_t d = 0; d < 9; d++) {
                assert_true(within_bound(f, rp_from_bits_f64((edges[i] + d - 4) & ~NEGATIVE64)));
                assert_true(within_bound(f, rp_from_bits_f64((edges[i] + d - 4) | NEGATIVE64)));
            }
}

/* FNV-1a over the results' bits: any other sequence of operations, contraction or wider format shows here. */
static void f64_functions_keep_their_golden_bits(void **state)
{
    bool same = true;

    (void)state;
    for (size_t f = 0; f < COUNT(wide); f++) {
        uint64_t hash = 0xCBF29CE484222325u, seed = 7;

        for (size_t i = 0; i < 200000; i++) {
            uint64_t bits = rp_bits_f64(wide[f].f(sample(f, i, &seed)));

            for (int byte = 0; byte < 8; byte++)
                hash = (hash ^ (bits >> (8 * byte) & 0xFF)) * 0x100000001B3u;
        }
        if (hash != wide[f].golden)
            print_error("%s: hash of results 0x%016llX, golden 0x%016llX\n", wide[f].name, (unsigned long long)hash,
                        (unsigned long long)wide[f].golden);
        same &= hash == wide[f].golden;
    }
    assert_true(same);
}

static void f64_functions_take_special_values_as_the_contract_says(void **state)
{
    static const uint64_t inputs[] = {0, NEGATIVE64, INF64, INF64 | NEGATIVE64, 0x7FF0000000000001, 0xFFF8000000012345};
    static const uint64_t nan = RP_NAN_F64, minus_inf = INF64 | NEGATIVE64, minus_one = ONE64 | NEGATIVE64;
    const uint64_t expected[COUNT(wide)][COUNT(inputs)] = {
        {ONE64, ONE64, INF64, 0, nan, nan},                           /* exp */
        {0, NEGATIVE64, INF64, minus_one, nan, nan},                  /* expm1 */
        {minus_inf, minus_inf, INF64, nan, nan, nan},                 /* log */
        {0, NEGATIVE64, INF64, nan, nan, nan},                        /* log1p */
        {0, NEGATIVE64, ONE64, minus_one, nan, nan},                  /* tanh */
        {0x3FE0000000000000, 0x3FE0000000000000, ONE64, 0, nan, nan}, /* sigmoid */
        {0, NEGATIVE64, ONE64, minus_one, nan, nan},                  /* erf */
        {0, NEGATIVE64, nan, nan, nan, nan},                          /* sinpi */
        {ONE64, ONE64, nan, nan, nan, nan},                           /* cospi */
    };

    (void)state;
    for (size_t f = 0; f < COUNT(wide); f++)
        for (size_t i = 0; i < COUNT(inputs); i++) {
            double x = rp_from_bits_f64(inputs[i]);

            assert_true(same_f64(wide[f].name, x, wide[f].f(x), expected[f][i]));
        }
    assert_true(same_f64("log1p", -1.0, rp_log1p_f64(-1.0), minus_inf));
    assert_true(same_f64("log1p", -1.5, rp_log1p_f64(-1.5), nan));
}

static void sinpi_and_cospi_are_exact_at_multiples_of_a_half(void **state)
{
    static const double scales[] = {1.0, 4.0, 1024.0, 0x1p40, 0x1p50};

    (void)state;
    for (int i = -9; i <= 9; i++)
        for (size_t s = 0; s < COUNT(scales); s++) {
            double x = 0.5 * i * scales[s];
            int quarter = s == 0 ? i & 3 : s == 1 ? 0 : 0; /* x mod 2 in halves: the larger scales are multiples of 2 */
            double sine = quarter == 1 ? 1.0 : quarter == 3 ? -1.0 : rp_copysign_f64(0.0, x);
            double cosine = quarter == 0 ? 1.0 : quarter == 2 ? -1.0 : 0.0;

            assert_true(same_f64("sinpi", x, rp_sinpi_f64(x), rp_bits_f64(sine)));
            assert_true(same_f64("cospi", x, rp_cospi_f64(x), rp_bits_f64(cosine)));
        }
    assert_true(same_f64("cospi", 0x1p52 + 1, rp_cospi_f64(0x1p52 + 1), ONE64 | NEGATIVE64));
    assert_true(same_f64("cospi", 0x1p53 - 1, rp_cospi_f64(0x1p53 - 1), ONE64 | NEGATIVE64));
    assert_true(same_f64("cospi", 0x1p53, rp_cospi_f64(0x1p53), ONE64));
    assert_true(same_f64("sinpi", -0x1p52 - 1, rp_sinpi_f64(-0x1p52 - 1), NEGATIVE64));
}

/* --- fma and powers --------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("fma"))) static float hardware_fmaf(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static bool has_hardware_fma(void)
{
    return __builtin_cpu_supports("fma") != 0;
}
#else
static float hardware_fmaf(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static bool has_hardware_fma(void)
{
    return true;
}
#endif

/* a b + c rounded once, by MPFR. */
static uint32_t exact_fma(float a, float b, float c)
{
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_t x, y, z;
    float value;
    int inexact;

    mpfr_inits2(24, x, y, z, (mpfr_ptr)0);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_set_flt(y, b, MPFR_RNDN);
    mpfr_set_flt(z, c, MPFR_RNDN);
    inexact = mpfr_fma(x, x, y, z, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    inexact = mpfr_check_range(x, inexact, MPFR_RNDN);
    mpfr_subnormalize(x, inexact, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    value = mpfr_get_flt(x, MPFR_RNDN);
    mpfr_clears(x, y, z, (mpfr_ptr)0);
    return rp_bits_f32(rp_canonical_f32(value));
}

static bool fma_agrees(float a, float b, float c, bool by_mpfr)
{
    uint32_t software = rp_bits_f32(rp_canonical_f32(rp_fma_f32_software(a, b, c)));
    uint32_t library = rp_bits_f32(rp_canonical_f32(rp_fma_f32(a, b, c)));
    uint32_t expected = by_mpfr ? exact_fma(a, b, c) : rp_bits_f32(rp_canonical_f32(hardware_fmaf(a, b, c)));

    if (software == expected && library == expected)
        return true;
    print_error("fma(0x%08X, 0x%08X, 0x%08X): software 0x%08X, library 0x%08X, expected 0x%08X\n", rp_bits_f32(a),
                rp_bits_f32(b), rp_bits_f32(c), software, library, expected);
    return false;
}

static void fma_f32_software_is_exact_at_edges(void **state)
{
    static const uint32_t edges[] = {
        0x00000000, 0x00000001, 0x00000003, 0x007FFFFF, 0x00800000, 0x00800001, 0x1F800000, 0x1FFFFFFF, 0x20000001,
        0x33800000, 0x337FFFFF, 0x33800001, 0x34000000, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FFFFFFF,
        0x4B800000, 0x4B7FFFFF, 0x5F7FFFFF, 0x5F800000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x0C800001,
    };
    uint32_t signs;

    (void)state;
    for (size_t i = 0; i < COUNT(edges); i++)
        for (size_t j = 0; j < COUNT(edges); j++)
            for (size_t k = 0; k < COUNT(edges); k++)
                for (signs = 0; signs < 4; signs++)
                    assert_true(fma_agrees(rp_from_bits_f32(edges[i] | (signs & 1) << 31), rp_from_bits_f32(edges[j]),
                                           rp_from_bits_f32(edges[k] | (signs & 2) << 30), true));
}

/* c is drawn near the product in half of the cases, so that cancellation, halfway cases and sticky bits all occur. */
static void fma_f32_software_agrees_with_hardware_on_random_inputs(void **state)
{
    uint64_t seed = 3;

    (void)state;
    if (!has_hardware_fma())
        skip();
    for (int i = 0; i < 3000000; i++) {
        uint64_t word = next_random(&seed), more = next_random(&seed);
        float a = rp_from_bits_f32((uint32_t)word), b = rp_from_bits_f32((uint32_t)(word >> 32));
        float c = rp_from_bits_f32((uint32_t)more);

        if (more >> 63)
            c = -(a * b) *
                rp_from_bits_f32(0x3F800000u ^ (uint32_t)(more >> 40 & 3) ^ (uint32_t)(more >> 38 & 0xF800000u));
        if (more >> 62 & 1) /* few bits: ties */
            a = rp_from_bits_f32(rp_bits_f32(a) & 0xFFFF0000u);
        assert_true(fma_agrees(a, b, c, false));
    }
}

static void fma_f64_is_exact(void **state)
{
    (void)state;
    /* (1 + e)(1 - e) - 1 = -e^2, which a rounded product loses. */
    assert_true(rp_fma_f64(1.0 + 0x1p-52, 1.0 - 0x1p-52, -1.0) == -0x1p-104);
    assert_true(rp_fma_f64(0x1p-600, 0x1p-500, 0x1p-1074) == 0x1p-1074);
    assert_true(rp_fma_f64(0x1p1000, 0x1p1000, -HUGE_VAL) == -HUGE_VAL);
}

static void powi_multiplies_in_the_written_order(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        float x = 0.5f + (float)(next_random(&seed) >> 40) * 0x1p-24f;
        double d = (double)x + 0x1p-40;
        float x3 = (x * x) * x, x6 = x3 * x3, x12 = x6 * x6;
        double d2 = d * d, d4 = d2 * d2, d5 = d4 * d;

        assert_true(same_f32("powi 13", rp_bits_f32(x), rp_powi_f32(x, 13), rp_bits_f32(x12 * x)));
        assert_true(same_f32("powi -6", rp_bits_f32(x), rp_powi_f32(x, -6), rp_bits_f32(1.0f / x6)));
        assert_true(same_f32("powi 1", rp_bits_f32(x), rp_powi_f32(x, 1), rp_bits_f32(x)));
        assert_true(same_f64("powi 5", d, rp_powi_f64(d, 5), rp_bits_f64(d5)));
        assert_true(same_f64("powi 10", d, rp_powi_f64(d, 10), rp_bits_f64(d5 * d5)));
        assert_true(same_f64("powi -5", d, rp_powi_f64(d, -5), rp_bits_f64(1.0 / d5)));
    }
}

static void powi_takes_special_values_as_the_contract_says(void **state)
{
    const float nan = rp_from_bits_f32(0xFFC00001u), inf = rp_from_bits_f32(INF32);

    (void)state;
    assert_true(same_f32("powi 0", 0, rp_powi_f32(nan, 0), 0x3F800000));
    assert_true(same_f32("powi 1", 0, rp_powi_f32(nan, 1), NAN32));
    assert_true(same_f32("powi -1", 0, rp_powi_f32(-0.0f, -1), 0xFF800000));
    assert_true(same_f32("powi 3", 0, rp_powi_f32(-0.0f, 3), 0x80000000));
    assert_true(same_f32("powi 3", 0, rp_powi_f32(-inf, 3), 0xFF800000));
    assert_true(same_f32("powi min", 0, rp_powi_f32(-1.0f, INT64_MIN), 0x3F800000));
    assert_true(same_f32("powi min", 0, rp_powi_f32(2.0f, INT64_MIN), 0));
    assert_true(same_f64("powi max", -1, rp_powi_f64(-1.0, INT64_MAX), ONE64 | NEGATIVE64));
    assert_true(same_f64("powi 0", 0, rp_powi_f64(0.0, 0), ONE64));
}

/* Every multiplication of CONTRACT 5.7, whatever it multiplies. */
static double all_multiplications(double x, int64_t n, bool in_f64)
{
    const uint64_t m = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    volatile float y32 = (float)x;
    volatile double y64 = x;
    int bit = 63;

    while (!(m >> bit & 1))
        bit--;
    while (--bit >= 0) {
        y32 = y32 * y32;
        y64 = y64 * y64;
        if (m >> bit & 1) {
            y32 = y32 * (float)x;
            y64 = y64 * x;
        }
    }
    if (n < 0) {
        y32 = 1 / y32;
        y64 = 1 / y64;
    }
    return in_f64 ? y64 : (double)y32;
}

static void powi_of_what_multiplies_itself_is_the_same(void **state)
{
    static const double of[] = {0,         -0.0,           1,         -1,       0x1p-149,  -0x1p-149, 0x1p-1074,
                                -0x1p-80,  0x1.fffffep127, -1e30,     1e300,    -1e155,    0.75,      -0.75,
                                1.0000001, -1.0000001,     0.9999999, INFINITY, -INFINITY, 3.7e5,     -2,
                                0x1p-64,   0x1p64,         -0x1.8p1};
    uint64_t seed = 7;

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int k = 0; k < 4000; k++) {
            const int64_t drawn = (int64_t)(next_random(&seed) >> next_random(&seed) % 64);
            const int64_t n = k < 70 ? k - 35 : k < 72 ? (k == 70 ? INT64_MIN : INT64_MAX) : k % 2 ? drawn : -drawn;
            const float x = (float)of[i], wanted = n ? (float)all_multiplications((double)x, n, false) : 1;
            const double in_f64 = n ? all_multiplications(of[i], n, true) : 1;

            assert_true(same_f32("powi", rp_bits_f32(x), rp_powi_f32(x, n), rp_bits_f32(wanted)));
            assert_true(same_f64("powi", of[i], rp_powi_f64(of[i], n), rp_bits_f64(in_f64)));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_functions_round_correctly_on_a_dense_sample),
        cmocka_unit_test(f32_inline_and_out_of_line_forms_agree),
        cmocka_unit_test(f32_functions_round_correctly_at_known_hard_inputs),
        cmocka_unit_test(f32_functions_round_correctly_at_the_ends_of_their_ranges),
        cmocka_unit_test(f32_functions_take_special_values_as_the_contract_says),
        cmocka_unit_test(f64_functions_keep_their_error_bounds),
        cmocka_unit_test(f64_functions_keep_their_error_bounds_at_edges),
        cmocka_unit_test(f64_functions_keep_their_golden_bits),
        cmocka_unit_test(f64_functions_take_special_values_as_the_contract_says),
        cmocka_unit_test(sinpi_and_cospi_are_exact_at_multiples_of_a_half),
        cmocka_unit_test(fma_f32_software_is_exact_at_edges),
        cmocka_unit_test(fma_f32_software_agrees_with_hardware_on_random_inputs),
        cmocka_unit_test(fma_f64_is_exact),
        cmocka_unit_test(powi_multiplies_in_the_written_order),
        cmocka_unit_test(powi_takes_special_values_as_the_contract_says),
        cmocka_unit_test(powi_of_what_multiplies_itself_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
