/* SPDX-License-Identifier: Apache-2.0
 * The binary32 elementary functions of determinism/math.h as static inline code without branches or tables, so that a
 * compiler vectorises a loop over them. Correct rounding leaves one result, so the binary64 inside may use fma where
 * the target has it: tests/determinism/prove_math.c proves both forms, at every level, over all inputs. */
#ifndef DETERMINISM_MATH_F32_INLINE_H
#define DETERMINISM_MATH_F32_INLINE_H

#include "determinism/math_inline.h"

/* a b + c, in one rounding where that is the faster way. */
#ifdef __FP_FAST_FMA
#define RP_MADD(a, b, c) __builtin_fma(a, b, c)
#else
#define RP_MADD(a, b, c) ((a) * (b) + (c))
#endif

/* c0 + c1 x + c2 x^2 + c3 x^3, w = x^2. Polynomials go by quads, so that many of their operations are independent: a
 * processor's window is too short to hide Horner's chain behind the next elements. */
#define RP_QUAD(x, w, c0, c1, c2, c3) RP_MADD(RP_MADD(c3, x, c2), w, RP_MADD(c1, x, c0))

/* Replaces y at one of the few inputs whose value lies too near a midpoint for the core, as the proof found them. By
 * masks: compilers make branches of a longer row of ?: and then do not vectorise. */
static inline float rp_except_f32(float y, float x, uint32_t input, uint32_t output)
{
    uint32_t mask = (uint32_t)0 - (uint32_t)(rp_bits_f32(x) == input);

    return rp_from_bits_f32((output & mask) | (rp_bits_f32(y) & ~mask));
}

/* The magnitude is limited as an integer; a NaN becomes the limit. */
static inline float rp_limit_f32(float x, float limit)
{
    uint32_t u = rp_bits_f32(x) & 0x7FFFFFFFu, most = rp_bits_f32(limit);

    return rp_from_bits_f32((u < most ? u : most) | (rp_bits_f32(x) & 0x80000000u));
}

static inline uint32_t rp_select_u32(int condition, uint32_t yes, uint32_t no)
{
    return condition ? yes : no;
}

static inline float rp_abs_f32(float x)
{
    return rp_from_bits_f32(rp_bits_f32(x) & 0x7FFFFFFFu);
}

static inline float rp_copysign_f32(float x, float s)
{
    return rp_from_bits_f32((rp_bits_f32(x) & 0x7FFFFFFFu) | (rp_bits_f32(s) & 0x80000000u));
}

/* The cores may make anything of a NaN. */
static inline float rp_nan_in_f32(float y, float x)
{
    return rp_select_f32(x == x, y, rp_from_bits_f32(0x7FC00000u));
}

/* --- exp and what is built on it -------------------------------------------------------------------------------- */

/* x = k ln2 + r; p = e^r - 1 with a small relative error; shift is k << 52, to be added to an exponent. */
typedef struct rp_narrow_exp {
    double p;
    uint64_t shift;
} rp_narrow_exp;

static inline double rp_narrow_expm1(double r)
{
    double z = r * r, w = z * z;
    double p = RP_MADD(0x1.ae641cdc7a166p-26, r, 0x1.28a27ebd8308cp-22);

    p = RP_MADD(
        p, w,
        RP_QUAD(r, z, 0x1.6c16c17f29dd2p-10, 0x1.a01a0170f8b1bp-13, 0x1.a019a6b1d76f3p-16, 0x1.71de8e8201d33p-19));
    p = RP_MADD(p, w,
                RP_QUAD(r, z, 0x1.0000000000005p-1, 0x1.5555555555530p-3, 0x1.555555555211ep-5, 0x1.111111111a277p-7));
    return RP_MADD(z, p, r);
}

/* |x| <= 250. k times the first part of ln2 (42 bits) is exact. */
static inline rp_narrow_exp rp_narrow_exp_reduce(double x)
{
    double t = RP_MADD(x, 0x1.71547652b82fep+0, RP_ROUNDER);
    double k = t - RP_ROUNDER;
    double r = RP_MADD(k, -0x1.ef35793c76730p-45, RP_MADD(k, -0x1.62e42fefa3800p-1, x));

    return (rp_narrow_exp){rp_narrow_expm1(r), rp_bits_f64(t) << 52};
}

/* e^x is 0 or infinite in binary32 beyond 120; binary64 still holds it. */
static inline double rp_narrow_exp_core(double x)
{
    rp_narrow_exp e = rp_narrow_exp_reduce(x);

    return rp_from_bits_f64(rp_bits_f64(1.0 + e.p) + e.shift);
}

/* e^x - 1 as (2^k - 1) + 2^k p: the first term is exact or above 2^53. */
static inline double rp_narrow_expm1_core(double x)
{
    rp_narrow_exp e = rp_narrow_exp_reduce(x);
    double scale = rp_from_bits_f64(0x3FF0000000000000u + e.shift);

    return RP_MADD(scale, e.p, scale - 1.0);
}

static inline float rp_exp_f32_inline(float x)
{
    return rp_nan_in_f32((float)rp_narrow_exp_core((double)rp_limit_f32(x, 120.0f)), x);
}

static inline float rp_expm1_f32_inline(float x)
{
    float y = (float)rp_narrow_expm1_core((double)rp_limit_f32(x, 120.0f));

    return rp_nan_in_f32(rp_select_f32(x == 0.0f, x, y), x);
}

/* With t = e^2a - 1: t / (t + 2). */
static inline float rp_tanh_f32_inline(float x)
{
    double t = rp_narrow_expm1_core(2.0 * (double)rp_limit_f32(rp_abs_f32(x), 10.0f));

    return rp_nan_in_f32(rp_copysign_f32((float)(t / (t + 2.0)), x), x);
}

/* Near 0, 1/2 + x/4 - x^3/48 + x^5/480: there 1/2 + x/4 is often midway between two binary32, and the cubic decides
 * though it is below the last place of the binary64 sum. It therefore counts as at least 2^-53, which cannot be too
 * much: 1/2 + x/4 is on a grid of at least 2^-51 where |x| >= 2^-26, and below that the result is 1/2 anyway. */
static inline float rp_sigmoid_f32_inline(float x)
{
    float magnitude = rp_limit_f32(rp_abs_f32(x), 120.0f);
    double a = (double)magnitude, z = a * a;
    double e = rp_narrow_exp_core(-a);
    double y = rp_select_f64(x < 0.0f, e, 1.0) / (1.0 + e);
    double cubic = (a * z) * RP_MADD(z, -0x1.1111111111111p-9, 0x1.5555555555555p-6);
    double near = 0.25 * a - rp_select_f64(cubic < 0x1p-53, 0x1p-53, cubic);

    y = rp_select_f64(magnitude < 0x1p-8f, 0.5 + rp_copysign_f64(near, (double)x), y);
    return rp_except_f32(rp_nan_in_f32((float)y, x), x, 0xBA928601u, 0x3EFFDB5Fu);
}

/* --- log --------------------------------------------------------------------------------------------------------- */

/* k ln2 + log(1 + f): with s = f / (2 + f), log(1 + f) = 2 s + s^3 R(s^2). */
static inline double rp_narrow_log_core(double k, double f)
{
    double s = f / (2.0 + f), z = s * s, w = z * z;
    double p = RP_MADD(0x1.2f0599267a095p-3, w, RP_MADD(0x1.39a1b5cd4ae30p-3, z, 0x1.74663f14e12a9p-3));

    p = RP_MADD(p, w * w,
                RP_QUAD(z, w, 0x1.5555555555592p-1, 0x1.999999997fdabp-2, 0x1.24924941f1f62p-2, 0x1.c71c52089acd1p-3));
    return RP_MADD(k, 0x1.62e42fefa39efp-1, RP_MADD(s * z, p, 2.0 * s));
}

/* zero: the x where y is -inf; NaN below it. */
static inline float rp_narrow_log_ends(float y, float x, float zero)
{
    y = rp_select_f32(x == zero, -(float)HUGE_VAL, y);
    y = rp_select_f32(x == (float)HUGE_VAL, x, y);
    return rp_select_f32(x >= zero, y, rp_from_bits_f32(0x7FC00000u));
}

static inline float rp_log_f32_inline(float x)
{
    rp_log_parts l = rp_log_reduce((double)x);
    float y = (float)rp_narrow_log_core(l.k, l.f);

    y = rp_except_f32(y, x, 0x3C413D3Au, 0xC08E158Fu);
    y = rp_except_f32(y, x, 0x41178FEBu, 0x400FE5E7u);
    y = rp_except_f32(y, x, 0x4C5D65A5u, 0x418F034Bu);
    y = rp_except_f32(y, x, 0x65D890D3u, 0x4254D1F9u);
    y = rp_except_f32(y, x, 0x6F31A8ECu, 0x42845A89u);
    return rp_narrow_log_ends(y, x, 0.0f);
}

static inline float rp_log1p_f32_inline(float x)
{
    double d = (double)x;
    /* 1 + x is exact where k is not 0, up to 2^53; beyond, what it loses is below 2^-53 of a result above 36. */
    rp_log_parts l = rp_log_reduce(1.0 + d);
    float y = (float)rp_narrow_log_core(l.k, rp_select_f64(l.k == 0.0, d, l.f));

    y = rp_except_f32(y, x, 0x35400003u, 0x353FFFFFu);
    y = rp_except_f32(y, x, 0x3710001Bu, 0x370FFFF3u);
    y = rp_except_f32(y, x, 0x41078FEBu, 0x400FE5E7u);
    y = rp_except_f32(y, x, 0x65D890D3u, 0x4254D1F9u);
    y = rp_except_f32(y, x, 0x6F31A8ECu, 0x42845A89u);
    y = rp_except_f32(y, x, 0xB53FFFFDu, 0xB5400001u);
    y = rp_except_f32(y, x, 0xB70FFFE5u, 0xB710000Du);
    y = rp_except_f32(y, x, 0xBB0EC8C4u, 0xBB0EF0A5u);
    y = rp_narrow_log_ends(y, x, -1.0f);
    return rp_select_f32(x == 0.0f, x, y);
}

/* --- erf --------------------------------------------------------------------------------------------------------- */

/* a P(a^2/8 - 1): one polynomial as far as the result is below 1. All terms of P have one sign at a = 0, where the
 * relative error matters. */
static inline float rp_erf_f32_inline(float x)
{
    double a = (double)rp_limit_f32(rp_abs_f32(x), 3.9375f);
    double u = RP_MADD(a * a, 0.125, -1.0), w = u * u, v = w * w;
    double p = RP_MADD(
        0x1.32d7f32b0e1aap-30, v,
        RP_QUAD(u, w, 0x1.8519e9290265fp-24, -0x1.77b17e4c9c25bp-26, 0x1.610d981b5055fp-28, -0x1.cc714d31fdcb6p-29));

    p = RP_MADD(
        p, v,
        RP_QUAD(u, w, 0x1.cdb5dd7825796p-18, -0x1.4610a87dd1ba4p-19, 0x1.b8b33ff38888dp-21, -0x1.2a289630b731dp-22));
    p = RP_MADD(
        p, v,
        RP_QUAD(u, w, 0x1.20efddfa8fdfbp-12, -0x1.ed867da16b850p-14, 0x1.9136b787b984cp-15, -0x1.37468ad2211a4p-16));
    p = RP_MADD(
        p, v,
        RP_QUAD(u, w, 0x1.3e1515116842fp-8, -0x1.51ee687d0290ap-9, 0x1.52d983de479d0p-10, -0x1.4160a2643cd2bp-11));
    p = RP_MADD(
        p, v, RP_QUAD(u, w, 0x1.0ed52c0426831p-5, -0x1.7034f9b0dcde2p-6, 0x1.d6352921cee1fp-7, -0x1.1a023de76ff64p-7));
    p = RP_MADD(
        p, v, RP_QUAD(u, w, 0x1.717efc78458fdp-4, -0x1.3215d8b744c96p-4, 0x1.ea97f14b3db15p-5, -0x1.76e8649c101bap-5));
    p = RP_MADD(
        p, v, RP_QUAD(u, w, 0x1.6a040781a499cp-2, -0x1.69a0ccda3df49p-3, 0x1.0dabaf0613e29p-3, -0x1.b92e95c19365dp-4));
    /* without fma only; with it the input is right anyway */
    float y = rp_except_f32((float)(a * p), rp_abs_f32(x), 0x3940EAD6u, 0x3959AF14u);

    return rp_nan_in_f32(rp_copysign_f32(y, x), x);
}

#endif
