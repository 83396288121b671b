/* SPDX-License-Identifier: Apache-2.0
 * The binary64 functions of two arguments of determinism/math.h as static inline code without branches or tables: the
 * sequences of CONTRACT 5.15 to 5.17, without fma, so that loops over them vectorise. */
#ifndef DETERMINISM_MATH_BIVARIATE_INLINE_H
#define DETERMINISM_MATH_BIVARIATE_INLINE_H

#include "determinism/math_more_inline.h"

/* Inlined early: a compiler that inlines a long function late has made branches of its selections by then. */
#define RP_EARLY static inline __attribute__((always_inline))

/* All bits where the condition holds: compilers make branches of several ?: on one condition. */
static inline uint64_t rp_mask(int condition)
{
    return (uint64_t)0 - (uint64_t)condition;
}

/* x where the mask is set, else +0 */
static inline double rp_only_f64(uint64_t mask, double x)
{
    return rp_from_bits_f64(rp_bits_f64(x) & mask);
}

/* The first 26 significant bits: the product of two heads is exact. */
static inline double rp_head_f64(double x)
{
    return rp_from_bits_f64(rp_bits_f64(x) & 0xFFFFFFFFF8000000u);
}

/* --- pow: CONTRACT 5.15 ----------------------------------------------------------------------------------------- */

/* A number as the sum of a head and what is left. */
typedef struct rp_pair_f64 {
    double head, rest;
} rp_pair_f64;

/* 3 (atanh(s) / s - 1 - s^2 / 3) / s^4, |s| <= 0.172; z = s^2 */
RP_EARLY double rp_atanh_tail(double z)
{
    double w = z * z;
    double p = 3.0 / 23.0 + 3.0 / 25.0 * z;

    p = p * w + (3.0 / 19.0 + 3.0 / 21.0 * z);
    p = p * w + (3.0 / 15.0 + 3.0 / 17.0 * z);
    p = p * w + (3.0 / 11.0 + 3.0 / 13.0 * z);
    p = p * w + (3.0 / 7.0 + 3.0 / 9.0 * z);
    return p * z + 3.0 / 5.0;
}

/* log2(2^k (1 + f)) = k + 2 / (3 ln2) s (3 + s^2 + s^4 tail) with s = f / (2 + f), carried with some 64 bits. */
RP_EARLY rp_pair_f64 rp_pow_log2(double k, double f)
{
    double divisor = 2.0 + f, s = f / divisor;
    double sh = rp_head_f64(s), dh = rp_head_f64(divisor), dl = (2.0 - dh) + f;
    double sl = ((f - sh * dh) - sh * dl) / divisor;
    double z = s * s, zh = sh * sh;
    double r = (z * z) * rp_atanh_tail(z) + sl * (sh + s);
    double th = rp_head_f64((3.0 + zh) + r), tl = r - ((th - 3.0) - zh);
    double u = sh * th, v = sl * th + tl * s;
    double ph = rp_head_f64(u + v), pl = v - (ph - u);
    double wh = ph * 0x1.ec709e0000000p-1, wl = ph * -0x1.e2fe0145b01f5p-28 + pl * 0x1.ec709dc3a03fdp-1;
    double head = rp_head_f64((wh + wl) + k);

    return (rp_pair_f64){head, wl - ((head - k) - wh)};
}

/* 2^(head + rest); beyond 1100 infinity or zero. */
RP_EARLY double rp_pow_exp2(double head, double rest)
{
    double sum = head + rest, t = rp_clamp_f64(sum, -1100.0, 1100.0), k = rp_nearest_f64(t);
    uint64_t within = rp_mask(sum == t);
    double g = rp_only_f64(within, head - k), h = rp_only_f64(within, rest);
    double wh = rp_head_f64(g + h), wl = (g - wh) + h;
    double u = wh * 0x1.62e4300000000p-1, v = wl * 0x1.62e42fefa39efp-1 + wh * -0x1.05c610ca86c39p-29;
    double r = u + v, c = (u - r) + v;
    double half = rp_nearest_f64(k * 0.5);

    return ((1.0 + (r + (c + rp_exp_tail(r)))) * rp_pow2_f64(half)) * rp_pow2_f64(k - half);
}

/* x^y from z = |x|^y, a = |x|: the sign, and the cases that have a value of their own. From 2^53 on every y is even. */
RP_EARLY double rp_pow_ends(double z, double x, double a, double y)
{
    double b = rp_clamp_f64(rp_abs_f64(y), 0.0, 0x1p53);
    double n = rp_select_f64(b < 0x1p52, (b + 0x1p52) - 0x1p52, b), h = 0.5 * n;
    uint64_t fraction = rp_mask(n != b), even = rp_mask((h + 0x1p52) - 0x1p52 == h);
    uint64_t nan = (fraction & rp_mask(x < 0.0) & rp_mask(a < HUGE_VAL)) | rp_mask(x != x) | rp_mask(y != y);
    uint64_t one = rp_mask(x == 1.0) | rp_mask(y == 0.0);
    uint64_t u = rp_bits_f64(z) | (rp_bits_f64(x) & 0x8000000000000000u & ~fraction & ~even);

    u = (nan & RP_NAN_F64) | (u & ~nan);
    return rp_from_bits_f64((one & 0x3FF0000000000000u) | (u & ~one));
}

RP_EARLY double rp_pow_f64_inline(double x, double y)
{
    double a = rp_abs_f64(x), e = rp_clamp_f64(y, -0x1p66, 0x1p66); /* the result is 0, 1 or infinite before that */
    uint64_t small = rp_mask(a < 0x1p-1022);
    rp_log_parts l = rp_log_reduce(rp_from_bits_f64((rp_bits_f64(a * 0x1p54) & small) | (rp_bits_f64(a) & ~small)));
    rp_pair_f64 t = rp_pow_log2(l.k - rp_only_f64(small, 54.0), l.f);
    double eh = rp_head_f64(e);
    double z = rp_pow_exp2(eh * t.head, (e - eh) * t.head + e * t.rest);

    uint64_t zero = rp_mask(a == 0.0), infinite = rp_mask(a == HUGE_VAL), negative = rp_mask(y < 0.0);

    z = rp_from_bits_f64((rp_bits_f64(z) & ~zero & ~infinite) |
                         (0x7FF0000000000000u & (zero ^ infinite) & (negative ^ infinite)));
    return rp_pow_ends(z, x, a, y);
}

/* --- atan2: CONTRACT 5.16 --------------------------------------------------------------------------------------- */

/* atan2(y, x) for y with its sign cleared as turn + (atan(t) + rest). g, a power of two, keeps x + y from overflow. */
typedef struct rp_atan2_parts {
    double t, turn, rest;
} rp_atan2_parts;

static inline rp_atan2_parts rp_atan2_reduce(double y, double x, double g)
{
    double b = rp_abs_f64(y), a = rp_abs_f64(x);
    int steep = b > a, back = rp_copysign_f64(1.0, x) < 0.0;
    double most = rp_select_f64(steep, b, a), least = rp_select_f64(steep, a, b);
    int low = (least < 0x1.a827999fcef32p-2 * most) | (most == 0.0);
    double t = rp_select_f64(low, least, least * g - most * g) / rp_select_f64(low, most, least * g + most * g);
    double turn =
        rp_select_f64(low, rp_select_f64(steep, 2.0, rp_select_f64(back, 4.0, 0.0)), rp_select_f64(back, 3.0, 1.0));

    t = rp_select_f64((most == 0.0) | (least == HUGE_VAL), 0.0, t);
    t = rp_select_f64(steep, -t, t);
    t = rp_select_f64(back, -t, t);
    return (rp_atan2_parts){t, turn * 0x1.921fb54442d18p-1, turn * 0x1.1a62633145c07p-55};
}

static inline double rp_atan2_f64_inline(double y, double x)
{
    double b = rp_abs_f64(y), a = rp_abs_f64(x), g = rp_select_f64((b > 0x1p1000) | (a > 0x1p1000), 0x1p-2, 1.0);
    rp_atan2_parts q = rp_atan2_reduce(y, x, g);
    double z = q.t * q.t, w = z * z;
    double p = -0x1.12562ac2bec89p-5 + 0x1.f260c32420e1cp-7 * z;

    p = p * w + (-0x1.ab80f0ef03e49p-5 + 0x1.70fac68827a78p-5 * z);
    p = p * w + (-0x1.110c7a683d933p-4 + 0x1.e1728e65948a5p-5 * z);
    p = p * w + (-0x1.745d14c037812p-4 + 0x1.3b136eb8553e5p-4 * z);
    p = p * w + (-0x1.2492492475dadp-3 + 0x1.c71c71b77b929p-4 * z);
    p = p * w + (-0x1.5555555555554p-2 + 0x1.999999999965bp-3 * z);
    p = rp_copysign_f64(q.turn + (q.t + (q.t * (z * p) + q.rest)), y);
    return rp_select_f64((x == x) & (y == y), p, rp_from_bits_f64(RP_NAN_F64));
}

/* --- hypot: CONTRACT 5.17 --------------------------------------------------------------------------------------- */

/* a^2 - rounded(a^2), exactly */
static inline double rp_square_tail(double a, double square)
{
    double h = rp_head_f64(a), l = a - h;

    return ((h * h - square) + 2.0 * (h * l)) + l * l;
}

static inline double rp_hypot_f64_inline(double x, double y)
{
    double b = rp_abs_f64(x), c = rp_abs_f64(y);
    double most = rp_select_f64(b < c, c, b), least = rp_select_f64(b < c, b, c);
    double g = rp_select_f64(most > 0x1p500, 0x1p-600, rp_select_f64(most < 0x1p-400, 0x1p600, 1.0));
    double s = most * g, t = least * g;
    double ss = s * s, tt = t * t, sum = ss + tt;
    double lost = ((ss - sum) + tt) + (rp_square_tail(s, ss) + rp_square_tail(t, tt));
    double h = __builtin_sqrt(sum + lost) * (1.0 / g);

    h = rp_select_f64((x == x) & (y == y), h, rp_from_bits_f64(RP_NAN_F64));
    return rp_select_f64((b == HUGE_VAL) | (c == HUGE_VAL), HUGE_VAL, h);
}

#endif
