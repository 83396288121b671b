/* SPDX-License-Identifier: Apache-2.0
 * A tile (the parameters of matmul_tile.inc.h but B_WIDE and TILE's SIDES; KIND) for the ways in which operands may
 * lie: s, anyhow by strides; w, columns of neighbours, copied 16 bytes at a time. ONLY_STRIDED leaves those out. All
 * parameters end here. */
#define SIDES ss
#define B_WIDE 0
#include "kernels/gpu/matmul/matmul_tile.inc.h"
#ifndef ONLY_STRIDED
#define SIDES sw
#define B_WIDE 1
#include "kernels/gpu/matmul/matmul_tile.inc.h"
#endif

#undef KIND
#undef TM
#undef TN
#undef WM
#undef WN
#undef BK
#undef STAGES
#undef BLOCKS
#undef FREE
#undef ONLY_STRIDED
