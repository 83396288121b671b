/* SPDX-License-Identifier: Apache-2.0
 * Comparing and canonicalising bits. */
#ifndef DETERMINISM_BITS_H
#define DETERMINISM_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rp/dtype.h"

static inline uint32_t rp_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float rp_from_bits_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static inline uint64_t rp_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline double rp_from_bits_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* CONTRACT 2: the one NaN that is ever hashed, saved or read out: 0x7FC00000, 0x7FF8000000000000. */
static inline float rp_canonical_f32(float x)
{
    return x == x ? x : rp_from_bits_f32(0x7FC00000u);
}
static inline double rp_canonical_f64(double x)
{
    return x == x ? x : rp_from_bits_f64(0x7FF8000000000000u);
}

/* The n binary32 numbers with which the memory of x [n] begins, as binary64, in place. */
static inline void rp_widen(double *x, size_t n)
{
    while (n-- > 0) {
        float narrow;

        memcpy(&narrow, (const char *)x + n * sizeof narrow, sizeof narrow);
        x[n] = (double)narrow;
    }
}

/* bf16 is the upper half of a binary32 (CONTRACT 2.1): to it is rounded once, to nearest even; from it is exact. */
static inline float rp_f32_of_bf16(uint16_t x)
{
    return rp_from_bits_f32((uint32_t)x << 16);
}

static inline uint16_t rp_bf16_of_f32(float x)
{
    const uint32_t u = rp_bits_f32(x);

    return (uint16_t)(x == x ? (u + 0x7FFFu + (u >> 16 & 1)) >> 16 : 0x7FC0u);
}

/* Rounding twice is rounding once where the first goes to odd, with at least two bits more: an inexact value becomes
 * that one of its two binary32 neighbours whose last bit is set (Boldo and Melquiond, 2008). */
static inline float rp_odd_f32_of_f64(double x)
{
    const float near = (float)x;
    uint32_t u = rp_bits_f32(near);

    if (x == x && (double)near != x && (u & 1) == 0)
        u = __builtin_fabs((double)near) > __builtin_fabs(x) ? u - 1 : u + 1;
    return rp_from_bits_f32(u);
}

static inline uint16_t rp_bf16_of_f64(double x)
{
    return x == x ? rp_bf16_of_f32(rp_odd_f32_of_f64(x)) : 0x7FC0u;
}

/* The first 24 bits of the magnitude, the last of them set where a lower one is. */
static inline uint16_t rp_bf16_of_i64(int64_t x)
{
    const uint64_t magnitude = x < 0 ? -(uint64_t)x : (uint64_t)x;
    uint64_t kept = magnitude;
    float scale = 1;

    while (kept >> 24 != 0) {
        kept = kept >> 1 | (kept & 1);
        scale *= 2;
    }
    return rp_bf16_of_f32(x < 0 ? -((float)kept * scale) : (float)kept * scale);
}

static inline uint16_t rp_canonical_bf16(uint16_t x)
{
    return (x & 0x7FFFu) > 0x7F80u ? 0x7FC0u : x;
}

/* f16 is binary16: a sign, five bits of exponent (less 15), ten of fraction. In binary32 the exponent is less 127,
 * which is 2^112 times as much, for subnormals too. */
static inline float rp_f32_of_f16(uint16_t x)
{
    const uint32_t magnitude = x & 0x7FFFu, sign = (uint32_t)(x & 0x8000u) << 16;
    const uint32_t finite = rp_bits_f32(rp_from_bits_f32(magnitude << 13) * 0x1p112f);

    return rp_from_bits_f32(sign | finite | (magnitude >= 0x7C00u ? 0x7F800000u : 0));
}

/* Once, to nearest even. Below 2^-14 a sum with 1/2, whose last place is 2^-24, rounds where the last of binary16 is.
 */
static inline uint16_t rp_f16_of_f32(float x)
{
    const uint32_t u = rp_bits_f32(x) & 0x7FFFFFFFu, sign = rp_bits_f32(x) >> 16 & 0x8000u;
    const uint32_t small = rp_bits_f32(rp_from_bits_f32(u < 0x38800000u ? u : 0) + 0.5f) - 0x3F000000u;
    const uint32_t usual = (u - 0x38000000u + 0xFFFu + (u >> 13 & 1)) >> 13;
    const uint32_t magnitude = u > 0x7F800000u ? 0x7E00u : u >= 0x477FF000u ? 0x7C00u : u < 0x38800000u ? small : usual;

    return (uint16_t)(sign | magnitude);
}

static inline uint16_t rp_f16_of_f64(double x)
{
    return x == x ? rp_f16_of_f32(rp_odd_f32_of_f64(x)) : 0x7E00u;
}

static inline uint16_t rp_canonical_f16(uint16_t x)
{
    return (x & 0x7FFFu) > 0x7C00u ? 0x7E00u : x;
}

/* Copies count elements of host data to little-endian bytes with canonical NaNs (bool becomes 0 or 1), and back.
 * to_host: a bool byte above 1 becomes 1. No overlap. */
void rp_to_stored(void *stored, const void *host, rp_dtype dtype, size_t count);
void rp_to_host(void *host, const void *stored, rp_dtype dtype, size_t count);

/* Distance in units in the last place: steps between a and b on the ordered line of values of the dtype (-0 and +0 are
 * one step apart); UINT64_MAX when exactly one is NaN; for integers and bool the absolute difference. */
uint64_t rp_ulps(const void *a, const void *b, rp_dtype dtype);
/* Index of the first element whose bytes differ, or count. */
size_t rp_first_difference(const void *a, const void *b, rp_dtype dtype, size_t count);
/* An element as text: "0x3f800000 (1)" with the value in shortest decimal. size >= 64. */
void rp_describe_element(char *out, size_t size, const void *element, rp_dtype dtype);
/* True when bytes of host form are the stored form already: little-endian, canonical NaNs, bools 0 or 1. NaNs of any
 * kind are taken for others. */
bool rp_stored_already(const unsigned char *bytes, size_t size, rp_dtype dtype);

#endif
