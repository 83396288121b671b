/* SPDX-License-Identifier: Apache-2.0
 * Elementwise arithmetic for one instruction set: the reference's loops, which vectorise across elements.
 * The elementary functions are inlined; some have a faster way in binary32 where the level has the vectors for it. */
#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/functions/fast_map.inc.h"
#include "kernels/cpu/functions/fast_more_f32.h"

#ifdef FAST_LANES
#define RP_FAST_MAPS \
    FAST_MAP(exp) \
    FAST_MAP(log) \
    FAST_MAP(tanh) \
    FAST_MAP(sigmoid) \
    FAST_MAP(erf) \
    FAST_MAP(exp2) \
    FAST_MAP(expm1) \
    FAST_MAP(log2) \
    FAST_MAP(log10) \
    FAST_MAP(log1p) \
    FAST_MAP(sin) \
    FAST_MAP(cos) \
    FAST_MAP(tan)
#define RP_FAST_FORMULAS "kernels/cpu/functions/fast_formulas.inc.h"
#define RP_FAST_REALS(name) [RP_F32] = name##_fast_f32, [RP_F64] = name##_map_f64
#endif
#include "kernels/ref/functions/elementwise.inc.h"
