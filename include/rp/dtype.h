/* SPDX-License-Identifier: Apache-2.0
 * Element types. Bytes of a stored tensor are little-endian, row-major; bool is one byte, 0 or 1. bf16 (the upper half
 * of an f32), f16 (IEEE 754 binary16), i8, u8 and i16 are for storage: they are moved, chosen among and cast, and bf16
 * is multiplied as matrices, with binary32 results. u32 is that and has the arithmetic, bits and order of integers. */
#ifndef RP_DTYPE_H
#define RP_DTYPE_H

#include <stddef.h>

#include "rp/error.h"

typedef enum rp_dtype {
    RP_F32 = 0,
    RP_F64 = 1,
    RP_I32 = 2,
    RP_I64 = 3,
    RP_BOOL = 4,
    RP_BF16 = 5,
    RP_F16 = 6,
    RP_I8 = 7,
    RP_U8 = 8,
    RP_I16 = 9,
    RP_U32 = 10,
    RP_DTYPE_COUNT
} rp_dtype;

enum { RP_MAX_RANK = 8 };

/* Bytes of one element; 0 for a value outside the enumeration. */
RP_API size_t rp_dtype_size(rp_dtype dtype);
/* "f32", "f64", "i32", "i64", "bool", "bf16", "f16", "i8", "u8", "i16", "u32"; "?" for a value outside the enumeration.
 */
RP_API const char *rp_dtype_name(rp_dtype dtype);

#endif
