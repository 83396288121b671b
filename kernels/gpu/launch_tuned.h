/* SPDX-License-Identifier: Apache-2.0
 * The launchers of tuned kernels, a family a file launch_*.c, for the rows of table.c. */
#ifndef KERNELS_GPU_LAUNCH_TUNED_H
#define KERNELS_GPU_LAUNCH_TUNED_H

#include "kernels/gpu/launch.h"

rp_gpu_launcher rp_gpu_launch_matmul;
rp_gpu_launcher rp_gpu_launch_reduce;       /* sum, mean, max, min, argmax, argmin */
rp_gpu_launcher rp_gpu_launch_reduce_twice; /* var, logsumexp */
rp_gpu_launcher rp_gpu_launch_cumsum;
rp_gpu_launcher rp_gpu_launch_rows;       /* softmax, layer norm, RMS norm, cross-entropy and gradients */
rp_gpu_launcher rp_gpu_launch_norm_lanes; /* layer_norm_backward, rms_norm_grad */
rp_gpu_launcher rp_gpu_launch_batch_norm; /* and batch_norm_train */
rp_gpu_launcher rp_gpu_launch_batch_norm_grad;
rp_gpu_launcher rp_gpu_launch_group_norm, rp_gpu_launch_group_norm_grad;
rp_gpu_launcher rp_gpu_launch_conv_tile;   /* conv2d and its gradients in tiles, or as a matrix product */
rp_gpu_launcher rp_gpu_launch_conv_weight; /* conv2d_grad_weight */
rp_gpu_launcher rp_gpu_launch_conv_direct; /* conv2d and its gradients, a thread an element */
rp_gpu_launcher rp_gpu_launch_winograd;
rp_gpu_launcher rp_gpu_launch_pool;      /* max_pool, avg_pool and their gradients */
rp_gpu_launcher rp_gpu_launch_attention; /* and attention_grad */
rp_gpu_launcher rp_gpu_launch_fourier;
rp_gpu_launcher rp_gpu_launch_scatter_add;
rp_gpu_launcher rp_gpu_launch_sort, rp_gpu_launch_topk;

#endif
