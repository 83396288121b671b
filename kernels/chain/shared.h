/* SPDX-License-Identifier: Apache-2.0
 * Steps of a chain that have a function in common: silu(x) is x * sigmoid(x), so where both are asked for, as a
 * gradient asks, the sigmoid is computed once. CONTRACT 7.9 says so, hence the bits are those of both kernels. */
#ifndef KERNELS_CHAIN_SHARED_H
#define KERNELS_CHAIN_SHARED_H

#include "kernels/chain_plan.h"

/* Finds such pairs: sets with and made_with, once the views are what they will be. */
void rp_chain_shared_plan(rp_chain_plan *plan);

#endif
