/* SPDX-License-Identifier: Apache-2.0
 * Elementwise arithmetic for one instruction set: the reference's loops, which vectorise across elements.
 * The elementary functions are inlined; some have a faster way in binary32 where the level has the vectors for it. */
#include "kernels/cpu/functions/inline_math.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/functions/fast_map.inc.h"
#include "kernels/cpu/functions/fast_more_f32.h"

/* A kernel of one operand may get more, of its result's shape: what other steps of a chain read or write soon.
 * Functions ask the memory for them, see fast_map.inc.h. */
static inline void map_items_soon(const rp_kernel_args *args, size_t n_in, size_t begin, size_t end, rp_map *map,
                                  int cost)
{
    const size_t views = n_in == 1 ? args->n_in : n_in;
#ifdef FAST_LANES
    fast_owed owed;

    owed.vectors = 0;
    map_items_owing(args, views, begin, end, map, cost, &owed);
    fast_pay(&owed);
#else
    map_items_streamed(args, views, begin, end, map, cost);
#endif
}
#undef map_items
#define map_items map_items_soon

#define RP_OWN_FILES
#ifdef FAST_LANES
#define RP_FAST_FORMULAS "kernels/cpu/functions/fast_formulas.inc.h"
#endif
#include "kernels/ref/functions/elementwise.inc.h"
