/* SPDX-License-Identifier: Apache-2.0
 * A tile (the parameters of matmul_large.inc.h but A_ALONG, B_ALONG; KIND) for the ways in which operands may lie: k,
 * along k; w, wide. All parameters end here. */
#define SIDES kk
#define A_ALONG 1
#define B_ALONG 1
#include "kernels/gpu/matmul/matmul_large.inc.h"
#define SIDES kw
#define A_ALONG 1
#define B_ALONG 0
#include "kernels/gpu/matmul/matmul_large.inc.h"
#define SIDES wk
#define A_ALONG 0
#define B_ALONG 1
#include "kernels/gpu/matmul/matmul_large.inc.h"
#define SIDES ww
#define A_ALONG 0
#define B_ALONG 0
#include "kernels/gpu/matmul/matmul_large.inc.h"

#undef KIND
#undef TM
#undef TN
#undef WM
#undef WN
#undef BK
#undef STAGES
#undef BLOCKS
