/* SPDX-License-Identifier: Apache-2.0
 * Copies from view to view, for all moves that are made of them. */
#ifndef KERNELS_GPU_MOVE_LAUNCH_COPY_H
#define KERNELS_GPU_MOVE_LAUNCH_COPY_H

#include "kernels/gpu/launch.h"

/* Both have one shape and elements of one size. */
void rp_gpu_copy_view(rp_gpu_queue *queue, const rp_view *to, const rp_view *from);

#endif
