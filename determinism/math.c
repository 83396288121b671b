/* SPDX-License-Identifier: Apache-2.0
 * The out-of-line elementary functions: math_inline.h compiled once. */
#include "determinism/math.h"

#include "determinism/math_inline.h"

float rp_exp_f32(float x) { return rp_exp_f32_inline(x); }
float rp_expm1_f32(float x) { return rp_expm1_f32_inline(x); }
float rp_log_f32(float x) { return rp_log_f32_inline(x); }
float rp_log1p_f32(float x) { return rp_log1p_f32_inline(x); }
float rp_tanh_f32(float x) { return rp_tanh_f32_inline(x); }
float rp_sigmoid_f32(float x) { return rp_sigmoid_f32_inline(x); }
float rp_erf_f32(float x) { return rp_erf_f32_inline(x); }

double rp_exp_f64(double x) { return rp_exp_f64_inline(x); }
double rp_expm1_f64(double x) { return rp_expm1_f64_inline(x); }
double rp_log_f64(double x) { return rp_log_f64_inline(x); }
double rp_log1p_f64(double x) { return rp_log1p_f64_inline(x); }
double rp_tanh_f64(double x) { return rp_tanh_f64_inline(x); }
double rp_sigmoid_f64(double x) { return rp_sigmoid_f64_inline(x); }
double rp_erf_f64(double x) { return rp_erf_f64_inline(x); }
double rp_sinpi_f64(double x) { return rp_sinpi_f64_inline(x); }
double rp_cospi_f64(double x) { return rp_cospi_f64_inline(x); }

float rp_powi_f32(float x, int64_t n) { return rp_powi_f32_inline(x, n); }
double rp_powi_f64(double x, int64_t n) { return rp_powi_f64_inline(x, n); }

float rp_fma_f32(float a, float b, float c) { return rp_fma_f32_inline(a, b, c); }
double rp_fma_f64(double a, double b, double c) { return rp_fma_f64_inline(a, b, c); }
