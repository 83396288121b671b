/* SPDX-License-Identifier: Apache-2.0
 * Interleaving within every 16 bytes of a vector, and storing the 16 bytes number `lane` alone (a constant once loops are
 * unrolled): transposing few rows, where whole vectors would be part empty. */
#ifndef KERNELS_CPU_MATMUL_LANE_H
#define KERNELS_CPU_MATMUL_LANE_H

#include "kernels/cpu/vec.h"

#if VEC_BYTES == 64
static inline vec_f32 vec_lane_low_f32(vec_f32 a, vec_f32 b) { return _mm512_unpacklo_ps(a, b); }
static inline vec_f32 vec_lane_high_f32(vec_f32 a, vec_f32 b) { return _mm512_unpackhi_ps(a, b); }
static inline vec_f64 vec_lane_low_f64(vec_f64 a, vec_f64 b) { return _mm512_unpacklo_pd(a, b); }
static inline vec_f64 vec_lane_high_f64(vec_f64 a, vec_f64 b) { return _mm512_unpackhi_pd(a, b); }

static inline void vec_store_lane_f32(float *p, vec_f32 v, size_t lane)
{
    switch (lane) {
    case 0: _mm_storeu_ps(p, _mm512_castps512_ps128(v)); break;
    case 1: _mm_storeu_ps(p, _mm512_extractf32x4_ps(v, 1)); break;
    case 2: _mm_storeu_ps(p, _mm512_extractf32x4_ps(v, 2)); break;
    default: _mm_storeu_ps(p, _mm512_extractf32x4_ps(v, 3)); break;
    }
}

static inline void vec_store_lane_f64(double *p, vec_f64 v, size_t lane)
{
    switch (lane) {
    case 0: _mm_storeu_pd(p, _mm512_castpd512_pd128(v)); break;
    case 1: _mm_storeu_pd(p, _mm512_extractf64x2_pd(v, 1)); break;
    case 2: _mm_storeu_pd(p, _mm512_extractf64x2_pd(v, 2)); break;
    default: _mm_storeu_pd(p, _mm512_extractf64x2_pd(v, 3)); break;
    }
}
#endif

#endif
