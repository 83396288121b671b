/* SPDX-License-Identifier: Apache-2.0
 * The loops over functions of two arguments, for the type of the kernels/type_*.h included before. */

static inline T FN(pow)(T x, T y)
{
    return FN(rp_pow)(x, y);
}
static inline T FN(atan2)(T y, T x)
{
    return FN(rp_atan2)(y, x);
}
static inline T FN(hypot)(T x, T y)
{
    return FN(rp_hypot)(x, y);
}

RP_MAP2(pow, T)
RP_MAP2(atan2, T)
RP_MAP2(hypot, T)
