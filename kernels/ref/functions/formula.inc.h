/* SPDX-License-Identifier: Apache-2.0
 * The real formulas of CONTRACT 3, 5 and 7, one scalar function each, for the type of the kernels/type_*.h included
 * before: FN(name) from the formula of its row in kernels/operations.def. Every level compiles these same lines. */

/* 1/sqrt(2) and 1/sqrt(2 pi), rounded to T. */
#define GELU_SCALE ((T)0x1.6a09e667f3bcdp-1)
#define GELU_DENSITY ((T)0x1.9884533d43651p-2)

/* IEEE 754-2019 maximum and minimum: a NaN wins, +0 is greater than -0. Of two zeros the sum has the greater one's
 * sign: a choice by signs would keep compilers from making vectors of loops with one operand for all. */
static inline T FN(greater)(T a, T b)
{
    T greater = a > b ? a : b;
    T zero = a + b;

    greater = ((a == 0) & (b == 0)) ? zero : greater;
    return a == a ? greater : a;
}

static inline T FN(less)(T a, T b)
{
    T less = a < b ? a : b;
    T zero = -(-a - b);

    less = ((a == 0) & (b == 0)) ? zero : less;
    return a == a ? less : a;
}

static inline T FN(signed_as)(T magnitude, T x)
{
    return __builtin_signbit(x) ? -magnitude : magnitude;
}

/* From here on every number of T is whole, and below it adding and taking it away rounds to a whole one. */
#define ALL_WHOLE ((T)(sizeof(T) == 4 ? 0x1p23 : 0x1p52))

static inline T FN(whole_near)(T x)
{
    const T a = FABS(x), near = (a + ALL_WHOLE) - ALL_WHOLE;

    return FN(signed_as)(a < ALL_WHOLE ? near : a, x);
}

static inline T FN(whole_below)(T x)
{
    const T near = FN(whole_near)(x), below = near > x ? near - (T)1 : near;

    return FN(signed_as)(FABS(below), x);
}

/* x by y, 0 <= x, 0 < y: in binary64, where a step takes off at most 2^28 (2^53 by an fma) multiples of y, 2^27 (2^52)
 * times y, ..: each is exact, as a multiple of y's last place that is no more than y has a number, and quotients that
 * round up to the next whole one show in the sign. */
static inline double FN(rest_step)(double x, double y)
{
    const double times = (double)(int64_t)(x / y);
    const double rest = sizeof(T) == 4 ? x - times * y : rp_fma_f64(-times, y, x);

    return rest < 0 ? rest + y : rest;
}

static inline double FN(rest_of)(double x, double y)
{
    const double most = sizeof(T) == 4 ? 0x1p28 : 0x1p53;
    double by = y;

    while (x / by >= most)
        by *= most / 2;
    for (; by != y; by /= most / 2)
        x = FN(rest_step)(x, by);
    return FN(rest_step)(x, y);
}

/* IEEE 754's remainder with the quotient rounded toward 0: exact, with the sign of a. */
static inline T FN(rest)(T a, T b)
{
    const T x = FABS(a), y = FABS(b);

    if (!(x - x == 0) || !(y > 0))
        return (a - a) / (b - b) + b; /* no number */
    return y - y == 0 ? FN(signed_as)((T)FN(rest_of)((double)x, (double)y), a) : a;
}

/* With the quotient rounded down: the sign is b's, and the sum rounds. */
static inline T FN(rest_as_divisor)(T a, T b)
{
    const T rest = FN(rest)(a, b);

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

#define F(f) FN(rp_##f)
/* What comes before the formula: the t of a row VIA a function. */
#define T_LOOP
#define T_FAST
#define T_BLOCK
#define T_OWN
#define T_VIA(f, before) const T t = F(f)(before);
#define T_VIA2(f, g, before) const T t = F(f)(F(g)(before));

#define MAP1(name, cost, way, domain, formula, ...) \
    static inline T FN(name)(T x) \
    { \
        T_##way return formula; \
    }
#define MAP1P(name, cost, way, domain, p, p0, formula, ...) \
    static inline T FN(name)(T x, T p) \
    { \
        T_##way return formula; \
    }
#define MAP1Q(name, cost, way, domain, p, p0, q, q0, formula, ...) \
    static inline T FN(name)(T x, T p, T q) \
    { \
        T_##way return formula; \
    }
#define MAP2(name, cost, way, domain, formula, ...) \
    static inline T FN(name)(T a, T b) \
    { \
        return formula; \
    }
#define NUM1(name, cost, formula, ...) MAP1(name, cost, LOOP, ANY, formula, )
#define NUM2(name, cost, formula, ...) MAP2(name, cost, LOOP, ANY, formula, )
#define PAIR2(name, cost, way, formula) MAP2(name, cost, way, ANY, formula, )
#include "kernels/operations.def"

#undef F
#undef T_LOOP
#undef T_FAST
#undef T_BLOCK
#undef T_OWN
#undef T_VIA
#undef T_VIA2
#undef GELU_SCALE
#undef GELU_DENSITY
#undef ALL_WHOLE
