/* SPDX-License-Identifier: Apache-2.0
 * Matrix products that are added to what lies where they go. The bits are those of the product and then the sum
 * (CONTRACT 4.4), of products of one chain an element: such a product is stored nowhere. */
#ifndef KERNELS_ONTO_H
#define KERNELS_ONTO_H

#include "kernels/device.h"

enum { RP_ONTO_LONGEST = 512 }; /* terms of a chain, of the contract */

/* The kernel of a table's level, of the arguments of matmul; NULL: it has none, as "ref". Of three axes, y's first has
 * the stride 0: the products of a batch are added to the one y, in their order. */
const rp_kernel *rp_onto_of(const rp_kernel_table *table);
/* On the default stream. False: the device has no way of its own, and nothing was done. */
bool rp_device_launch_onto(rp_device *device, const rp_kernel_args *args);
bool rp_device_has_onto(const rp_device *device);

#endif
