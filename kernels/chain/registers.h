/* SPDX-License-Identifier: Apache-2.0
 * Which steps of a chain run together in registers, and how (kernels/fused.h). */
#ifndef KERNELS_CHAIN_REGISTERS_H
#define KERNELS_CHAIN_REGISTERS_H

#include "kernels/chain_plan.h"

/* Plans steps from k as one run, if they are several: sets end[k] and the parts from begin[k]. flat: of each step, its
 * views are vectors or repeat one element. */
void rp_chain_registers_plan(rp_chain_plan *plan, size_t k, const bool *flat);

#endif
