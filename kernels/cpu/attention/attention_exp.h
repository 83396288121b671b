/* SPDX-License-Identifier: Apache-2.0
 * exp(x - m) for rows of scores, each column with its own m: in binary32 the fast way of functions/fast_rows.h where
 * the level has it, the uncertain lanes exactly; else the exact way. */
#ifndef KERNELS_CPU_ATTENTION_ATTENTION_EXP_H
#define KERNELS_CPU_ATTENTION_ATTENTION_EXP_H

#include "kernels/cpu/attention/attention_vec.h"
#include "kernels/cpu/functions/fast_rows.h"

static void exponentials_f64(double *x, const double *most, size_t count)
{
    enum { PANEL = 2 * VEC_BYTES / sizeof *x };

    for (size_t j = 0; j < count; j++, x += PANEL)
        RP_EACH(i, PANEL) x[i] = rp_exp_f64(x[i] - most[i]);
}

#ifdef FAST_LANES
_Static_assert(FAST_LANES * sizeof(float) == VEC_BYTES, "a row of scores is two vectors");
_Static_assert(2 * KEYS * FAST_LANES <= FAST_BLOCK, "one mending does");

static void exponentials_f32(float *x, const float *most, size_t count)
{
    fast_lanes uncertain[2 * KEYS + FAST_GROUP];
    const fast_f shift[2] = {fast_load(most), fast_load(most + FAST_LANES)};
    uint64_t any = 0;

    for (size_t v = 0; v < 2 * count; v += 2) {
        fast_f left, right,
            in[2] = {fast_load(x + v * FAST_LANES) - shift[0], fast_load(x + (v + 1) * FAST_LANES) - shift[1]};
        const fast_mask first = exp_certain(&left, in[0]), second = exp_certain(&right, in[1]);

        uncertain[v] = fast_others(first);
        uncertain[v + 1] = fast_others(second);
        any |= (uint64_t)uncertain[v] | uncertain[v + 1];
        fast_store(x + v * FAST_LANES, fast_select(first, left, in[0]));
        fast_store(x + (v + 1) * FAST_LANES, fast_select(second, right, in[1]));
    }
    if (any == 0)
        return;
    for (size_t v = 2 * count; v % FAST_GROUP != 0; v++)
        uncertain[v] = 0;
    fast_mend(x, uncertain, 2 * count, exp_lanes);
}
#else
static void exponentials_f32(float *x, const float *most, size_t count)
{
    enum { PANEL = 2 * VEC_BYTES / sizeof *x };

    for (size_t j = 0; j < count; j++, x += PANEL)
        RP_EACH(i, PANEL) x[i] = rp_exp_f32(x[i] - most[i]);
}
#endif

#endif
