/* SPDX-License-Identifier: Apache-2.0
 * Operations on images: convolution, pooling, batch norm (CONTRACT 4.5, 7.8). They append to the graph as those of
 * rp/tensor.h do, and their errors are sticky likewise: RP_ESHAPE for shapes and numbers that do not fit.
 *
 * Images are [n, h, w, c], channels last, in f32 or f64; only n, the batch, may be 0. All have gradients, which have
 * gradients themselves. */
#ifndef RP_IMAGE_H
#define RP_IMAGE_H

#include "rp/tensor.h"

/* How windows lie on an image. {0} is a good start: every 0 stands for the usual value. */
typedef struct rp_placement {
    size_t stride[2];  /* height, width; 0: 1 for a convolution, the window's size for pooling */
    size_t padding[4]; /* top, left, bottom, right. Padding does not exist: it is no maximum and counts in no average */
    size_t dilation[2]; /* pixels from tap to tap: height, width; 0: 1 */
} rp_placement;

/* Cross-correlation, as machine learning calls convolution.
 *   x       [n, h, w, c]
 *   weight  [r, s, c / groups, k]: r x s taps; group j maps channels j c / groups .. to outputs j k / groups ..
 *   bias    [k], added to every pixel; bias.graph NULL: none
 *   groups  divides c and k; 1: every output sees every channel; c: depthwise
 *   place   NULL: stride 1, no padding, dilation 1
 * Result: [n, oh, ow, k], oh = (h + top + bottom - dilation (r - 1) - 1) / stride + 1 rounded down.
 * Errors: RP_ESHAPE when a window is larger than the padded image, groups do not divide, or a stride, dilation or
 * padding is above 2^20. */
RP_API rp_tensor rp_conv2d(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement *place);

/* Convolution with 3 x 3 taps, stride, dilation and groups 1 and padding up to 2, by minimal filtering (CONTRACT 4.6):
 * its own operation with its own bits. From about 64 channels faster than rp_conv2d, at 2 to 5 times its rounding
 * error. Padding is multiplied here: an infinity or NaN in x or weight may spread over a tile of 4 x 4 outputs. The
 * gradients are those of rp_conv2d. Operands as there; RP_ESHAPE also for what does not fit. */
RP_API rp_tensor rp_conv2d_winograd(rp_tensor x, rp_tensor weight, rp_tensor bias, const rp_placement *place);

/* rp_conv2d along one axis: x [n, w, c], weight [s, c / groups, k], result [n, ow, k]. Of place the members for the
 * width count; RP_EARG when one for the height is not 0. */
RP_API rp_tensor rp_conv1d(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement *place);

/* The greatest element, or the average of the elements that exist, in windows of height x width, channel by channel:
 * x [n, h, w, c] -> [n, oh, ow, c]. place NULL: windows side by side. A NaN is the greatest; of equal elements the
 * first gets max_pool2d's gradient. Errors: RP_ESHAPE also when a padding is not smaller than what the window covers,
 * dilation (height - 1) + 1. */
RP_API rp_tensor rp_max_pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place);
RP_API rp_tensor rp_avg_pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place);

/* (x - mean) / sqrt(var + eps) * gamma + beta, with one mean, var, gamma and beta a channel: x [.., c], the others [c].
 * For inference, with statistics of the training data. */
RP_API rp_tensor rp_batch_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, rp_tensor mean, rp_tensor var, double eps);

/* For training: the same with the mean and variance of this batch, over all axes but the last. *mean and *var get them
 * (NULL: not wanted); var is the biased variance, divided by the number of elements. Running statistics are states that
 * the step updates from them; gradients flow through *mean and *var too where a loss uses them. */
RP_API rp_tensor rp_batch_norm_train(rp_tensor x, rp_tensor gamma, rp_tensor beta, double eps, rp_tensor *mean,
                                     rp_tensor *var);

/* (x - mean) / sqrt(var + eps) * gamma + beta for x [n, .., c], where each sample has a mean and a biased variance for
 * each of `groups` groups of neighbouring channels, over all its positions; gamma and beta are [c]. groups divides c,
 * and there is a position; instance norm has a group a channel. No sample's result depends on another. */
RP_API rp_tensor rp_group_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, size_t groups, double eps);
RP_API rp_tensor rp_instance_norm(rp_tensor x, rp_tensor gamma, rp_tensor beta, double eps);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_conv2d(...) RP_SITED(rp_conv2d, __VA_ARGS__)
#define rp_conv2d_winograd(...) RP_SITED(rp_conv2d_winograd, __VA_ARGS__)
#define rp_conv1d(...) RP_SITED(rp_conv1d, __VA_ARGS__)
#define rp_max_pool2d(...) RP_SITED(rp_max_pool2d, __VA_ARGS__)
#define rp_avg_pool2d(...) RP_SITED(rp_avg_pool2d, __VA_ARGS__)
#define rp_batch_norm(...) RP_SITED(rp_batch_norm, __VA_ARGS__)
#define rp_batch_norm_train(...) RP_SITED(rp_batch_norm_train, __VA_ARGS__)
#define rp_group_norm(...) RP_SITED(rp_group_norm, __VA_ARGS__)
#define rp_instance_norm(...) RP_SITED(rp_instance_norm, __VA_ARGS__)
#endif

#endif
