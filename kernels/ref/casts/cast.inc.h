/* SPDX-License-Identifier: Apache-2.0
 * Conversion between element types (CONTRACT 2.5), and their bits as other types, for the level being compiled. */
#include "determinism/bits.h"
#include "kernels/ref/functions/map.h"

#include "kernels/ref/casts/casts.inc.h"
#include "kernels/ref/casts/casts_stored.inc.h"
#include "kernels/ref/casts/bitcasts.inc.h"

#define CASTS_FROM(from) \
    { \
        from##_to_f32, from##_to_f64, from##_to_i32, from##_to_i64, from##_to_bool, from##_to_bf16, from##_to_f16, \
            from##_to_i8, from##_to_u8, from##_to_i16, from##_to_u32 \
    }

static void cast_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static rp_map *const casts[RP_DTYPE_COUNT][RP_DTYPE_COUNT] = {
        CASTS_FROM(f32), CASTS_FROM(f64), CASTS_FROM(i32), CASTS_FROM(i64), CASTS_FROM(bool), CASTS_FROM(bf16),
        CASTS_FROM(f16), CASTS_FROM(i8),  CASTS_FROM(u8),  CASTS_FROM(i16), CASTS_FROM(u32)};

    map_items(args, 1, begin, end, casts[args->in[0].dtype][args->out[0].dtype], MAP_light);
}

RP_DEFINE_KERNEL(cast, rp_items_elements, cast_run, rp_cost_light);

/* Integers of one width are one type. */
static void bitcast_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static rp_map *const bits[RP_DTYPE_COUNT] = {
        [RP_F32] = f32_to_bits, [RP_F64] = f64_to_bits,   [RP_BF16] = bf16_to_bits, [RP_F16] = f16_to_bits,
        [RP_I8] = i8_to_bits,   [RP_U8] = i8_to_bits,     [RP_I16] = i16_to_bits,   [RP_I32] = i32_to_bits,
        [RP_U32] = i32_to_bits, [RP_BOOL] = bool_to_bits, [RP_I64] = i64_to_bits};

    map_items(args, 1, begin, end, bits[args->in[0].dtype], MAP_light);
}

RP_DEFINE_KERNEL(bitcast, rp_items_elements, bitcast_run, rp_cost_light);
