/* SPDX-License-Identifier: Apache-2.0
 * What all levels of conv2d_winograd share (CONTRACT 4.6): the tile. */
#ifndef KERNELS_REF_CONV_WINOGRAD_H
#define KERNELS_REF_CONV_WINOGRAD_H

#include "kernels/ref/conv/conv.h"

enum {
    RP_WINOGRAD_OUT = 4,                  /* outputs of a tile along either axis */
    RP_WINOGRAD_IN = RP_WINOGRAD_OUT + 2, /* its inputs, and values after a transform */
    RP_WINOGRAD_POINTS = RP_WINOGRAD_IN * RP_WINOGRAD_IN,
    RP_WINOGRAD_FILTERS = 8 /* that one transform of the inputs serves in the reference */
};

/* What the weight is scaled by at 0, at 5/8 and -5/8, and at 3/2 and -3/2: 1 over the derivative of x (x^2 - 25/64)
 * (x^2 - 9/4) there; the quotients are rounded once to the type, since all their operands are exact. */
#define RP_WINOGRAD_ZERO(type) ((type)256 / 225)
#define RP_WINOGRAD_NEAR(type) ((type)-2048 / 2975)
#define RP_WINOGRAD_FAR(type) ((type)128 / 1071)

/* The tiles of an image along one axis; the last may lack outputs. */
static inline size_t rp_winograd_tiles(const rp_conv_axis *axis)
{
    return (axis->out + RP_WINOGRAD_OUT - 1) / RP_WINOGRAD_OUT;
}

/* The reference: filters [filter, filter_end) of tiles [tile, tile_end), counted through the images in row-major order.
 */
RP_KERNEL_FN void rp_winograd_tiles_f32(const rp_conv *conv, size_t tile, size_t tile_end, size_t filter,
                                        size_t filter_end);
RP_KERNEL_FN void rp_winograd_tiles_f64(const rp_conv *conv, size_t tile, size_t tile_end, size_t filter,
                                        size_t filter_end);

#endif
