/* SPDX-License-Identifier: Apache-2.0
 * The vectors of attention: those of kernels/cpu/vec.h with a maximum; at a level that has none, small ones whose fma
 * is exact lane by lane. */
#ifndef KERNELS_CPU_ATTENTION_ATTENTION_VEC_H
#define KERNELS_CPU_ATTENTION_ATTENTION_VEC_H

#include <string.h>

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/vec.h"
#include "kernels/level.h"

#ifndef VEC_BYTES
#define VEC_BYTES 16
#define TILE_ROWS 4
#define VEC_PLAIN(T, type) \
    typedef T vec_##type __attribute__((vector_size(VEC_BYTES))); \
    static inline vec_##type vec_load_##type(const T *p) \
    { \
        vec_##type v; \
        memcpy(&v, p, sizeof v); \
        return v; \
    } \
    static inline void vec_store_##type(T *p, vec_##type v) \
    { \
        memcpy(p, &v, sizeof v); \
    } \
    static inline vec_##type vec_all_##type(T x) \
    { \
        vec_##type v; \
        for (size_t i = 0; i < VEC_BYTES / sizeof(T); i++) \
            v[i] = x; \
        return v; \
    } \
    static inline vec_##type vec_fma_##type(vec_##type a, vec_##type b, vec_##type c) \
    { \
        for (size_t i = 0; i < VEC_BYTES / sizeof(T); i++) \
            c[i] = rp_fma_##type(a[i], b[i], c[i]); \
        return c; \
    }
VEC_PLAIN(float, f32)
VEC_PLAIN(double, f64)
#undef VEC_PLAIN
#endif

/* The greater; b where a is a NaN or both are zeros. */
#if defined(__AVX512F__)
static inline vec_f32 vec_max_f32(vec_f32 a, vec_f32 b)
{
    return _mm512_max_ps(a, b);
}
static inline vec_f64 vec_max_f64(vec_f64 a, vec_f64 b)
{
    return _mm512_max_pd(a, b);
}
#elif defined(__AVX2__)
static inline vec_f32 vec_max_f32(vec_f32 a, vec_f32 b)
{
    return _mm256_max_ps(a, b);
}
static inline vec_f64 vec_max_f64(vec_f64 a, vec_f64 b)
{
    return _mm256_max_pd(a, b);
}
#else
static inline vec_f32 vec_max_f32(vec_f32 a, vec_f32 b)
{
    for (size_t i = 0; i < VEC_BYTES / sizeof(float); i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}
static inline vec_f64 vec_max_f64(vec_f64 a, vec_f64 b)
{
    for (size_t i = 0; i < VEC_BYTES / sizeof(double); i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}
#endif

/* Keys whose scores are worked on at a time: they fit the first cache, and chunks of products (512) and of sums (4096)
 * are whole numbers of them. A row of scores holds one key's with PANEL queries, in two vectors. */
enum { KEYS = 128, LANE_ROWS = 64 };

#endif
