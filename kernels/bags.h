/* SPDX-License-Identifier: Apache-2.0
 * Bags: sums or means of rows of a table that indices name, added where they lie. The bits are those of the rows
 * gathered and then reduced: an element of a sum is made of its own elements alone, in the order of CONTRACT 4.1. */
#ifndef KERNELS_BAGS_H
#define KERNELS_BAGS_H

#include "kernels/device.h"

/* table [rows, ..] of f32 or f64, whose rows are contiguous; index [n, length], i32 or i64, which was looked at, length
 * at least 1 and at most RP_CHUNK^2; out [n, 1, ..], rows contiguous. Items are bags. */
typedef struct rp_bags {
    rp_view table, index, out;
    bool mean;
} rp_bags;

typedef void rp_bags_run(const rp_bags *bags, size_t begin, size_t end);

/* The function of a table's level; NULL: it has none, as "ref". */
rp_bags_run *rp_bags_of(const rp_kernel_table *table);
/* On the default stream. False: the device has no way of its own, and nothing was done. */
bool rp_device_launch_bags(rp_device *device, const rp_bags *bags);

#endif
