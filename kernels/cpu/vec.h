/* SPDX-License-Identifier: Apache-2.0
 * Vectors with fused multiply-add for one instruction set, and the tile that fills its registers: TILE_ROWS x 2
 * vectors of accumulators, two of b and one of a. Loads and stores need no alignment. */
#ifndef KERNELS_CPU_VEC_H
#define KERNELS_CPU_VEC_H

#if defined(__AVX512F__)
#include <immintrin.h>
#define VEC_BYTES 64
#define TILE_ROWS 12
typedef __m512 vec_f32;
typedef __m512d vec_f64;
static inline vec_f32 vec_load_f32(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline vec_f64 vec_load_f64(const double *p)
{
    return _mm512_loadu_pd(p);
}
static inline void vec_store_f32(float *p, vec_f32 v)
{
    _mm512_storeu_ps(p, v);
}
static inline void vec_store_f64(double *p, vec_f64 v)
{
    _mm512_storeu_pd(p, v);
}
static inline vec_f32 vec_all_f32(float x)
{
    return _mm512_set1_ps(x);
}
static inline vec_f64 vec_all_f64(double x)
{
    return _mm512_set1_pd(x);
}
static inline vec_f32 vec_add_f32(vec_f32 a, vec_f32 b)
{
    return _mm512_add_ps(a, b);
}
static inline vec_f64 vec_add_f64(vec_f64 a, vec_f64 b)
{
    return _mm512_add_pd(a, b);
}
static inline vec_f32 vec_fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline vec_f64 vec_fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VEC_BYTES 32
#define TILE_ROWS 6
typedef __m256 vec_f32;
typedef __m256d vec_f64;
static inline vec_f32 vec_load_f32(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline vec_f64 vec_load_f64(const double *p)
{
    return _mm256_loadu_pd(p);
}
static inline void vec_store_f32(float *p, vec_f32 v)
{
    _mm256_storeu_ps(p, v);
}
static inline void vec_store_f64(double *p, vec_f64 v)
{
    _mm256_storeu_pd(p, v);
}
static inline vec_f32 vec_all_f32(float x)
{
    return _mm256_set1_ps(x);
}
static inline vec_f64 vec_all_f64(double x)
{
    return _mm256_set1_pd(x);
}
static inline vec_f32 vec_add_f32(vec_f32 a, vec_f32 b)
{
    return _mm256_add_ps(a, b);
}
static inline vec_f64 vec_add_f64(vec_f64 a, vec_f64 b)
{
    return _mm256_add_pd(a, b);
}
static inline vec_f32 vec_fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline vec_f64 vec_fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return _mm256_fmadd_pd(a, b, c);
}
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VEC_BYTES 16
#define TILE_ROWS 12
typedef float32x4_t vec_f32;
typedef float64x2_t vec_f64;
static inline vec_f32 vec_load_f32(const float *p)
{
    return vld1q_f32(p);
}
static inline vec_f64 vec_load_f64(const double *p)
{
    return vld1q_f64(p);
}
static inline void vec_store_f32(float *p, vec_f32 v)
{
    vst1q_f32(p, v);
}
static inline void vec_store_f64(double *p, vec_f64 v)
{
    vst1q_f64(p, v);
}
static inline vec_f32 vec_all_f32(float x)
{
    return vdupq_n_f32(x);
}
static inline vec_f64 vec_all_f64(double x)
{
    return vdupq_n_f64(x);
}
static inline vec_f32 vec_add_f32(vec_f32 a, vec_f32 b)
{
    return vaddq_f32(a, b);
}
static inline vec_f64 vec_add_f64(vec_f64 a, vec_f64 b)
{
    return vaddq_f64(a, b);
}
static inline vec_f32 vec_fma_f32(vec_f32 a, vec_f32 b, vec_f32 c)
{
    return vfmaq_f32(c, a, b);
}
static inline vec_f64 vec_fma_f64(vec_f64 a, vec_f64 b, vec_f64 c)
{
    return vfmaq_f64(c, a, b);
}
#endif

/* Keeps a loaded vector in its register: GCC else reads it from memory again for every use. */
#if defined(__aarch64__)
#define VEC_KEEP(v) __asm__("" : "+w"(v))
#else
#define VEC_KEEP(v) __asm__("" : "+v"(v))
#endif

#endif
