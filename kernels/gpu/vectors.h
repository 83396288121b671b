/* SPDX-License-Identifier: Apache-2.0
 * 16 bytes at once, to and from arrays of a thread. The address is aligned to 16. */
#ifndef KERNELS_GPU_VECTORS_H
#define KERNELS_GPU_VECTORS_H

#include "kernels/gpu/gpu.h"

RP_GPU_FN void rp_gpu_take16(float *to, const float *from)
{
    const rp_gpu_f32x4 v = RP_GPU_LOAD16(rp_gpu_f32x4, from);

    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

RP_GPU_FN void rp_gpu_put16(float *to, const float *from)
{
    rp_gpu_f32x4 v;

    v.x = from[0], v.y = from[1], v.z = from[2], v.w = from[3];
    RP_GPU_STORE16(rp_gpu_f32x4, to, v);
}

RP_GPU_FN void rp_gpu_take16(double *to, const double *from)
{
    const rp_gpu_f64x2 v = RP_GPU_LOAD16(rp_gpu_f64x2, from);

    to[0] = v.x, to[1] = v.y;
}

RP_GPU_FN void rp_gpu_put16(double *to, const double *from)
{
    rp_gpu_f64x2 v;

    v.x = from[0], v.y = from[1];
    RP_GPU_STORE16(rp_gpu_f64x2, to, v);
}

RP_GPU_FN void rp_gpu_take16(int32_t *to, const int32_t *from)
{
    const rp_gpu_u32x4 v = RP_GPU_LOAD16(rp_gpu_u32x4, from);

    to[0] = (int32_t)v.x, to[1] = (int32_t)v.y, to[2] = (int32_t)v.z, to[3] = (int32_t)v.w;
}

RP_GPU_FN void rp_gpu_take16(i64 *to, const i64 *from)
{
    const rp_gpu_u32x4 v = RP_GPU_LOAD16(rp_gpu_u32x4, from);

    to[0] = (i64)((u64)v.y << 32 | v.x), to[1] = (i64)((u64)v.w << 32 | v.z);
}

#endif
