/* SPDX-License-Identifier: Apache-2.0
 * Group norm on the device (CONTRACT 7.11): what is a group's, of its channels' sums, and what is an element's. The
 * sums over a channel's positions are reductions (reduce.cu). */
#include "kernels/gpu/reduce/group_norm_args.h"
#include "kernels/gpu/reduce/strided.h"
#include "kernels/gpu/vectors.h"

enum { THREADS = 256 };
#define WARP 32u
#define AHEAD 4u /* loads of a thread before the first is added */

#define T float
#define PASTE(name) name##_f32
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F32
#define ROOT RP_GPU_SQRT_F32
#include "kernels/gpu/reduce/group_norm_type.inc.h"

#define T double
#define PASTE(name) name##_f64
#define SHUFFLE_XOR RP_GPU_SHUFFLE_XOR_F64
#define ROOT RP_GPU_SQRT_F64
#include "kernels/gpu/reduce/group_norm_type.inc.h"
