/* SPDX-License-Identifier: Apache-2.0
 * Normal numbers of CONTRACT 6, apart from philox.c because they alone need the elementary functions. */
#include "determinism/normal_inline.h"

double rp_normal_f64(rp_philox4 block)
{
    return rp_normal_f64_inline(block);
}
