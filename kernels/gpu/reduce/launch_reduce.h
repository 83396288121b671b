/* SPDX-License-Identifier: Apache-2.0
 * Sums in the order of CONTRACT 4.1 on the device, level by level, for launch_reduce.c and launch_batch_norm.c. */
#ifndef KERNELS_GPU_REDUCE_LAUNCH_REDUCE_H
#define KERNELS_GPU_REDUCE_LAUNCH_REDUCE_H

#include "kernels/gpu/launch.h"
#include "kernels/gpu/reduce/reduce_args.h"

/* Sets a reduction of x over the axes in mask up: outputs, elements and how they lie; `other` may be NULL; y: the
 * results' view, whose reduced axes have length 1, or NULL: [outputs]. false: too large for the kernels' numbers. */
bool rp_gpu_reduce_set(rp_gpu_reduce *r, const rp_view *x, const rp_view *other, const rp_view *y, unsigned mask);
/* Bytes of workspace that one reduction needs, a multiple of 16. */
size_t rp_gpu_reduce_bytes(const rp_gpu_reduce *r, rp_dtype dtype, bool places);
/* Launches it: first names the kernels of the first level ("square"), next those of the others ("sum"). */
void rp_gpu_reduce_run(rp_gpu_queue *queue, const rp_gpu_reduce *r, rp_dtype dtype, const char *first, const char *next,
                       void *workspace);

#endif
