/* SPDX-License-Identifier: Apache-2.0
 * Makes the templates of ref/ call the inline elementary functions, so that their loops vectorise. The bits are the
 * same by contract, and the tests compare them at every level. */
#ifndef KERNELS_CPU_INLINE_MATH_H
#define KERNELS_CPU_INLINE_MATH_H

#include "determinism/math.h"
#include "determinism/math_inline.h"

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

#endif
