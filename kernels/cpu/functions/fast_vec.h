/* SPDX-License-Identifier: Apache-2.0
 * Vectors of binary32 with table look-up for one instruction set, for fast_f32.h: FAST_LANES is defined where the
 * level has them. Arithmetic is by the operators of GCC and Clang; a comparison makes a fast_mask. */
#ifndef KERNELS_CPU_FUNCTIONS_FAST_VEC_H
#define KERNELS_CPU_FUNCTIONS_FAST_VEC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define FAST_LANES 16
typedef __m512 fast_f;
typedef __mmask16 fast_mask;
typedef uint16_t fast_lanes; /* a bit a lane */
static inline fast_f fast_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline void fast_store(float *p, fast_f v)
{
    _mm512_storeu_ps(p, v);
}
static inline fast_f fast_all(float x)
{
    return _mm512_set1_ps(x);
}
static inline fast_f fast_fma(fast_f a, fast_f b, fast_f c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline fast_f fast_fnma(fast_f a, fast_f b, fast_f c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
static inline fast_f fast_fnms(fast_f a, fast_f b, fast_f c)
{
    return _mm512_fnmsub_ps(a, b, c);
}
static inline fast_f fast_abs(fast_f x)
{
    return _mm512_andnot_ps(fast_all(-0.0f), x);
}
/* The magnitude of x >= 0 with the sign of s. */
static inline fast_f fast_signed(fast_f x, fast_f s)
{
    return _mm512_or_ps(x, _mm512_and_ps(fast_all(-0.0f), s));
}
/* x, at most or at least the limit; a NaN x stays. */
static inline fast_f fast_most(fast_f limit, fast_f x)
{
    return _mm512_min_ps(limit, x);
}
static inline fast_f fast_least(fast_f limit, fast_f x)
{
    return _mm512_max_ps(limit, x);
}
/* An approximation of 1/x to a relative 2^-11 at least. */
static inline fast_f fast_over(fast_f x)
{
    return _mm512_rcp14_ps(x);
}
/* The same to 2^-14 at least. */
static inline fast_f fast_over_14(fast_f x)
{
    return _mm512_rcp14_ps(x);
}
/* a b + c where the mask is set, else c. */
static inline fast_f fast_fma_where(fast_mask m, fast_f a, fast_f b, fast_f c)
{
    return _mm512_mask3_fmadd_ps(a, b, c, m);
}
static inline fast_mask fast_equal(fast_f a, fast_f b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline fast_mask fast_less(fast_f a, fast_f b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline fast_mask fast_both(fast_mask a, fast_mask b)
{
    return (fast_mask)(a & b);
}
static inline fast_mask fast_either(fast_mask a, fast_mask b)
{
    return (fast_mask)(a | b);
}
/* Bit i for lane i where the mask is not set. */
static inline fast_lanes fast_others(fast_mask m)
{
    return (fast_mask)~m;
}
static inline fast_f fast_select(fast_mask m, fast_f yes, fast_f no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
/* Entry (bits of i) mod 16 or 32 of the table. */
static inline fast_f fast_of_16(const float *table, fast_f i)
{
    return _mm512_permutexvar_ps(_mm512_castps_si512(i), _mm512_load_ps(table));
}
static inline fast_f fast_of_32(const float *table, fast_f i)
{
    return _mm512_permutex2var_ps(_mm512_load_ps(table), _mm512_castps_si512(i), _mm512_load_ps(table + 16));
}
/* Several at one place. Has them looked up before what follows, not where a value is used: the processor then finds
 * more to do at once. With the 16 registers of AVX2 it would not pay. */
#define FAST_FIRST(v) __asm__("" : "+v"(v));
typedef float fast_three[32], fast_eight[32]; /* columns */
static inline void fast_find_3(fast_f *to, const fast_three *columns, fast_f i)
{
    for (int k = 0; k < 3; k++)
        to[k] = fast_of_32(columns[k], i);
}
static inline void fast_find_8(fast_f *to, const fast_eight *columns, fast_f i)
{
    for (int k = 0; k < 8; k++)
        to[k] = fast_of_32(columns[k], i);
    FAST_FIRST(to[0])
    FAST_FIRST(to[2])
    FAST_FIRST(to[1])
    FAST_FIRST(to[7]) FAST_FIRST(to[6]) FAST_FIRST(to[5]) FAST_FIRST(to[4]) FAST_FIRST(to[3])
}
/* Integer operations on the bits. */
static inline fast_f fast_bits(int u)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32(u));
}
static inline fast_f fast_bits_and(fast_f a, fast_f b)
{
    return _mm512_and_ps(a, b);
}
static inline fast_f fast_bits_add(fast_f a, fast_f b)
{
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}
static inline fast_f fast_bits_sub(fast_f a, fast_f b)
{
    return _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}
#define fast_bits_left(a, n) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), n))
#define fast_bits_right(a, n) _mm512_castsi512_ps(_mm512_srli_epi32(_mm512_castps_si512(a), n))
/* Bits as a signed integer: shifted right, and as a number. */
#define fast_int_right(a, n) _mm512_castsi512_ps(_mm512_srai_epi32(_mm512_castps_si512(a), n))
static inline fast_f fast_from_int(fast_f a)
{
    return _mm512_cvtepi32_ps(_mm512_castps_si512(a));
}
static inline fast_mask fast_int_less(fast_f a, fast_f b)
{
    return _mm512_cmplt_epi32_mask(_mm512_castps_si512(a), _mm512_castps_si512(b));
}
/* Bit i for each i of 64 vectors with lanes. */
static inline uint64_t fast_nonzero(const fast_lanes *lanes)
{
    __m512i low = _mm512_loadu_si512(lanes), high = _mm512_loadu_si512(lanes + 32);

    return (uint64_t)_mm512_test_epi16_mask(low, low) | (uint64_t)_mm512_test_epi16_mask(high, high) << 32;
}
/* The given lanes of the vector at p side by side, their numbers from base, and how many they are. Writes a whole
 * vector. */
static inline size_t fast_pick(float *to, uint32_t *number, const float *p, uint32_t base, fast_lanes lanes)
{
    __m512i each = _mm512_add_epi32(_mm512_set1_epi32((int)base),
                                    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));

    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(lanes, _mm512_loadu_ps(p)));
    _mm512_storeu_si512(number, _mm512_maskz_compress_epi32(lanes, each));
    return (size_t)__builtin_popcount(lanes);
}
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define FAST_LANES 8
typedef __m256 fast_f;
typedef __m256 fast_mask;
typedef uint8_t fast_lanes;
static inline fast_f fast_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void fast_store(float *p, fast_f v)
{
    _mm256_storeu_ps(p, v);
}
static inline fast_f fast_all(float x)
{
    return _mm256_set1_ps(x);
}
static inline fast_f fast_fma(fast_f a, fast_f b, fast_f c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline fast_f fast_fnma(fast_f a, fast_f b, fast_f c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
static inline fast_f fast_fnms(fast_f a, fast_f b, fast_f c)
{
    return _mm256_fnmsub_ps(a, b, c);
}
static inline fast_f fast_abs(fast_f x)
{
    return _mm256_andnot_ps(fast_all(-0.0f), x);
}
static inline fast_f fast_signed(fast_f x, fast_f s)
{
    return _mm256_or_ps(x, _mm256_and_ps(fast_all(-0.0f), s));
}
static inline fast_f fast_most(fast_f limit, fast_f x)
{
    return _mm256_min_ps(limit, x);
}
static inline fast_f fast_least(fast_f limit, fast_f x)
{
    return _mm256_max_ps(limit, x);
}
static inline fast_f fast_over(fast_f x)
{
    return _mm256_rcp_ps(x);
}
static inline fast_f fast_over_14(fast_f x)
{
    fast_f over = _mm256_rcp_ps(x);

    return fast_fma(fast_fnma(x, over, fast_all(1.0f)), over, over);
}
static inline fast_f fast_fma_where(fast_mask m, fast_f a, fast_f b, fast_f c)
{
    return fast_fma(_mm256_and_ps(m, a), b, c);
}
static inline fast_mask fast_equal(fast_f a, fast_f b)
{
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
static inline fast_mask fast_less(fast_f a, fast_f b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline fast_mask fast_both(fast_mask a, fast_mask b)
{
    return _mm256_and_ps(a, b);
}
static inline fast_mask fast_either(fast_mask a, fast_mask b)
{
    return _mm256_or_ps(a, b);
}
static inline fast_lanes fast_others(fast_mask m)
{
    return (fast_lanes)~_mm256_movemask_ps(m);
}
static inline fast_f fast_select(fast_mask m, fast_f yes, fast_f no)
{
    return _mm256_blendv_ps(no, yes, m);
}
static inline fast_f fast_bits(int u)
{
    return _mm256_castsi256_ps(_mm256_set1_epi32(u));
}
static inline fast_f fast_bits_and(fast_f a, fast_f b)
{
    return _mm256_and_ps(a, b);
}
static inline fast_f fast_bits_add(fast_f a, fast_f b)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
static inline fast_f fast_bits_sub(fast_f a, fast_f b)
{
    return _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
#define fast_bits_left(a, n) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), n))
#define fast_bits_right(a, n) _mm256_castsi256_ps(_mm256_srli_epi32(_mm256_castps_si256(a), n))
#define fast_int_right(a, n) _mm256_castsi256_ps(_mm256_srai_epi32(_mm256_castps_si256(a), n))
static inline fast_f fast_from_int(fast_f a)
{
    return _mm256_cvtepi32_ps(_mm256_castps_si256(a));
}
static inline fast_mask fast_int_less(fast_f a, fast_f b)
{
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_castps_si256(b), _mm256_castps_si256(a)));
}
/* A permutation sees 8 entries; the next bit of the index chooses between two. */
static inline fast_f fast_of_16(const float *table, fast_f i)
{
    fast_f low = _mm256_permutevar8x32_ps(_mm256_load_ps(table), _mm256_castps_si256(i));
    fast_f high = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), _mm256_castps_si256(i));

    return _mm256_blendv_ps(low, high, fast_bits_left(i, 28));
}
/* Of 32 rows, row (bits of i) mod 32 of each lane, turned: to[k] has element k of all. Reading rows and turning four by
 * four takes two thirds of an instruction an element; permutations take seven, and some processors two cycles each. */
typedef float fast_three[4], fast_four[4], fast_eight[8];
static inline void fast_rows(const float **row, const float *rows, int bytes, fast_f i)
{
    _Alignas(32) uint32_t at[8];

    _mm256_store_si256(
        (__m256i *)at,
        _mm256_mullo_epi16(_mm256_and_si256(_mm256_castps_si256(i), _mm256_set1_epi32(31)), _mm256_set1_epi32(bytes)));
    __asm__("" : "+m"(at)); /* or each would be moved out of the vector: two instructions of a port or two */
    for (int k = 0; k < 8; k++)
        row[k] = (const float *)((const char *)rows + at[k]);
}
static inline void fast_turn_4(fast_f *to, const float *const *row, size_t from)
{
    fast_f r[4], low[2], high[2];

    for (int k = 0; k < 4; k++)
        r[k] =
            _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(row[k] + from)), _mm_load_ps(row[k + 4] + from), 1);
    for (int k = 0; k < 2; k++) {
        low[k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
        high[k] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
    }
    to[0] = _mm256_shuffle_ps(low[0], low[1], 0x44);
    to[1] = _mm256_shuffle_ps(low[0], low[1], 0xEE);
    to[2] = _mm256_shuffle_ps(high[0], high[1], 0x44);
    to[3] = _mm256_shuffle_ps(high[0], high[1], 0xEE);
}
static inline void fast_find_4(fast_f *to, const fast_four *rows, fast_f i)
{
    const float *row[8];

    fast_rows(row, rows[0], (int)sizeof *rows, i);
    fast_turn_4(to, row, 0);
}
static inline void fast_find_3(fast_f *to, const fast_three *rows, fast_f i)
{
    fast_f four[4];

    fast_find_4(four, rows, i);
    for (int k = 0; k < 3; k++)
        to[k] = four[k];
}
static inline void fast_find_8(fast_f *to, const fast_eight *rows, fast_f i)
{
    const float *row[8];

    fast_rows(row, rows[0], (int)sizeof *rows, i);
    fast_turn_4(to, row, 0);
    fast_turn_4(to + 4, row, 4);
}
static inline uint64_t fast_nonzero(const fast_lanes *lanes)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_loadu_si256((const __m256i *)lanes), high = _mm256_loadu_si256((const __m256i *)(lanes + 32));
    uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, zero));
    uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, zero));

    return ~((uint64_t)b << 32 | a);
}
static inline size_t fast_pick(float *to, uint32_t *number, const float *p, uint32_t base, fast_lanes lanes)
{
    size_t count = 0;

    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);

        to[count] = p[i], number[count] = base + i;
        count++;
    }
    return count;
}
#endif

#endif
