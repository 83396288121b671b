/* SPDX-License-Identifier: Apache-2.0
 * Sizes of minimal filtering at the level that is being compiled. */
#ifndef KERNELS_CPU_CONV_WINOGRAD_SIZES_H
#define KERNELS_CPU_CONV_WINOGRAD_SIZES_H

#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/cpu/vec.h"
#include "kernels/ref/conv/winograd.h"

/* Numbers of a type that are transformed at once, and filters of a panel. */
#ifdef VEC_BYTES
#define LANES_OF(type) (VEC_BYTES / sizeof(type))
#define WINOGRAD_PANEL(type) (2 * VEC_BYTES / sizeof(type))
#else
#define LANES_OF(type) ((size_t)1)
#define WINOGRAD_PANEL(type) (128 / sizeof(type))
#endif

/* TAPS of the weight; AHEAD: channels from its use at which a row of the weight is fetched */
enum { IN = RP_WINOGRAD_IN, OUT = RP_WINOGRAD_OUT, POINTS = RP_WINOGRAD_POINTS, TAPS = 9, AHEAD = 12 };

#endif
