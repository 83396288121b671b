/* SPDX-License-Identifier: Apache-2.0
 * The functions of two arguments out of line, and the decisions of math_bivariate_decide.inc.h compiled once. */
#include "determinism/math.h"
#include "determinism/math_bivariate_f32_inline.h"
#include "determinism/math_bivariate_inline.h"

#include "determinism/math_bivariate_decide.inc.h"

float rp_pow_f32(float x, float y)
{
    return rp_pow_f32_inline(x, y);
}
float rp_atan2_f32(float y, float x)
{
    return rp_atan2_f32_inline(y, x);
}
float rp_hypot_f32(float x, float y)
{
    return rp_hypot_f32_inline(x, y);
}

double rp_pow_f64(double x, double y)
{
    return rp_pow_f64_inline(x, y);
}
double rp_atan2_f64(double y, double x)
{
    return rp_atan2_f64_inline(y, x);
}
double rp_hypot_f64(double x, double y)
{
    return rp_hypot_f64_inline(x, y);
}
