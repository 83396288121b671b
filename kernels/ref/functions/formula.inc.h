/* SPDX-License-Identifier: Apache-2.0
 * The real formulas of CONTRACT 3, 7 and 8, one scalar function each, for the type of the kernels/type_*.h included
 * before. Each operator is one IEEE operation in the order written; every level compiles these same lines. */

static inline T FN(neg)(T x)
{
    return -x;
}
static inline T FN(exp)(T x)
{
    return FN(rp_exp)(x);
}
static inline T FN(log)(T x)
{
    return FN(rp_log)(x);
}
static inline T FN(log1p)(T x)
{
    return FN(rp_log1p)(x);
}
static inline T FN(sqrt)(T x)
{
    return SQRT(x);
}
static inline T FN(tanh)(T x)
{
    return FN(rp_tanh)(x);
}
static inline T FN(sigmoid)(T x)
{
    return FN(rp_sigmoid)(x);
}
static inline T FN(erf)(T x)
{
    return FN(rp_erf)(x);
}
static inline T FN(expm1)(T x)
{
    return FN(rp_expm1)(x);
}
static inline T FN(exp2)(T x)
{
    return FN(rp_exp2)(x);
}
static inline T FN(log2)(T x)
{
    return FN(rp_log2)(x);
}
static inline T FN(log10)(T x)
{
    return FN(rp_log10)(x);
}
static inline T FN(sin)(T x)
{
    return FN(rp_sin)(x);
}
static inline T FN(cos)(T x)
{
    return FN(rp_cos)(x);
}
static inline T FN(tan)(T x)
{
    return FN(rp_tan)(x);
}
static inline T FN(sinh)(T x)
{
    return FN(rp_sinh)(x);
}
static inline T FN(cosh)(T x)
{
    return FN(rp_cosh)(x);
}
static inline T FN(asin)(T x)
{
    return FN(rp_asin)(x);
}
static inline T FN(acos)(T x)
{
    return FN(rp_acos)(x);
}
static inline T FN(atan)(T x)
{
    return FN(rp_atan)(x);
}
static inline T FN(erfc)(T x)
{
    return FN(rp_erfc)(x);
}
static inline T FN(rsqrt)(T x)
{
    return FN(rp_rsqrt)(x);
}
static inline T FN(cbrt)(T x)
{
    return FN(rp_cbrt)(x);
}
static inline T FN(abs)(T x)
{
    return FABS(x);
}

/* A NaN stays; -0 becomes +0. */
static inline T FN(relu)(T x)
{
    return x > 0 ? x : x == x ? (T)0 : x;
}

static inline T FN(relu_grad)(T g, T x)
{
    return x > 0 ? g : x == x ? (T)0 : x;
}

static inline T FN(tanh_grad)(T g, T y)
{
    return g * ((T)1 - y * y);
}

static inline T FN(sigmoid_grad)(T g, T y)
{
    return g * (y * ((T)1 - y));
}

/* 1/sqrt(2) and 1/sqrt(2 pi), rounded to T. */
#define GELU_SCALE ((T)0x1.6a09e667f3bcdp-1)
#define GELU_DENSITY ((T)0x1.9884533d43651p-2)

static inline T FN(gelu)(T x)
{
    T cdf2 = (T)1 + FN(rp_erf)(x * GELU_SCALE);

    return ((T)0.5 * x) * cdf2;
}

static inline T FN(gelu_grad)(T g, T x)
{
    T cdf = (T)0.5 * ((T)1 + FN(rp_erf)(x * GELU_SCALE));
    T density = FN(rp_exp)((T)-0.5 * (x * x)) * GELU_DENSITY;

    return g * (cdf + x * density);
}

#undef GELU_SCALE
#undef GELU_DENSITY

/* max(x, 0) - x t + log(1 + exp(-|x|)) */
static inline T FN(bce_logits)(T x, T t)
{
    T linear = FN(relu)(x) - x * t;
    T tail = FN(rp_log1p)(FN(rp_exp)(-FABS(x)));

    return linear + tail;
}

static inline T FN(add)(T a, T b)
{
    return a + b;
}
static inline T FN(sub)(T a, T b)
{
    return a - b;
}
static inline T FN(mul)(T a, T b)
{
    return a * b;
}
static inline T FN(div)(T a, T b)
{
    return a / b;
}

/* IEEE 754-2019 maximum and minimum: a NaN wins, +0 is greater than -0. */
static inline T FN(maximum)(T a, T b)
{
    T greater = a > b ? a : b;
    T equal = __builtin_signbit(a) ? b : a;

    greater = a == b ? equal : greater;
    return a == a ? greater : a;
}

static inline T FN(minimum)(T a, T b)
{
    T less = a < b ? a : b;
    T equal = __builtin_signbit(a) ? a : b;

    less = a == b ? equal : less;
    return a == a ? less : a;
}
