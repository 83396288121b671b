/* SPDX-License-Identifier: Apache-2.0
 * What the launches of convolutions share: from views to numbers of kernels. */
#ifndef KERNELS_GPU_CONV_LAUNCH_CONV_H
#define KERNELS_GPU_CONV_LAUNCH_CONV_H

#include "kernels/gpu/conv/conv_args.h"
#include "kernels/gpu/launch.h"
#include "kernels/gpu/matmul/launch_matmul.h"
#include "kernels/ref/conv/conv.h"

/* The operands of a kernel by name, whichever it makes. */
rp_conv rp_gpu_conv_of(rp_kernel_id kernel, const rp_kernel_args *args);
/* false: too large for the kernels' numbers. */
bool rp_gpu_conv_set(rp_gpu_conv *p, const rp_conv *conv, const rp_view *made);
/* The columns of the tile that a model finds the faster one, 128 or 64, and its chunks. */
unsigned rp_gpu_conv_width(const rp_gpu_queue *queue, const rp_gpu_tiled_product *all, rp_gpu_tiling *tiling);
/* Whether all of a view's elements lie within 31 bits of the first. */
bool rp_gpu_conv_is_near(const rp_view *view);

#endif
