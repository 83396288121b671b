/* SPDX-License-Identifier: Apache-2.0
 * The conversions of CONTRACT 2.5 from and to f16, i8, u8, i16 and u32, by the includer's RP_CONVERSION as in
 * casts.inc.h, which comes before. A source is brought exactly to a type that the formulas are for: f16 to f32, narrow
 * integers to i32, u32 to i64; what is rounded is rounded once, of the source. */
#define TO_UNSIGNED(x, limit, most, to) ((x) != (x) ? 0 : (x) >= (limit) ? (most) : (x) <= 0 ? 0 : (to)(x))

/* Of a real `v`; into binary16 by `half`. */
#define CASTS_OF_REAL(from, FROM, v, half) \
    RP_CONVERSION(from, FROM, i8, int8_t, TO_INT(v, 128, INT8_MIN, INT8_MAX, int8_t)) \
    RP_CONVERSION(from, FROM, u8, uint8_t, TO_UNSIGNED(v, 256, UINT8_MAX, uint8_t)) \
    RP_CONVERSION(from, FROM, i16, int16_t, TO_INT(v, 32768, INT16_MIN, INT16_MAX, int16_t)) \
    RP_CONVERSION(from, FROM, u32, uint32_t, TO_UNSIGNED(v, 4294967296.0f, UINT32_MAX, uint32_t)) \
    RP_CONVERSION(from, FROM, f16, uint16_t, half)
/* Of an integer: its low bits. Compilers convert modulo 2^bits. */
#define CASTS_OF_INTEGER(from, FROM, half) \
    RP_CONVERSION(from, FROM, i8, int8_t, (uint8_t)x) \
    RP_CONVERSION(from, FROM, u8, uint8_t, x) \
    RP_CONVERSION(from, FROM, i16, int16_t, (uint16_t)x) \
    RP_CONVERSION(from, FROM, u32, uint32_t, x) \
    RP_CONVERSION(from, FROM, f16, uint16_t, half)
/* To the types of casts.inc.h; `wide` is the value, exactly. */
#define CASTS_OF_NARROW(from, FROM, wide) \
    RP_CONVERSION(from, FROM, f32, float, wide) \
    RP_CONVERSION(from, FROM, f64, double, wide) \
    RP_CONVERSION(from, FROM, i32, int32_t, (uint32_t)x) \
    RP_CONVERSION(from, FROM, i64, int64_t, wide) \
    RP_CONVERSION(from, FROM, bool, uint8_t, x != 0) \
    RP_CONVERSION(from, FROM, bf16, uint16_t, rp_bf16_of_f64((double)(wide)))

CASTS_OF_REAL(f32, float, x, rp_f16_of_f32(x))
CASTS_OF_REAL(f64, double, x, rp_f16_of_f64(x))
CASTS_OF_REAL(bf16, uint16_t, rp_f32_of_bf16(x), rp_f16_of_f32(rp_f32_of_bf16(x)))
CASTS_OF_REAL(f16, uint16_t, rp_f32_of_f16(x), x)
RP_CONVERSION(f16, uint16_t, f32, float, rp_f32_of_f16(x))
RP_CONVERSION(f16, uint16_t, f64, double, rp_f32_of_f16(x))
RP_CONVERSION(f16, uint16_t, i32, int32_t, TO_INT(rp_f32_of_f16(x), 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
RP_CONVERSION(f16, uint16_t, i64, int64_t, TO_INT(rp_f32_of_f16(x), 0x1p63f, INT64_MIN, INT64_MAX, int64_t))
RP_CONVERSION(f16, uint16_t, bool, uint8_t, (x & 0x7FFF) != 0)
RP_CONVERSION(f16, uint16_t, bf16, uint16_t, rp_bf16_of_f32(rp_f32_of_f16(x)))

/* What binary64 would round is beyond binary16 anyway. */
CASTS_OF_INTEGER(i32, int32_t, rp_f16_of_f64((double)x))
CASTS_OF_INTEGER(i64, int64_t, rp_f16_of_f64((double)x))
CASTS_OF_INTEGER(i8, int8_t, rp_f16_of_f32((float)x))
CASTS_OF_INTEGER(u8, uint8_t, rp_f16_of_f32((float)x))
CASTS_OF_INTEGER(i16, int16_t, rp_f16_of_f32((float)x))
CASTS_OF_INTEGER(u32, uint32_t, rp_f16_of_f64((double)x))
RP_CONVERSION(bool, uint8_t, i8, int8_t, x != 0)
RP_CONVERSION(bool, uint8_t, u8, uint8_t, x != 0)
RP_CONVERSION(bool, uint8_t, i16, int16_t, x != 0)
RP_CONVERSION(bool, uint8_t, u32, uint32_t, x != 0)
RP_CONVERSION(bool, uint8_t, f16, uint16_t, x != 0 ? 0x3C00 : 0)
CASTS_OF_NARROW(i8, int8_t, x)
CASTS_OF_NARROW(u8, uint8_t, x)
CASTS_OF_NARROW(i16, int16_t, x)
CASTS_OF_NARROW(u32, uint32_t, x)
#undef CASTS_OF_REAL
#undef CASTS_OF_INTEGER
#undef CASTS_OF_NARROW
#undef TO_UNSIGNED
