/* SPDX-License-Identifier: Apache-2.0
 * Axes of several views as kernels count them: those that lie behind one another in all views become one. */
#ifndef KERNELS_GPU_REDUCE_LAUNCH_AXES_H
#define KERNELS_GPU_REDUCE_LAUNCH_AXES_H

#include "kernels/gpu/reduce/reduce_args.h"
#include "kernels/walk.h"

/* The axes of views[0] whose bit in mask is set (keep), clear (!keep); all views have its shape along them. strides[v]
 * [RP_GPU_AXES] are view v's. At least one axis comes out. false: too many elements for 63 bits. Where they are more
 * than 31 bits hold, lengths of axes are of no use. */
static inline bool rp_gpu_long_axes_of(rp_gpu_axes *axes, i64 *const *strides, const rp_view *const *views, size_t n,
                                       unsigned mask, bool keep, u64 *count)
{
    u64 total = 1;

    axes->rank = 0;
    for (int d = 0; d < views[0]->rank; d++) {
        const size_t length = views[0]->shape[d];
        bool behind = axes->rank > 0;

        if ((mask >> d & 1) != (keep ? 1u : 0u))
            continue;
        if (total > 0 && length > (u64)INT64_MAX / total)
            return false;
        total *= length;
        for (size_t v = 0; behind && v < n; v++)
            behind = strides[v][axes->rank - 1] == (i64)length * views[v]->stride[d];
        if (length == 1 && (axes->rank > 0 || d + 1 < views[0]->rank))
            continue;
        if (!behind)
            axes->shape[axes->rank++] = 1;
        axes->shape[axes->rank - 1] *= (u32)length;
        for (size_t v = 0; v < n; v++)
            strides[v][axes->rank - 1] = views[v]->stride[d];
    }
    if (axes->rank == 0) {
        axes->shape[axes->rank++] = 1;
        for (size_t v = 0; v < n; v++)
            strides[v][0] = 0;
    }
    *count = total;
    return true;
}

/* The same; false: too many elements for 31 bits. */
static inline bool rp_gpu_axes_of(rp_gpu_axes *axes, i64 *const *strides, const rp_view *const *views, size_t n,
                                  unsigned mask, bool keep, u32 *count)
{
    u64 total;

    if (!rp_gpu_long_axes_of(axes, strides, views, n, mask, keep, &total) || total > INT32_MAX)
        return false;
    *count = (u32)total;
    return true;
}

static inline u32 rp_gpu_blocks(u64 count, u32 of)
{
    return (u32)((count + of - 1) / of);
}

#endif
