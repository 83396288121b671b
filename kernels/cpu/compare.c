/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, logic and selection for one instruction set: the reference's loops, which vectorise across elements. */
#include "kernels/cpu/stream.h"

/* Loops with a scalar to choose, which vectorise. */
#define WHERE_LOOP(value) RP_EACH(i, walk->run) y[i] = value;
#define RP_WHERE_SCALARS(y, c, a, b) \
    const T a0 = *a, b0 = *b; \
\
    if (s[0] == 1 && s[1] == 1 && s[2] + s[3] == 1 && s[2] * s[3] == 0) { \
        if (s[2] == 0) \
            WHERE_LOOP(c[i] ? a0 : b[i]) \
        else \
            WHERE_LOOP(c[i] ? a[i] : b0) \
    } else
#include "kernels/ref/compare.inc.h"
