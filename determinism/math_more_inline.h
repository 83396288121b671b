/* SPDX-License-Identifier: Apache-2.0
 * Further binary64 elementary functions of determinism/math.h as static inline code: the sequences of CONTRACT 5.10 to
 * 5.14, without fma. All but sin, cos and tan are free of branches and tables, so that loops over them vectorise. */
#ifndef DETERMINISM_MATH_MORE_INLINE_H
#define DETERMINISM_MATH_MORE_INLINE_H

#include "determinism/math_inline.h"
#include "determinism/tables/two_over_pi.h"

/* --- exp2, log2, log10, sinh, cosh: CONTRACT 5.10 --------------------------------------------------------------- */

static inline double rp_exp2_f64_inline(double x)
{
    double y = rp_clamp_f64(x, -1080.0, 1030.0), k = rp_nearest_f64(y);
    double r = (y - k) * 0x1.62e42fefa39efp-1;
    double half = rp_nearest_f64(k * 0.5);

    y = ((1.0 + (r + rp_exp_tail(r))) * rp_pow2_f64(half)) * rp_pow2_f64(k - half);
    return rp_canonical_f64(y);
}

/* Where x is positive and finite: k and log(1 + f) with x = 2^k (1 + f). */
static inline rp_log_parts rp_log_pair(double x)
{
    int small = x < 0x1p-1022;
    rp_log_parts l = rp_log_reduce(rp_select_f64(small, x * 0x1p54, x));

    return (rp_log_parts){l.k - rp_select_f64(small, 54.0, 0.0), rp_log_core(0.0, l.f, 0.0)};
}

static inline double rp_log2_f64_inline(double x)
{
    rp_log_parts l = rp_log_pair(x);

    return rp_log_ends(l.k + l.f * 0x1.71547652b82fep+0, x, 0.0);
}

/* k times the first part of log10(2), of 42 bits, is exact. */
static inline double rp_log10_f64_inline(double x)
{
    rp_log_parts l = rp_log_pair(x);
    double low = l.k * 0x1.fef311f12b358p-46 + l.f * 0x1.bcb7b1526e50ep-2;

    return rp_log_ends(l.k * 0x1.34413509f7800p-2 + low, x, 0.0);
}

/* e^a / 2 for 0 <= a <= 711 */
static inline double rp_half_exp(double a)
{
    rp_exp_parts e = rp_exp_reduce(a);
    double half = rp_nearest_f64(e.k * 0.5);

    return ((1.0 + (e.r + e.q)) * rp_pow2_f64(half)) * rp_pow2_f64((e.k - half) - 1.0);
}

static inline double rp_cosh_f64_inline(double x)
{
    double y = rp_half_exp(rp_clamp_f64(rp_abs_f64(x), 0.0, 711.0));

    return rp_canonical_f64(y + 0.25 / y);
}

static inline double rp_sinh_f64_inline(double x)
{
    double a = rp_abs_f64(x);
    double t = rp_expm1_core(rp_clamp_f64(a, 0.0, 22.0));
    double y = rp_select_f64(a < 22.0, 0.5 * (t + t / (t + 1.0)), rp_half_exp(rp_clamp_f64(a, 0.0, 711.0)));

    y = rp_select_f64(a < 0x1p-28, a, y);
    return rp_canonical_f64(rp_copysign_f64(y, x));
}

/* --- asin, acos, atan: CONTRACT 5.11 ---------------------------------------------------------------------------- */

/* asin(s) - s for 0 <= s <= 1/2, z = s^2 */
static inline double rp_asin_tail(double s, double z)
{
    double w = z * z;
    double p = -0x1.5954987666e2fp-6 + 0x1.0bb068862f187p-5 * z;

    p = p * w + (0x1.e2be49c1b1737p-9 + 0x1.6492c17f909c0p-6 * z);
    p = p * w + (0x1.757b7951a1d48p-7 + 0x1.6173f85d941d5p-7 * z);
    p = p * w + (0x1.1c49e2bb8a67bp-6 + 0x1.ca20ce1d3bc7ap-7 * z);
    p = p * w + (0x1.f1c71a8dc4c17p-6 + 0x1.6e8bdfa65d062p-6 * z);
    p = p * w + (0x1.333333332df7fp-4 + 0x1.6db6db7226044p-5 * z);
    p = p * z + 0x1.5555555555578p-3;
    return s * (z * p);
}

/* s <= 1/2 and what is left of the quadrant: asin(a) = asin(s), or pi/2 - 2 asin(s) where a > 1/2. */
static inline double rp_asin_half(double a)
{
    double z = rp_select_f64(a > 0.5, (1.0 - a) * 0.5, a * a);
    double s = rp_select_f64(a > 0.5, __builtin_sqrt(z), a);

    return s + rp_asin_tail(s, z);
}

static inline double rp_asin_f64_inline(double x)
{
    double a = rp_abs_f64(x), h = rp_asin_half(a);
    double y = rp_select_f64(a > 0.5, 0x1.921fb54442d18p+0 - (2.0 * h - 0x1.1a62633145c07p-54), h);

    return rp_canonical_f64(rp_copysign_f64(y, x));
}

static inline double rp_acos_f64_inline(double x)
{
    double a = rp_abs_f64(x), h = rp_asin_half(a);
    double far = rp_select_f64(x < 0.0, 0x1.921fb54442d18p+1 - (2.0 * h - 0x1.1a62633145c07p-53), 2.0 * h);
    double near = 0x1.921fb54442d18p+0 - (rp_copysign_f64(h, x) - 0x1.1a62633145c07p-54);

    return rp_canonical_f64(rp_select_f64(a > 0.5, far, near));
}

/* |x| below tan(pi/8) as it is, up to its inverse turned by pi/4, beyond by pi/2. */
static inline double rp_atan_f64_inline(double x)
{
    double a = rp_abs_f64(x);
    int low = a<0x1.a827999fcef32p-2, high = a> 0x1.3504f333f9de6p+1;
    double t = rp_select_f64(low, a, rp_select_f64(high, -1.0, a - 1.0) / rp_select_f64(high, a, a + 1.0));
    double turn = rp_select_f64(low, 0.0, rp_select_f64(high, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p-1));
    double rest = rp_select_f64(low, 0.0, rp_select_f64(high, 0x1.1a62633145c07p-54, 0x1.1a62633145c07p-55));
    double z = t * t, w = z * z;
    double p = -0x1.12562ac2bec89p-5 + 0x1.f260c32420e1cp-7 * z;

    p = p * w + (-0x1.ab80f0ef03e49p-5 + 0x1.70fac68827a78p-5 * z);
    p = p * w + (-0x1.110c7a683d933p-4 + 0x1.e1728e65948a5p-5 * z);
    p = p * w + (-0x1.745d14c037812p-4 + 0x1.3b136eb8553e5p-4 * z);
    p = p * w + (-0x1.2492492475dadp-3 + 0x1.c71c71b77b929p-4 * z);
    p = p * w + (-0x1.5555555555554p-2 + 0x1.999999999965bp-3 * z);
    return rp_canonical_f64(rp_copysign_f64(turn + (t + (t * (z * p) + rest)), x));
}

/* --- erfc: CONTRACT 5.12 ---------------------------------------------------------------------------------------- */

/* 1/2 <= a <= 28: e^-h^2 e^-d g / (1 + 2a), with h the first 26 bits of a, h^2 exact, and d = a^2 - h^2. */
static inline double rp_erfc_large(double a)
{
    double h = rp_from_bits_f64(rp_bits_f64(a) & 0xFFFFFFFFF8000000u);
    double d = (a - h) * (a + h);
    double t = (a - 3.0) / (a + 3.0), w = t * t;
    rp_exp_parts e = rp_exp_reduce(-(h * h));
    double y = 1.0 + (e.r + e.q), half = rp_nearest_f64(e.k * 0.5);
    double p = 0x1.80dd5f59c7f7cp-26 + -0x1.fcbd53451fcb4p-27 * t;

    p = p * w + (-0x1.0266b1847d21bp-23 + 0x1.d9215dfadf82ap-24 * t);
    p = p * w + (0x1.709f77eaf25b1p-22 + -0x1.512e588004699p-21 * t);
    p = p * w + (-0x1.85d5d10c4dc06p-21 + 0x1.d3242152389ecp-19 * t);
    p = p * w + (0x1.4c0fccc8b5be1p-18 + -0x1.5149de81f5346p-16 * t);
    p = p * w + (-0x1.b9123b0eb4d41p-14 + 0x1.065aaeea17fe0p-13 * t);
    p = p * w + (0x1.ef1bdce412b34p-10 + -0x1.98db55e2960cbp-11 * t);
    p = p * w + (-0x1.8574c40b67551p-6 + 0x1.4b884e61ca89bp-9 * t);
    p = p * w + (-0x1.e88b803a4a14dp-4 + 0x1.17ca2877e47a8p-4 * t);
    p = p * w + (-0x1.85a15c58aa569p-5 + 0x1.098366a5b4931p-3 * t);
    p = p * w + (0x1.40c522d7e4987p+0 + -0x1.15c084bb9e8f7p-3 * t);
    y = y + y * (d * (d * (0.5 - d * 0x1.5555555555555p-3) - 1.0));
    return ((y * (p / (1.0 + 2.0 * a))) * rp_pow2_f64(half)) * rp_pow2_f64(e.k - half);
}

static inline double rp_erfc_f64_inline(double x)
{
    double a = rp_abs_f64(x);
    double y = rp_select_f64(a < 0.5, 1.0 - rp_erf_small(rp_clamp_f64(a, 0.0, 0.5)),
                             rp_erfc_large(rp_clamp_f64(a, 0.5, 28.0)));

    return rp_canonical_f64(rp_select_f64(x < 0.0, 2.0 - y, y));
}

/* --- erf_inv: CONTRACT 5.19 -------------------------------------------------------------------------------------- */

/* 0 <= a <= 3/4: a (c + z W(z)) with z = a^2, c = sqrt(pi) / 2 in two parts, so that small results lose nothing. */
static inline double rp_erf_inv_small(double a)
{
    double z = a * a, w = z * z;
    double p = -0x1.86ca4444904c4p+8 + 0x1.047d1737dee8dp+6 * z;

    p = p * w + (-0x1.eefc59b1dfc20p+10 + 0x1.15a57c867caf3p+10 * z);
    p = p * w + (-0x1.20b3db0a6e02ap+11 + 0x1.35bb6402e2673p+11 * z);
    p = p * w + (-0x1.d771b4891c619p+9 + 0x1.9f50030fced9ap+10 * z);
    p = p * w + (-0x1.3a62ec69326ebp+7 + 0x1.ac70157627c04p+8 * z);
    p = p * w + (-0x1.69aacce84760fp+3 + 0x1.76908841d21b2p+5 * z);
    p = p * w + (-0x1.528c1f57a00dep-2 + 0x1.1e8bbad18128bp+1 * z);
    p = p * w + (0x1.50f0d6e48d4b6p-6 + 0x1.12ce7f4f4a599p-4 * z);
    p = p * w + (0x1.036d514f2f81bp-5 + 0x1.d021afd49f06dp-6 * z);
    p = p * w + (0x1.5eeb0e0a36f36p-5 + 0x1.2abc80a865e98p-5 * z);
    p = p * w + (0x1.0a13189be8736p-4 + 0x1.a7c85cdb75675p-5 * z);
    p = p * w + (0x1.053c2c0ab91c0p-3 + 0x1.62847c47de8f6p-4 * z);
    p = p * z + 0x1.db29fb2fee5e4p-3;
    return a * 0x1.c5bf890000000p-1 + a * (0x1.b4ef6aa79c3b0p-29 + z * p);
}

/* 9/8 <= u <= 11/4, u = sqrt(-log(1 - a)) */
static inline double rp_erf_inv_middle(double u)
{
    double v = u - 1.9375, w = v * v;
    double p = 0x1.127af767e5172p-26 + -0x1.1bbdd43ce866ep-27 * v;

    p = p * w + (-0x1.3f3c7572502f5p-25 + 0x1.79cc7381790cap-28 * v);
    p = p * w + (-0x1.06faa61050383p-22 + 0x1.53d92dec4baa8p-24 * v);
    p = p * w + (-0x1.7b03550626cc9p-20 + 0x1.6274d3df4f4f8p-21 * v);
    p = p * w + (-0x1.a6c7be9b7015ap-19 + 0x1.4de8cf7cb9077p-19 * v);
    p = p * w + (0x1.1bf17198bccbfp-16 + 0x1.d181a43826c80p-24 * v);
    p = p * w + (0x1.f6b0e7f5cd34ap-13 + -0x1.3bd3e1e8f34d7p-14 * v);
    p = p * w + (0x1.95d5ca013509fp-10 + -0x1.5323df179b956p-11 * v);
    p = p * w + (0x1.8fb73ac907187p-8 + -0x1.b1127f132d024p-9 * v);
    p = p * w + (0x1.35d47b1d2639ap-9 + -0x1.187239f3b0098p-7 * v);
    p = p * w + (0x1.9a43c4e149a4ap+0 + 0x1.0ca257538e799p+0 * v);
    return p;
}

/* 11/4 <= u <= 49/8 */
static inline double rp_erf_inv_large(double u)
{
    double v = u - 4.4375, w = v * v;
    double p = 0x1.67bf9eb5e0020p-49 + -0x1.62c1fa5a9f0cep-52 * v;

    p = p * w + (0x1.08fc007a74164p-44 + -0x1.a326168544dcep-47 * v);
    p = p * w + (0x1.d17bcde3ab811p-40 + -0x1.6aad33701e1fcp-42 * v);
    p = p * w + (0x1.57c3f56f122e3p-35 + -0x1.1ddaa1648d5dep-37 * v);
    p = p * w + (0x1.ceaa1ff33649dp-31 + -0x1.93fe60a66db39p-33 * v);
    p = p * w + (0x1.15aa25aa52cc1p-26 + -0x1.019e5ee053c4ep-28 * v);
    p = p * w + (0x1.17cd1002bbe72p-22 + -0x1.1f0e3a30edff8p-24 * v);
    p = p * w + (0x1.6725afe0492fep-19 + -0x1.ef7bbbc739f48p-21 * v);
    p = p * w + (-0x1.14987470c841ep-15 + -0x1.d8c1d39ec5260p-19 * v);
    p = p * w + (-0x1.e256fb8f7a8b0p-9 + 0x1.c580698d3042ap-12 * v);
    p = p * w + (0x1.0cedd0204bfb8p+2 + 0x1.07438f159c9acp+0 * v);
    return p;
}

static inline double rp_erf_inv_f64_inline(double x)
{
    double a = rp_abs_f64(x), rest = 1.0 - rp_clamp_f64(a, 0.75, 0x1.fffffffffffffp-1);
    double u = __builtin_sqrt(-rp_log_f64_inline(rest));
    double far = rp_select_f64(u < 2.75, rp_erf_inv_middle(rp_clamp_f64(u, 1.125, 2.75)),
                               rp_erf_inv_large(rp_clamp_f64(u, 2.75, 6.125)));
    double y = rp_select_f64(a <= 0.75, rp_erf_inv_small(rp_clamp_f64(a, 0.0, 0.75)), far);

    y = rp_select_f64(a == 1.0, (double)INFINITY, y);
    y = rp_select_f64(a <= 1.0, y, (double)NAN);
    return rp_canonical_f64(rp_copysign_f64(y, x));
}

/* --- rsqrt, cbrt: CONTRACT 5.13 --------------------------------------------------------------------------------- */

static inline double rp_rsqrt_f64_inline(double x)
{
    return rp_canonical_f64(1.0 / __builtin_sqrt(x));
}

/* A polynomial within 2^-16, Halley's step, Newton's step. */
static inline double rp_cbrt_f64_inline(double x)
{
    double a = rp_abs_f64(x);
    int small = a < 0x1p-1022;
    rp_log_parts l = rp_log_reduce(rp_select_f64(small, a * 0x1p54, a));
    double j = rp_nearest_f64(l.k * 0x1.5555555555555p-2), i = l.k - 3.0 * j, m = l.f + 1.0;
    double y = 0x1.cf20b43d6218dp-2 +
               m * (0x1.ce0511f6a880ap-1 +
                    m * (-0x1.1066bc4b72718p-1 + m * (0x1.b78cac6919cbep-3 + m * -0x1.3112ed715ffd0p-5))),
           t;

    y = y * rp_select_f64(i == 0.0, 1.0, rp_select_f64(i > 0.0, 0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp-1));
    m = m * rp_select_f64(i == 0.0, 1.0, rp_select_f64(i > 0.0, 2.0, 0.5));
    t = y * (y * y);
    y = y * ((t + 2.0 * m) / (2.0 * t + m));
    y = y + (m / (y * y) - y) * 0x1.5555555555555p-2;
    y = y * rp_pow2_f64(j - rp_select_f64(small, 18.0, 0.0));
    y = rp_select_f64((a == 0.0) | (a == HUGE_VAL), a, y);
    return rp_canonical_f64(rp_copysign_f64(rp_select_f64(a == a, y, a), x));
}

/* --- sin, cos, tan: CONTRACT 5.14 ------------------------------------------------------------------------------- */

/* sin(r + low) and cos(r + low), |r| <= pi/4 */
static inline double rp_sin_quarter(double r, double low)
{
    double z = r * r, w = z * z;
    double p = 0x1.6120930f6249ep-33 + -0x1.aaa573c0edab0p-41 * z;

    p = p * w + (0x1.71de3a5339db7p-19 + -0x1.ae645298d1e01p-26 * z);
    p = p * w + (0x1.111111111110bp-7 + -0x1.a01a01a018ae9p-13 * z);
    p = p * z + -0x1.5555555555555p-3;
    return r + (r * (z * p) + low * (1.0 - 0.5 * z));
}

static inline double rp_cos_quarter(double r, double low)
{
    double z = r * r, w = z * z, h = 0.5 * z, y = 1.0 - h;
    double p = -0x1.939338a09e9f9p-37 + 0x1.aac5d8a9a0321p-45 * z;

    p = p * w + (-0x1.27e4fb75fdbd7p-22 + 0x1.1eed8ca3fbe0cp-29 * z);
    p = p * w + (-0x1.6c16c16c16c10p-10 + 0x1.a01a01a018deep-16 * z);
    p = p * z + 0x1.5555555555555p-5;
    return y + (((1.0 - y) - h) + (w * p - r * low));
}

/* |x| = n pi/2 + (r + low), n modulo 4. */
typedef struct rp_quarter {
    unsigned n;
    double r, low;
} rp_quarter;

/* The high 64 bits of a b. */
static inline uint64_t rp_high_product(uint64_t a, uint64_t b)
{
    uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (middle & 0xFFFFFFFFu);

    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* The fraction f of a quarter turn, 126 bits after the point in high and low, as 27 + 53 leading bits times pi/2. */
static inline rp_quarter rp_quarter_of(unsigned n, uint64_t high, uint64_t low, int negative)
{
    double scale = 0x1p-25, f, g, first, second;
    rp_quarter q = {n, 0.0, 0.0};

    while (high >> 63 == 0) {
        high = high << 1 | low >> 63;
        low = low << 1;
        scale = scale * 0.5;
    }
    f = (double)(high >> 37) * scale;
    g = (double)((high & 0x1FFFFFFFFFu) << 16 | low >> 48) * (scale * 0x1p-53);
    first = f * 0x1.921fb50000000p+0;
    second = f * 0x1.110b4611a6263p-26 + g * 0x1.921fb54442d18p+0;
    q.r = first + second;
    q.low = (first - q.r) + second;
    if (negative) {
        q.r = -q.r;
        q.low = -q.low;
    }
    return q;
}

/* Payne and Hanek: of 2/pi only the bits count that do not make whole turns. pi/4 <= a, finite. */
static inline rp_quarter rp_quarter_reduce(double a)
{
    uint64_t bits = rp_bits_f64(a), m = (bits & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u;
    unsigned from =
        (unsigned)(bits >> 52) - 1013u; /* 64 + exponent - 2, the last place of m having weight 2^exponent */
    const uint64_t *w = &rp_two_over_pi[from >> 3];
    uint64_t low, high, n;

    m <<= from & 7;
    low = m * w[8];
    high = m * w[0] + rp_high_product(m, w[8]);
    n = rp_high_product(m, w[16]);
    low += n;
    high += low < n;
    n = (high + 0x2000000000000000u) >> 62;
    high -= n << 62;
    if (high >> 63) {
        low = 0 - low;
        high = ~high + (low == 0);
        return rp_quarter_of((unsigned)n & 3, high, low, 1);
    }
    return rp_quarter_of((unsigned)n & 3, high, low, 0);
}

static inline rp_quarter rp_quarter_any(double a)
{
    return a < 0x1.921fb54442d18p-1 ? (rp_quarter){0, a, 0.0} : rp_quarter_reduce(a);
}

static inline double rp_sin_f64_inline(double x)
{
    double a = rp_abs_f64(x), y;
    rp_quarter q;

    if (!(a < HUGE_VAL))
        return rp_from_bits_f64(RP_NAN_F64);
    if (a < 0x1p-27)
        return x;
    q = rp_quarter_any(a);
    y = q.n & 1 ? rp_cos_quarter(q.r, q.low) : rp_sin_quarter(q.r, q.low);
    y = q.n & 2 ? -y : y;
    return x < 0.0 ? -y : y;
}

static inline double rp_cos_f64_inline(double x)
{
    double a = rp_abs_f64(x), y;
    rp_quarter q;

    if (!(a < HUGE_VAL))
        return rp_from_bits_f64(RP_NAN_F64);
    q = rp_quarter_any(a);
    y = q.n & 1 ? rp_sin_quarter(q.r, q.low) : rp_cos_quarter(q.r, q.low);
    return (q.n + 1) & 2 ? -y : y;
}

static inline double rp_tan_f64_inline(double x)
{
    double a = rp_abs_f64(x), s, c, y;
    rp_quarter q;

    if (!(a < HUGE_VAL))
        return rp_from_bits_f64(RP_NAN_F64);
    if (a < 0x1p-27)
        return x;
    q = rp_quarter_any(a);
    s = rp_sin_quarter(q.r, q.low);
    c = rp_cos_quarter(q.r, q.low);
    y = q.n & 1 ? -c / s : s / c;
    return x < 0.0 ? -y : y;
}

#endif
