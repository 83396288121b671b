/* SPDX-License-Identifier: Apache-2.0
 * What launches tell the kernels of convolution and pooling: x [n, h, w, c], weight [r, s, c / groups, k] and y [n, oh,
 * ow, k], any of which may be the gradient that is made. */
#ifndef KERNELS_GPU_CONV_CONV_ARGS_H
#define KERNELS_GPU_CONV_CONV_ARGS_H

#include "kernels/gpu/gpu.h"

enum { RP_GPU_CONV_CHUNK = 512, RP_GPU_CONV_TAPS = 64 };

/* Height or width: output o and tap t meet at input o * stride + t * dilation - pad, where that lies in [0, in). */
typedef struct rp_gpu_conv_axis {
    int in, out, taps, stride, pad, dilation;
} rp_gpu_conv_axis;

typedef struct rp_gpu_conv {
    rp_gpu_head head;
    const void *x, *weight, *y; /* those that are read */
    void *to;                   /* what is made: y, x or weight */
    i64 x_stride[4], weight_stride[4], y_stride[4];
    rp_gpu_conv_axis h, w;
    int images, groups, c, k; /* channels and filters of a group */
    u64 count;                /* elements that are made */
} rp_gpu_conv;

/* Where output o and tap t meet along an axis; false: nowhere. */
#define RP_GPU_CONV_INPUT(axis, o, t, i) \
    ((i) = (o) * (axis).stride + (t) * (axis).dilation - (axis).pad, (i) >= 0 && (i) < (axis).in)
/* The output that meets input i in tap t. */
#define RP_GPU_CONV_OUTPUT(axis, i, t, o) \
    ((o) = (i) + (axis).pad - (t) * (axis).dilation, \
     (o) >= 0 && (o) % (axis).stride == 0 && ((o) = (o) / (axis).stride) < (axis).out)

#endif
