/* SPDX-License-Identifier: Apache-2.0
 * Conversion between element types, reference level. */
#include "kernels/ref/casts/cast.inc.h"
