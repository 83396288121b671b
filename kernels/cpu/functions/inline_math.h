/* SPDX-License-Identifier: Apache-2.0
 * Makes the templates of ref/ call the inline elementary functions, so that their loops vectorise. The bits are the
 * same by contract, and the tests compare them at every level. */
#ifndef KERNELS_CPU_FUNCTIONS_INLINE_MATH_H
#define KERNELS_CPU_FUNCTIONS_INLINE_MATH_H

#include "determinism/math.h"
#include "determinism/math_f32_inline.h"
#include "determinism/math_inline.h"
#include "determinism/math_more_f32_inline.h"

#define rp_exp_f32 rp_exp_f32_inline
#define rp_log_f32 rp_log_f32_inline
#define rp_log1p_f32 rp_log1p_f32_inline
#define rp_tanh_f32 rp_tanh_f32_inline
#define rp_sigmoid_f32 rp_sigmoid_f32_inline
#define rp_erf_f32 rp_erf_f32_inline
#define rp_powi_f32 rp_powi_f32_inline
#define rp_fma_f32 rp_fma_f32_inline
#define rp_fma_f64 rp_fma_f64_inline
#define rp_exp_f64 rp_exp_f64_inline
#define rp_log_f64 rp_log_f64_inline
#define rp_log1p_f64 rp_log1p_f64_inline
#define rp_tanh_f64 rp_tanh_f64_inline
#define rp_sigmoid_f64 rp_sigmoid_f64_inline
#define rp_erf_f64 rp_erf_f64_inline
#define rp_powi_f64 rp_powi_f64_inline
#define rp_expm1_f32 rp_expm1_f32_inline
#define rp_exp2_f32 rp_exp2_f32_inline
#define rp_log2_f32 rp_log2_f32_inline
#define rp_log10_f32 rp_log10_f32_inline
#define rp_sin_f32 rp_sin_f32_inline
#define rp_cos_f32 rp_cos_f32_inline
#define rp_tan_f32 rp_tan_f32_inline
#define rp_sinh_f32 rp_sinh_f32_inline
#define rp_cosh_f32 rp_cosh_f32_inline
#define rp_asin_f32 rp_asin_f32_inline
#define rp_acos_f32 rp_acos_f32_inline
#define rp_atan_f32 rp_atan_f32_inline
#define rp_erfc_f32 rp_erfc_f32_inline
#define rp_erf_inv_f32 rp_erf_inv_f32_inline
#define rp_rsqrt_f32 rp_rsqrt_f32_inline
#define rp_cbrt_f32 rp_cbrt_f32_inline
#define rp_expm1_f64 rp_expm1_f64_inline
#define rp_exp2_f64 rp_exp2_f64_inline
#define rp_log2_f64 rp_log2_f64_inline
#define rp_log10_f64 rp_log10_f64_inline
#define rp_sin_f64 rp_sin_f64_inline
#define rp_cos_f64 rp_cos_f64_inline
#define rp_tan_f64 rp_tan_f64_inline
#define rp_sinh_f64 rp_sinh_f64_inline
#define rp_cosh_f64 rp_cosh_f64_inline
#define rp_asin_f64 rp_asin_f64_inline
#define rp_acos_f64 rp_acos_f64_inline
#define rp_atan_f64 rp_atan_f64_inline
#define rp_erfc_f64 rp_erfc_f64_inline
#define rp_erf_inv_f64 rp_erf_inv_f64_inline
#define rp_rsqrt_f64 rp_rsqrt_f64_inline
#define rp_cbrt_f64 rp_cbrt_f64_inline

#endif
