/* SPDX-License-Identifier: Apache-2.0
 * A tile (the parameters of matmul_tile.inc.h but A_WIDE, B_WIDE and TILE's SIDES; KIND) for the ways in which operands
 * may lie: s, anyhow by strides; w, sides of neighbours, copied 16 bytes at a time. ONLY_NARROW leaves wide rows of a
 * out, ONLY_STRIDED wide operands. All parameters end here. */
#define SIDES ss
#define A_WIDE 0
#define B_WIDE 0
#include "kernels/gpu/matmul/matmul_tile.inc.h"
#ifndef ONLY_STRIDED
#define SIDES sw
#define A_WIDE 0
#define B_WIDE 1
#include "kernels/gpu/matmul/matmul_tile.inc.h"
#ifndef ONLY_NARROW
#define SIDES ws
#define A_WIDE 1
#define B_WIDE 0
#include "kernels/gpu/matmul/matmul_tile.inc.h"
#define SIDES ww
#define A_WIDE 1
#define B_WIDE 1
#include "kernels/gpu/matmul/matmul_tile.inc.h"
#endif
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
#undef ONLY_NARROW
#undef ONLY_STRIDED
