/* SPDX-License-Identifier: Apache-2.0
 * The binary32 elementary functions, most of the time: each works on a vector in sums of two binary32 (about 34 bits)
 * and says whether every lane is certain, that is, whether an error bound below and above round to the same binary32.
 * Where one is not (a percent of the vectors, and special values) the caller takes the whole vector the exact way,
 * determinism/math_f32_inline.h. Error bounds stand beside the tests; tests/prove_math.c proves the outcome over all
 * inputs. As table look-ups are by permutation, only levels with fast_vec.h have these. */
#ifndef KERNELS_CPU_FAST_F32_H
#define KERNELS_CPU_FAST_F32_H

#include "kernels/cpu/fast_tables.h"
#include "kernels/cpu/fast_vec.h"
#include "kernels/level.h"

#ifdef FAST_LANES

/* high + low, |low| far below |high|; certain where the lanes are in the range of the method. */
typedef struct fast_pair {
    fast_f high, low;
} fast_pair;

/* Adding it rounds |t| < 2^22 to an integer and leaves that in the low bits. */
#define FAST_ROUNDER fast_all(0x1.8p+23f)

/* y rounded, and the lanes where that is certain: those within where an error up to the bound makes no difference. */
RP_INLINE fast_mask fast_settle(fast_f *result, fast_pair y, fast_f bound, fast_mask within)
{
    fast_f above = y.high + (y.low + bound);

    *result = above;
    return fast_both(within, fast_equal(above, y.high + (y.low - bound)));
}

/* a >= b in magnitude, or a = 0. */
RP_INLINE fast_pair fast_sum(fast_f a, fast_f b)
{
    fast_f s = a + b;

    return (fast_pair){s, b - (s - a)};
}

/* About 1 / (d.high + d.low), to 2^-23. */
RP_INLINE fast_f fast_inverse(fast_pair d)
{
    fast_f sum = d.high + d.low, over = fast_over(sum);

    return fast_fma(fast_fnma(sum, over, fast_all(1.0f)), over, over);
}

/* --- exp and what is built on it -------------------------------------------------------------------------------- */

/* e^x = scale (1 + r + rest), scale = 2^(k/16) rounded, |r| <= ln2/32 exact: |x| < 88, and k times the first 24 bits
 * of ln2/16 from x leaves a multiple of 2^-29. rest includes what scale was rounded by. Error 2^-36 (1 + r). */
typedef struct fast_power {
    fast_f scale, r, rest, square;
} fast_power;

RP_INLINE fast_power fast_exp_reduce(fast_f x)
{
    fast_f t = fast_fma(x, fast_all(0x1.715476p+4f), FAST_ROUNDER);
    fast_f k = t - FAST_ROUNDER;
    fast_f r = fast_fnma(k, fast_all(0x1.62e43p-5f), x);
    fast_f rest = fast_fma(k, fast_all(0x1.05c61p-33f), fast_of_16(exp_rest, t));
    fast_f w = r * fast_fma(rest, fast_all(2.0f), r);
    fast_f q = fast_fma(fast_fma(fast_all(0x1.55565cp-5f), r, fast_all(0x1.5556ep-3f)), r, fast_all(0.5f));

    /* e^(r + rest) - 1 - r: (r + rest)^2 is r (r + 2 rest), as far as it matters. */
    rest = fast_fma(w, q, rest);
    return (fast_power){fast_bits_add(fast_of_16(exp_power, t), fast_bits_left(t, 19)), r, rest, w};
}

/* base + scale (r + rest), base = 0 or at least twice scale r in magnitude, so that base - sum is exact. */
RP_INLINE fast_pair fast_scaled(fast_power e, fast_f base)
{
    fast_f high = fast_fma(e.scale, e.r, base);

    return (fast_pair){high, fast_fma(e.scale, e.rest, fast_fma(e.scale, e.r, base - high))};
}

RP_INLINE fast_mask fast_exp(fast_f *y, fast_f x)
{
    fast_power e = fast_exp_reduce(x);
    fast_pair p = fast_scaled(e, e.scale);

    return fast_settle(y, p, p.high * fast_all(0x1p-34f), fast_less(fast_abs(x), fast_all(64.0f)));
}

/* 1 / (1 + e^-x). Above 64 it is 1 anyway. */
RP_INLINE fast_mask fast_sigmoid(fast_f *y, fast_f x)
{
    fast_f one = fast_all(1.0f);
    fast_power e = fast_exp_reduce(fast_all(0.0f) - fast_most(fast_all(64.0f), x));
    fast_pair p = fast_scaled(e, e.scale);
    fast_pair d = fast_sum(fast_least(one, p.high), fast_most(one, p.high));
    fast_f high, low;

    d.low = d.low + p.low;
    high = fast_inverse(d);
    low = fast_fnma(d.low, high, fast_fnma(d.high, high, one)) * high;
    return fast_settle(y, (fast_pair){high, low}, high * fast_all(0x1p-34f), fast_less(fast_all(-64.0f), x));
}

/* t / (t + 2) with t = e^2a - 1. Near 0 r^2/2 is much of the result, and its rounding the error. */
RP_INLINE fast_mask fast_tanh(fast_f *y, fast_f x)
{
    fast_f a = fast_most(fast_all(9.5f), fast_abs(x)), two = fast_all(2.0f);
    fast_power e = fast_exp_reduce(a + a);
    fast_pair t = fast_scaled(e, e.scale - fast_all(1.0f));
    fast_pair d = fast_sum(fast_least(two, t.high), fast_most(two, t.high));
    fast_f over, high, low, bound;
    fast_mask certain;

    d.low = d.low + t.low;
    over = fast_inverse(d);
    high = (t.high + t.low) * over;
    low = (fast_fnma(high, d.high, t.high) + fast_fnma(high, d.low, t.low)) * over;
    bound = fast_fma(e.square, fast_all(0x1.3p-24f), high * fast_all(0x1p-35f));
    certain = fast_settle(y, (fast_pair){high, low}, bound, fast_equal(high, high));
    *y = fast_signed(*y, x);
    return certain;
}

/* --- log -------------------------------------------------------------------------------------------------------- */

/* x = 2^k m, m in [0.71, 1.42) in 32 segments, the one about 1 with c = 1. r = m/c - 1 is exact, |r| < 0.0232. */
RP_INLINE fast_mask fast_log(fast_f *y, fast_f x)
{
    fast_f u = fast_bits_sub(x, fast_bits(0x3F360000));
    fast_f k = fast_from_int(fast_int_right(u, 23));
    fast_f m = fast_bits_sub(x, fast_bits_and(u, fast_bits((int)0xFF800000u)));
    fast_f i = fast_bits_right(u, 18);
    fast_f r = fast_fma(m, fast_of_32(log_over, i), fast_all(-1.0f)), w = r * r;
    fast_f q = fast_fma(fast_all(0x1.99cf06p-3f), r, fast_all(-0x1.001f2ap-2f));
    fast_pair s = fast_sum(fast_fma(k, fast_all(0x1.62e4p-1f), fast_of_32(log_high, i)), r);
    fast_f rest = fast_fma(k, fast_all(0x1.7f7d1cp-20f), fast_of_32(log_low, i));

    q = fast_fma(fast_fma(q, r, fast_all(0x1.555554p-2f)), r, fast_all(-0.5f));
    s.low = s.low + fast_fma(w, q, rest);
    return fast_settle(y, s, fast_fma(w, fast_all(0x1.8p-24f), fast_abs(s.high) * fast_all(0x1p-35f)),
                       fast_both(fast_int_less(fast_bits(0x007FFFFF), x), fast_int_less(x, fast_bits(0x7F800000))));
}

/* --- erf -------------------------------------------------------------------------------------------------------- */

/* With |x| = i/8 + h, |h| <= 1/16: a polynomial of degree 6 in h for each i. */
RP_INLINE fast_mask fast_erf(fast_f *y, fast_f x)
{
    fast_f a = fast_most(fast_all(3.93f), fast_abs(x));
    fast_f t = fast_fma(a, fast_all(8.0f), FAST_ROUNDER);
    fast_f h = fast_fnma(t - FAST_ROUNDER, fast_all(0.125f), a);
    fast_f q = fast_fma(fast_of_32(erf_6, t), h, fast_of_32(erf_5, t));
    fast_f zero = fast_of_32(erf_0, t), first = fast_of_32(erf_1, t);
    fast_f high = fast_fma(first, h, zero), low = fast_fma(first, h, zero - high);
    fast_mask certain;

    q = fast_fma(q, h, fast_of_32(erf_4, t));
    q = fast_fma(q, h, fast_of_32(erf_3, t));
    q = fast_fma(q, h, fast_of_32(erf_2, t)) * (h * h);
    low = q + (low + fast_fma(fast_of_32(erf_1_low, t), h, fast_of_32(erf_0_low, t)));
    /* So near 0 the low part would be subnormal. */
    certain = fast_settle(y, (fast_pair){high, low}, fast_fma(fast_abs(q), fast_all(0x1.4p-23f), high * fast_all(0x1.2p-33f)),
                          fast_either(fast_less(fast_all(0x1p-90f), a), fast_equal(a, fast_all(0.0f))));
    *y = fast_signed(*y, x);
    return certain;
}

#endif
#endif
