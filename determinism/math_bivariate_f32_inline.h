/* SPDX-License-Identifier: Apache-2.0
 * The binary32 functions of two arguments as static inline code that vectorises. A try gives the result and whether it
 * is in doubt: whether the binary64 value inside, allowed an error far above its own, lies on both sides of a midpoint.
 * Then determinism/math_bivariate_decide.inc.h decides with 288 bits. Both are rare. hypot needs no try. The binary64
 * inside may use fma. */
#ifndef DETERMINISM_MATH_BIVARIATE_F32_INLINE_H
#define DETERMINISM_MATH_BIVARIATE_F32_INLINE_H

#include "determinism/math_f32_inline.h"
#include "determinism/math_bivariate_inline.h"

/* How a function out of line is qualified; a GPU's compiler has no linker behind it. */
#ifndef RP_OUT_OF_LINE
#define RP_OUT_OF_LINE
#endif

/* What is in doubt: pow from its arguments alone; atan2 the magnitude, the rest being that of the try. */
RP_OUT_OF_LINE float rp_pow_f32_decide(float x, float y);
RP_OUT_OF_LINE float rp_atan2_f32_decide(float y, float x, float tried);

static inline uint32_t rp_mask_u32(int condition)
{
    return (uint32_t)0 - (uint32_t)condition;
}

/* r rounded, and in doubt (not 0) whether an error of 2^-47 of r, some 50 times what r has, could round it otherwise.
 */
static inline float rp_round_or_doubt(double r, uint32_t *doubt)
{
    float down = (float)(r * (1.0 - 0x1p-47)), up = (float)(r * (1.0 + 0x1p-47));

    *doubt = rp_bits_f32(down) ^ rp_bits_f32(up);
    return down;
}

/* --- pow -------------------------------------------------------------------------------------------------------- */

/* log2(a) as a head of 28 bits and the rest, within 2^-58 of it; a is a binary32 number. Of zero -1023. */
static inline rp_pair_f64 rp_narrow_log2(double a)
{
    rp_log_parts l = rp_log_reduce(a);
    double divisor = 2.0 + l.f, inverse = 1.0 / divisor; /* 2 + f is exact */
    double s = rp_from_bits_f64(rp_bits_f64(l.f * inverse) & 0xFFFFFFFFE0000000u),
           rest = RP_MADD(-s, divisor, l.f) * inverse;
    double t = s + rest, z = t * t, w = z * z;
    double p = RP_MADD(0x1.b52b0ba534eefp-3, w, RP_MADD(0x1.c4799112718d8p-3, z, 0x1.0ca11f4ca095ap-2));
    double top = s * 0x1.7154760000000p+1, first = l.k + top, low, head; /* the product is exact */

    p = RP_MADD(p, w * w,
                RP_QUAD(z, w, 0x1.ec709dc3a0455p-1, 0x1.2776c50ee72d9p-1, 0x1.a61762d20e86ep-2, 0x1.484afcf1b7241p-2));
    /* log2(1 + f) = 2 / ln2 (s + rest) + t z p */
    low = RP_MADD(s, 0x1.4ae0bf85ddf44p-25, RP_MADD(rest, 0x1.71547652b82fep+1, (t * z) * p));
    head = rp_from_bits_f64(rp_bits_f64(first) & 0xFFFFFFFFFE000000u);
    return (rp_pair_f64){head, low + ((first - head) + ((l.k - first) + top))};
}

/* 2^(head + rest), head exact; beyond 300 the result in binary32 is infinite or zero. */
static inline double rp_narrow_pow_exp2(double head, double rest)
{
    double sum = head + rest;
    int beyond = rp_abs_f64(sum) > 300.0;
    double high = rp_select_f64(beyond, rp_copysign_f64(300.0, sum), head), low = rp_select_f64(beyond, 0.0, rest);
    double t = (high + low) + RP_ROUNDER, f = (high - (t - RP_ROUNDER)) + low;
    double z = f * f, w = z * z;
    double p = RP_MADD(0x1.e8ca85c029130p-32, f, 0x1.e605d3736dbd4p-28);

    p = RP_MADD(
        p, w,
        RP_QUAD(f, z, 0x1.4309130958f9dp-13, 0x1.ffcbfc1e92f34p-17, 0x1.62bfd4b44e7a0p-20, 0x1.b525a0b58bb98p-24));
    p = RP_MADD(p, w,
                RP_QUAD(f, z, 0x1.ebfbdff82c598p-3, 0x1.c6b08d704a08ep-5, 0x1.3b2ab6fba1e41p-7, 0x1.5d87fe78b214ep-10));
    p = RP_MADD(z, p, f * 0x1.62e42fefa39efp-1);
    return rp_from_bits_f64(rp_bits_f64(1.0 + p) + (rp_bits_f64(t) << 52));
}

/* In doubt too, as they are rare: infinities and NaN, |y| from 2^23 on, a negative x with a fraction in y, and a zero x
 * with |y| < 1 (with a greater one -1023 for its logarithm is as good as -inf). */
static inline float rp_pow_f32_try(float x, float y, uint32_t *doubt)
{
    float a = rp_abs_f32(x), b = rp_abs_f32(y), t = b + 0x1p+23f;
    rp_pair_f64 l = rp_narrow_log2((double)a);
    float z = rp_round_or_doubt(rp_narrow_pow_exp2((double)y * l.head, (double)y * l.rest), doubt);

    *doubt |= rp_mask_u32(!(a < (float)HUGE_VAL)) | rp_mask_u32(!(b < 0x1p+23f)) |
              (rp_mask_u32(rp_bits_f32(x) >> 31 != 0) & rp_mask_u32(t - 0x1p+23f != b)) |
              (rp_mask_u32(a == 0.0f) & rp_mask_u32(b < 1.0f));
    return rp_from_bits_f32(rp_bits_f32(z) | (rp_bits_f32(x) & rp_bits_f32(t) << 31));
}

static inline float rp_pow_f32_inline(float x, float y)
{
    uint32_t doubt;
    float z = rp_pow_f32_try(x, y, &doubt);

    return doubt ? rp_pow_f32_decide(x, y) : z;
}

/* --- atan2 ------------------------------------------------------------------------------------------------------ */

/* The angle from its parts. */
static inline double rp_narrow_atan(rp_atan2_parts q)
{
    double z = q.t * q.t, w = z * z;
    double p = RP_QUAD(z, w, -0x1.ab80f0ef03e49p-5, 0x1.70fac68827a78p-5, -0x1.12562ac2bec89p-5, 0x1.f260c32420e1cp-7);

    p = RP_MADD(
        p, w * w,
        RP_QUAD(z, w, -0x1.745d14c037812p-4, 0x1.3b136eb8553e5p-4, -0x1.110c7a683d933p-4, 0x1.e1728e65948a5p-5));
    p = RP_MADD(
        p, w * w,
        RP_QUAD(z, w, -0x1.5555555555554p-2, 0x1.999999999965bp-3, -0x1.2492492475dadp-3, 0x1.c71c71b77b929p-4));
    return q.turn + (q.t + RP_MADD(q.t * z, p, q.rest));
}

/* Where the quotient q is below 2^-27 (and x positive) the result is q less q^3/3, a part in 2^-55 of it. q is no
 * nearer to a midpoint than 2^-49 of itself, or is one (where the result is subnormal): the binary64 below it rounds
 * rightly. */
static inline float rp_atan2_f32_try(float y, float x, uint32_t *doubt)
{
    double b = (double)y, a = (double)x, r;
    rp_atan2_parts q = rp_atan2_reduce(b, a, 1.0);
    double less = rp_from_bits_f64(rp_bits_f64(q.t) + rp_mask(q.t != 0.0));
    uint64_t tiny = rp_mask(q.turn == 0.0) & rp_mask(q.t < 0x1p-27), nan = rp_mask(a != a) | rp_mask(b != b);

    r = rp_from_bits_f64((rp_bits_f64((double)(float)less) & tiny) | (rp_bits_f64(rp_narrow_atan(q)) & ~tiny));
    r = rp_copysign_f64(r, b);
    return rp_round_or_doubt(rp_from_bits_f64((rp_bits_f64(r) & ~nan) | (RP_NAN_F64 & nan)), doubt);
}

static inline float rp_atan2_f32_inline(float y, float x)
{
    uint32_t doubt;
    float z = rp_atan2_f32_try(y, x, &doubt);

    return doubt ? rp_atan2_f32_decide(y, x, z) : z;
}

/* --- hypot ------------------------------------------------------------------------------------------------------ */

/* Correctly rounded without a doubt. The squares are exact (48 bits) and sum + lost is x^2 + y^2 exactly. h is within
 * one unit of the exact root: half of one from the square root's rounding, half at most from `lost`. So h and the root
 * lie on the same side of every midpoint but one that h equals; that has 25 bits, its square is exact, and so is the
 * difference to sum; the sign says which neighbour of h to round. (Subnormal results are 2^-49 of themselves away from
 * midpoints: with x and y integers of 2^-149, 4 (x^2 + y^2) is no odd square.) */
static inline float rp_hypot_f32_inline(float x, float y)
{
    double b = (double)x * (double)x, c = (double)y * (double)y;
    double most = rp_select_f64(b < c, c, b), least = rp_select_f64(b < c, b, c);
    double sum = most + least, lost = (most - sum) + least;
    double h = __builtin_sqrt(sum), excess = (sum - h * h) + lost;
    uint64_t u = rp_bits_f64(h), middle = (u & 0x1FFFFFFFu) == 0x10000000u;
    float z = (float)rp_from_bits_f64(u + (middle & (uint64_t)(excess > 0.0)) - (middle & (uint64_t)(excess < 0.0)));

    z = rp_nan_in_f32(rp_nan_in_f32(z, x), y);
    return rp_select_f32((b == HUGE_VAL) | (c == HUGE_VAL), (float)HUGE_VAL, z);
}

#endif
