/* SPDX-License-Identifier: Apache-2.0
 * Group norm of x [n, .., c], whose channels lie in groups of neighbours, and its gradient (CONTRACT 7.11). An item is
 * a group of a sample: each of its channels is summed over the positions, and these sums over the channels. */
#include "determinism/math.h"
#include "determinism/sum.h"
#include "kernels/level.h"
#include "kernels/walk.h"

#include "kernels/type_f32.h"
#include "kernels/ref/conv/group_norm_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/group_norm_type.inc.h"

/* Of each sample. */
static size_t groups_of(const rp_kernel_args *args)
{
    return (size_t)RP_AT(args->attr, group_norm, groups).i;
}

static size_t group_items(const rp_kernel_args *args)
{
    return args->out[0].shape[0] * groups_of(args);
}

static size_t group_cost(const rp_kernel_args *args)
{
    const size_t items = group_items(args);

    return 1 + 12 * (items > 0 ? rp_view_count(&args->out[0]) / items : 0);
}

#define GROUP_NORM(name) \
    static void name##_run(const rp_kernel_args *args, size_t begin, size_t end) \
    { \
        const size_t groups = groups_of(args); \
\
        for (size_t i = begin; i < end; i++) \
            if (args->out[0].dtype == RP_F32) \
                name##_f32(args, i / groups, i % groups, rp_view_last(&args->out[0]) / groups); \
            else \
                name##_f64(args, i / groups, i % groups, rp_view_last(&args->out[0]) / groups); \
    } \
    RP_DEFINE_KERNEL(name, group_items, name##_run, group_cost)

GROUP_NORM(group_norm);
GROUP_NORM(group_norm_grad);
