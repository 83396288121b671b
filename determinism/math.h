/* SPDX-License-Identifier: Apache-2.0
 * Elementary functions under the contract (CONTRACT 5). binary32: correctly rounded, proven over all 2^32 inputs by
 * tests/determinism/prove_math.c. binary64: the written sequence of IEEE operations of the contract, with its stated
 * error bound. Out of line here; determinism/math_*inline.h have the same functions as static inline for kernels to
 * vectorise. */
#ifndef DETERMINISM_MATH_H
#define DETERMINISM_MATH_H

#include <stdint.h>

float rp_exp_f32(float x);
float rp_expm1_f32(float x);
float rp_log_f32(float x);
float rp_log1p_f32(float x);
float rp_tanh_f32(float x);
float rp_sigmoid_f32(float x); /* 1 / (1 + exp(-x)), rounded once */
float rp_erf_f32(float x);
float rp_exp2_f32(float x);
float rp_log2_f32(float x);
float rp_log10_f32(float x);
float rp_sin_f32(float x);
float rp_cos_f32(float x);
float rp_tan_f32(float x);
float rp_sinh_f32(float x);
float rp_cosh_f32(float x);
float rp_asin_f32(float x);
float rp_acos_f32(float x);
float rp_atan_f32(float x);
float rp_erfc_f32(float x);
float rp_erf_inv_f32(float x);
float rp_rsqrt_f32(float x); /* 1 / sqrt(x) */
float rp_cbrt_f32(float x);
float rp_pow_f32(float x, float y);
float rp_atan2_f32(float y, float x);
float rp_hypot_f32(float x, float y);

double rp_exp_f64(double x);
double rp_expm1_f64(double x);
double rp_log_f64(double x);
double rp_log1p_f64(double x);
double rp_tanh_f64(double x);
double rp_sigmoid_f64(double x);
double rp_erf_f64(double x);
double rp_exp2_f64(double x);
double rp_log2_f64(double x);
double rp_log10_f64(double x);
double rp_sin_f64(double x);
double rp_cos_f64(double x);
double rp_tan_f64(double x);
double rp_sinh_f64(double x);
double rp_cosh_f64(double x);
double rp_asin_f64(double x);
double rp_acos_f64(double x);
double rp_atan_f64(double x);
double rp_erfc_f64(double x);
double rp_erf_inv_f64(double x);
double rp_rsqrt_f64(double x);
double rp_cbrt_f64(double x);
double rp_pow_f64(double x, double y);
double rp_atan2_f64(double y, double x);
double rp_hypot_f64(double x, double y);
/* sin and cos of pi * x, for Box-Muller and the cosine schedule: argument reduction is exact. */
double rp_sinpi_f64(double x);
double rp_cospi_f64(double x);
/* x^n by the multiplication order of CONTRACT 5 (binary exponentiation from the most significant bit); n = 0 gives 1;
 * negative n is 1 / x^-n. */
float rp_powi_f32(float x, int64_t n);
double rp_powi_f64(double x, int64_t n);

/* IEEE fma, exact on every host: the instruction where the target or, of x86-64, the host has it, else software
 * (binary32) or the C library's fma (binary64), whose result IEEE 754 fixes. */
float rp_fma_f32(float a, float b, float c);
double rp_fma_f64(double a, double b, double c);

#endif
