/* SPDX-License-Identifier: Apache-2.0
 * The decision of binary32 results of two arguments that are in doubt: power series in fixed point
 * (determinism/wide.h). The error of what is rounded here is below 2^-240 of it; docs/math-proof.md says what that
 * proves and what it makes certain for all purposes but proof. For math_bivariate.c, and for GPUs. */
#include "determinism/math_bivariate_f32_inline.h"
#include "determinism/wide.h"

static const rp_wide ln2 = {
    {0xE7B87620, 0x8BAAFA2B, 0x8A0D175B, 0x7298B62D, 0x40F34326, 0x03F2F6AF, 0xC9E3B398, 0xD1CF79AB, 0xB17217F7, 0}};
static const rp_wide quarter_pi = {
    {0x514A0879, 0x3B139B22, 0x020BBEA6, 0x8A67CC74, 0x29024E08, 0x80DC1CD1, 0xC4C6628B, 0x2168C234, 0xC90FDAA2, 0}};

/* |x| = m 2^exponent with 2^23 <= m < 2^24; x is finite and not 0 */
typedef struct parts {
    uint32_t m;
    int exponent;
} parts;

static parts take_apart(float x)
{
    uint32_t u = rp_bits_f32(x) & 0x7FFFFFFFu;
    parts p = {(u & 0x007FFFFFu) | (u >= 0x00800000u) << 23, (int)(u >> 23) - 150 + (u < 0x00800000u)};

    while (p.m < 0x00800000u) {
        p.m <<= 1;
        p.exponent--;
    }
    return p;
}

/* t - t^3/3 + t^5/5 ... (atan; every term positive: atanh) with t = num / den 2^-shift at most 1/2; den below 2^26.
 * Each of the at most 150 powers is less than four units of the last place too small, the sum some 200. */
static rp_wide series(uint32_t num, uint32_t den, int shift, int alternating)
{
    rp_wide power = rp_wide_of(num), plus = rp_wide_of(0), minus = plus;

    rp_wide_over(&power, den);
    rp_wide_shift(&power, -shift);
    for (uint32_t i = 0; !rp_wide_is_zero(&power); i++) {
        rp_wide term = power;

        rp_wide_over(&term, 2 * i + 1);
        rp_wide_add(alternating && i % 2 == 1 ? &minus : &plus, &term);
        for (int twice = 0; twice < 2; twice++) {
            rp_wide_times(&power, num);
            rp_wide_over(&power, den);
        }
        rp_wide_shift(&power, -2 * shift);
    }
    rp_wide_sub(&plus, &minus);
    return plus;
}

/* --- pow -------------------------------------------------------------------------------------------------------- */

/* The square root of n where n is a square, else 0; n < 2^24. */
static uint32_t exact_root(uint32_t n)
{
    uint32_t r = (uint32_t)__builtin_sqrt((double)n);

    return r * r == n ? r : 0;
}

/* Whether x^y has at most 53 significant bits, and what it is. With x = m 2^e, m odd, and y = n 2^-j, n odd: x^y is a
 * binary fraction m' 2^e' only if m^n 2^(en) = m'^(2^j) 2^(e' 2^j), so, unless m is 1, if n is positive, m a 2^j-th
 * power (n is odd) and e a multiple of 2^j. All midpoints between binary32 are of this kind. */
static int exact_power(parts x, parts y, int negative, double *power)
{
    uint64_t product = 1;
    int64_t n, exponent;

    for (; x.m % 2 == 0; x.m /= 2)
        x.exponent++;
    for (; y.m % 2 == 0; y.m /= 2)
        y.exponent++;
    for (; y.exponent < 0; y.exponent++) {
        x.m = exact_root(x.m);
        if (x.m == 0 || x.exponent % 2 != 0 || (x.exponent == 0 && x.m == 1))
            return 0;
        x.exponent /= 2;
    }
    if (y.exponent > 8 || (x.m != 1 && negative))
        return 0;
    n = (int64_t)y.m << y.exponent;
    if (x.m != 1 && n > 33) /* 3^34 is beyond 2^53 */
        return 0;
    for (int64_t i = 0; x.m != 1 && i < n; i++) {
        if (product > ((uint64_t)1 << 53) / x.m)
            return 0;
        product *= x.m;
    }
    exponent = x.exponent * (negative ? -n : n);
    if (exponent < -1000 || exponent > 1000)
        return 0;
    *power = (double)product * rp_pow2_f64((double)exponent);
    return 1;
}

/* |log x| for x = m 2^e, whose sign goes to *negative. */
static rp_wide logarithm(parts x, int *negative)
{
    uint32_t one = x.m > 11863283 ? 0x01000000 : 0x00800000; /* the nearer to m in ratio: sqrt 2 is the bound */
    int e = x.exponent + (one == 0x01000000 ? 24 : 23), below = x.m < one;
    rp_wide fraction = series(below ? one - x.m : x.m - one, x.m + one, 0, 0), log = ln2;

    rp_wide_shift(&fraction, 1);
    *negative = e < 0 || (e == 0 && below);
    rp_wide_times(&log, (uint32_t)(e < 0 ? -e : e));
    if (e == 0)
        return fraction;
    if ((e < 0) == below)
        rp_wide_add(&log, &fraction);
    else
        rp_wide_sub(&log, &fraction);
    return log;
}

/* e^r for 0 <= r <= 0.7; 64 terms or so */
static rp_wide exponential(const rp_wide *r)
{
    rp_wide sum = rp_wide_of(1), term = sum;

    for (uint32_t i = 1; !rp_wide_is_zero(&term); i++) {
        term = rp_wide_product(&term, r);
        rp_wide_over(&term, i);
        rp_wide_add(&sum, &term);
    }
    return sum;
}

/* e^p or e^-p to 53 bits, rounded to odd; p < 150. */
static double power_of_e(rp_wide p, int negative)
{
    rp_wide whole = ln2, value;
    uint32_t k = (uint32_t)(rp_wide_to_odd(&p) * 0x1.71547652b82fep+0);

    /* the estimate may be one too large */
    rp_wide_times(&whole, k);
    if (rp_wide_compare(&whole, &p) > 0) {
        rp_wide_sub(&whole, &ln2);
        k--;
    }
    if (negative) {
        rp_wide_add(&whole, &ln2);
        k++;
        rp_wide_sub(&whole, &p);
        value = exponential(&whole);
        return rp_wide_to_odd(&value) * rp_pow2_f64(-(double)k);
    }
    rp_wide_sub(&p, &whole);
    value = exponential(&p);
    return rp_wide_to_odd(&value) * rp_pow2_f64((double)k);
}

/* |x|^|y| or its inverse, 0 < |x| < inf, 0 < |y| < inf */
static float pow_magnitude(float x, float y)
{
    double near = (double)y * rp_log2_f64_inline((double)rp_abs_f32(x)), power;
    parts base = take_apart(x), exponent = take_apart(y);
    rp_wide log;
    int negative;

    if (!(rp_abs_f64(near) < 200.0)) /* far beyond the ends of binary32 */
        return near < 0.0 ? 0.0f : (float)HUGE_VAL;
    if (exact_power(base, exponent, y < 0.0f, &power))
        return (float)power;
    log = logarithm(base, &negative);
    rp_wide_times(&log, exponent.m); /* below 2^31, as |log x| < 104 */
    rp_wide_shift(&log, exponent.exponent);
    return (float)power_of_e(log, negative != (y < 0.0f));
}

RP_OUT_OF_LINE float rp_pow_f32_decide(float x, float y)
{
    float a = rp_abs_f32(x), b = rp_abs_f32(y), z;
    int small = b < 0x1p24f; /* not for a NaN, which has no integer to be cast to */
    int whole = small ? b == (float)(int32_t)b : b >= 0x1p24f, odd = small && whole && (int32_t)b % 2 == 1;

    if (x == 1.0f || y == 0.0f)
        return 1.0f;
    if (x != x || y != y || (x < 0.0f && a < (float)HUGE_VAL && b < (float)HUGE_VAL && !whole))
        return rp_from_bits_f32(0x7FC00000u);
    if (a == 1.0f)
        z = 1.0f;
    else if (a == 0.0f || a == (float)HUGE_VAL || b == (float)HUGE_VAL)
        z = (a > 1.0f) == (y > 0.0f) ? (float)HUGE_VAL : 0.0f;
    else
        z = pow_magnitude(x, y);
    return odd && rp_bits_f32(x) >> 31 ? -z : z;
}

/* --- atan2 ------------------------------------------------------------------------------------------------------ */

RP_OUT_OF_LINE float rp_atan2_f32_decide(float y, float x, float tried)
{
    double b = (double)rp_abs_f32(y), a = (double)rp_abs_f32(x);
    int steep = b > a, shift;
    parts least, most;
    rp_wide angle, turn = quarter_pi;

    /* no doubt about these; the third because the try settles tiny quotients by itself */
    if (!(a > 0.0 && a < HUGE_VAL && b > 0.0 && b < HUGE_VAL) || (x > 0.0f && b < a * 0x1p-27))
        return tried;
    least = take_apart(steep ? x : y);
    most = take_apart(steep ? y : x);
    shift = most.exponent - least.exponent;
    if ((steep ? a : b) * 2.0 < (steep ? b : a))
        angle = series(least.m, most.m, shift, 1);
    else { /* pi/4 less atan((most - least) / (most + least)); shift is 0 or 1 */
        angle = series((most.m << shift) - least.m, (most.m << shift) + least.m, 0, 1);
        rp_wide_sub(&turn, &angle);
        angle = turn;
    }
    if (steep) {
        turn = quarter_pi;
        rp_wide_shift(&turn, 1);
        rp_wide_sub(&turn, &angle);
        angle = turn;
    }
    if (x < 0.0f) {
        turn = quarter_pi;
        rp_wide_shift(&turn, 2);
        rp_wide_sub(&turn, &angle);
        angle = turn;
    }
    return rp_copysign_f32((float)rp_wide_to_odd(&angle), tried);
}
