/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels of two operands over unsigned integers (CONTRACT 3), which wrap; quotients are rounded down, as
 * by truncation, so both kinds are one. */

static inline T FN(rest)(T a, T b)
{
    return b == 0 ? a : a % b;
}

static inline T FN(quotient)(T a, T b)
{
    return b == 0 ? 0 : a / b;
}

static inline T FN(rest_as_divisor)(T a, T b)
{
    return FN(rest)(a, b);
}

static inline T FN(quotient_below)(T a, T b)
{
    return FN(quotient)(a, b);
}

#define NUM2(name, cost, formula, integers, ...) \
    static inline T FN(name)(T a, T b) \
    { \
        return integers; \
    } \
    RP_MAP2(name, T)
#define INT2(name, formula) NUM2(name, light, , formula, )
#include "kernels/operations.def"
