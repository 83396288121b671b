/* SPDX-License-Identifier: Apache-2.0
 * Matrix products, and convolutions forward and of the input's gradient, whose outputs a chain goes on with: block by
 * block, by the thread that has finished the block, while it is in a cache. Bits are those of the product and then the
 * chain, as each element of these needs only its own. */
#ifndef KERNELS_EPILOGUE_H
#define KERNELS_EPILOGUE_H

#include "kernels/device.h"

/* Told of each piece of y [.., n] that is finished, exactly once for each element: `rows` rows of `columns` elements,
 * `step` elements apart, from element `first` on. Several threads tell at once. */
typedef struct rp_epilogue {
    void (*run)(void *self, size_t first, size_t rows, size_t step, size_t columns);
    void *self;
    const void *y; /* contiguous */
} rp_epilogue;

/* Items [begin, end) of the kernel, with the epilogue. */
typedef void rp_epilogue_run(const rp_kernel_args *args, size_t begin, size_t end, const rp_epilogue *epilogue);
/* Of a kernel at a table's level; NULL: it has none, as all at "ref". */
rp_epilogue_run *rp_epilogue_of(const rp_kernel_table *table, rp_kernel_id kernel);

/* The kernel of a table that has such a way, args as its with a contiguous output, and behind it the chain, which has
 * as many elements, reads of the output only the element that it makes, and writes to none of the kernel's operands; it
 * may write to the output. pool, least: as of rp_chain_run. */
void rp_chain_run_behind(const rp_chain *chain, rp_kernel_id kernel, const rp_kernel_args *args,
                         const rp_kernel_table *table, rp_pool *pool, size_t least);
/* The same on the default stream. False: the device has no way of its own, and nothing was done. */
bool rp_device_launch_epilogue(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args,
                               const rp_chain *chain);
bool rp_device_has_epilogue(const rp_device *device, rp_kernel_id kernel);
bool rp_device_has_epilogues(const rp_device *device); /* of some kernels */

#endif
