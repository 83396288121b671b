/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for one instruction set: vectors lie across outputs, never across k, so every output runs the chain of
 * CONTRACT 4.4 whatever the tile. */
#include <string.h>

#include "kernels/cpu/inline_math.h"
#include "kernels/cpu/vec.h"
#include "kernels/level.h"
#include "kernels/ref/matmul.h"

#ifdef VEC_BYTES
#define MATMUL_TEMPLATE "kernels/cpu/matmul_type.inc.h"
#else
#define MATMUL_TEMPLATE "kernels/cpu/matmul_columns.inc.h"
#endif

#include "kernels/type_f32.h"
#include MATMUL_TEMPLATE
#include "kernels/type_f64.h"
#include MATMUL_TEMPLATE

static void matmul_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_matmul_run(args, begin, end, args->out[0].dtype == RP_F32 ? rows_f32 : rows_f64);
}

RP_DEFINE_KERNEL(matmul, rp_matmul_items, matmul_run, rp_matmul_cost);
