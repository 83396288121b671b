/* SPDX-License-Identifier: Apache-2.0
 * The elementwise kernels on reals and integers as device code: one for each row of kernels/operations.def and type. */
#include "kernels/gpu/device_map.h"

#include "kernels/gpu/device_begin.h"
#include "kernels/ref/functions/elementwise.inc.h"
#include "kernels/gpu/device_end.h"
