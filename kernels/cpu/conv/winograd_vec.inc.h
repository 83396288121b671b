/* SPDX-License-Identifier: Apache-2.0
 * The three one-dimensional transforms of CONTRACT 4.6 on values of type FN(lanes): a vector of channels or filters, or
 * one number at a level without vectors.
 *
 * Parameters, from kernels/type_f32.h or type_f64.h: T the type of the elements, FN(name) the name of its variant.
 * Before it: nothing. Gives FN(lanes), how they are loaded and stored, and FN(turn_input), FN(turn_weight),
 * FN(turn_output). */
#if !defined(T) || !defined(FN)
#error "a template: include one of kernels/type_f32.h and kernels/type_f64.h before it"
#endif

#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/conv/winograd_sizes.h"
#include "kernels/level.h"

#ifdef VEC_BYTES
typedef FN(vec) FN(lanes);
RP_INLINE FN(lanes) FN(lanes_fma)(T a, FN(lanes) b, FN(lanes) c)
{
    return FN(vec_fma)(FN(vec_all)(a), b, c);
}
RP_INLINE FN(lanes) FN(lanes_scale)(T a, FN(lanes) b)
{
    return FN(vec_all)(a) * b;
}
RP_INLINE FN(lanes) FN(lanes_load)(const T *p)
{
    return FN(vec_load)(p);
}
RP_INLINE void FN(lanes_store)(T *p, FN(lanes) v)
{
    FN(vec_store)(p, v);
}
#else
typedef T FN(lanes);
RP_INLINE FN(lanes) FN(lanes_fma)(T a, FN(lanes) b, FN(lanes) c)
{
    return FN(rp_fma)(a, b, c);
}
RP_INLINE FN(lanes) FN(lanes_scale)(T a, FN(lanes) b)
{
    return a * b;
}
RP_INLINE FN(lanes) FN(lanes_load)(const T *p)
{
    return *p;
}
RP_INLINE void FN(lanes_store)(T *p, FN(lanes) v)
{
    *p = v;
}
#endif

RP_INLINE void FN(turn_input)(FN(lanes) * to, const FN(lanes) * d)
{
    const FN(lanes) d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3], d4 = d[4], d5 = d[5];
    const FN(lanes) p = FN(lanes_fma)((T)-2.25, d2, d4), q = FN(lanes_fma)((T)-2.25, d1, d3);
    const FN(lanes) t = FN(lanes_fma)((T)-0.390625, d2, d4), e = FN(lanes_fma)((T)-0.390625, d1, d3);

    to[0] = FN(lanes_fma)((T)0.87890625, d0, FN(lanes_fma)((T)-2.640625, d2, d4));
    to[1] = FN(lanes_fma)((T)0.625, q, p);
    to[2] = FN(lanes_fma)((T)-0.625, q, p);
    to[3] = FN(lanes_fma)((T)1.5, e, t);
    to[4] = FN(lanes_fma)((T)-1.5, e, t);
    to[5] = FN(lanes_fma)((T)0.87890625, d1, FN(lanes_fma)((T)-2.640625, d3, d5));
}

RP_INLINE void FN(turn_weight)(FN(lanes) * to, const FN(lanes) * g)
{
    const FN(lanes) g0 = g[0], g1 = g[1], g2 = g[2];
    const FN(lanes) s = FN(lanes_fma)((T)0.390625, g2, g0), t = FN(lanes_fma)((T)2.25, g2, g0);

    to[0] = FN(lanes_scale)(RP_WINOGRAD_ZERO(T), g0);
    to[1] = FN(lanes_scale)(RP_WINOGRAD_NEAR(T), FN(lanes_fma)((T)0.625, g1, s));
    to[2] = FN(lanes_scale)(RP_WINOGRAD_NEAR(T), FN(lanes_fma)((T)-0.625, g1, s));
    to[3] = FN(lanes_scale)(RP_WINOGRAD_FAR(T), FN(lanes_fma)((T)1.5, g1, t));
    to[4] = FN(lanes_scale)(RP_WINOGRAD_FAR(T), FN(lanes_fma)((T)-1.5, g1, t));
    to[5] = g2;
}

RP_INLINE void FN(turn_output)(FN(lanes) * to, const FN(lanes) * m)
{
    const FN(lanes) m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3], m4 = m[4], m5 = m[5];
    const FN(lanes) s = m1 + m2, e = m1 - m2, p = m3 + m4, q = m3 - m4;

    to[0] = (m0 + s) + p;
    to[1] = FN(lanes_fma)((T)1.5, q, FN(lanes_scale)((T)0.625, e));
    to[2] = FN(lanes_fma)((T)2.25, p, FN(lanes_scale)((T)0.390625, s));
    to[3] = FN(lanes_fma)((T)3.375, q, FN(lanes_scale)((T)0.244140625, e)) + m5;
}
