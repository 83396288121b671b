/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, logic and selection for one instruction set: the reference's loops, which vectorise across elements. */
#include "kernels/cpu/stream.h"
#include "kernels/ref/compare.inc.h"
