/* SPDX-License-Identifier: Apache-2.0
 * Each conversion of CONTRACT 2.5, by the includer's RP_CONVERSION(from, FROM, to, TO, value of x): real to integer
 * truncates toward zero and saturates, NaN gives 0; integer to real and a wider to a narrower real round once to
 * nearest even; a wider integer keeps its low bits; anything to bool is x != 0, so a NaN is true; bool is 0 or 1. */
/* In the source's own type, so that a loop converts as many at once as it can. `limit` is 2^31 or 2^63. */
#define TO_INT(x, limit, least, most, to) \
    ((x) != (x) ? 0 : (x) >= (limit) ? (most) : (x) <= -(limit) ? (least) : (to)(x))

#define CASTS_TO_REAL_AND_BOOL(from, FROM) \
    RP_CONVERSION(from, FROM, f32, float, x) \
    RP_CONVERSION(from, FROM, f64, double, x) \
    RP_CONVERSION(from, FROM, bool, uint8_t, x != 0)

CASTS_TO_REAL_AND_BOOL(f32, float)
CASTS_TO_REAL_AND_BOOL(f64, double)
CASTS_TO_REAL_AND_BOOL(i32, int32_t)
CASTS_TO_REAL_AND_BOOL(i64, int64_t)
RP_CONVERSION(bool, uint8_t, f32, float, x != 0)
RP_CONVERSION(bool, uint8_t, f64, double, x != 0)
RP_CONVERSION(bool, uint8_t, bool, uint8_t, x != 0)
RP_CONVERSION(f32, float, i32, int32_t, TO_INT(x, 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
RP_CONVERSION(f64, double, i32, int32_t, TO_INT(x, 0x1p31, INT32_MIN, INT32_MAX, int32_t))
RP_CONVERSION(i32, int32_t, i32, int32_t, x)
RP_CONVERSION(i64, int64_t, i32, int32_t, (uint32_t)x) /* both compilers convert modulo 2^32 */
RP_CONVERSION(bool, uint8_t, i32, int32_t, x != 0)
RP_CONVERSION(f32, float, i64, int64_t, TO_INT(x, 0x1p63f, INT64_MIN, INT64_MAX, int64_t))
RP_CONVERSION(f64, double, i64, int64_t, TO_INT(x, 0x1p63, INT64_MIN, INT64_MAX, int64_t))
RP_CONVERSION(i32, int32_t, i64, int64_t, x)
RP_CONVERSION(i64, int64_t, i64, int64_t, x)
RP_CONVERSION(bool, uint8_t, i64, int64_t, x != 0)

RP_CONVERSION(bf16, uint16_t, f32, float, rp_f32_of_bf16(x))
RP_CONVERSION(bf16, uint16_t, f64, double, rp_f32_of_bf16(x))
RP_CONVERSION(bf16, uint16_t, i32, int32_t, TO_INT(rp_f32_of_bf16(x), 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
RP_CONVERSION(bf16, uint16_t, i64, int64_t, TO_INT(rp_f32_of_bf16(x), 0x1p63f, INT64_MIN, INT64_MAX, int64_t))
RP_CONVERSION(bf16, uint16_t, bool, uint8_t, (x & 0x7FFF) != 0)
RP_CONVERSION(bf16, uint16_t, bf16, uint16_t, x)
RP_CONVERSION(f32, float, bf16, uint16_t, rp_bf16_of_f32(x))
RP_CONVERSION(f64, double, bf16, uint16_t, rp_bf16_of_f64(x))
RP_CONVERSION(i32, int32_t, bf16, uint16_t, rp_bf16_of_f64((double)x)) /* exact in binary64 */
RP_CONVERSION(i64, int64_t, bf16, uint16_t, rp_bf16_of_i64(x))
RP_CONVERSION(bool, uint8_t, bf16, uint16_t, x != 0 ? 0x3F80 : 0)
#undef CASTS_TO_REAL_AND_BOOL
