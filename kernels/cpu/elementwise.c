/* SPDX-License-Identifier: Apache-2.0
 * Elementwise arithmetic for one instruction set: the reference's loops, which vectorise across elements.
 * The elementary functions are inlined. */
#include "kernels/cpu/inline_math.h"
#include "kernels/cpu/stream.h"
#include "kernels/ref/elementwise.inc.h"
