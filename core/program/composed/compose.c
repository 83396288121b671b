/* SPDX-License-Identifier: Apache-2.0
 * Elementwise calls that are a few operations each. */
#include "rp/compose.h"

#include <float.h>
#include <math.h>

#include "core/program/composed/composed.h"

#define C composed_constant

rp_tensor rp_clamp(rp_tensor x, double low, double high)
{
    if (low > -INFINITY)
        x = rp_maximum(x, C(x, low));
    if (high < INFINITY)
        x = rp_minimum(x, C(x, high));
    return x;
}

static double greatest_of(rp_tensor x)
{
    return composed_dtype(x) == RP_F64 ? DBL_MAX : (double)FLT_MAX;
}

rp_tensor rp_isnan(rp_tensor x)
{
    return rp_ne(x, x);
}

rp_tensor rp_isinf(rp_tensor x)
{
    rp_tensor size;

    if (!composed_is_real(x))
        return rp_ne(x, x);
    size = rp_abs(x);
    return rp_gt(size, C(x, greatest_of(x)));
}

rp_tensor rp_isfinite(rp_tensor x)
{
    rp_tensor size;

    if (!composed_is_real(x))
        return rp_eq(x, x);
    size = rp_abs(x);
    return rp_le(size, C(x, greatest_of(x)));
}

rp_tensor rp_reciprocal(rp_tensor x)
{
    return rp_div(C(x, 1), x);
}

rp_tensor rp_square(rp_tensor x)
{
    return rp_mul(x, x);
}

rp_tensor rp_bitwise_not(rp_tensor x)
{
    return rp_bitwise_xor(x, C(x, -1));
}

rp_tensor rp_floor_divide(rp_tensor a, rp_tensor b)
{
    return composed_is_real(a) ? rp_floor(rp_div(a, b)) : rp_div_floor(a, b);
}

rp_tensor rp_trunc_divide(rp_tensor a, rp_tensor b)
{
    return composed_is_real(a) ? rp_trunc(rp_div(a, b)) : rp_div_trunc(a, b);
}

/* Where both are 0, or y below it, the logarithm is that of 1: so no gradient is a NaN. */
rp_tensor rp_xlogy(rp_tensor x, rp_tensor y)
{
    rp_tensor none = rp_eq(x, C(x, 0)), low = rp_le(y, C(y, 0)), both = rp_logical_and(none, low);
    rp_tensor of = rp_where(both, C(y, 1), y);

    return rp_mul(x, rp_log(of));
}

/* sign(x) log1p(a + a (a / (1 + sqrt(1 + a^2)))), a = |x| */
rp_tensor rp_asinh(rp_tensor x)
{
    rp_tensor a = rp_abs(x), root = rp_hypot(a, C(x, 1)), part = rp_div(a, rp_add_scalar(root, 1));
    rp_tensor size = rp_log1p(rp_add(a, rp_mul(a, part))), zero = rp_eq(x, C(x, 0)), own;

    /* at 0 the sign passes no gradient, and inf / inf is none */
    own = rp_logical_or(zero, rp_gt(a, C(x, greatest_of(x))));
    return rp_where(own, x, rp_mul(rp_sign(x), size));
}

/* log1p(t + sqrt(t) sqrt(t + 2)), t = x - 1 */
rp_tensor rp_acosh(rp_tensor x)
{
    rp_tensor t = rp_add_scalar(x, -1), first = rp_sqrt(t), second = rp_sqrt(rp_add_scalar(t, 2));

    return rp_log1p(rp_add(t, rp_mul(first, second)));
}

/* sign(x) log1p(2 a / (1 - a)) / 2, a = |x| */
rp_tensor rp_atanh(rp_tensor x)
{
    rp_tensor a = rp_abs(x), above = rp_scale(a, 2), below = rp_add_scalar(rp_neg(a), 1);
    rp_tensor size = rp_scale(rp_log1p(rp_div(above, below)), 0.5), zero = rp_eq(x, C(x, 0));

    return rp_where(zero, x, rp_mul(rp_sign(x), size));
}
