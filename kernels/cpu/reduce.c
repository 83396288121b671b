/* SPDX-License-Identifier: Apache-2.0
 * Sum, mean, maximum and argmax for one instruction set, where the elements of one result, or neighbouring results, are
 * contiguous. What fits neither, and integers, goes to the reference. */
#include <string.h>

#include "determinism/bits.h"
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/level.h"
#include "kernels/walk.h"

/* Columns are taken in strips whose 64 lanes fit the second cache, or on the stack when no scratch block is to be had.
 */
enum { COLUMN_STRIP = 8192, COLUMN_STRIP_LEAST = 256, COLUMN_ROWS = 4 };
typedef enum reduction { SUM, MEAN, MAX, ARGMAX } reduction;

extern const rp_kernel rp_kernel_sum_ref, rp_kernel_mean_ref, rp_kernel_max_ref, rp_kernel_argmax_ref;

#define BITS uint32_t
#include "kernels/type_f32.h"
#include "kernels/cpu/reduce_type.inc.h"
#undef BITS
#define BITS uint64_t
#include "kernels/type_f64.h"
#include "kernels/cpu/reduce_type.inc.h"

static void reduce_items(const rp_kernel_args *args, reduction how, const rp_kernel *ref, size_t begin, size_t end)
{
    const rp_dtype dtype = args->in[0].dtype;
    rp_view kept_out, kept_in, reduced;
    const rp_view *kept[2] = {&kept_out, &kept_in}, *walked = &reduced;
    _Alignas(64) char least[2 * RP_LANES * COLUMN_STRIP_LEAST];
    void *scratch;
    rp_walk walk, inner;
    unsigned mask = how == ARGMAX ? 1u << RP_AT(args->attr, argmax, axis).i : 0;

    for (int i = 0; how != ARGMAX && i < RP_AT(args->attr, sum, axes).n; i++)
        mask |= 1u << RP_AT(args->attr, sum, axes).list[i];
    kept_out = rp_view_axes(&args->out[0], mask, false);
    kept_in = rp_view_axes(&args->in[0], mask, false);
    reduced = rp_view_axes(&args->in[0], mask, true);
    rp_walk_begin(&walk, kept, 2, begin, end);
    rp_walk_begin(&inner, &walked, 1, 0, rp_view_count(&reduced));
    if ((dtype != RP_F32 && dtype != RP_F64) || inner.left == 0) {
        ref->run(args, begin, end);
        return;
    }
    scratch = rp_scratch_borrow();
    while (rp_walk_next(&walk))
        if (!(dtype == RP_F32 ? reduce_run_f32 : reduce_run_f64)(&walk, inner, how, scratch ? scratch : least,
                                                                 scratch ? COLUMN_STRIP : COLUMN_STRIP_LEAST))
            ref->run(args, walk.first, walk.first + walk.run);
    rp_scratch_return(scratch);
}

#define REDUCTION(name, how) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        reduce_items(args, how, &rp_kernel_##name##_ref, begin, end); \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, reduce_cost)

static size_t reduce_cost(const rp_kernel_args *args)
{
    return rp_kernel_sum_ref.cost(args);
}

REDUCTION(sum, SUM);
REDUCTION(mean, MEAN);
REDUCTION(max, MAX);
REDUCTION(argmax, ARGMAX);
