/* SPDX-License-Identifier: Apache-2.0
 * Elementwise calls that are a few operations each. */
#include "rp/composite.h"

#include <math.h>

#include "core/program/composed/composed.h"

#define C composed_constant

static rp_tensor clamp_written(rp_tensor x, double low, double high)
{
    if (low > -INFINITY)
        x = rp_maximum(x, C(x, low));
    if (high < INFINITY)
        x = rp_minimum(x, C(x, high));
    return x;
}

rp_tensor rp_clamp(rp_tensor x, double low, double high)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, clamp_written(x, low, high));
}

rp_tensor rp_isnan(rp_tensor x)
{
    return rp_ne(x, x);
}

static rp_tensor isinf_written(rp_tensor x)
{
    rp_tensor size;

    if (!composed_is_real(x))
        return rp_ne(x, x);
    size = rp_abs(x);
    return rp_gt(size, C(x, composed_greatest(x)));
}

rp_tensor rp_isinf(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, isinf_written(x));
}

static rp_tensor isfinite_written(rp_tensor x)
{
    rp_tensor size;

    if (!composed_is_real(x))
        return rp_eq(x, x);
    size = rp_abs(x);
    return rp_le(size, C(x, composed_greatest(x)));
}

rp_tensor rp_isfinite(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, isfinite_written(x));
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
    const double ones = composed_dtype(x) == RP_U32 ? 4294967295.0 : -1;

    return rp_bitwise_xor(x, C(x, ones));
}

rp_tensor rp_floor_divide(rp_tensor a, rp_tensor b)
{
    rp_graph *call = rp_graph_call_begins(a);

    return rp_graph_call_ends(call, composed_is_real(a) ? rp_floor(rp_div(a, b)) : rp_div_floor(a, b));
}

rp_tensor rp_trunc_divide(rp_tensor a, rp_tensor b)
{
    rp_graph *call = rp_graph_call_begins(a);

    return rp_graph_call_ends(call, composed_is_real(a) ? rp_trunc(rp_div(a, b)) : rp_div_trunc(a, b));
}

/* Where both are 0, or y below it, the logarithm is that of 1: so no gradient is a NaN. */
static rp_tensor xlogy_written(rp_tensor x, rp_tensor y)
{
    rp_tensor none = rp_eq(x, C(x, 0)), low = rp_le(y, C(y, 0)), both = rp_logical_and(none, low);
    rp_tensor of = rp_where(both, C(y, 1), y);

    return rp_mul(x, rp_log(of));
}

rp_tensor rp_xlogy(rp_tensor x, rp_tensor y)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, xlogy_written(x, y));
}

/* From here on the inverse hyperbolic functions are log(2 a) to the last bit, and their formulas would overflow. */
#define FAR 0x1p28

/* log(a) + log(2) where a is far, else `near`. */
static rp_tensor beyond(rp_tensor far, rp_tensor a, rp_tensor near)
{
    rp_tensor v = rp_where(far, a, C(a, 1)), large = rp_add_scalar(rp_log(v), 0.69314718055994529);

    return rp_where(far, large, near);
}

/* sign(x) log1p(a + a (a / (1 + sqrt(1 + a^2)))), a = |x| */
static rp_tensor asinh_written(rp_tensor x)
{
    rp_tensor a = rp_abs(x), far = rp_gt(a, C(x, FAR)), u = rp_where(far, C(x, 1), a);
    rp_tensor root = rp_hypot(u, C(x, 1)), part = rp_div(u, rp_add_scalar(root, 1));
    rp_tensor near = rp_log1p(rp_add(u, rp_mul(u, part))), size = beyond(far, a, near), zero = rp_eq(x, C(x, 0));

    return rp_where(zero, x, rp_mul(rp_sign(x), size)); /* at 0 the sign passes no gradient */
}

rp_tensor rp_asinh(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, asinh_written(x));
}

/* log1p(t + sqrt(t) sqrt(t + 2)), t = x - 1 */
static rp_tensor acosh_written(rp_tensor x)
{
    rp_tensor far = rp_gt(x, C(x, FAR)), u = rp_where(far, C(x, 1), x), t = rp_add_scalar(u, -1), first = rp_sqrt(t),
              second = rp_sqrt(rp_add_scalar(t, 2));

    return beyond(far, x, rp_log1p(rp_add(t, rp_mul(first, second))));
}

rp_tensor rp_acosh(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, acosh_written(x));
}

/* sign(x) log1p(2 a / (1 - a)) / 2, a = |x| */
static rp_tensor atanh_written(rp_tensor x)
{
    rp_tensor a = rp_abs(x), above = rp_scale(a, 2), below = rp_add_scalar(rp_neg(a), 1);
    rp_tensor size = rp_scale(rp_log1p(rp_div(above, below)), 0.5), zero = rp_eq(x, C(x, 0));

    return rp_where(zero, x, rp_mul(rp_sign(x), size));
}

rp_tensor rp_atanh(rp_tensor x)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, atanh_written(x));
}
