/* SPDX-License-Identifier: Apache-2.0
 * The conversions of kernels/ref/casts/casts.inc.h by the width of both types: CONVERT_NN(from, to) of the includer
 * where neither has 64 bits, CONVERT_NW, _WN and _WW where the second, the first or both have. Types come as _f32,
 * _bool: C takes the plain word for a macro. */
#define WIDTH_f32 N
#define WIDTH_f64 W
#define WIDTH_i32 N
#define WIDTH_i64 W
#define WIDTH_bool N
#define WIDTH_bf16 N
#undef RP_CONVERSION
#define RP_CONVERSION(from, FROM, to, TO, value) CONVERT_OF(WIDTH_##from, WIDTH_##to, _##from, _##to)
#define CONVERT_OF(...) CONVERT_BY(__VA_ARGS__)
#define CONVERT_BY(a, b, from, to) CONVERT_##a##b(from, to)
#include "kernels/ref/casts/casts.inc.h"
#undef RP_CONVERSION
#undef CONVERT_OF
#undef CONVERT_BY
#undef CONVERT_NN
#undef CONVERT_NW
#undef CONVERT_WN
#undef CONVERT_WW
#undef WIDTH_f32
#undef WIDTH_f64
#undef WIDTH_i32
#undef WIDTH_i64
#undef WIDTH_bool
#undef WIDTH_bf16
