/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels over integers. CONTRACT 3: arithmetic is modulo 2^32 or 2^64, read back as two's complement,
 * so it goes through the unsigned type and |minimum| is the minimum itself. */

/* What is left of a by b, so that a = quotient * b + rest; of 0 it is all. By -1 the least number would overflow. */
static inline T FN(rest)(T a, T b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}

static inline T FN(quotient)(T a, T b)
{
    return b == 0 ? 0 : b == -1 ? (T)(0 - (WIDE)a) : a / b;
}

/* Of the quotient that is rounded down: the sign is b's. */
static inline T FN(rest_as_divisor)(T a, T b)
{
    const T rest = FN(rest)(a, b);

    return rest != 0 && b != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

static inline T FN(quotient_below)(T a, T b)
{
    const T rest = FN(rest)(a, b);

    return FN(quotient)(a, b) - (rest != 0 && b != 0 && (rest ^ b) < 0);
}

#define NUM1(name, cost, formula, integers, ...) \
    static inline T FN(name)(T x) \
    { \
        return integers; \
    } \
    RP_MAP1(name, T)
#define NUM2(name, cost, formula, integers, ...) \
    static inline T FN(name)(T a, T b) \
    { \
        return integers; \
    } \
    RP_MAP2(name, T)
#define INT2(name, formula) NUM2(name, light, , formula, )
#include "kernels/operations.def"
