/* SPDX-License-Identifier: Apache-2.0
 * Optimizers for one instruction set: the reference's loops, which vectorise across elements. */
#include "kernels/ref/optimizer.inc.h"
