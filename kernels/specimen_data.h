/* SPDX-License-Identifier: Apache-2.0
 * Values for specimens. */
#ifndef KERNELS_SPECIMEN_DATA_H
#define KERNELS_SPECIMEN_DATA_H

#include "kernels/specimen.h"

void rp_specimen_fill(void *block, rp_dtype dtype, size_t count, rp_specimen_data data, uint64_t seed, uint32_t stream);
/* Indices below limit; zeros when limit is 0. dtype i32 or i64. */
void rp_specimen_fill_indices(void *block, rp_dtype dtype, size_t count, size_t limit, uint64_t seed, uint32_t stream);

#endif
