/* SPDX-License-Identifier: Apache-2.0
 * Sum and mean for one instruction set, where the elements of a sum, or neighbouring sums, are contiguous. What fits
 * neither, and integers, goes to the reference, item by item. */
#include <string.h>

#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/walk.h"

enum { COLUMNS = 16 };

extern const rp_kernel rp_kernel_sum_ref, rp_kernel_mean_ref;

#include "kernels/type_f32.h"
#include "kernels/cpu/reduce_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/cpu/reduce_type.inc.h"

static void reduce_items(const rp_kernel_args *args, const rp_kernel *ref, bool mean, size_t begin, size_t end)
{
    const rp_dtype dtype = args->in[0].dtype;
    rp_view kept_out, kept_in, reduced;
    const rp_view *kept[2] = {&kept_out, &kept_in}, *walked = &reduced;
    rp_walk walk, inner;
    unsigned mask = 0;

    for (int i = 0; i < args->attr[0].n; i++)
        mask |= 1u << args->attr[0].list[i];
    kept_out = rp_view_axes(&args->out[0], mask, false);
    kept_in = rp_view_axes(&args->in[0], mask, false);
    reduced = rp_view_axes(&args->in[0], mask, true);
    rp_walk_begin(&walk, kept, 2, begin, end);
    rp_walk_begin(&inner, &walked, 1, 0, rp_view_count(&reduced));
    if ((dtype != RP_F32 && dtype != RP_F64) || inner.left == 0) {
        ref->run(args, begin, end);
        return;
    }
    while (rp_walk_next(&walk)) {
        const size_t done = dtype == RP_F32 ? reduce_run_f32(&walk, inner, mean) : reduce_run_f64(&walk, inner, mean);

        if (done < walk.run)
            ref->run(args, walk.first + done, walk.first + walk.run);
    }
}

static void sum_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    reduce_items(args, &rp_kernel_sum_ref, false, begin, end);
}

static void mean_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    reduce_items(args, &rp_kernel_mean_ref, true, begin, end);
}

static size_t reduce_cost(const rp_kernel_args *args)
{
    return rp_kernel_sum_ref.cost(args);
}

RP_DEFINE_KERNEL(sum, rp_items_elements, sum_run, reduce_cost);
RP_DEFINE_KERNEL(mean, rp_items_elements, mean_run, reduce_cost);
