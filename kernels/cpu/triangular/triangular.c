/* SPDX-License-Identifier: Apache-2.0
 * Cholesky factors and triangular systems for one instruction set: the chains of a whole row go side by side, each in
 * its order. Where rows do not lie in memory as rows, the reference computes. */
#include "kernels/ref/triangular/triangular.h"
#include "kernels/cpu/functions/inline_math.h"
#include "kernels/level.h"

extern const rp_kernel rp_kernel_cholesky_ref, rp_kernel_triangular_solve_ref;

/* Columns of L that are taken from the rows behind them together, and columns of a system that go together. */
enum { PANEL = 32, STRIP = 256 };

#include "kernels/type_f32.h"
#include "kernels/cpu/triangular/triangular_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/triangular/triangular_type.inc.h"
#include "kernels/type_end.h"

static size_t cholesky_items(const rp_kernel_args *args)
{
    return rp_kernel_cholesky_ref.items(args);
}

static size_t cholesky_cost(const rp_kernel_args *args)
{
    return rp_kernel_cholesky_ref.cost(args);
}

static void cholesky_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    if (args->out[0].stride[1] != 1)
        rp_kernel_cholesky_ref.run(args, begin, end);
    else if (begin < end)
        (args->out[0].dtype == RP_F32 ? cholesky_f32 : cholesky_f64)(args);
}

RP_DEFINE_KERNEL(cholesky, cholesky_items, cholesky_run, cholesky_cost);

static size_t triangular_solve_items(const rp_kernel_args *args)
{
    return rp_kernel_triangular_solve_ref.items(args);
}

static size_t triangular_solve_cost(const rp_kernel_args *args)
{
    return rp_kernel_triangular_solve_ref.cost(args);
}

static void triangular_solve_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    if (args->out[0].stride[1] != 1)
        rp_kernel_triangular_solve_ref.run(args, begin, end);
    else
        (args->out[0].dtype == RP_F32 ? solve_f32 : solve_f64)(args, begin, end);
}

RP_DEFINE_KERNEL(triangular_solve, triangular_solve_items, triangular_solve_run, triangular_solve_cost);
