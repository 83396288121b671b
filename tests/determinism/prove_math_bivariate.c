/* SPDX-License-Identifier: Apache-2.0
 * Checks pow, atan2 and hypot in binary32 against MPFR, through the kernels of one level.
 *   prove_math_bivariate [short | all] [--level LEVEL] [--seconds N] [--seed N]
 * Parts (docs/math-proof.md says what they prove): the error before rounding, sampled; exact and midway powers with
 * their neighbours; every x of a binade for a list of y; all pairs of short significands; pairs built to lie near
 * midpoints; the path of 288 bits alone; random pairs for N seconds. Exit 1 when a result is wrong. */
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "determinism/fpenv.h"
#include "determinism/math.h"
#include "determinism/math_bivariate_f32_inline.h"
#include "kernels/kernel.h"

enum { BATCH = 1024 };

typedef struct function {
    const char *name;
    rp_kernel_id id;
    int (*exact)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
    double (*wide)(double, double);
    float (*decide)(float, float);
} function;

static float decide_atan2(float y, float x)
{
    return rp_atan2_f32_decide(y, x, rp_atan2_f32(y, x));
}

static const function functions[] = {
    {"pow", RP_K_pow, mpfr_pow, rp_pow_f64, rp_pow_f32_decide},
    {"atan2", RP_K_atan2, mpfr_atan2, rp_atan2_f64, decide_atan2},
    {"hypot", RP_K_hypot, mpfr_hypot, rp_hypot_f64, rp_hypot_f32},
};
enum { POW, ATAN2, HYPOT };

static const rp_kernel_table *table;
static const function *current;
static float first[BATCH], second[BATCH];
static size_t waiting;
static bool settling; /* binary64 first, MPFR where that leaves a doubt */
static unsigned long long pairs, direct, wrong;
static uint64_t seed = 88172645463325252u;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static float judged(const function *f, float a, float b)
{
    mpfr_t x, y, z;
    float result;
    int inexact;

    mpfr_inits2(24, x, y, z, (mpfr_ptr)0);
    mpfr_set_flt(x, a, MPFR_RNDN);
    mpfr_set_flt(y, b, MPFR_RNDN);
    inexact = f->exact(z, x, y, MPFR_RNDN);
    mpfr_subnormalize(z, inexact, MPFR_RNDN);
    result = rp_canonical_f32(mpfr_get_flt(z, MPFR_RNDN));
    mpfr_clears(x, y, z, (mpfr_ptr)0);
    return result;
}

/* The binary64 function is within 2^-50 of the value (tests/determinism/test_math_bivariate.c); 2^-46 is allowed here.
 */
static float expected(const function *f, float a, float b)
{
    double wide = settling ? f->wide((double)a, (double)b) : (double)NAN;
    float down = (float)(wide * (1 - 0x1p-46)), up = (float)(wide * (1 + 0x1p-46));

    if (settling && wide != 0.0 && rp_bits_f32(down) == rp_bits_f32(up) && wide == wide)
        return down;
    direct++;
    return judged(f, a, b);
}

static void complain(const char *what, float a, float b, float found, float wanted)
{
    if (wrong++ < 100)
        printf("%s %s(%a, %a): found %a, expected %a\n", what, current->name, (double)a, (double)b, (double)found,
               (double)wanted);
}

static void flush(void)
{
    rp_view in[2] = {{.data = first, .dtype = RP_F32, .rank = 1, .shape = {waiting}, .stride = {1}},
                     {.data = second, .dtype = RP_F32, .rank = 1, .shape = {waiting}, .stride = {1}}};
    static float y[BATCH];
    rp_view out = {.data = y, .dtype = RP_F32, .rank = 1, .shape = {waiting}, .stride = {1}};
    static const rp_attr attr[RP_MAX_ATTR];
    rp_kernel_args args = {in, 2, &out, 1, attr};

    if (waiting > 0)
        table->kernel[current->id]->run(&args, 0, waiting);
    for (size_t i = 0; i < waiting; i++) {
        float wanted = expected(current, first[i], second[i]);

        if (rp_bits_f32(rp_canonical_f32(y[i])) != rp_bits_f32(wanted))
            complain(table->level, first[i], second[i], y[i], wanted);
    }
    pairs += waiting;
    waiting = 0;
}

static void put(float a, float b)
{
    first[waiting] = a;
    second[waiting++] = b;
    if (waiting == BATCH)
        flush();
}

/* The pair and those one step away in either operand. */
static void put_around(float a, float b)
{
    for (uint32_t i = 0; i < 9; i++)
        put(rp_from_bits_f32(rp_bits_f32(a) + i % 3 - 1), rp_from_bits_f32(rp_bits_f32(b) + i / 3 - 1));
}

/* x = (r 2^e)^(2^j), y = n / 2^j, so that x^y = (r 2^e)^n exactly; up to 26 bits, midpoints having 25. */
static void exact_powers(bool quick)
{
    for (int j = 0; j <= 3; j++)
        for (uint32_t r = 1; r < (1u << 13); r += quick && r > 64 ? 32 : 2)
            for (int n = r == 1 ? -40 : 1; n < 40 && pow(r, n) < 0x1p26 && pow(r, 1 << j) < 0x1p24; n++)
                for (int e = -150; e <= 128; e++) {
                    double x = ldexp(pow(r, 1 << j), e * (1 << j)), z = ldexp(pow(r, n), e * n);

                    if (n == 0 || x > 0x1p127 || x < 0x1p-149 || (double)(float)x != x || z > 0x1p129 || z < 0x1p-152)
                        continue;
                    if (r > 1 && quick && e % 8 != 0 && z > 0x1p-120)
                        continue;
                    if (r > 64 && e % 16 != 0 && z > 0x1p-120)
                        continue;
                    put_around((float)x, (float)ldexp(n, -j));
                    put(-(float)x, (float)ldexp(n, -j));
                }
}

static void listed_exponents(bool quick)
{
    static const float list[] = {2,
                                 3,
                                 0.5f,
                                 -0.5f,
                                 -1,
                                 -2,
                                 1.5f,
                                 4,
                                 5,
                                 0.25f,
                                 0x1.555556p-2f,
                                 0x1.99999ap-4f,
                                 7.5f,
                                 -13,
                                 100,
                                 0x1p-20f,
                                 0x1.fffffep+0f,
                                 0x1.8p-3f,
                                 0x1p+20f,
                                 -0x1.921fb6p+1f};
    const size_t n = quick ? 4 : sizeof list / sizeof *list;

    settling = true;
    for (size_t i = 0; i < n; i++)
        for (uint32_t x = 0x3F800000u; x < 0x40000000u; x += quick ? 1009 : 1)
            put(rp_from_bits_f32(x), list[i]);
}

/* All pairs of significands of `bits` bits. */
static void short_pairs(int bits, int apart)
{
    for (int shift = 0; shift <= apart; shift++)
        for (int a = 1 << (bits - 1); a < 1 << bits; a++)
            for (int b = 1 << (bits - 1); b < 1 << bits; b++)
                if (current->id == RP_K_pow)
                    put(ldexpf((float)a, 1 - bits - shift % 3), ldexpf((float)b, 3 - bits - shift));
                else
                    put(ldexpf((float)a, -bits - shift), (b + shift) % 2 ? (float)b : -(float)b);
}

/* Integers with x^2 + y^2 near the square of an odd multiple of 1/2: y^2 = d (2x + d). */
static void near_hypot(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double)(0x800000 | (random64() >> 41)), d = 0.5 + (double)(random64() >> (44 + random64() % 20));
        float y = (float)rint(sqrt(d * (2 * x + d)));

        put_around(ldexpf((float)x, (int)(i % 260) - 149), ldexpf(y, (int)(i % 260) - 149));
    }
}

/* Convergents y/x of odd M / 2^24: quotients as near to midpoints as can be; at small scales their arc tangents too. */
static void near_atan2(size_t n)
{
    static const int scales[] = {0,   -3,  -8,  -10, -11, -12, -13, -14, -18,  -20,
                                 -23, -24, -25, -26, -27, -28, -29, -40, -100, -125};

    for (size_t i = 0; i < n; i++) {
        uint64_t a = 0x1000001u | (random64() >> 40 << 1), b = 0x1000000u; /* M, and what it is divided by */
        uint64_t p0 = 1, q0 = 0, p1 = a / b, q1 = 1, t;

        for (uint64_t rest = a % b, div = b; rest != 0 && p1 < 0x1000000u && q1 < 0x1000000u;) {
            for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
                put(ldexpf((float)p1, scales[s]), (float)q1);
            t = div / rest;
            a = div % rest;
            div = rest;
            rest = a;
            a = p0 + t * p1;
            p0 = p1;
            p1 = a;
            a = q0 + t * q1;
            q0 = q1;
            q1 = a;
        }
    }
}

/* x next to a root of a midpoint. */
static void near_pow(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double m = ldexp((double)(0x1000001u | (random64() >> 40 << 1)), (int)(random64() % 200) - 120);
        float y = (float)(i % 2 ? (double)(int)(random64() % 4001 - 2000) / 16
                                : ldexp((double)(random64() >> 40), (int)(random64() % 20) - 30));

        if (y != 0.0f)
            put_around((float)pow(m, 1 / (double)y), y);
    }
}

static float any_number(unsigned kind)
{
    double u = (double)(random64() >> 11) * 0x1p-53;

    switch (kind) {
    case 0:
        return rp_from_bits_f32((uint32_t)(random64() >> 32));
    case 1:
        return (float)(20 * u - 10);
    case 2:
        return (float)((int)(random64() % 4001) - 2000) / 16;
    case 3:
        return (float)(1 + (u - 0.5) * 0x1p-10);
    default:
        return (float)exp2(40 * u - 20);
    }
}

static void random_pairs(double seconds)
{
    time_t end = time(NULL) + (time_t)seconds;

    settling = true;
    do
        for (int i = 0; i < 64 * BATCH; i++) {
            unsigned kind = (unsigned)(random64() >> 32) % 25;
            float a = any_number(kind / 5), b = any_number(kind % 5);

            put(a, b);
        }
    while (time(NULL) < end);
}

static void wide_path(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned kind = (unsigned)(random64() >> 32) % 25;
        float a = any_number(kind / 5), b = any_number(kind % 5), found = current->decide(a, b),
              wanted = judged(current, a, b);

        pairs++;
        direct++;
        if (rp_bits_f32(rp_canonical_f32(found)) != rp_bits_f32(wanted))
            complain("288 bits", a, b, found, wanted);
    }
}

/* The error of what a try rounds, in this program's build; the margin is 2^-47. */
static void premise(size_t n)
{
    mpfr_t x, y, z;
    double worst = 0;

    mpfr_set_emin(-2000);
    mpfr_set_emax(2000);
    mpfr_init2(x, 24);
    mpfr_init2(y, 24);
    mpfr_init2(z, 120);
    for (size_t i = 0; i < n; i++) {
        unsigned kind = (unsigned)(random64() >> 32) % 25;
        float a = rp_abs_f32(any_number(kind / 5)), b = any_number(kind % 5);
        double r, error;

        if (!(a > 0 && a < INFINITY && rp_abs_f32(b) > 0 && rp_abs_f32(b) < 0x1p+23f))
            continue;
        if (current->id == RP_K_pow) {
            rp_pair_f64 l = rp_narrow_log2((double)a);

            r = rp_narrow_pow_exp2((double)b * l.head, (double)b * l.rest);
            if (!(rp_abs_f64((double)b * l.head) < 160))
                continue;
        } else
            r = rp_narrow_atan(rp_atan2_reduce((double)a, (double)b, 1.0));
        mpfr_set_flt(x, a, MPFR_RNDN);
        mpfr_set_flt(y, b, MPFR_RNDN);
        current->exact(z, x, y, MPFR_RNDN);
        mpfr_div_d(z, z, r, MPFR_RNDN);
        mpfr_sub_ui(z, z, 1, MPFR_RNDN);
        error = rp_abs_f64(mpfr_get_d(z, MPFR_RNDN));
        worst = error > worst ? error : worst;
        pairs++;
        if (!(error < 0x1p-49))
            complain("premise", a, b, (float)r, (float)error);
    }
    printf("%-6s premise: worst error 2^%.2f of the value\n", current->name, log2(worst));
    mpfr_clears(x, y, z, (mpfr_ptr)0);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
}

static bool part(const char *name, int f, bool quick, double seconds)
{
    struct timespec from, to;

    current = &functions[f];
    pairs = direct = wrong = 0;
    settling = false;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (strcmp(name, "exact") == 0)
        exact_powers(quick);
    else if (strcmp(name, "listed") == 0)
        listed_exponents(quick);
    else if (strcmp(name, "short") == 0)
        settling = true, short_pairs(quick ? 6 : 10, f == POW ? 5 : quick ? 8 : 26);
    else if (strcmp(name, "near") == 0)
        (f == POW ? near_pow : f == ATAN2 ? near_atan2 : near_hypot)(quick ? 500 : 100000);
    else if (strcmp(name, "premise") == 0)
        premise(quick ? 20000 : 2000000);
    else if (strcmp(name, "wide") == 0)
        wide_path(quick ? 2000 : 200000);
    else
        random_pairs(seconds);
    flush();
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%-6s %-7s pairs %llu, by MPFR directly %llu, wrong %llu, %.0f s\n", current->name, name, pairs, direct,
           wrong, (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    fflush(stdout);
    return wrong == 0;
}

int main(int argc, char **argv)
{
    static const char *const everywhere[] = {"short", "near", "wide", "random"};
    const char *level = NULL;
    double seconds = 0;
    bool quick = false, right = true;
    rp_fpenv saved;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "short") == 0)
            quick = true;
        else if (strcmp(argv[i], "--level") == 0 && i + 1 < argc)
            level = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed ^= strtoull(argv[++i], NULL, 0) * 0x9E3779B97F4A7C15u;
        else if (strcmp(argv[i], "all") != 0) {
            fputs("usage: prove_math_bivariate [short | all] [--level LEVEL] [--seconds N] [--seed N]\n", stderr);
            return 2;
        }
    if (rp_fpenv_enter(&saved, NULL, NULL) != RP_OK || rp_kernel_table_get(&table, level, NULL) != RP_OK)
        return 2;
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    printf("level %s\n", table->level);
    right &= part("exact", POW, quick, 0);
    right &= part("listed", POW, quick, 0);
    right &= part("premise", POW, quick, 0);
    right &= part("premise", ATAN2, quick, 0);
    for (size_t p = 0; p < 4; p++)
        for (int f = POW; f <= HYPOT; f++)
            right &= part(everywhere[p], f, quick, seconds);
    mpfr_free_cache();
    return right ? 0 : 1;
}
