/* SPDX-License-Identifier: Apache-2.0
 * Attention in a workspace of a given size, for tests: blocks of heads and of queries where tensors are small. */
#ifndef KERNELS_GPU_ATTENTION_LAUNCH_ATTENTION_H
#define KERNELS_GPU_ATTENTION_LAUNCH_ATTENTION_H

#include "kernels/gpu/launch.h"

/* As the launcher, scores and their gradients in `room` bytes, or in as many as the least block takes: a query, of a
 * gradient 512. 0: as many as it takes to fill the chip. */
bool rp_gpu_attention_within(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args, size_t room);

#endif
