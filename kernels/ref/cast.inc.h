/* SPDX-License-Identifier: Apache-2.0
 * Conversion between element types (CONTRACT 2.5), for the level being compiled: real to integer truncates toward zero
 * and saturates, NaN gives 0; integer to real and a wider to a narrower real round once to nearest even; a wider
 * integer keeps its low bits; anything to bool is x != 0, so a NaN is true; bool is 0 or 1. */
#include "determinism/bits.h"
#include "kernels/ref/functions/map.h"

/* In the source's own type, so that a loop converts as many at once as it can. `limit` is 2^31 or 2^63. */
#define TO_INT(x, limit, least, most, to) \
    ((x) != (x) ? 0 : (x) >= (limit) ? (most) : (x) <= -(limit) ? (least) : (to)(x))

#define CAST(from, FROM, to, TO, value) \
    static void from##_to_##to(const rp_walk *walk) \
    { \
        TO *y = walk->at[0]; \
        const FROM *source = walk->at[1]; \
        const ptrdiff_t sy = walk->step[0], sx = walk->step[1]; \
\
        if (sy == 1 && sx == 1) \
            RP_EACH(i, walk->run) \
            { \
                const FROM x = source[i]; \
\
                y[i] = (TO)(value); \
            } \
        else \
            RP_EACH(i, walk->run) \
            { \
                const FROM x = source[i * sx]; \
\
                y[i * sy] = (TO)(value); \
            } \
    }

#define CASTS_TO_REAL_AND_BOOL(from, FROM) \
    CAST(from, FROM, f32, float, x) \
    CAST(from, FROM, f64, double, x) \
    CAST(from, FROM, bool, uint8_t, x != 0)

CASTS_TO_REAL_AND_BOOL(f32, float)
CASTS_TO_REAL_AND_BOOL(f64, double)
CASTS_TO_REAL_AND_BOOL(i32, int32_t)
CASTS_TO_REAL_AND_BOOL(i64, int64_t)
CAST(bool, uint8_t, f32, float, x != 0)
CAST(bool, uint8_t, f64, double, x != 0)
CAST(bool, uint8_t, bool, uint8_t, x != 0)
CAST(f32, float, i32, int32_t, TO_INT(x, 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
CAST(f64, double, i32, int32_t, TO_INT(x, 0x1p31, INT32_MIN, INT32_MAX, int32_t))
CAST(i32, int32_t, i32, int32_t, x)
CAST(i64, int64_t, i32, int32_t, (uint32_t)x) /* both compilers convert modulo 2^32 */
CAST(bool, uint8_t, i32, int32_t, x != 0)
CAST(f32, float, i64, int64_t, TO_INT(x, 0x1p63f, INT64_MIN, INT64_MAX, int64_t))
CAST(f64, double, i64, int64_t, TO_INT(x, 0x1p63, INT64_MIN, INT64_MAX, int64_t))
CAST(i32, int32_t, i64, int64_t, x)
CAST(i64, int64_t, i64, int64_t, x)
CAST(bool, uint8_t, i64, int64_t, x != 0)

CAST(bf16, uint16_t, f32, float, rp_f32_of_bf16(x))
CAST(bf16, uint16_t, f64, double, rp_f32_of_bf16(x))
CAST(bf16, uint16_t, i32, int32_t, TO_INT(rp_f32_of_bf16(x), 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
CAST(bf16, uint16_t, i64, int64_t, TO_INT(rp_f32_of_bf16(x), 0x1p63f, INT64_MIN, INT64_MAX, int64_t))
CAST(bf16, uint16_t, bool, uint8_t, (x & 0x7FFF) != 0)
CAST(bf16, uint16_t, bf16, uint16_t, x)
CAST(f32, float, bf16, uint16_t, rp_bf16_of_f32(x))
CAST(f64, double, bf16, uint16_t, rp_bf16_of_f64(x))
CAST(i32, int32_t, bf16, uint16_t, rp_bf16_of_f64((double)x)) /* exact in binary64 */
CAST(i64, int64_t, bf16, uint16_t, rp_bf16_of_i64(x))
CAST(bool, uint8_t, bf16, uint16_t, x != 0 ? 0x3F80 : 0)

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
