/* SPDX-License-Identifier: Apache-2.0
 * Interleaving the lower or upper halves of two vectors, by the compilers' own shuffle (GCC 12, clang): the one step
 * that transposing needs. */
#ifndef KERNELS_CPU_MATMUL_MATMUL_ZIP_H
#define KERNELS_CPU_MATMUL_MATMUL_ZIP_H

#include "kernels/cpu/vec.h"

#ifdef VEC_BYTES

#define ZIP_LOW_2 0, 2
#define ZIP_HIGH_2 1, 3
#define ZIP_LOW_4 0, 4, 1, 5
#define ZIP_HIGH_4 2, 6, 3, 7
#define ZIP_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define ZIP_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

#if VEC_BYTES == 64
#define ZIP_F32(half) ZIP_##half##_16
#define ZIP_F64(half) ZIP_##half##_8
#elif VEC_BYTES == 32
#define ZIP_F32(half) ZIP_##half##_8
#define ZIP_F64(half) ZIP_##half##_4
#else
#define ZIP_F32(half) ZIP_##half##_4
#define ZIP_F64(half) ZIP_##half##_2
#endif
#define ZIP(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

static inline vec_f32 vec_zip_low_f32(vec_f32 a, vec_f32 b)
{
    return ZIP(a, b, ZIP_F32(LOW));
}
static inline vec_f32 vec_zip_high_f32(vec_f32 a, vec_f32 b)
{
    return ZIP(a, b, ZIP_F32(HIGH));
}
static inline vec_f64 vec_zip_low_f64(vec_f64 a, vec_f64 b)
{
    return ZIP(a, b, ZIP_F64(LOW));
}
static inline vec_f64 vec_zip_high_f64(vec_f64 a, vec_f64 b)
{
    return ZIP(a, b, ZIP_F64(HIGH));
}

#endif

#endif
