/* SPDX-License-Identifier: Apache-2.0
 * Geometry shared by convolution and pooling (CONTRACT 4.5): which taps of a window exist, and where the tensors of a
 * convolution lie. Attributes: list 0 stride, list 1 padding (top, left, bottom, right), list 2 dilation; the sizes
 * of the views say the rest, so the kernels never look at the bottom and right padding. */
#ifndef KERNELS_REF_CONV_CONV_H
#define KERNELS_REF_CONV_CONV_H

#include "kernels/walk.h"

enum { RP_CONV_CHUNK = 512 }; /* of CONTRACT 4.4 */

/* Height or width: output o and tap t meet at input o * stride + t * dilation - pad, where that lies in [0, in). */
typedef struct rp_conv_axis {
    size_t in, out, taps;
    int64_t stride, pad, dilation;
} rp_conv_axis;

/* The taps that exist for one coordinate: first, first + step, ... (count of them). The first meets coordinate `at` on
 * the other side; each further one lies `move` away from the one before. */
typedef struct rp_taps {
    size_t first, count, step;
    ptrdiff_t at, move;
} rp_taps;

/* For output coordinate o, the inputs it reads; for input coordinate i, the outputs that read it. Taps ascend. */
RP_KERNEL_FN rp_taps rp_conv_taps(const rp_conv_axis *axis, size_t o);
RP_KERNEL_FN rp_taps rp_conv_taps_back(const rp_conv_axis *axis, size_t i);
/* The outputs [begin, end) for which tap t exists. */
RP_KERNEL_FN void rp_conv_outputs(const rp_conv_axis *axis, size_t t, size_t *begin, size_t *end);

/* x [n, h, w, groups c], weight [r, s, c, groups k], y [n, oh, ow, groups k]; any of them may be the gradient. */
typedef struct rp_conv {
    rp_conv_axis h, w;
    size_t images, groups, c, k;
    const rp_view *x, *weight, *y;
} rp_conv;

RP_KERNEL_FN rp_conv_axis rp_conv_axis_of(const rp_attr *attr, int d, size_t in, size_t out, size_t taps);
RP_KERNEL_FN rp_conv rp_conv_of(const rp_view *x, const rp_view *weight, const rp_view *y, const rp_attr *attr);

/* The three kernels' operands by name. */
RP_KERNEL_FN rp_conv rp_conv_forward(const rp_kernel_args *args);    /* in: x, weight; out: y */
RP_KERNEL_FN rp_conv rp_conv_grad_input(const rp_kernel_args *args); /* in: gradient of y, weight; out: gradient of x */
RP_KERNEL_FN rp_conv
rp_conv_grad_weight(const rp_kernel_args *args); /* in: x, gradient of y; out: gradient of weight */

/* Items are pixels of y, pixels of x, and rows (r, s, c) of weight: all but the last axis of output 0. */
RP_KERNEL_FN size_t rp_conv_forward_cost(const rp_kernel_args *args);
RP_KERNEL_FN size_t rp_conv_grad_input_cost(const rp_kernel_args *args);
RP_KERNEL_FN size_t rp_conv_grad_weight_cost(const rp_kernel_args *args);

#endif
