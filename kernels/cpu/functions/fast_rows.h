/* SPDX-License-Identifier: Apache-2.0
 * e^(x - m) of a piece of a row, for the row kernels: in binary32 the fast way of fast_f32.h where the level has it,
 * the uncertain lanes exactly; else the exact way. The result may not overlap x. */
#ifndef KERNELS_CPU_FUNCTIONS_FAST_ROWS_H
#define KERNELS_CPU_FUNCTIONS_FAST_ROWS_H

#include "kernels/cpu/functions/fast_map.inc.h"

/* Elements at most: whole groups of vectors, in one block of fast_map.inc.h. */
enum { EXP_PIECE = 1024 };

static inline void exp_piece_f64(double *to, const double *x, double m, size_t n)
{
    RP_EACH(i, n) to[i] = rp_exp_f64(x[i] - m);
}

#ifdef FAST_LANES
RP_FLAT static void exp_lanes(float *y)
{
    RP_EACH(i, FAST_LANES) y[i] = rp_exp_f32(y[i]);
}

/* Lanes that e^x takes from `fast` for certain, and those where it is 0 after rounding: below -104 it is less than half
 * the least binary32. Masks add such numbers, and the exact way would take a whole row of them. */
RP_INLINE fast_mask exp_certain(fast_f *result, fast_f x)
{
    const fast_mask certain = fast_exp(result, x), nothing = fast_less(x, fast_all(-104.0f));

    *result = fast_select(nothing, fast_all(0.0f), *result);
    return fast_either(certain, nothing);
}

static inline void exp_piece_f32(float *to, const float *x, float m, size_t n)
{
    fast_lanes uncertain[EXP_PIECE / FAST_LANES];
    const fast_f shift = fast_all(m);
    const size_t vectors = n / FAST_LANES, rest = n % FAST_LANES;
    uint64_t any = 0;

    for (size_t v = 0; v < vectors; v++) {
        fast_f result, in = fast_load(x + v * FAST_LANES) - shift;
        const fast_mask certain = exp_certain(&result, in);

        uncertain[v] = fast_others(certain);
        any |= uncertain[v];
        fast_store(to + v * FAST_LANES, fast_select(certain, result, in));
    }
    if (any != 0) {
        for (size_t v = vectors; v % FAST_GROUP != 0; v++)
            uncertain[v] = 0;
        fast_mend(to, uncertain, vectors, exp_lanes);
    }
    if (rest > 0) {
        float part[FAST_LANES] = {0};
        fast_f result;

        for (size_t i = 0; i < rest; i++)
            part[i] = x[n - rest + i] - m;
        if (fast_others(exp_certain(&result, fast_load(part))) == 0)
            fast_store(part, result);
        else
            exp_lanes(part);
        memcpy(to + n - rest, part, rest * sizeof *to);
    }
}
#else
static inline void exp_piece_f32(float *to, const float *x, float m, size_t n)
{
    RP_EACH(i, n) to[i] = rp_exp_f32(x[i] - m);
}
#endif

#endif
