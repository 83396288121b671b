/* SPDX-License-Identifier: Apache-2.0
 * Reductions for one instruction set, where the elements of one result, or neighbouring results, are contiguous. What
 * fits neither, and integers, goes to the reference. */
#include <string.h>

#include "determinism/bits.h"
#include "kernels/cpu/functions/inline_math.h"

#include "determinism/sum.h"
#include "kernels/bags.h"
#include "kernels/dots.h"
#include "kernels/cpu/functions/fast_rows.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/level.h"
#include "kernels/walk.h"

/* Columns are taken in strips whose 64 lanes fit the second cache, or on the stack when no scratch block is to be had.
 */
enum { COLUMN_STRIP = 8192, COLUMN_STRIP_LEAST = 256, COLUMN_ROWS = 4 };

typedef struct reduction {
    enum { SUM, PROD, MEAN, MAX, MIN, ARGMAX, ARGMIN, VAR, LOGSUMEXP } how;
    int64_t divisor; /* of VAR: the count less the correction, but not less than 0 */
} reduction;

enum { BAG_BYTES = 1024 }; /* of a strip of columns of a bag */

#define BITS uint32_t
#include "kernels/type_f32.h"
#include "kernels/cpu/reduce_type.inc.h"
#include "kernels/cpu/bags_type.inc.h"
#undef BITS
#define BITS uint64_t
#include "kernels/type_f64.h"
#include "kernels/cpu/reduce_type.inc.h"
#include "kernels/cpu/bags_type.inc.h"
#undef BITS
#include "kernels/type_end.h"

static unsigned axes_mask(const rp_attr *axes)
{
    unsigned mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->list[i];
    return mask;
}

static void reduce_items(const rp_kernel_args *args, reduction how, unsigned mask, const rp_kernel *ref, size_t begin,
                         size_t end)
{
    const rp_dtype dtype = args->in[0].dtype;
    const rp_view kept_out = rp_view_axes(&args->out[0], mask, false);
    const rp_view kept_in = rp_view_axes(&args->in[0], mask, false);
    const rp_view reduced = rp_view_axes(&args->in[0], mask, true);
    const rp_view *kept[2] = {&kept_out, &kept_in}, *walked = &reduced;
    _Alignas(64) char least[2 * RP_LANES * COLUMN_STRIP_LEAST];
    void *scratch;
    rp_walk walk, inner;

    rp_walk_begin(&walk, kept, 2, begin, end);
    rp_walk_begin(&inner, &walked, 1, 0, rp_view_count(&reduced));
    if ((dtype != RP_F32 && dtype != RP_F64) || inner.left == 0) {
        ref->run(args, begin, end);
        return;
    }
    if (how.how == VAR) {
        const int64_t n = (int64_t)inner.left, correction = RP_AT(args->attr, var, correction).i;

        how.divisor = n > correction ? n - correction : 0;
    }
    scratch = rp_scratch_borrow();
    while (rp_walk_next(&walk))
        if (!(dtype == RP_F32 ? reduce_run_f32 : reduce_run_f64)(&walk, inner, &how, scratch ? scratch : least,
                                                                 scratch ? COLUMN_STRIP : COLUMN_STRIP_LEAST))
            ref->run(args, walk.first, walk.first + walk.run);
    rp_scratch_return(scratch);
}

#define REDUCTION(name, how, mask) \
    extern const rp_kernel rp_kernel_##name##_ref; \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        reduce_items(args, (reduction){how, 0}, mask, &rp_kernel_##name##_ref, begin, end); \
    } \
    static size_t name##_cost(const rp_kernel_args *args) \
    { \
        return rp_kernel_##name##_ref.cost(args); \
    } \
    RP_DEFINE_KERNEL(name, rp_items_elements, name##_run, name##_cost)

REDUCTION(sum, SUM, axes_mask(&RP_AT(args->attr, sum, axes)));
REDUCTION(mean, MEAN, axes_mask(&RP_AT(args->attr, mean, axes)));
REDUCTION(max, MAX, axes_mask(&RP_AT(args->attr, max, axes)));
REDUCTION(min, MIN, axes_mask(&RP_AT(args->attr, min, axes)));
REDUCTION(argmax, ARGMAX, 1u << RP_AT(args->attr, argmax, axis).i);
REDUCTION(argmin, ARGMIN, 1u << RP_AT(args->attr, argmin, axis).i);
REDUCTION(prod, PROD, axes_mask(&RP_AT(args->attr, prod, axes)));
REDUCTION(var, VAR, axes_mask(&RP_AT(args->attr, var, axes)));
REDUCTION(logsumexp, LOGSUMEXP, axes_mask(&RP_AT(args->attr, logsumexp, axes)));

/* ---- bags ---- */

extern rp_bags_run RP_LEVEL_NAME(rp_bags_run, RP_LEVEL);
void RP_LEVEL_NAME(rp_bags_run, RP_LEVEL)(const rp_bags *bags, size_t begin, size_t end)
{
    const rp_view rows = rp_view_axes(&bags->out, 1, false);
    const size_t inner = rp_view_count(&rows);
    _Alignas(64) char least[2 * RP_LANES * BAG_BYTES];

    if (bags->table.dtype == RP_F32)
        bags_f32(bags, inner, (float *)(void *)least, begin, end);
    else
        bags_f64(bags, inner, (double *)(void *)least, begin, end);
}

/* ---- dots ---- */

#define ROWS(T, FN) \
    for (size_t i = begin; i < end; i++) \
    ((T *)dots->out)[i] = FN((const T *)dots->x + i * dots->length, (const T *)dots->y + i * dots->length, dots->length)

extern rp_dots_run RP_LEVEL_NAME(rp_dots_run, RP_LEVEL);
void RP_LEVEL_NAME(rp_dots_run, RP_LEVEL)(const rp_dots *dots, size_t begin, size_t end)
{
    if (dots->dtype == RP_F32)
        ROWS(float, product_sum_f32);
    else
        ROWS(double, product_sum_f64);
}
