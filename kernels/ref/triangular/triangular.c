/* SPDX-License-Identifier: Apache-2.0
 * Cholesky factors and triangular systems, strided (CONTRACT 4.7). A factor is one item; of a system each column is. */
#include "determinism/math.h"
#include "kernels/level.h"
#include "kernels/ref/triangular/triangular.h"

#include "kernels/type_f32.h"
#include "kernels/ref/triangular/triangular_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/triangular/triangular_type.inc.h"
#include "kernels/type_end.h"

static size_t cholesky_items(const rp_kernel_args *args)
{
    return args->out[0].shape[0] > 0;
}

static size_t cholesky_cost(const rp_kernel_args *args)
{
    const size_t n = args->out[0].shape[0];

    return 1 + n * n / 2 * (n / 3 + 1);
}

static void cholesky_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    if (begin < end && args->out[0].dtype == RP_F32)
        cholesky_f32(args);
    else if (begin < end)
        cholesky_f64(args);
}

RP_DEFINE_KERNEL(cholesky, cholesky_items, cholesky_run, cholesky_cost);

static size_t triangular_solve_items(const rp_kernel_args *args)
{
    return args->out[0].shape[0] > 0 ? args->out[0].shape[1] : 0;
}

static size_t triangular_solve_cost(const rp_kernel_args *args)
{
    const size_t n = args->out[0].shape[0];

    return 1 + n * n;
}

static void triangular_solve_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    if (args->out[0].dtype == RP_F32)
        solve_f32(args, begin, end);
    else
        solve_f64(args, begin, end);
}

RP_DEFINE_KERNEL(triangular_solve, triangular_solve_items, triangular_solve_run, triangular_solve_cost);
