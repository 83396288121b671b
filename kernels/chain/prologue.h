/* SPDX-License-Identifier: Apache-2.0
 * Matrix products whose right operand a chain makes, as of weights that are widened and scaled: block by block, by the
 * thread that multiplies by the block, while it is in the second cache. Bits are those of the chain and then the
 * product: an element of the chain needs only its own, and blocks along k are the contract's chunks, each added to the
 * output in its turn (CONTRACT 4.4). */
#ifndef KERNELS_PROLOGUE_H
#define KERNELS_PROLOGUE_H

#include "kernels/device.h"

/* A product that meets these conditions. before makes in[1], which has no memory (NULL), nor has the chain's view, and
 * nothing else that is stored; it reads neither what the product makes nor what behind does. behind: as of
 * rp_chain_run_behind, or NULL. */
typedef struct rp_prologue_call {
    const rp_chain *before, *behind;
    const rp_kernel_args *args;
} rp_prologue_call;

/* Whether the views lie as such a product's: one right operand for all rows, in order or turned; rows of the left one
 * at one step, the output in order. */
bool rp_prologue_fits(const rp_view *in, const rp_view *out);
/* pool, least: as of rp_chain_run. */
void rp_prologue_run(const rp_prologue_call *call, const rp_kernel_table *table, rp_pool *pool, size_t least);
/* The same on the default stream. False: the device has no way of its own, and nothing was done. */
bool rp_device_launch_prologue(rp_device *device, const rp_prologue_call *call);
bool rp_device_has_prologue(const rp_device *device);

#endif
