/* SPDX-License-Identifier: Apache-2.0
 * Dots: sums of the products of the elements of two rows, or of a row's squares. The bits are those of the products
 * rounded and then summed (CONTRACT 4.1), which are stored nowhere. */
#ifndef KERNELS_DOTS_H
#define KERNELS_DOTS_H

#include "kernels/device.h"

/* x, y [rows, length], contiguous, may be equal; out [rows]; all of f32 or all of f64, length at least 1. Items are
 * rows. */
typedef struct rp_dots {
    const void *x, *y;
    void *out;
    rp_dtype dtype;
    size_t rows, length;
} rp_dots;

typedef void rp_dots_run(const rp_dots *dots, size_t begin, size_t end);

/* The function of a table's level; NULL: it has none, as "ref". */
rp_dots_run *rp_dots_of(const rp_kernel_table *table);
/* On the default stream. False: the device has no way of its own, and nothing was done. */
bool rp_device_launch_dots(rp_device *device, const rp_dots *dots);
bool rp_device_has_dots(const rp_device *device);

#endif
