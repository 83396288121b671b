/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels over integers. CONTRACT 3: arithmetic is modulo 2^32 or 2^64, read back as two's complement,
 * so it goes through the unsigned type and |minimum| is the minimum itself. */
static inline T FN(neg)(T x)
{
    return (T)(0 - (WIDE)x);
}
static inline T FN(abs)(T x)
{
    return x < 0 ? FN(neg)(x) : x;
}
static inline T FN(add)(T a, T b)
{
    return (T)((WIDE)a + (WIDE)b);
}
static inline T FN(sub)(T a, T b)
{
    return (T)((WIDE)a - (WIDE)b);
}
static inline T FN(mul)(T a, T b)
{
    return (T)((WIDE)a * (WIDE)b);
}
static inline T FN(maximum)(T a, T b)
{
    return a > b ? a : b;
}
static inline T FN(minimum)(T a, T b)
{
    return a < b ? a : b;
}

RP_MAP1(neg, T)
RP_MAP1(abs, T)
RP_MAP2(add, T)
RP_MAP2(sub, T)
RP_MAP2(mul, T)
RP_MAP2(maximum, T)
RP_MAP2(minimum, T)
