/* SPDX-License-Identifier: Apache-2.0
 * The binary64 elementary functions of determinism/math.h as static inline code without branches or tables, so that a
 * compiler vectorises a loop over them at any SIMD width. The sequence of operations is that of CONTRACT 5: additions,
 * multiplications and divisions of binary64 only, no fma, hence the same bits with and without an FMA unit. */
#ifndef DETERMINISM_MATH_INLINE_H
#define DETERMINISM_MATH_INLINE_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "determinism/bits.h"

#if FLT_EVAL_METHOD != 0
#error "binary32 and binary64 arithmetic must not be carried out in a wider format (on 32-bit x86 use -mfpmath=sse)"
#endif
#ifdef __FAST_MATH__
#error "fast-math breaks the contract"
#endif

/* Adding it to |t| < 2^51 rounds t to an integer, nearest even, and leaves that integer in the low bits of the sum. */
#define RP_ROUNDER 0x1.8p+52
#define RP_NAN_F64 0x7FF8000000000000u

/* Both sides are values already, so a vectoriser makes this a blend. */
static inline double rp_select_f64(int condition, double yes, double no)
{
    return condition ? yes : no;
}

static inline float rp_select_f32(int condition, float yes, float no)
{
    return condition ? yes : no;
}

/* A NaN passes through, as it fails both comparisons. */
static inline double rp_clamp_f64(double x, double low, double high)
{
    double y = rp_select_f64(x < low, low, x);
    return rp_select_f64(y > high, high, y);
}

static inline double rp_abs_f64(double x)
{
    return rp_from_bits_f64(rp_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu);
}

/* |x| with the sign bit of s. */
static inline double rp_copysign_f64(double x, double s)
{
    return rp_from_bits_f64((rp_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu) | (rp_bits_f64(s) & 0x8000000000000000u));
}

static inline double rp_nearest_f64(double t)
{
    return (t + RP_ROUNDER) - RP_ROUNDER;
}

/* 2^k for integral -1022 <= k <= 1023: the shift drops all but the exponent. */
static inline double rp_pow2_f64(double k)
{
    return rp_from_bits_f64((rp_bits_f64(k + RP_ROUNDER) + 1023u) << 52);
}

/* --- exp and what is built on it: CONTRACT 5.2 ------------------------------------------------------------------ */

/* x = k ln2 + r, |r| <= 0.347; exp(r) = 1 + (r + q). */
typedef struct rp_exp_parts {
    double k, r, q;
} rp_exp_parts;

/* e^r - 1 - r for |r| <= 0.347 */
static inline double rp_exp_tail(double r)
{
    double z = r * r;
    double p = 0x1.af5ebb40df6e5p-26 + 0x1.1f92e1c54dd79p-29 * r;

    p = p * z + (0x1.71ddf85b7f76cp-19 + 0x1.27e4c7b0facacp-22 * r);
    p = p * z + (0x1.a01a01afdf2ebp-13 + 0x1.a01a01af6b602p-16 * r);
    p = p * z + (0x1.111111110f6c7p-7 + 0x1.6c16c16c14a71p-10 * r);
    p = p * z + (0x1.5555555555559p-3 + 0x1.5555555555559p-5 * r);
    return z * (0.5 + r * p);
}

/* |x| <= 1100. k * ln2_high is exact (42 + 11 bits) and so is the subtraction; c is what r lost in rounding. */
static inline rp_exp_parts rp_exp_reduce(double x)
{
    double k = rp_nearest_f64(x * 0x1.71547652b82fep+0);
    double high = x - k * 0x1.62e42fefa3800p-1;
    double low = k * 0x1.ef35793c76730p-45;
    double r = high - low;
    double c = (high - r) - low;

    return (rp_exp_parts){k, r, c + rp_exp_tail(r)};
}

static inline double rp_exp_f64_inline(double x)
{
    rp_exp_parts e = rp_exp_reduce(rp_clamp_f64(x, -746.0, 710.0));
    double half = rp_nearest_f64(e.k * 0.5);
    /* Two factors keep 2^k in range; only the second product can round, so a subnormal result is rounded once. */
    double y = ((1.0 + (e.r + e.q)) * rp_pow2_f64(half)) * rp_pow2_f64(e.k - half);

    return rp_canonical_f64(y);
}

/* exp(x) - 1 for -50 <= x <= 300: (2^k - 1) + 2^k r by two-sum, then the small terms. */
static inline double rp_expm1_core(double x)
{
    rp_exp_parts e = rp_exp_reduce(x);
    double scale = rp_pow2_f64(e.k);
    double a = scale - 1.0, b = scale * e.r;
    double s = a + b;
    double t = s - a;
    double lost = (a - (s - t)) + (b - t);

    return s + (lost + scale * e.q);
}

static inline double rp_expm1_f64_inline(double x)
{
    double y = rp_expm1_core(rp_clamp_f64(x, -50.0, 50.0));

    y = rp_select_f64(x > 50.0, rp_exp_f64_inline(x), y);
    /* Below 2^-54 x is the nearest value, and keeps the sign of zero. */
    y = rp_select_f64(rp_abs_f64(x) < 0x1p-54, x, y);
    return rp_canonical_f64(y);
}

/* a >= 0 or NaN. With t = exp(2a) - 1: t / (t + 2), or 1 - 2 / (t + 2) where that loses less. */
static inline double rp_tanh_core(double a)
{
    double t = rp_expm1_core(2.0 * a);
    double q = rp_select_f64(a < 0.5, t, 2.0) / (t + 2.0);

    return rp_select_f64(a < 0.5, q, 1.0 - q);
}

static inline double rp_tanh_f64_inline(double x)
{
    double a = rp_abs_f64(x);
    double y = rp_tanh_core(rp_clamp_f64(a, 0.0, 20.0));

    y = rp_select_f64(a < 0x1p-28, a, y);
    return rp_canonical_f64(rp_copysign_f64(y, x));
}

/* 1 / (1 + exp(-x)) with e = exp(-|x|), so that nothing overflows. */
static inline double rp_sigmoid_f64_inline(double x)
{
    double e = rp_exp_f64_inline(-rp_abs_f64(x));

    return rp_canonical_f64(rp_select_f64(x < 0.0, e, 1.0) / (1.0 + e));
}

/* --- log: CONTRACT 5.3 ------------------------------------------------------------------------------------------ */

/* A positive, normal, finite number as 2^k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2); f is exact. */
typedef struct rp_log_parts {
    double k, f;
} rp_log_parts;

static inline rp_log_parts rp_log_reduce(double x)
{
    /* Adding 1 - sqrt(1/2) in the bits carries into the exponent exactly when the fraction is at least sqrt(1/2) * 2.
     */
    uint64_t u = rp_bits_f64(x) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
    double k = rp_from_bits_f64((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double m = rp_from_bits_f64((u & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);

    return (rp_log_parts){k, m - 1.0};
}

/* k ln2 + log(1 + f) + tail. With s = f / (2 + f) and h = f^2 / 2: log(1 + f) = f - h + s (h + R(s^2)). */
static inline double rp_log_core(double k, double f, double tail)
{
    double s = f / (2.0 + f);
    double h = (0.5 * f) * f;
    double z = s * s, w = z * z;
    double p = 0x1.39a3228a82b69p-3 + 0x1.2ef9514416688p-3 * z;
    double first, lost;

    p = p * w + (0x1.c71c52696ac96p-3 + 0x1.74662e6f896ecp-3 * z);
    p = p * w + (0x1.9999999980aafp-2 + 0x1.24924941609afp-2 * z);
    p = p * z + 0x1.555555555558fp-1;
    /* |k ln2_high| is 0 or larger than |f|, so the sum of the two is exact as first + lost. */
    first = k * 0x1.62e42fefa3800p-1 + f;
    lost = (k * 0x1.62e42fefa3800p-1 - first) + f;
    return first + (lost - (h - (s * (h + p * z) + (k * 0x1.ef35793c76730p-45 + tail))));
}

/* Puts in what the cores do not know: log(0) = -inf, log of a negative is NaN, of +inf +inf. zero: x is where y is
 * -inf. */
static inline double rp_log_ends(double y, double x, double zero)
{
    y = rp_select_f64(x == zero, -HUGE_VAL, y);
    y = rp_select_f64(x == HUGE_VAL, x, y);
    return rp_select_f64(x >= zero, y, rp_from_bits_f64(RP_NAN_F64));
}

static inline double rp_log_f64_inline(double x)
{
    int small = x < 0x1p-1022;
    rp_log_parts l = rp_log_reduce(rp_select_f64(small, x * 0x1p54, x));

    return rp_log_ends(rp_log_core(l.k - rp_select_f64(small, 54.0, 0.0), l.f, 0.0), x, 0.0);
}

static inline double rp_log1p_f64_inline(double x)
{
    double u = 1.0 + x;
    /* What u lost, by two-sum; garbage (NaN) for an infinite x, which rp_log_ends replaces. */
    double t = u - 1.0;
    double lost = (1.0 - (u - t)) + (x - t);
    rp_log_parts l = rp_log_reduce(u);
    int near = l.k == 0.0;
    /* Where k is 0, x itself is f: nothing was lost. */
    double y = rp_log_core(l.k, rp_select_f64(near, x, l.f), rp_select_f64(near, 0.0, lost / u));

    y = rp_select_f64(rp_abs_f64(x) < 0x1p-54, x, y);
    return rp_log_ends(y, x, -1.0);
}

/* --- erf: CONTRACT 5.4 ------------------------------------------------------------------------------------------ */

/* 0 <= a < 1: a + a P(a^2). */
static inline double rp_erf_small(double a)
{
    double z = a * a, w = z * z;
    double p = -0x1.38ac5f520ccd8p-30 + 0x1.0627fa9b6e205p-34 * z;

    p = p * w + (-0x1.5f1f42dd1f7a7p-23 + 0x1.f7b9b17e1dfbdp-27 * z);
    p = p * w + (-0x1.f4d1e43931520p-17 + 0x1.b9df3095ede13p-20 * z);
    p = p * w + (-0x1.c02db3db4b6e1p-11 + 0x1.f9a321e4f310fp-14 * z);
    p = p * w + (-0x1.b82ce31284f3cp-6 + 0x1.565bcd0dbd9cap-8 * z);
    p = p * w + (-0x1.812746b0379e6p-2 + 0x1.ce2f21a042b34p-4 * z);
    p = p * z + 0x1.06eba8214db69p-3;
    return a + a * p;
}

/* 1 <= a <= 6: 1 - exp(-a^2) Q(a - 3), Q approximating exp(a^2) erfc(a). What a^2 loses in rounding matters little,
 * as erfc is below 0.16 here and falls faster than the loss grows. */
static inline double rp_erf_large(double a)
{
    rp_exp_parts e = rp_exp_reduce(-(a * a));
    double v = a - 3.0, w = v * v;
    double p = -0x1.6f76b72e9d464p-40 + -0x1.e1df6196324f3p-43 * v;

    p = p * w + (0x1.3f9ca6d4c696dp-37 + -0x1.5fd11ec934fcep-39 * v);
    p = p * w + (0x1.fe8e6e76104a8p-35 + 0x1.ec7e671625411p-36 * v);
    p = p * w + (0x1.113c1ad945f62p-31 + -0x1.169ead643b1b5p-32 * v);
    p = p * w + (0x1.080cb34889290p-26 + -0x1.cbb0a36d05db0p-29 * v);
    p = p * w + (0x1.367c3ce836d4ap-22 + -0x1.1baa82eef1074p-24 * v);
    p = p * w + (0x1.595b5d0e20554p-18 + -0x1.4b33a4d67ea0ep-20 * v);
    p = p * w + (0x1.5e73b86da50dep-14 + -0x1.6024923b8b037p-16 * v);
    p = p * w + (0x1.409cc2a013768p-10 + -0x1.53dec841865d6p-12 * v);
    p = p * w + (0x1.043fe1a981f51p-6 + -0x1.259061c24682bp-8 * v);
    p = p * w + (0x1.6e9827d229f25p-3 + -0x1.bd6ae4d143c91p-5 * v);
    return 1.0 - ((1.0 + (e.r + e.q)) * rp_pow2_f64(e.k)) * p;
}

static inline double rp_erf_core(double x)
{
    double a = rp_abs_f64(x);
    double y = rp_select_f64(a < 1.0, rp_erf_small(rp_clamp_f64(a, 0.0, 1.0)), rp_erf_large(rp_clamp_f64(a, 1.0, 6.0)));

    return rp_copysign_f64(y, x);
}

static inline double rp_erf_f64_inline(double x)
{
    return rp_canonical_f64(rp_erf_core(x));
}

/* --- sinpi, cospi: CONTRACT 5.5 --------------------------------------------------------------------------------- */

/* |x| = 2h + d exactly, |d| = n/2 + r with n in {0, 1, 2} and |r| <= 1/4; s = sin(pi r), c = cos(pi r). */
typedef struct rp_pi_parts {
    double d, n, s, c;
} rp_pi_parts;

static inline rp_pi_parts rp_pi_reduce(double x)
{
    double a = rp_abs_f64(x);
    double b = rp_select_f64(a >= 0x1p53, 0.0, a); /* an even integer */
    double d = b - 2.0 * ((b * 0.5 + 0x1p52) - 0x1p52);
    double n = rp_nearest_f64(2.0 * rp_abs_f64(d));
    double r = rp_abs_f64(d) - 0.5 * n;
    double z = r * r, w = z * z;
    double p = 0x1.e8ef11135cf6bp-12 + -0x1.6c6cc0d328307p-16 * z;
    double q = 0x1.f9cc97766bd2ep-10 + -0x1.b27c03eb14954p-14 * z;

    p = p * w + (0x1.5078348611bcfp-4 + -0x1.e3074bae195c6p-8 * z);
    p = p * w + (0x1.466bc6775aadcp+1 + -0x1.32d2cce62af8bp-1 * z);
    p = p * z + -0x1.4abbce625be53p+2;
    q = q * w + (0x1.e1f5068412dd8p-3 + -0x1.a6d1ecf850e0ep-6 * z);
    q = q * w + (0x1.03c1f081b5ab3p+2 + -0x1.55d3c7e3c9a30p+0 * z);
    q = q * z + -0x1.3bd3cc9be45dep+2;
    /* pi r = 4r - (4 - pi) r: 4r is exact, so only a quarter of the product's rounding error is seen. */
    return (rp_pi_parts){d, n, 4.0 * r + r * (p * z - 0x1.b7812aeef4b9fp-1), 1.0 + q * z};
}

/* The sign of zero is IEEE 754-2019's: sinpi(n) has the sign of n; cospi(n + 1/2) is +0. */
static inline double rp_sinpi_f64_inline(double x)
{
    rp_pi_parts p = rp_pi_reduce(x);
    double y = rp_select_f64(p.n == 1.0, p.c, rp_select_f64(p.n == 2.0, -p.s, p.s));

    y = rp_select_f64(p.d < 0.0, -y, y) + 0.0;
    y = rp_select_f64(x < 0.0, -y, y);
    y = rp_select_f64(x == 0.0, x, y);
    return rp_select_f64(rp_abs_f64(x) < HUGE_VAL, y, rp_from_bits_f64(RP_NAN_F64));
}

static inline double rp_cospi_f64_inline(double x)
{
    rp_pi_parts p = rp_pi_reduce(x);
    double y = rp_select_f64(p.n == 1.0, -p.s, rp_select_f64(p.n == 2.0, -p.c, p.c)) + 0.0;

    return rp_select_f64(rp_abs_f64(x) < HUGE_VAL, y, rp_from_bits_f64(RP_NAN_F64));
}

/* --- powers and fma: CONTRACT 5.6, 5.7 -------------------------------------------------------------------------- */

/* |n| for every n, INT64_MIN included. */
static inline uint64_t rp_magnitude_i64(int64_t n)
{
    return n < 0 ? (uint64_t)0 - (uint64_t)n : (uint64_t)n;
}

static inline float rp_powi_f32_inline(float x, int64_t n)
{
    const uint64_t m = rp_magnitude_i64(n);
    uint64_t bit;
    float y = x;

    if (n == 0)
        return 1.0f;
    bit = (uint64_t)1 << (63 - __builtin_clzll(m));
    while ((bit >>= 1) != 0) {
        y = y * y;
        if (y + y == y || y != y) /* +0, infinity and NaN stay so; the last bit gives the sign */
            bit = 1;
        if (m & bit)
            y = y * x;
    }
    return rp_canonical_f32(n < 0 ? 1.0f / y : y);
}

static inline double rp_powi_f64_inline(double x, int64_t n)
{
    const uint64_t m = rp_magnitude_i64(n);
    uint64_t bit;
    double y = x;

    if (n == 0)
        return 1.0;
    bit = (uint64_t)1 << (63 - __builtin_clzll(m));
    while ((bit >>= 1) != 0) {
        y = y * y;
        if (y + y == y || y != y) /* +0, infinity and NaN stay so; the last bit gives the sign */
            bit = 1;
        if (m & bit)
            y = y * x;
    }
    return rp_canonical_f64(n < 0 ? 1.0 / y : y);
}

/* The product of two binary32 is exact in binary64 (48 bits, exponent within range). Its sum with c is taken as
 * sum + lost by two-sum and rounded to odd: where something was lost and the last bit is even, the odd neighbour on
 * the side of the loss is taken. Rounding that to binary32 then gives the single rounding of a*b + c, as 53 bits
 * exceed 24 by at least two (Boldo and Melquiond 2008); for subnormal results by more. */
static inline float rp_fma_f32_software(float a, float b, float c)
{
    double product = (double)a * (double)b;
    double sum = product + (double)c;
    double t = sum - product;
    double lost = (product - (sum - t)) + ((double)c - t);
    uint64_t u = rp_bits_f64(sum);
    /* lost is NaN when sum is not finite; it then fails both comparisons. */
    int inexact = (lost < 0.0) | (lost > 0.0);
    int outward = (lost > 0.0) == (sum > 0.0);
    uint64_t step = outward ? (uint64_t)1 : ~(uint64_t)0;

    u += step & ((uint64_t)0 - (uint64_t)(inexact & (int)(~u & 1u)));
    return (float)rp_from_bits_f64(u);
}

static inline float rp_fma_f32_inline(float a, float b, float c)
{
#ifdef __FP_FAST_FMAF
    return __builtin_fmaf(a, b, c);
#else
    return rp_fma_f32_software(a, b, c);
#endif
}

/* Without the instruction the C library's fma is called: IEEE 754 defines its result exactly, so it is no source of
 * other bits. It is slow; kernels that need speed are built for an ISA that has the instruction. */
static inline double rp_fma_f64_inline(double a, double b, double c)
{
#ifdef __FP_FAST_FMA
    return __builtin_fma(a, b, c);
#else
    return fma(a, b, c);
#endif
}

#endif
