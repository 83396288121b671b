/* SPDX-License-Identifier: Apache-2.0
 * exp(x - m) for rows of scores, each column with its own m, of a narrow block those of the first vector: in binary32
 * the fast way of functions/fast_rows.h where the level has it, the uncertain lanes exactly; else the exact way. */
#ifndef KERNELS_CPU_ATTENTION_ATTENTION_EXP_H
#define KERNELS_CPU_ATTENTION_ATTENTION_EXP_H

#include "kernels/cpu/attention/attention_vec.h"
#include "kernels/cpu/functions/fast_rows.h"

static void exponentials_f64(double *x, const double *most, size_t count, bool narrow)
{
    enum { PANEL = 2 * VEC_BYTES / sizeof *x };

    for (size_t j = 0; j < count; j++, x += PANEL)
        RP_EACH(i, narrow ? PANEL / 2 : PANEL) x[i] = rp_exp_f64(x[i] - most[i]);
}

#ifdef FAST_LANES
_Static_assert(FAST_LANES * sizeof(float) == VEC_BYTES, "a row of scores is two vectors");
_Static_assert(2 * KEYS * FAST_LANES <= FAST_BLOCK, "one mending does");

/* A vector's; which lanes are uncertain. */
static inline fast_lanes exponentials_certain(float *x, fast_f shift)
{
    const fast_f in = fast_load(x) - shift;
    fast_f result;
    const fast_mask certain = exp_certain(&result, in);

    fast_store(x, fast_select(certain, result, in));
    return fast_others(certain);
}

static void exponentials_f32(float *x, const float *most, size_t count, bool narrow)
{
    fast_lanes uncertain[2 * KEYS + FAST_GROUP];
    const fast_f shift[2] = {fast_load(most), fast_load(most + FAST_LANES)};
    uint64_t any = 0;

    for (size_t v = 0; v < 2 * count; v += 2) {
        uncertain[v] = exponentials_certain(x + v * FAST_LANES, shift[0]);
        uncertain[v + 1] = narrow ? 0 : exponentials_certain(x + (v + 1) * FAST_LANES, shift[1]);
        any |= (uint64_t)uncertain[v] | uncertain[v + 1];
    }
    if (any == 0)
        return;
    for (size_t v = 2 * count; v % FAST_GROUP != 0; v++)
        uncertain[v] = 0;
    fast_mend(x, uncertain, 2 * count, exp_lanes);
}
#else
static void exponentials_f32(float *x, const float *most, size_t count, bool narrow)
{
    enum { PANEL = 2 * VEC_BYTES / sizeof *x };

    for (size_t j = 0; j < count; j++, x += PANEL)
        RP_EACH(i, narrow ? PANEL / 2 : PANEL) x[i] = rp_exp_f32(x[i] - most[i]);
}
#endif

#endif
