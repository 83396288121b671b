/* SPDX-License-Identifier: Apache-2.0
 * Kernels whose item is a row along the last axis (CONTRACT 7.3 to 7.5, 7.10): softmax and log-softmax, cross-entropy,
 * layer norm, RMS norm and their gradients. A team, which is a warp or a block, takes a row; sums are those of 4.1:
 * each warp makes the sums of some of the row's chunks, two of the 64 lanes a thread, and one warp adds these. */
#include "kernels/gpu/contract.h"
#include "kernels/gpu/reduce/rows_args.h"
#include "kernels/gpu/reduce/strided.h"

#define WARP 32u
#define WARPS ((u32)RP_GPU_ROW_WARPS)
#define BATCH 8u

typedef struct team {
    u32 lane, warp, warps; /* this thread, and the team's warps */
    bool block;
} team;

#define T float
#define PASTE(name) name##_f32
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F32
#define COPY(to, from) RP_GPU_COPY4(to, from)
#define EXP rp_exp_f32
#define LOG rp_log_f32
#define ROOT RP_GPU_SQRT_F32
#define LOWEST (-RP_GPU_FROM_BITS_F32(0x7F800000u))
#define SIGN_BIT(x) (RP_GPU_BITS_F32(x) >> 31)
#include "kernels/gpu/reduce/rows_type.inc.h"

#define T double
#define PASTE(name) name##_f64
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F64
#define COPY(to, from) RP_GPU_COPY8(to, from)
#define EXP rp_exp_f64
#define LOG rp_log_f64
#define ROOT RP_GPU_SQRT_F64
#define LOWEST (-RP_GPU_FROM_BITS_F64(UINT64_C(0x7FF0000000000000)))
#define SIGN_BIT(x) (RP_GPU_BITS_F64(x) >> 63)
#include "kernels/gpu/reduce/rows_type.inc.h"
