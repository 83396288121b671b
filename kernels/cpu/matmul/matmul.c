/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for one instruction set: vectors lie across outputs, never across k, so every output runs the chain of
 * CONTRACT 4.4 whatever the tile. */
#include <string.h>

#include "determinism/bits.h"
#include "kernels/cpu/matmul/matmul_plan.h"
#include "kernels/cpu/vec.h"
#include "kernels/level.h"

#ifdef VEC_BYTES

#include "kernels/cpu/matmul/matmul_sizes.h"
#include "kernels/type_f32.h"
#include "kernels/cpu/matmul/matmul_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/matmul/matmul_type.inc.h"
#include "kernels/type_end.h"

static void plan_of(rp_matmul_plan *plan, const rp_kernel_args *args)
{
    const size_t size = rp_dtype_size(args->out[0].dtype);

    rp_matmul_plan_make(plan, args, 2 * VEC_BYTES / size, B_BYTES / 2 / (RP_MATMUL_CHUNK * size));
}

static size_t matmul_items(const rp_kernel_args *args)
{
    rp_matmul_plan plan;

    plan_of(&plan, args);
    return rp_matmul_plan_items(&plan);
}

static void matmul_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_matmul_plan plan;

    plan_of(&plan, args);
    rp_matmul_plan_run(&plan, begin, end, args->out[0].dtype == RP_F64 ? block_f64 : block_f32);
}

/* A vector of b that is read for one row takes as long as four that are there already. */
enum { READING = 4 };

static size_t cost_of(const rp_matmul_plan *plan)
{
    const size_t columns = 1 + plan->n / (plan->strips > 0 ? plan->strips : 1);

    return 1 + rp_view_last(&plan->in[0]) * columns * rp_dtype_size(plan->out.dtype) / VEC_BYTES;
}

static size_t matmul_cost(const rp_kernel_args *args)
{
    rp_matmul_plan plan;

    plan_of(&plan, args);
    return plan.m <= THIN_ROWS ? READING * cost_of(&plan) : cost_of(&plan);
}

RP_DEFINE_KERNEL(matmul, matmul_items, matmul_run, matmul_cost);

extern rp_epilogue_run RP_KERNEL(epilogue_run);

void RP_KERNEL(epilogue_run)(const rp_kernel_args *args, size_t begin, size_t end, const rp_epilogue *epilogue)
{
    rp_matmul_plan plan;

    plan_of(&plan, args);
    plan.epilogue = epilogue;
    rp_matmul_plan_run(&plan, begin, end, args->out[0].dtype == RP_F64 ? block_f64 : block_f32);
}

static void onto_plan_of(rp_matmul_plan *plan, const rp_kernel_args *args)
{
    const size_t size = rp_dtype_size(args->out[0].dtype);

    rp_matmul_plan_make_onto(plan, args, 2 * VEC_BYTES / size, B_BYTES / 2 / (RP_MATMUL_CHUNK * size));
}

static size_t matmul_onto_items(const rp_kernel_args *args)
{
    rp_matmul_plan plan;

    onto_plan_of(&plan, args);
    return rp_matmul_plan_items(&plan);
}

static void matmul_onto_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_matmul_plan plan;

    onto_plan_of(&plan, args);
    rp_matmul_plan_run(&plan, begin, end, args->out[0].dtype == RP_F64 ? block_onto_f64 : block_onto_f32);
}

static size_t matmul_onto_cost(const rp_kernel_args *args)
{
    rp_matmul_plan plan;

    onto_plan_of(&plan, args);
    return (1 + plan.more) * cost_of(&plan);
}

RP_DEFINE_KERNEL(matmul_onto, matmul_onto_items, matmul_onto_run, matmul_onto_cost); /* kernels/onto.h */

#else

#include "kernels/type_f32.h"
#include "kernels/cpu/matmul/matmul_columns.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/matmul/matmul_columns.inc.h"
#include "kernels/type_end.h"

static void matmul_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_matmul_run(args, begin, end, args->out[0].dtype == RP_F64 ? rows_f64 : rows_f32);
}

RP_DEFINE_KERNEL(matmul, rp_matmul_items, matmul_run, rp_matmul_cost);

#endif
