/* SPDX-License-Identifier: Apache-2.0
 * Normal numbers of CONTRACT 6 as a static inline function: determinism/normal.c compiles it once, GPUs in place. */
#ifndef DETERMINISM_NORMAL_INLINE_H
#define DETERMINISM_NORMAL_INLINE_H

#include "determinism/math_inline.h"
#include "determinism/math_more_inline.h"
#include "determinism/philox_inline.h"

static inline double rp_normal_f64_inline(rp_philox4 block)
{
    /* exact, in (0, 1]: log never meets zero */
    double u1 = 1.0 - rp_uniform_f64_inline(block.v[0], block.v[1]);
    double u2 = rp_uniform_f64_inline(block.v[2], block.v[3]);
    double r = __builtin_sqrt(-2.0 * rp_log_f64_inline(u1));

    return r * rp_cospi_f64_inline(2.0 * u2);
}

#endif
