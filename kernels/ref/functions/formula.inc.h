/* SPDX-License-Identifier: Apache-2.0
 * The real formulas of CONTRACT 3, 5 and 7, one scalar function each, for the type of the kernels/type_*.h included
 * before: FN(name) from the formula of its row in kernels/operations.def. Every level compiles these same lines. */

/* 1/sqrt(2) and 1/sqrt(2 pi), rounded to T. */
#define GELU_SCALE ((T)0x1.6a09e667f3bcdp-1)
#define GELU_DENSITY ((T)0x1.9884533d43651p-2)

/* IEEE 754-2019 maximum and minimum: a NaN wins, +0 is greater than -0. */
static inline T FN(greater)(T a, T b)
{
    T greater = a > b ? a : b;
    T equal = __builtin_signbit(a) ? b : a;

    greater = a == b ? equal : greater;
    return a == a ? greater : a;
}

static inline T FN(less)(T a, T b)
{
    T less = a < b ? a : b;
    T equal = __builtin_signbit(a) ? a : b;

    less = a == b ? equal : less;
    return a == a ? less : a;
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
