/* SPDX-License-Identifier: Apache-2.0
 * The reference of looking at indices (kernels/device.h, rp_device_check): any cut of the elements finds the same first
 * one that is wrong. */
#ifndef KERNELS_INDEX_CHECK_H
#define KERNELS_INDEX_CHECK_H

#include "kernels/device.h"
#include "kernels/walk.h"

/* The first element of [begin, end), in row-major order, that is not 0 to bound - 1; end when there is none. */
size_t rp_index_check_range(const rp_index_check *check, size_t begin, size_t end);
/* Element `at` of the view, in row-major order. */
int64_t rp_index_check_value(const rp_view *index, size_t at);

#endif
