/* SPDX-License-Identifier: Apache-2.0
 * Optimizers, reference level. */
#include "kernels/ref/optimizer.inc.h"
