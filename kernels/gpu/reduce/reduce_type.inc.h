/* SPDX-License-Identifier: Apache-2.0
 * The reductions of one type. Parameters: T, PASTE(name), SHUFFLE_XOR, LOWEST, HIGHEST; of reals (DEFINE_REALS) EXP,
 * LOG, RP_GPU_INFINITY and SIGN_BIT, of integers WIDE, in which they wrap. */
RP_GPU_FN T PASTE(itself)(T x, T other, T center, T scale)
{
    (void)other, (void)center, (void)scale;
    return x;
}

#ifdef DEFINE_REALS
/* CONTRACT 2.4: a NaN wins, and of zeros +0 the maximum, -0 the minimum. */
RP_GPU_FN T PASTE(greater_of)(T a, T b)
{
    const T most = a > b ? a : b, equal = SIGN_BIT(a) ? b : a;

    return a != a ? a : a == b ? equal : b != b ? b : most;
}

RP_GPU_FN T PASTE(less_of)(T a, T b)
{
    const T least = a < b ? a : b, equal = SIGN_BIT(a) ? a : b;

    return a != a ? a : a == b ? equal : b != b ? b : least;
}

RP_GPU_FN T PASTE(square)(T x, T other, T mean, T scale)
{
    (void)other, (void)scale;
    const T d = x - mean;

    return d * d;
}

/* The maximum where it is finite, else 0. */
RP_GPU_FN T PASTE(from)(T most)
{
    return most - most == 0 ? most : (T)0;
}

RP_GPU_FN T PASTE(finish)(const rp_gpu_reduce &p, T s, T center)
{
    if (p.finish == RP_GPU_FINISH_LOG)
        return PASTE(from)(center) + LOG(s);
    return p.finish == RP_GPU_FINISH_DIVIDE ? s / (T)p.divisor : s;
}

/* exp(x - m), m the maximum where that is finite */
RP_GPU_FN T PASTE(exp_of)(T x, T other, T most, T scale)
{
    (void)other, (void)scale;
    return EXP(x - PASTE(from)(most));
}

/* g z of batch norm's gradient, z = (x - mean) r */
RP_GPU_FN T PASTE(moment)(T g, T x, T mean, T r)
{
    return g * ((x - mean) * r);
}

#define CHUNKS(way) PASTE(way##_sum)
#define NONE (T)0
#define TERM PASTE(itself)
#define OTHER 0
#define JOIN ADD
#define FINISH PASTE(finish)
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define CHUNKS(way) PASTE(way##_prod)
#define NONE (T)1
#define TERM PASTE(itself)
#define OTHER 0
#define JOIN MULTIPLY
#define FINISH NONE_AFTER
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define CHUNKS(way) PASTE(way##_square)
#define NONE (T)0
#define TERM PASTE(square)
#define OTHER 0
#define JOIN ADD
#define FINISH PASTE(finish)
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define CHUNKS(way) PASTE(way##_exp)
#define NONE (T)0
#define TERM PASTE(exp_of)
#define OTHER 0
#define AHEAD_BYTES 32
#define RESIDENT 3
#define JOIN ADD
#define FINISH PASTE(finish)
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define CHUNKS(way) PASTE(way##_moment)
#define NONE (T)0
#define TERM PASTE(moment)
#define OTHER 1
#define AHEAD_BYTES 32
#define JOIN ADD
#define FINISH PASTE(finish)
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define BEATS_MOST(x, best) ((x) > (best) || ((x) != (x) && (best) == (best)))
#define BEATS_LEAST(x, best) ((x) < (best) || ((x) != (x) && (best) == (best)))
#else
RP_GPU_FN T PASTE(wrapped_sum)(T a, T b)
{
    return (T)((WIDE)a + (WIDE)b);
}

RP_GPU_FN T PASTE(wrapped_product)(T a, T b)
{
    return (T)((WIDE)a * (WIDE)b);
}

RP_GPU_FN T PASTE(greater_of)(T a, T b)
{
    return a > b ? a : b;
}

RP_GPU_FN T PASTE(less_of)(T a, T b)
{
    return a < b ? a : b;
}

#define CHUNKS(way) PASTE(way##_sum)
#define NONE (T)0
#define TERM PASTE(itself)
#define OTHER 0
#define JOIN PASTE(wrapped_sum)
#define FINISH NONE_AFTER
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define CHUNKS(way) PASTE(way##_prod)
#define NONE (T)1
#define TERM PASTE(itself)
#define OTHER 0
#define JOIN PASTE(wrapped_product)
#define FINISH NONE_AFTER
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define BEATS_MOST(x, best) ((x) > (best))
#define BEATS_LEAST(x, best) ((x) < (best))
#endif

#define CHUNKS(way) PASTE(way##_max)
#define NONE LOWEST
#define TERM PASTE(itself)
#define OTHER 0
#define JOIN PASTE(greater_of)
#define FINISH NONE_AFTER
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define CHUNKS(way) PASTE(way##_min)
#define NONE HIGHEST
#define TERM PASTE(itself)
#define OTHER 0
#define JOIN PASTE(less_of)
#define FINISH NONE_AFTER
#include "kernels/gpu/reduce/reduce_chunks.inc.h"

#define PLACES(way) PASTE(way##_argmax)
#define BEATS BEATS_MOST
#include "kernels/gpu/reduce/reduce_places.inc.h"
#define PLACES(way) PASTE(way##_argmin)
#define BEATS BEATS_LEAST
#include "kernels/gpu/reduce/reduce_places.inc.h"

#undef T
#undef WIDE
#undef PASTE
#undef SHUFFLE_XOR
#undef EXP
#undef LOG
#undef LOWEST
#undef HIGHEST
#undef RP_GPU_INFINITY
#undef SIGN_BIT
#undef BEATS_MOST
#undef BEATS_LEAST
