/* SPDX-License-Identifier: Apache-2.0
 * Conversion between element types for one instruction set: the reference's loops, which vectorise across elements. */
#include "kernels/cpu/stream.h"
#include "kernels/ref/casts/cast.inc.h"
