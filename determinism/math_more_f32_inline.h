/* SPDX-License-Identifier: Apache-2.0
 * Further binary32 elementary functions as static inline code that vectorises: a binary64 value rounded once, and the
 * inputs where that is not the correct rounding, as tests/determinism/prove_math.c found them over all 2^32. */
#ifndef DETERMINISM_MATH_MORE_F32_INLINE_H
#define DETERMINISM_MATH_MORE_F32_INLINE_H

#include "determinism/math_f32_inline.h"
#include "determinism/math_more_inline.h"

/* rp_except_f32 for odd and even functions: input is that of |x|, output that for it. */
static inline float rp_except_odd_f32(float y, float x, uint32_t input, uint32_t output)
{
    uint32_t sign = rp_bits_f32(x) & 0x80000000u;

    return rp_select_f32((rp_bits_f32(x) ^ sign) == input, rp_from_bits_f32(output ^ sign), y);
}

static inline float rp_except_even_f32(float y, float x, uint32_t input, uint32_t output)
{
    return rp_except_f32(y, rp_abs_f32(x), input, output);
}

static inline float rp_exp2_f32_inline(float x)
{
    float y = (float)rp_exp2_f64_inline((double)x);

    y = rp_except_f32(y, x, 0x3B429D37u, 0x3F804385u);
    return rp_except_f32(y, x, 0xBCF3A937u, 0x3F7AC6B1u);
}

static inline float rp_log2_f32_inline(float x)
{
    return (float)rp_log2_f64_inline((double)x);
}

static inline float rp_log10_f32_inline(float x)
{
    return rp_except_f32((float)rp_log10_f64_inline((double)x), x, 0x0EFEEE7Au, 0xC1E99D23u);
}

static inline float rp_sinh_f32_inline(float x)
{
    return rp_except_odd_f32((float)rp_sinh_f64_inline((double)x), x, 0x3A1285FFu, 0x3A1285FFu);
}

static inline float rp_cosh_f32_inline(float x)
{
    return (float)rp_cosh_f64_inline((double)x);
}

static inline float rp_asin_f32_inline(float x)
{
    return (float)rp_asin_f64_inline((double)x);
}

static inline float rp_acos_f32_inline(float x)
{
    float y = (float)rp_acos_f64_inline((double)x);

    y = rp_except_f32(y, x, 0x328885A3u, 0x3FC90FDBu);
    return rp_except_f32(y, x, 0x39826222u, 0x3FC907B5u);
}

static inline float rp_atan_f32_inline(float x)
{
    return rp_except_odd_f32((float)rp_atan_f64_inline((double)x), x, 0x3D8D6B23u, 0x3D8D31C3u);
}

static inline float rp_erfc_f32_inline(float x)
{
    return rp_except_f32((float)rp_erfc_f64_inline((double)x), x, 0xB76C9F62u, 0x3F800085u);
}

static inline float rp_erf_inv_f32_inline(float x)
{
    return (float)rp_erf_inv_f64_inline((double)x);
}

static inline float rp_rsqrt_f32_inline(float x)
{
    return (float)rp_rsqrt_f64_inline((double)x);
}

static inline float rp_cbrt_f32_inline(float x)
{
    return (float)rp_cbrt_f64_inline((double)x);
}

/* --- sin, cos, tan ---------------------------------------------------------------------------------------------- */

/* |x| = n pi/2 + r. The error of r is below 2^-62 quarter turns: no binary32 comes nearer to a multiple of pi/2 than
 * 2^-30 of it, so some 32 bits are good where the result is near zero, and the proof finds what that is not enough for.
 */
typedef struct rp_narrow_quarter {
    uint64_t n;
    double s, c;
} rp_narrow_quarter;

/* A 64-bit integer in two's complement as binary64, in the operations that every vector unit has. */
static inline double rp_from_i64(uint64_t u)
{
    double low = rp_from_bits_f64((u & 0xFFFFFFFFu) | 0x4330000000000000u);
    double high = rp_from_bits_f64(((u >> 32) ^ 0x80000000u) | 0x4530000000000000u);

    return (high - 0x1.00000001p+84 - 0x1p+63) + low;
}

static inline rp_narrow_quarter rp_narrow_quarter_of(float x)
{
    uint32_t bits = rp_bits_f32(x) & 0x7FFFFFFFu;
    int small = bits < 0x3F490FDBu; /* pi/4 */
    uint64_t m = (bits & 0x007FFFFFu) | 0x00800000u;
    uint32_t from = rp_select_u32(small, 126u, bits >> 23) - 88u; /* 64 + exponent - 2, as in rp_quarter_reduce */
    uint64_t turn, n, w = rp_two_over_pi[(from >> 3) + 8];
    double r, a = (double)rp_from_bits_f32(bits);

    m <<= from & 7;
    turn = m * rp_two_over_pi[from >> 3] + (m * (w >> 32) >> 32);
    n = (turn + 0x2000000000000000u) >> 62;
    r = rp_select_f64(small, a, rp_from_i64(turn - (n << 62)) * 0x1.921fb54442d18p-62);
    return (rp_narrow_quarter){small ? 0 : n, rp_sin_quarter(r, 0.0), rp_cos_quarter(r, 0.0)};
}

/* y, negated where the bit of sign is set; NaN for an infinite or NaN x. */
static inline float rp_narrow_turned(double y, uint64_t sign, float x)
{
    float z = (float)rp_from_bits_f64(rp_bits_f64(y) ^ sign << 63);

    return rp_select_f32(rp_abs_f32(x) < (float)HUGE_VAL, z, rp_from_bits_f32(0x7FC00000u));
}

static inline float rp_sin_f32_inline(float x)
{
    rp_narrow_quarter q = rp_narrow_quarter_of(x);
    double y = rp_select_f64((q.n & 1) != 0, q.c, q.s);

    float z = rp_narrow_turned(y, (q.n >> 1 & 1) ^ rp_bits_f32(x) >> 31, x);

    return rp_except_odd_f32(z, x, 0x46199998u, 0xBEB1FA5Du);
}

static inline float rp_cos_f32_inline(float x)
{
    rp_narrow_quarter q = rp_narrow_quarter_of(x);
    double y = rp_select_f64((q.n & 1) != 0, q.s, q.c);

    float z = rp_narrow_turned(y, (q.n + 1) >> 1 & 1, x);

    z = rp_except_even_f32(z, x, 0x5922AA80u, 0x3F08AEBFu);
    z = rp_except_even_f32(z, x, 0x5F18B878u, 0x3F7F14BBu);
    return rp_except_even_f32(z, x, 0x6115CB11u, 0x3F78142Fu);
}

static inline float rp_tan_f32_inline(float x)
{
    rp_narrow_quarter q = rp_narrow_quarter_of(x);
    double y = rp_select_f64((q.n & 1) != 0, q.c, q.s) / rp_select_f64((q.n & 1) != 0, q.s, q.c);

    return rp_narrow_turned(y, (q.n & 1) ^ rp_bits_f32(x) >> 31, x);
}

#endif
