/* SPDX-License-Identifier: Apache-2.0
 * Batch norm on the device (CONTRACT 7.8): what is a channel's, and what is an element's. The sums over a channel are
 * reductions (reduce.cu). */
#include "kernels/gpu/reduce/batch_norm_args.h"
#include "kernels/gpu/reduce/strided.h"

enum { THREADS = 256 };

/* Element i of the tensor: its row, and its channel. */
#define EACH_ELEMENT(row, c) \
    for (u64 i = (u64)RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD, row, c; \
         i < p.count && (row = i / p.channels, c = i - row * p.channels, true); i += (u64)RP_GPU_BLOCKS_X * THREADS)

#define BATCH_NORM(T, name, ROOT) \
    RP_GPU_KERNEL(THREADS, 4) rp_gpu_batch_channels_##name(const RP_GPU_PARAMETER rp_gpu_batch_norm p) \
    { \
        const u32 c = RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD; \
\
        RP_GPU_BEGIN(p); \
        if (c >= p.channels) \
            return; \
        const T mean = ((const T *)p.mean)[c * p.mean_step], var = ((const T *)p.var)[c * p.var_step]; \
\
        if (p.mean_out != NULL) \
            ((T *)p.mean_out)[c * p.mean_out_step] = mean; \
        if (p.var_out != NULL) \
            ((T *)p.var_out)[c * p.var_out_step] = var; \
        ((T *)p.center)[c] = mean; \
        ((T *)p.scale)[c] = (T)1 / ROOT(var + (T)p.eps); \
    } \
\
    /* y = ((x - mean) r) gamma + beta */ \
    RP_GPU_KERNEL(THREADS, 4) rp_gpu_batch_apply_##name(const RP_GPU_PARAMETER rp_gpu_batch_norm p) \
    { \
        RP_GPU_BEGIN(p); \
        EACH_ELEMENT(row, c) \
        { \
            const T x = ((const T *)p.x)[rp_gpu_offset(&p.rows, p.x_row, (u32)row) + (i64)c * p.x_last]; \
            const T gamma = ((const T *)p.gamma)[(i64)c * p.gamma_step]; \
            const T beta = ((const T *)p.beta)[(i64)c * p.beta_step]; \
            const T z = (x - ((const T *)p.center)[c]) * ((const T *)p.scale)[c]; \
\
            ((T *)p.y)[rp_gpu_offset(&p.rows, p.y_row, (u32)row) + (i64)c * p.y_last] = z * gamma + beta; \
        } \
    } \
\
    /* dx = ((g - dbeta / N) - z (dgamma / N)) (gamma r) */ \
    RP_GPU_KERNEL(THREADS, 4) rp_gpu_batch_grad_##name(const RP_GPU_PARAMETER rp_gpu_batch_norm p) \
    { \
        RP_GPU_BEGIN(p); \
        EACH_ELEMENT(row, c) \
        { \
            const T g = ((const T *)p.g)[rp_gpu_offset(&p.rows, p.g_row, (u32)row) + (i64)c * p.g_last]; \
            const T x = ((const T *)p.x)[rp_gpu_offset(&p.rows, p.x_row, (u32)row) + (i64)c * p.x_last]; \
            const T r = ((const T *)p.scale)[c], z = (x - ((const T *)p.center)[c]) * r; \
            const T a = ((const T *)p.g_sum)[c] / (T)p.n, b = ((const T *)p.gz_sum)[c] / (T)p.n; \
            const T scale = ((const T *)p.gamma)[(i64)c * p.gamma_step] * r; \
\
            ((T *)p.y)[rp_gpu_offset(&p.rows, p.y_row, (u32)row) + (i64)c * p.y_last] = ((g - a) - z * b) * scale; \
        } \
    } \
\
    /* dgamma and dbeta to where they are wanted */ \
    RP_GPU_KERNEL(THREADS, 4) rp_gpu_batch_sums_##name(const RP_GPU_PARAMETER rp_gpu_batch_norm p) \
    { \
        const u32 c = RP_GPU_BLOCK_X * THREADS + RP_GPU_THREAD; \
\
        RP_GPU_BEGIN(p); \
        if (c < p.channels) { \
            ((T *)p.mean_out)[c * p.mean_out_step] = ((const T *)p.gz_sum)[c]; \
            ((T *)p.var_out)[c * p.var_out_step] = ((const T *)p.g_sum)[c]; \
        } \
    }

BATCH_NORM(float, f32, RP_GPU_SQRT_F32)
BATCH_NORM(double, f64, RP_GPU_SQRT_F64)
