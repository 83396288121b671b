/* SPDX-License-Identifier: Apache-2.0
 * Conversion between element types (CONTRACT 2.5), for the level being compiled. */
#include "determinism/bits.h"
#include "kernels/ref/functions/map.h"

#include "kernels/ref/casts.inc.h"

#define CASTS_FROM(from) \
    { \
        from##_to_f32, from##_to_f64, from##_to_i32, from##_to_i64, from##_to_bool, from##_to_bf16 \
    }

static void cast_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static rp_map *const casts[RP_DTYPE_COUNT][RP_DTYPE_COUNT] = {CASTS_FROM(f32), CASTS_FROM(f64),  CASTS_FROM(i32),
                                                                  CASTS_FROM(i64), CASTS_FROM(bool), CASTS_FROM(bf16)};

    map_items(args, 1, begin, end, casts[args->in[0].dtype][args->out[0].dtype]);
}

RP_DEFINE_KERNEL(cast, rp_items_elements, cast_run, rp_cost_light);
