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

/* Transposed convolution, which goes the way of rp_conv2d back: a window of the result for each pixel of x, added where
 * they overlap; the gradient of rp_conv2d by its image, as an operation of its own.
 *   x       [n, h, w, c]
 *   weight  [r, s, k / groups, c], as that of the convolution from k to c channels
 *   extra   rows and columns more at the bottom and right, fewer than the stride; NULL: none
 * Result: [n, oh, ow, k], oh = (h - 1) stride + dilation (r - 1) + 1 - top - bottom + extra[0]. Bias and errors as
 * there. */
RP_API rp_tensor rp_conv2d_transpose(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups,
                                     const rp_placement *place, const size_t extra[2]);
/* The same along one axis: x [n, w, c], weight [s, k / groups, c], result [n, ow, k]; place as for rp_conv1d. */
RP_API rp_tensor rp_conv1d_transpose(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups,
                                     const rp_placement *place, size_t extra);

/* How windows lie in a volume [n, d, h, w, c]: depth, height, width; padding in front, top, left, behind, bottom,
 * right. Every 0 stands for the usual value, as in rp_placement. */
typedef struct rp_placement3d {
    size_t stride[3];
    size_t padding[6];
    size_t dilation[3];
} rp_placement3d;

/* Convolution of volumes: x [n, d, h, w, c], weight [t, r, s, c / groups, k], result [n, od, oh, ow, k]. One rp_conv2d
 * for each of the t taps along the depth, their results added in the order of the taps; where a tap meets padding of
 * the depth it adds zeros. The transposed form likewise, weight [t, r, s, k / groups, c]. */
RP_API rp_tensor rp_conv3d(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups, const rp_placement3d *place);
RP_API rp_tensor rp_conv3d_transpose(rp_tensor x, rp_tensor weight, rp_tensor bias, size_t groups,
                                     const rp_placement3d *place, const size_t extra[3]);

/* The greatest element, or the average of the elements that exist, in windows of height x width, channel by channel:
 * x [n, h, w, c] -> [n, oh, ow, c]. place NULL: windows side by side. A NaN is the greatest; of equal elements the
 * first gets max_pool2d's gradient. Errors: RP_ESHAPE also when a padding is not smaller than what the window covers,
 * dilation (height - 1) + 1. */
RP_API rp_tensor rp_max_pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place);
RP_API rp_tensor rp_avg_pool2d(rp_tensor x, size_t height, size_t width, const rp_placement *place);

/* The same of rows [n, w, c], where of place the members for the width count, and of volumes [n, d, h, w, c], first
 * along the depth and then slice by slice. */
RP_API rp_tensor rp_max_pool1d(rp_tensor x, size_t width, const rp_placement *place);
RP_API rp_tensor rp_avg_pool1d(rp_tensor x, size_t width, const rp_placement *place);
RP_API rp_tensor rp_max_pool3d(rp_tensor x, const size_t window[3], const rp_placement3d *place);
RP_API rp_tensor rp_avg_pool3d(rp_tensor x, const size_t window[3], const rp_placement3d *place);

/* Pools by the size of their result [n, height, width, c]: window i of n along a length begins at floor(i length / n)
 * and ends at ceil((i + 1) length / n). Errors: RP_ESHAPE for sizes of 0, above the image's, or above 1,024. */
RP_API rp_tensor rp_adaptive_avg_pool2d(rp_tensor x, size_t height, size_t width);
RP_API rp_tensor rp_adaptive_max_pool2d(rp_tensor x, size_t height, size_t width);

/* ---- resizing (CONTRACT 7.12) ---- */

typedef enum rp_resize_mode {
    RP_RESIZE_NEAREST, /* the element that is nearest, by `rounding` */
    RP_RESIZE_LINEAR,  /* of two neighbours */
    RP_RESIZE_CUBIC    /* of four, by Keys' kernel with a = -3/4; beyond the ends the last elements again */
} rp_resize_mode;

/* Where element o of `size` lies on an axis of `length`. */
typedef enum rp_resize_coordinates {
    RP_RESIZE_HALF_PIXELS, /* (o + 1/2) length / size - 1/2 */
    RP_RESIZE_CORNERS,     /* o (length - 1) / (size - 1): first and last elements stay */
    RP_RESIZE_ASYMMETRIC   /* o length / size */
} rp_resize_coordinates;

typedef enum rp_resize_rounding {
    RP_RESIZE_DOWN,
    RP_RESIZE_UP,
    RP_RESIZE_HALF_DOWN, /* to the nearer one, from the middle down */
    RP_RESIZE_HALF_UP
} rp_resize_rounding;

/* {0} is a good start for linear and cubic. PyTorch's "nearest" is ASYMMETRIC and DOWN, its "nearest-exact" HALF_PIXELS
 * and HALF_UP; ONNX's usual one HALF_PIXELS and HALF_DOWN. */
typedef struct rp_resizing {
    rp_resize_mode mode;
    rp_resize_coordinates coordinates;
    rp_resize_rounding rounding; /* nearest alone */
} rp_resizing;

/* x with `size` elements along an axis, of any rank. Scales are the exact fractions length / size. how NULL: {0}.
 * Without smoothing where it becomes smaller. Errors: RP_ESHAPE (no such axis, lengths of 0 or above 2^31 - 1). */
RP_API rp_tensor rp_resize(rp_tensor x, int axis, size_t size, const rp_resizing *how);
/* Images [n, h, w, c] to [n, height, width, c]: along the height, then along the width; an axis that keeps its length
 * is left as it is. */
RP_API rp_tensor rp_resize2d(rp_tensor x, size_t height, size_t width, const rp_resizing *how);

/* [n, h, w, c f f] to [n, h f, w f, c], f the factor: channel (k f + i) f + j becomes channel k of pixel (i, j) of each
 * f x f; and back. */
RP_API rp_tensor rp_pixel_shuffle(rp_tensor x, size_t factor);
RP_API rp_tensor rp_pixel_unshuffle(rp_tensor x, size_t factor);

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
#define rp_conv2d_transpose(...) RP_SITED(rp_conv2d_transpose, __VA_ARGS__)
#define rp_conv1d_transpose(...) RP_SITED(rp_conv1d_transpose, __VA_ARGS__)
#define rp_conv3d(...) RP_SITED(rp_conv3d, __VA_ARGS__)
#define rp_conv3d_transpose(...) RP_SITED(rp_conv3d_transpose, __VA_ARGS__)
#define rp_max_pool2d(...) RP_SITED(rp_max_pool2d, __VA_ARGS__)
#define rp_avg_pool2d(...) RP_SITED(rp_avg_pool2d, __VA_ARGS__)
#define rp_max_pool1d(...) RP_SITED(rp_max_pool1d, __VA_ARGS__)
#define rp_avg_pool1d(...) RP_SITED(rp_avg_pool1d, __VA_ARGS__)
#define rp_max_pool3d(...) RP_SITED(rp_max_pool3d, __VA_ARGS__)
#define rp_avg_pool3d(...) RP_SITED(rp_avg_pool3d, __VA_ARGS__)
#define rp_adaptive_avg_pool2d(...) RP_SITED(rp_adaptive_avg_pool2d, __VA_ARGS__)
#define rp_adaptive_max_pool2d(...) RP_SITED(rp_adaptive_max_pool2d, __VA_ARGS__)
#define rp_resize(...) RP_SITED(rp_resize, __VA_ARGS__)
#define rp_resize2d(...) RP_SITED(rp_resize2d, __VA_ARGS__)
#define rp_pixel_shuffle(...) RP_SITED(rp_pixel_shuffle, __VA_ARGS__)
#define rp_pixel_unshuffle(...) RP_SITED(rp_pixel_unshuffle, __VA_ARGS__)
#define rp_batch_norm(...) RP_SITED(rp_batch_norm, __VA_ARGS__)
#define rp_batch_norm_train(...) RP_SITED(rp_batch_norm_train, __VA_ARGS__)
#define rp_group_norm(...) RP_SITED(rp_group_norm, __VA_ARGS__)
#define rp_instance_norm(...) RP_SITED(rp_instance_norm, __VA_ARGS__)
#endif

#endif
