/* SPDX-License-Identifier: Apache-2.0
 * The binary32 elementary functions, most of the time: each works on a vector in sums of two binary32 (about 34 bits)
 * and says whether every lane is certain, that is, whether an error bound below and above round to the same binary32.
 * Where one is not (a percent of the vectors, and special values) the caller takes the whole vector the exact way,
 * determinism/math_f32_inline.h. Error bounds stand beside the tests; tests/determinism/prove_math.c proves the outcome
 * over all inputs. As table look-ups are by permutation, only levels with fast_vec.h have these. */
#ifndef KERNELS_CPU_FUNCTIONS_FAST_F32_H
#define KERNELS_CPU_FUNCTIONS_FAST_F32_H

#include "kernels/cpu/functions/fast_tables.h"
#include "kernels/cpu/functions/fast_vec.h"
#include "kernels/level.h"

#ifdef FAST_LANES

/* high + low, |low| far below |high|; certain where the lanes are in the range of the method. */
typedef struct fast_pair {
    fast_f high, low;
} fast_pair;

/* Adding it rounds |t| < 2^22 to an integer and leaves that in the low bits. */
#define FAST_ROUNDER fast_all(0x1.8p+23f)

/* y rounded, and the lanes where that is certain: an error up to the bound makes no difference. A NaN is not. */
RP_INLINE fast_mask fast_settle(fast_f *result, fast_pair y, fast_f bound)
{
    fast_f above = y.high + (y.low + bound);

    *result = above;
    return fast_equal(above, y.high + (y.low - bound));
}

/* a >= b in magnitude, or a = 0. */
RP_INLINE fast_pair fast_sum(fast_f a, fast_f b)
{
    fast_f s = a + b;

    return (fast_pair){s, b - (s - a)};
}

/* About 1/x, to 2^-22. */
RP_INLINE fast_f fast_inverse(fast_f x)
{
    fast_f over = fast_over(x);

    return fast_fma(fast_fnma(x, over, fast_all(1.0f)), over, over);
}

/* --- exp and what is built on it -------------------------------------------------------------------------------- */

/* e^x = scale (1 + r + rest), scale = 2^(k/16) rounded, |r| <= ln2/32 exact: |x| < 88, and k times the first 24 bits
 * of ln2/16 from x leaves a multiple of 2^-29. If negative, of -x. rest includes what scale was rounded by. Error
 * 2^-36 (1 + r). */
typedef struct fast_power {
    fast_f scale, r, rest;
} fast_power;

/* From r + rest, rest with what scale was rounded by and |r| <= ln2/32; k is in the low bits of t. */
RP_INLINE fast_power fast_exp_of(fast_f t, fast_f r, fast_f rest)
{
    fast_f w = r * fast_fma(rest, fast_all(2.0f), r);
    fast_f q = fast_fma(fast_fma(fast_all(0x1.55565cp-5f), r, fast_all(0x1.5556ep-3f)), r, fast_all(0.5f));

    /* e^(r + rest) - 1 - r: (r + rest)^2 is r (r + 2 rest), as far as it matters. */
    rest = fast_fma(w, q, rest);
    return (fast_power){fast_bits_add(fast_of_16(exp_power, t), fast_bits_left(t, 19)), r, rest};
}

RP_INLINE fast_power fast_exp_reduce(fast_f x, int negative)
{
    fast_f steps = fast_all(0x1.715476p+4f), step = fast_all(0x1.62e43p-5f);
    fast_f t = negative ? fast_fnma(x, steps, FAST_ROUNDER) : fast_fma(x, steps, FAST_ROUNDER);
    fast_f k = t - FAST_ROUNDER;
    fast_f r = negative ? fast_fnms(k, step, x) : fast_fnma(k, step, x);
    fast_f rest = fast_fma(k, fast_all(0x1.05c61p-33f), fast_of_16(exp_rest, t));

    return fast_exp_of(t, r, rest);
}

/* base + scale (r + rest), base = 0 or at least twice scale r in magnitude, so that base - sum is exact. */
RP_INLINE fast_pair fast_scaled(fast_power e, fast_f base)
{
    fast_f high = fast_fma(e.scale, e.r, base);

    return (fast_pair){high, fast_fma(e.scale, e.rest, fast_fma(e.scale, e.r, base - high))};
}

RP_INLINE fast_mask fast_exp(fast_f *y, fast_f x)
{
    fast_power e = fast_exp_reduce(x, 0);
    fast_pair p = fast_scaled(e, e.scale);

    return fast_both(fast_settle(y, p, p.high * fast_all(0x1p-34f)), fast_less(fast_abs(x), fast_all(64.0f)));
}

/* 1 / (1 + e^-x). Above 64 it is 1 anyway. */
RP_INLINE fast_mask fast_sigmoid(fast_f *y, fast_f x)
{
    fast_f one = fast_all(1.0f);
    fast_power e = fast_exp_reduce(fast_most(fast_all(64.0f), x), 1);
    fast_pair p = fast_scaled(e, e.scale);
    fast_pair d = fast_sum(fast_least(one, p.high), fast_most(one, p.high));
    fast_f high, off, low;

    d.low = d.low + p.low;
    high = fast_over_14(d.high);
    /* As d.low is up to 2^-12, off is below 2^-11, and 1/d is high (1 + off + off^2). */
    off = fast_fnma(d.low, high, fast_fnma(d.high, high, one));
    low = fast_fma(off, off, off) * high;
    return fast_both(fast_settle(y, (fast_pair){high, low}, high * fast_all(0x1.8p-34f)),
                     fast_less(fast_all(-64.0f), x));
}

/* --- log -------------------------------------------------------------------------------------------------------- */

/* 1/c of a segment, and log c: a multiple of 2^-16 and the rest. */
typedef struct fast_segment {
    fast_f over, high, low;
} fast_segment;

RP_INLINE fast_segment fast_segment_of(const fast_three *table, fast_f i)
{
    fast_f of[3];

    fast_find_3(of, table, i);
    return (fast_segment){of[0], of[1], of[2]};
}

/* x = 2^k m, m in [0.71, 1.42) in 32 segments, the one about 1 with c = 1. r = m/c - 1 is exact, |r| < 0.0232. */
RP_INLINE fast_mask fast_log(fast_f *y, fast_f x)
{
    fast_f u = fast_bits_sub(x, fast_bits(0x3F360000));
    fast_f k = fast_from_int(fast_int_right(u, 23));
    fast_f m = fast_bits_sub(x, fast_bits_and(u, fast_bits((int)0xFF800000u)));
    fast_segment c = fast_segment_of(log_segment, fast_bits_right(u, 18));
    fast_f r = fast_fma(m, c.over, fast_all(-1.0f)), w = r * r;
    fast_f q = fast_fma(fast_all(0x1.99cf06p-3f), r, fast_all(-0x1.001f2ap-2f));
    fast_pair s = fast_sum(fast_fma(k, fast_all(0x1.62e4p-1f), c.high), r);
    fast_f rest = fast_fma(k, fast_all(0x1.7f7d1cp-20f), c.low);

    q = fast_fma(fast_fma(q, r, fast_all(0x1.555554p-2f)), r, fast_all(-0.5f));
    s.low = s.low + fast_fma(w, q, rest);
    return fast_both(fast_settle(y, s, fast_fma(w, fast_all(0x1.8p-24f), fast_abs(s.high) * fast_all(0x1p-35f))),
                     fast_both(fast_int_less(fast_bits(0x007FFFFF), x), fast_int_less(x, fast_bits(0x7F800000))));
}

/* --- tanh and erf ----------------------------------------------------------------------------------------------- */

/* A polynomial of degree 6 in h = a - node, for each of 32 segments; bent is its terms beyond the first two. The nodes
 * are where value and slope happen to be almost numbers of binary32, so that these need no low part. h is exact. */
typedef struct fast_curve {
    fast_f high, low, bent, h;
} fast_curve;

RP_INLINE fast_curve fast_near(const fast_eight *table, fast_f a, fast_f i)
{
    fast_f of[8], q, h, high, low; /* node, value, slope, c3 .. c6 and what q begins with */

    fast_find_8(of, table, i);
    h = a - of[0];
    q = fast_fma(of[7], h, of[6]);
    high = fast_fma(of[2], h, of[1]);
    q = fast_fma(q, h, of[5]);
    low = fast_fma(of[2], h, of[1] - high);
    q = fast_fma(q, h, of[4]);
    q = fast_fma(q, h, of[3]) * h;
    return (fast_curve){high, fast_fma(q, h, low), q * h, h};
}

/* The segments grow with x: 1/16 up to 1/4, 1/8 up to 5/4, ... Both functions are concave, bent is not above 0. */
RP_INLINE fast_mask fast_tanh(fast_f *y, fast_f x)
{
    fast_f a = fast_most(fast_all(10.0f), fast_abs(x));
    fast_curve t = fast_near(tanh_near, a, fast_bits_right(a + fast_all(0.75f), 20));
    fast_f bound = fast_fma(t.bent, fast_all(-0x1.8p-23f), t.high * fast_all(0x1.8p-34f));
    fast_mask certain = fast_settle(y, (fast_pair){t.high, t.low}, bound);

    *y = fast_signed(*y, x);
    return certain;
}

/* Segments of 1/16, then 1/8 up to 33/16, 1/4 beyond. The slope at 0 does need a low part. Where that would be
 * subnormal the bound is made large, but not at 0. */
RP_INLINE fast_mask fast_erf(fast_f *y, fast_f x)
{
    fast_f a = fast_most(fast_all(3.93f), fast_abs(x)), i = a + fast_all(1.9375f);
    fast_curve t = fast_near(erf_near, a, fast_bits_right(i, 19));
    fast_f least = fast_fma(t.high, fast_all(0x1.2p-34f), fast_most(fast_all(0x1p-126f), a));
    fast_pair sum = {t.high, fast_fma_where(fast_less(i, fast_all(2.0f)), fast_all(ERF_SLOPE_LOW), t.h, t.low)};
    fast_mask certain = fast_settle(y, sum, fast_fma(t.bent, fast_all(-0x1.74p-23f), least));

    *y = fast_signed(*y, x);
    return certain;
}

#endif
#endif
