/* SPDX-License-Identifier: Apache-2.0
 * The out-of-line elementary functions: the inline forms compiled once. */
#include "determinism/math.h"

#include "determinism/math_f32_inline.h"
#include "determinism/math_inline.h"
#include "determinism/math_more_f32_inline.h"
#include "determinism/math_more_inline.h"

float rp_exp_f32(float x)
{
    return rp_exp_f32_inline(x);
}
float rp_expm1_f32(float x)
{
    return rp_expm1_f32_inline(x);
}
float rp_log_f32(float x)
{
    return rp_log_f32_inline(x);
}
float rp_log1p_f32(float x)
{
    return rp_log1p_f32_inline(x);
}
float rp_tanh_f32(float x)
{
    return rp_tanh_f32_inline(x);
}
float rp_sigmoid_f32(float x)
{
    return rp_sigmoid_f32_inline(x);
}
float rp_erf_f32(float x)
{
    return rp_erf_f32_inline(x);
}
float rp_exp2_f32(float x)
{
    return rp_exp2_f32_inline(x);
}
float rp_log2_f32(float x)
{
    return rp_log2_f32_inline(x);
}
float rp_log10_f32(float x)
{
    return rp_log10_f32_inline(x);
}
float rp_sin_f32(float x)
{
    return rp_sin_f32_inline(x);
}
float rp_cos_f32(float x)
{
    return rp_cos_f32_inline(x);
}
float rp_tan_f32(float x)
{
    return rp_tan_f32_inline(x);
}
float rp_sinh_f32(float x)
{
    return rp_sinh_f32_inline(x);
}
float rp_cosh_f32(float x)
{
    return rp_cosh_f32_inline(x);
}
float rp_asin_f32(float x)
{
    return rp_asin_f32_inline(x);
}
float rp_acos_f32(float x)
{
    return rp_acos_f32_inline(x);
}
float rp_atan_f32(float x)
{
    return rp_atan_f32_inline(x);
}
float rp_erfc_f32(float x)
{
    return rp_erfc_f32_inline(x);
}

float rp_erf_inv_f32(float x)
{
    return rp_erf_inv_f32_inline(x);
}
float rp_rsqrt_f32(float x)
{
    return rp_rsqrt_f32_inline(x);
}
float rp_cbrt_f32(float x)
{
    return rp_cbrt_f32_inline(x);
}

double rp_exp_f64(double x)
{
    return rp_exp_f64_inline(x);
}
double rp_expm1_f64(double x)
{
    return rp_expm1_f64_inline(x);
}
double rp_log_f64(double x)
{
    return rp_log_f64_inline(x);
}
double rp_log1p_f64(double x)
{
    return rp_log1p_f64_inline(x);
}
double rp_tanh_f64(double x)
{
    return rp_tanh_f64_inline(x);
}
double rp_sigmoid_f64(double x)
{
    return rp_sigmoid_f64_inline(x);
}
double rp_erf_f64(double x)
{
    return rp_erf_f64_inline(x);
}
double rp_exp2_f64(double x)
{
    return rp_exp2_f64_inline(x);
}
double rp_log2_f64(double x)
{
    return rp_log2_f64_inline(x);
}
double rp_log10_f64(double x)
{
    return rp_log10_f64_inline(x);
}
double rp_sin_f64(double x)
{
    return rp_sin_f64_inline(x);
}
double rp_cos_f64(double x)
{
    return rp_cos_f64_inline(x);
}
double rp_tan_f64(double x)
{
    return rp_tan_f64_inline(x);
}
double rp_sinh_f64(double x)
{
    return rp_sinh_f64_inline(x);
}
double rp_cosh_f64(double x)
{
    return rp_cosh_f64_inline(x);
}
double rp_asin_f64(double x)
{
    return rp_asin_f64_inline(x);
}
double rp_acos_f64(double x)
{
    return rp_acos_f64_inline(x);
}
double rp_atan_f64(double x)
{
    return rp_atan_f64_inline(x);
}
double rp_erfc_f64(double x)
{
    return rp_erfc_f64_inline(x);
}

double rp_erf_inv_f64(double x)
{
    return rp_erf_inv_f64_inline(x);
}
double rp_rsqrt_f64(double x)
{
    return rp_rsqrt_f64_inline(x);
}
double rp_cbrt_f64(double x)
{
    return rp_cbrt_f64_inline(x);
}
double rp_sinpi_f64(double x)
{
    return rp_sinpi_f64_inline(x);
}
double rp_cospi_f64(double x)
{
    return rp_cospi_f64_inline(x);
}

float rp_powi_f32(float x, int64_t n)
{
    return rp_powi_f32_inline(x, n);
}
double rp_powi_f64(double x, int64_t n)
{
    return rp_powi_f64_inline(x, n);
}

/* One rounding is one result, so who rounds decides nothing: a host that has the instruction need not do without. */
#if defined(__x86_64__) && !defined(__FP_FAST_FMAF)
__attribute__((target("fma"))) static float fma_f32_instruction(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
float rp_fma_f32(float a, float b, float c)
{
    return __builtin_cpu_supports("fma") ? fma_f32_instruction(a, b, c) : rp_fma_f32_software(a, b, c);
}
#else
float rp_fma_f32(float a, float b, float c)
{
    return rp_fma_f32_inline(a, b, c);
}
#endif
double rp_fma_f64(double a, double b, double c)
{
    return rp_fma_f64_inline(a, b, c);
}
