/* SPDX-License-Identifier: Apache-2.0
 * The functions of every type, and by type: what the reference and the levels of the processor compile. */
#define NO_MOVES
#define IS_NAN(x) ((x) != (x))
#define EQUAL_MOST(a, b) (__builtin_signbit(a) ? (b) : (a))
#define EQUAL_LEAST(a, b) (__builtin_signbit(a) ? (a) : (b))
#include "kernels/type_f32.h"
#include "kernels/ref/order/along_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/order/along_type.inc.h"
#undef NO_MOVES
#undef IS_NAN
#undef EQUAL_MOST
#undef EQUAL_LEAST
#define IS_NAN(x) ((void)(x), false)
#define EQUAL_MOST(a, b) (a)
#define EQUAL_LEAST(a, b) (a)
#include "kernels/type_i32.h"
#include "kernels/ref/order/along_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/order/along_type.inc.h"
#include "kernels/type_bool.h"
#include "kernels/ref/order/along_type.inc.h"
#include "kernels/type_bf16.h"
#include "kernels/ref/order/along_type.inc.h"
#include "kernels/type_end.h"
#undef IS_NAN
#undef EQUAL_MOST
#undef EQUAL_LEAST

static inline void along_take(rp_dtype dtype, void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step,
                              const along_index *at, size_t n)
{
    switch (rp_dtype_size(dtype)) { /* bits are kept, so elements of one size are one type */
    case 4:
        take_i32((int32_t *)to, to_step, (const int32_t *)from, from_step, at, n);
        break;
    case 8:
        take_i64((int64_t *)to, to_step, (const int64_t *)from, from_step, at, n);
        break;
    case 1:
        take_bool((uint8_t *)to, to_step, (const uint8_t *)from, from_step, at, n);
        break;
    default:
        take_bf16((uint16_t *)to, to_step, (const uint16_t *)from, from_step, at, n);
    }
}

static inline void along_copy(rp_dtype dtype, void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step,
                              size_t n)
{
    switch (rp_dtype_size(dtype)) {
    case 4:
        copy_i32((int32_t *)to, to_step, (const int32_t *)from, from_step, n);
        break;
    case 8:
        copy_i64((int64_t *)to, to_step, (const int64_t *)from, from_step, n);
        break;
    case 1:
        copy_bool((uint8_t *)to, to_step, (const uint8_t *)from, from_step, n);
        break;
    default:
        copy_bf16((uint16_t *)to, to_step, (const uint16_t *)from, from_step, n);
    }
}

static inline void along_scatter(int64_t mode, rp_dtype dtype, void *to, ptrdiff_t to_step, const void *from,
                                 ptrdiff_t from_step, const along_index *at, size_t n)
{
#define OF(how, T, type) how##_##type((T *)to, to_step, (const T *)from, from_step, at, n)
#define NUMBERS(D, T, type) \
    case D: \
        if (mode == ALONG_SET) \
            OF(scatter_set, T, type); \
        else if (mode == ALONG_SUM) \
            OF(scatter_sum, T, type); \
        else if (mode == ALONG_PRODUCT) \
            OF(scatter_product, T, type); \
        else if (mode == ALONG_MOST) \
            OF(scatter_most, T, type); \
        else \
            OF(scatter_least, T, type); \
        break;
    switch (dtype) {
        NUMBERS(RP_F32, float, f32)
        NUMBERS(RP_F64, double, f64)
        NUMBERS(RP_I32, int32_t, i32)
        NUMBERS(RP_I64, int64_t, i64)
    case RP_U32:
        OF(scatter_set, int32_t, i32);
        break;
    case RP_BOOL:
    case RP_I8:
    case RP_U8:
        OF(scatter_set, uint8_t, bool);
        break;
    default:
        OF(scatter_set, uint16_t, bf16);
    }
#undef NUMBERS
#undef OF
}
