/* SPDX-License-Identifier: Apache-2.0
 * Normal numbers of CONTRACT 6, apart from philox.c because they alone need the elementary functions. */
#include "determinism/math.h"
#include "determinism/philox.h"

double rp_normal_f64(rp_philox4 block)
{
    double u1 = 1.0 - rp_uniform_f64(block.v[0], block.v[1]); /* exact, in (0, 1]: log never meets zero */
    double u2 = rp_uniform_f64(block.v[2], block.v[3]);
    double r = __builtin_sqrt(-2.0 * rp_log_f64(u1));

    return r * rp_cospi_f64(2.0 * u2);
}
