/* SPDX-License-Identifier: Apache-2.0
 * Reductions on the device (CONTRACT 4.1 and 4.3): a launch makes of each output's elements one value a chunk of 4096,
 * and the next one of those, until one is left. launch_reduce.c puts them in order. */
#include "kernels/gpu/contract.h"
#include "kernels/gpu/reduce/strided.h"
#include "kernels/gpu/vectors.h"

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define NONE_AFTER(p, s, center) (s)

#define DEFINE_REALS 1
#define T float
#define PASTE(name) name##_f32
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F32
#define EXP rp_exp_f32
#define LOG rp_log_f32
#define LOWEST (-RP_GPU_INFINITY)
#define HIGHEST RP_GPU_INFINITY
#define RP_GPU_INFINITY RP_GPU_FROM_BITS_F32(0x7F800000u)
#define SIGN_BIT(x) (RP_GPU_BITS_F32(x) >> 31)
#include "kernels/gpu/reduce/reduce_type.inc.h"

#define T double
#define PASTE(name) name##_f64
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F64
#define EXP rp_exp_f64
#define LOG rp_log_f64
#define LOWEST (-RP_GPU_INFINITY)
#define HIGHEST RP_GPU_INFINITY
#define RP_GPU_INFINITY RP_GPU_FROM_BITS_F64(UINT64_C(0x7FF0000000000000))
#define SIGN_BIT(x) (RP_GPU_BITS_F64(x) >> 63)
#include "kernels/gpu/reduce/reduce_type.inc.h"

#undef DEFINE_REALS
#define T int32_t
#define WIDE u32
#define PASTE(name) name##_i32
#define SHUFFLE_XOR(v, mask) ((int32_t)RP_GPU_SHUFFLE_XOR_U32((u32)(v), mask))
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "kernels/gpu/reduce/reduce_type.inc.h"

#define T i64
#define WIDE u64
#define PASTE(name) name##_i64
#define SHUFFLE_XOR(v, mask) ((i64)RP_GPU_SHUFFLE_XOR_U64((u64)(v), mask))
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "kernels/gpu/reduce/reduce_type.inc.h"
