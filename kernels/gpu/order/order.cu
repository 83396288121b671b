/* SPDX-License-Identifier: Apache-2.0
 * Order, and scattering along an axis, as device code by the reference's text: a thread takes a line, or of searchsorted
 * an element. */
#include "kernels/gpu/reference.h"

#include "kernels/gpu/device_begin.h"

#include "kernels/walk.c"
#include "kernels/ref/order/order.c"
#include "kernels/ref/order/along.c"

#include "kernels/gpu/device_end.h"
