/* SPDX-License-Identifier: Apache-2.0
 * Elementwise arithmetic for one instruction set: the reference's loops, which vectorise across elements.
 * The elementary functions are inlined; some have a faster way in binary32 where the level has the vectors for it. */
#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/functions/fast_map.inc.h"
#include "kernels/cpu/functions/fast_more_f32.h"

#define RP_OWN_FILES
#ifdef FAST_LANES
#define RP_FAST_FORMULAS "kernels/cpu/functions/fast_formulas.inc.h"
#endif
#include "kernels/ref/functions/elementwise.inc.h"
