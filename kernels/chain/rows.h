/* SPDX-License-Identifier: Apache-2.0
 * Norms, softmax and reductions with a chain in front that makes what they read, and a chain behind that reads what
 * they make: a few whole rows at a time go through all of it while a cache has them. Bits are those of one after the
 * other: a row needs only its own, in each of them. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "kernels/device.h"

enum { RP_ROWS_LOOSE = 32768 /* bytes of a row at most */ };

/* A kernel's items that stand alone, and the elements of each of its first operand, or any of as many, and of its
 * output; these lie in order. */
typedef struct rp_rows {
    size_t items, in, out;
    bool whole; /* it makes whole rows, of which a chain may make others */
} rp_rows;

/* False: the kernel, on operands that lie so, has no such rows. Only the views' layouts are looked at. */
bool rp_rows_of(rp_rows *rows, rp_kernel_id kernel, const rp_kernel_args *args);

/* A kernel that has rows of at most RP_ROWS_LOOSE bytes; one of the chains may be NULL. What before makes as the
 * kernel's `operand`, and what behind reads of what the kernel makes, nobody else needs: it is stored nowhere, and its
 * views, the kernel's and the chain's, have no memory (NULL). behind needs whole rows, reads only the element that it
 * makes, and writes to nothing that the others read. */
typedef struct rp_rows_call {
    const rp_chain *before, *behind;
    rp_kernel_id kernel;
    size_t operand;
    const rp_kernel_args *args;
} rp_rows_call;

/* pool, least: as of rp_chain_run. */
void rp_rows_run_call(const rp_rows_call *call, const rp_kernel_table *table, rp_pool *pool, size_t least);
/* The same on the default stream. False: the device has no way of its own, and nothing was done. */
bool rp_device_launch_rows(rp_device *device, const rp_rows_call *call);
bool rp_device_has_rows(const rp_device *device);

#endif
