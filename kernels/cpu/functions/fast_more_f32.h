/* SPDX-License-Identifier: Apache-2.0
 * More functions by the method of fast_f32.h: exp2, expm1, log2, log10, log1p, sin, cos and tan. As there, each says
 * which lanes are certain, the rest goes the exact way, and tests/determinism/prove_math.c and prove_math_more.c prove
 * the outcome. */
#ifndef KERNELS_CPU_FUNCTIONS_FAST_MORE_F32_H
#define KERNELS_CPU_FUNCTIONS_FAST_MORE_F32_H

#include "kernels/cpu/functions/fast_f32.h"

#ifdef FAST_LANES

/* a + b whichever is the greater. */
RP_INLINE fast_pair fast_sum_any(fast_f a, fast_f b)
{
    fast_f s = a + b, from_b = s - a;

    return (fast_pair){s, (a - (s - from_b)) + (b - from_b)};
}

/* x times the sum of a constant's parts. */
RP_INLINE fast_pair fast_times(fast_f x, float high, float low)
{
    fast_f p = x * fast_all(high);

    return (fast_pair){p, fast_fma(x, fast_all(low), fast_fma(x, fast_all(high), -p))};
}

/* --- exp2 and expm1 --------------------------------------------------------------------------------------------- */

/* x less the nearest k/16 is exact. */
RP_INLINE fast_mask fast_exp2(fast_f *y, fast_f x)
{
    fast_f t = fast_fma(x, fast_all(16.0f), FAST_ROUNDER), k = t - FAST_ROUNDER;
    fast_pair r = fast_times(fast_fma(k, fast_all(-0x1p-4f), x), 0x1.62e43p-1f, -0x1.05c61p-29f);
    fast_power e = fast_exp_of(t, r.high, r.low + fast_of_16(exp_rest, t));
    fast_pair p = fast_scaled(e, e.scale);

    return fast_both(fast_settle(y, p, p.high * fast_all(0x1p-34f)), fast_less(fast_abs(x), fast_all(96.0f)));
}

/* (scale - 1) + scale (r + rest). Near 0 scale is 1, its rest 0 and the error a part of r^2. */
RP_INLINE fast_mask fast_expm1(fast_f *y, fast_f x)
{
    fast_power e = fast_exp_reduce(fast_least(fast_all(-32.0f), x), 0);
    fast_pair base = fast_sum_any(e.scale, fast_all(-1.0f)), p = fast_scaled(e, base.high);
    fast_f few = fast_most(e.scale * fast_all(0x1p-35f), fast_abs(base.high) * fast_all(0x1p-30f));
    fast_f bound =
        fast_fma(fast_abs(p.high), fast_all(0x1p-46f), fast_fma(e.scale * e.r * e.r, fast_all(0x1p-23f), few));

    p.low = p.low + base.low;
    fast_mask certain = fast_settle(y, p, bound);
    *y = fast_select(fast_equal(x, fast_all(0.0f)), x, *y);
    return fast_both(certain, fast_less(x, fast_all(64.0f)));
}

/* --- log2, log10 and log1p -------------------------------------------------------------------------------------- */

/* x = 2^k m as in fast_log, i the number of the segment in the low bits. */
typedef struct fast_split {
    fast_f k, m, i, u;
} fast_split;

RP_INLINE fast_split fast_split_of(fast_f x)
{
    fast_f u = fast_bits_sub(x, fast_bits(0x3F360000));

    return (fast_split){fast_from_int(fast_int_right(u, 23)),
                        fast_bits_sub(x, fast_bits_and(u, fast_bits((int)0xFF800000u))), fast_bits_right(u, 18), u};
}

RP_INLINE fast_mask fast_positive(fast_f x)
{
    return fast_both(fast_int_less(fast_bits(0x007FFFFF), x), fast_int_less(x, fast_bits(0x7F800000)));
}

/* head + tail + r (one + one_low) + r^2 q, q by powers of r from q0 on: a logarithm to a base other than e. */
typedef struct fast_base {
    float one, one_low, q0, q1, q2, q3;
} fast_base;

RP_INLINE fast_mask fast_log_to(fast_f *y, fast_f r, fast_f head, fast_f tail, fast_base b)
{
    fast_pair p = fast_times(r, b.one, b.one_low), s = fast_sum(head, p.high);
    fast_f w = r * r, q = fast_fma(fast_all(b.q3), r, fast_all(b.q2));

    q = fast_fma(fast_fma(q, r, fast_all(b.q1)), r, fast_all(b.q0));
    s.low = s.low + fast_fma(w, q, tail + p.low);
    return fast_settle(y, s, fast_fma(w, fast_all(b.one * 0x1.4p-23f), fast_abs(s.high) * fast_all(0x1p-35f)));
}

RP_INLINE fast_mask fast_log2(fast_f *y, fast_f x)
{
    const fast_base base = {0x1.715476p+0f, 0x1.4ae0cp-26f,  -0x1.715476p-1f,
                            0x1.ec709cp-2f, -0x1.71816cp-2f, 0x1.279d4ep-2f};
    fast_split s = fast_split_of(x);
    fast_segment c = fast_segment_of(log2_segment, s.i);
    fast_f r = fast_fma(s.m, c.over, fast_all(-1.0f));

    return fast_both(fast_log_to(y, r, s.k + c.high, c.low, base), fast_positive(x));
}

RP_INLINE fast_mask fast_log10(fast_f *y, fast_f x)
{
    const fast_base base = {0x1.bcb7b2p-2f, -0x1.5b235ep-27f, -0x1.bcb7b2p-3f,
                            0x1.287a76p-3f, -0x1.bcedd4p-4f,  0x1.63f48ep-4f};
    fast_split s = fast_split_of(x);
    fast_segment c = fast_segment_of(log10_segment, s.i);
    fast_f r = fast_fma(s.m, c.over, fast_all(-1.0f));
    fast_f head = fast_fma(s.k, fast_all(0x1.344p-2f), c.high);
    fast_f tail = fast_fma(s.k, fast_all(0x1.3509f8p-18f), c.low);

    return fast_both(fast_log_to(y, r, head, tail, base), fast_positive(x));
}

/* Of 1 + x = u + lost; near 0, where u holds too little of x, r is x itself. */
RP_INLINE fast_mask fast_log1p(fast_f *y, fast_f x)
{
    fast_f one = fast_all(1.0f);
    fast_pair u = fast_sum_any(one, x);
    fast_mask near = fast_less(fast_abs(x), fast_all(0x1p-7f));
    fast_split s = fast_split_of(fast_select(near, one, u.high));
    fast_segment c = fast_segment_of(log_segment, s.i);
    fast_f lost = u.low * fast_bits_sub(c.over, fast_bits_and(s.u, fast_bits((int)0xFF800000u)));
    fast_f r = fast_select(near, x, fast_fma(s.m, c.over, fast_all(-1.0f)));
    fast_pair p = fast_sum(fast_fma(s.k, fast_all(0x1.62e4p-1f), c.high), r);
    fast_f rest = fast_fma(s.k, fast_all(0x1.7f7d1cp-20f), c.low);
    fast_f q = fast_fma(fast_all(0x1.99cf06p-3f), r, fast_all(-0x1.001f2ap-2f)), w;

    lost = fast_select(near, fast_all(0.0f), lost);
    w = r * fast_fma(lost, fast_all(2.0f), r);
    q = fast_fma(fast_fma(q, r, fast_all(0x1.555554p-2f)), r, fast_all(-0.5f));
    p.low = p.low + fast_fma(w, q, rest + lost);
    near = fast_settle(y, p, fast_fma(w, fast_all(0x1.8p-23f), fast_abs(p.high) * fast_all(0x1p-35f)));
    *y = fast_select(fast_equal(x, fast_all(0.0f)), x, *y);
    return fast_both(near, fast_both(fast_less(fast_all(-0x1.fffffp-1f), x), fast_less(x, fast_all(0x1p60f))));
}

/* --- sin, cos and tan ------------------------------------------------------------------------------------------- */

/* x = k pi/16 + r + rest for |x| < 2^17: k times the first part of pi/16 from x is exact. k is in the low bits of t;
 * the error is below lost. */
typedef struct fast_angle {
    fast_f t, r, rest, lost, w, sine;
} fast_angle;

RP_INLINE fast_angle fast_angle_of(fast_f x)
{
    fast_f t = fast_fma(x, fast_all(0x1.45f306p+2f), FAST_ROUNDER), k = t - FAST_ROUNDER;
    fast_f near = fast_fnma(k, fast_all(0x1.921fb6p-3f), x);
    fast_f r = fast_fma(k, fast_all(0x1.777a5cp-28f), near);
    fast_f rest = fast_fma(k, fast_all(0x1.ee59dap-53f), fast_fma(k, fast_all(0x1.777a5cp-28f), near - r));
    fast_f w = r * fast_fma(rest, fast_all(2.0f), r);
    fast_f sine = fast_fma(r * w, fast_fma(fast_all(0x1.1100ecp-7f), w, fast_all(-0x1.555556p-3f)), rest);

    return (fast_angle){t, r, rest, fast_abs(k) * fast_all(0x1.8p-52f), w, sine};
}

/* s cos r + c sin r, s and c with their low parts; cosine is cos r - 1, and sine with r sin r. |s| > |c r| or s is 0.
 */
RP_INLINE fast_pair fast_turn(fast_pair s, fast_pair c, fast_angle a, fast_f cosine)
{
    fast_f high = fast_fma(c.high, a.r, s.high), low = fast_fma(c.high, a.r, s.high - high);

    return (fast_pair){high, low + fast_fma(c.high, a.sine, fast_fma(s.high, cosine, fast_fma(c.low, a.r, s.low)))};
}

RP_INLINE fast_f fast_cosine(fast_f w)
{
    return w * fast_fma(fast_fma(fast_all(-0x1.6c16c2p-10f), w, fast_all(0x1.555556p-5f)), w, fast_all(-0.5f));
}

/* Sine and cosine of t pi/16; the latter is 8 entries on. */
typedef struct fast_place {
    fast_pair s, c;
} fast_place;

#if FAST_LANES == 16
RP_INLINE fast_pair fast_at_turn(fast_f t)
{
    return (fast_pair){fast_of_32(sin_turn[0], t), fast_of_32(sin_turn[1], t)};
}

RP_INLINE fast_place fast_place_of(fast_f t)
{
    fast_pair s = fast_at_turn(t);

    return (fast_place){s, fast_at_turn(fast_bits_add(t, fast_bits(8)))};
}
#else
RP_INLINE fast_place fast_place_of(fast_f t)
{
    fast_f of[4];

    fast_find_4(of, sin_turn, t);
    return (fast_place){{of[0], of[1]}, {of[2], of[3]}};
}
#endif

/* sin (x + quarters pi/2) */
RP_INLINE fast_mask fast_wave(fast_f *y, fast_f x, int quarters)
{
    fast_angle a = fast_angle_of(x);
    fast_f t = quarters != 0 ? fast_bits_add(a.t, fast_bits(8 * quarters)) : a.t;
    fast_place of = fast_place_of(t);
    fast_pair s = of.s, p = fast_turn(s, of.c, a, fast_cosine(a.w));
    /* beside the first turn s is up to twice the result, and so is its error */
    fast_f size = fast_least(fast_abs(s.high), fast_abs(p.high));
    fast_f bound = fast_fma(size, fast_fma(a.w, fast_all(0x1.2p-22f), fast_all(0x1p-35f)), a.lost);

    return fast_both(fast_settle(y, p, bound), fast_less(fast_abs(x), fast_all(0x1p17f)));
}

RP_INLINE fast_mask fast_sin(fast_f *y, fast_f x)
{
    fast_mask certain = fast_wave(y, x, 0);

    *y = fast_select(fast_equal(x, fast_all(0.0f)), x, *y);
    return certain;
}

RP_INLINE fast_mask fast_cos(fast_f *y, fast_f x)
{
    return fast_wave(y, x, 1);
}

RP_INLINE fast_mask fast_tan(fast_f *y, fast_f x)
{
    fast_angle a = fast_angle_of(x);
    fast_place of = fast_place_of(a.t);
    fast_pair s = of.s, c = of.c;
    fast_f cosine = fast_cosine(a.w), over, q, low, bound;
    fast_pair n = fast_turn(s, c, a, cosine), d = fast_turn(c, (fast_pair){-s.high, -s.low}, a, cosine);

    n = fast_sum(n.high, n.low);
    d = fast_sum(d.high, d.low);
    over = fast_inverse(d.high);
    q = n.high * over;
    low = fast_fnma(q, d.low, fast_fnma(q, d.high, n.high) + n.low) * over;
    bound = fast_fma(a.w, fast_all(0x1.4p-22f), fast_all(0x1p-34f));
    bound = fast_fma(fast_least(fast_abs(q), fast_abs(s.high * over)), bound, a.lost * fast_fma(q, q, fast_all(1.0f)));
    fast_mask certain = fast_settle(y, (fast_pair){q, low}, bound);
    *y = fast_select(fast_equal(x, fast_all(0.0f)), x, *y);
    return fast_both(certain, fast_less(fast_abs(x), fast_all(0x1p17f)));
}

#endif
#endif
