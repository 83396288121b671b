/* SPDX-License-Identifier: Apache-2.0
 * Loops of the elementwise kernels over reals: the formulas of formula.inc.h, applied. */
#include "determinism/bits.h"
#include "kernels/ref/functions/formula.inc.h"

#define MAP1(name, ...) RP_MAP1(name, T)
#define MAP1P(name, cost, way, domain, p, ...) RP_MAP1_WITH(name, , (T)RP_AT(walk->attr, name, p).r)
#define MAP1Q(name, cost, way, domain, p, p0, q, ...) \
    RP_MAP1_WITH(name, , (T)RP_AT(walk->attr, name, p).r, (T)RP_AT(walk->attr, name, q).r)
#define MAP2(name, cost, way, ...) MAP2_##way(name)
#define NUM1 MAP1
#define NUM2(name, ...) RP_MAP2(name, T)
#define PAIR2 MAP2
#define MAP2_LOOP(name) RP_MAP2(name, T)
#define MAP2_BLOCK MAP2_LOOP
#ifdef RP_OWN_FILES
#define MAP2_OWN(name)
#else
#define MAP2_OWN MAP2_LOOP
#endif
#include "kernels/operations.def"
#undef MAP2_LOOP
#undef MAP2_BLOCK
#undef MAP2_OWN

/* Squares and cubes are multiplications that compilers make vectors of. */
static inline T FN(pow_int)(T x, int64_t n)
{
    if (n == 2)
        return FN(rp_canonical)(x * x);
    if (n == 3)
        return FN(rp_canonical)(x * x * x);
    return FN(rp_powi)(x, n);
}

RP_MAP1_WITH(pow_int, const int64_t n = RP_AT(walk->attr, pow_int, exponent).i;, n)
