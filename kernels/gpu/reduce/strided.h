/* SPDX-License-Identifier: Apache-2.0
 * Finding elements by strides, for kernels. */
#ifndef KERNELS_GPU_REDUCE_STRIDED_H
#define KERNELS_GPU_REDUCE_STRIDED_H

#include "kernels/gpu/reduce/reduce_args.h"

/* Where element i of the axes lies, in elements. */
RP_GPU_FN i64 rp_gpu_offset(const rp_gpu_axes *axes, const i64 *stride, u32 i)
{
    i64 at = 0;

    if (axes->rank == 1)
        return i * stride[0];
    for (int d = (int)axes->rank - 1; d >= 0; d--) {
        const u32 left = i / axes->shape[d];

        at += (i64)(i - left * axes->shape[d]) * stride[d];
        i = left;
    }
    return at;
}

#endif
