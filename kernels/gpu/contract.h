/* SPDX-License-Identifier: Apache-2.0
 * The contract's own source as device code: the scalar functions of determinism/ and the small questions that kernels
 * ask of views, under the names that kernels/ref uses. Their text is the host's. Where nvcc reads it, `static` is
 * said to be `static __device__`, for functions and tables alike, from here to device_end.h. */
#ifndef KERNELS_GPU_CONTRACT_H
#define KERNELS_GPU_CONTRACT_H

#include "kernels/gpu/gpu.h"

/* Before any of them: the host's declarations, which have no device's counterpart. */
#include "determinism/sum.h"
#include "rp/dtype.h"

#if defined(__CUDACC__)
#define RP_OUT_OF_LINE static __noinline__
#define RP_KERNEL_CALLER __forceinline__
#define RP_KERNEL_APART __noinline__
#define __FP_FAST_FMA 1 /* the headers ask for it as gcc says it */
#define __FP_FAST_FMAF 1
#else
#define RP_OUT_OF_LINE static
#define RP_KERNEL_CALLER inline __attribute__((always_inline))
#define RP_KERNEL_APART
#endif
#define RP_KERNEL_FN static

#include "kernels/gpu/device_begin.h"

#include "determinism/math_bivariate_decide.inc.h"
#include "determinism/math_more_f32_inline.h"
#include "determinism/normal_inline.h"

#define DETERMINISM_MATH_H /* its names are these */
#define ONE(f) \
    RP_GPU_FN float rp_##f##_f32(float x) \
    { \
        return rp_##f##_f32_inline(x); \
    } \
    RP_GPU_FN double rp_##f##_f64(double x) \
    { \
        return rp_##f##_f64_inline(x); \
    }
#define TWO(f) \
    RP_GPU_FN float rp_##f##_f32(float x, float y) \
    { \
        return rp_##f##_f32_inline(x, y); \
    } \
    RP_GPU_FN double rp_##f##_f64(double x, double y) \
    { \
        return rp_##f##_f64_inline(x, y); \
    }
ONE(exp)
ONE(expm1)
ONE(log)
ONE(log1p)
ONE(tanh)
ONE(sigmoid)
ONE(erf)
ONE(exp2)
ONE(log2)
ONE(log10)
ONE(sin)
ONE(cos)
ONE(tan)
ONE(sinh)
ONE(cosh)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(erfc)
ONE(erf_inv)
ONE(rsqrt)
ONE(cbrt)
TWO(pow)
TWO(atan2)
TWO(hypot)
#undef ONE
#undef TWO

RP_GPU_FN float rp_powi_f32(float x, int64_t n)
{
    return rp_powi_f32_inline(x, n);
}
RP_GPU_FN double rp_powi_f64(double x, int64_t n)
{
    return rp_powi_f64_inline(x, n);
}
RP_GPU_FN float rp_fma_f32(float a, float b, float c)
{
    return RP_GPU_FMA_F32(a, b, c);
}
RP_GPU_FN double rp_fma_f64(double a, double b, double c)
{
    return RP_GPU_FMA_F64(a, b, c);
}

#define rp_random_block rp_random_block_inline
#define rp_random_u32 rp_random_u32_inline
#define rp_uniform_f32 rp_uniform_f32_inline
#define rp_uniform_f64 rp_uniform_f64_inline
#define rp_normal_f64 rp_normal_f64_inline

#define REAL float
#define FOLD_INLINE rp_fold_f32
#include "determinism/fold.inc.h"
#undef REAL
#undef FOLD_INLINE
#define REAL double
#define FOLD_INLINE rp_fold_f64
#include "determinism/fold.inc.h"
#undef REAL
#undef FOLD_INLINE
#define rp_fold_lanes_f32 rp_fold_f32
#define rp_fold_lanes_f64 rp_fold_f64

#define rp_dtype_size rp_gpu_dtype_size
RP_GPU_FN size_t rp_gpu_dtype_size(rp_dtype dtype)
{
    return dtype == RP_F64 || dtype == RP_I64                       ? 8
           : dtype == RP_BOOL || dtype == RP_I8 || dtype == RP_U8   ? 1
           : dtype == RP_BF16 || dtype == RP_F16 || dtype == RP_I16 ? 2
                                                                    : 4;
}

#include "kernels/level.h"
#include "kernels/walk.h"

#undef RP_INLINE
#define RP_INLINE RP_GPU_FN

#include "kernels/gpu/device_end.h"

#endif
