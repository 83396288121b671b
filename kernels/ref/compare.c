/* SPDX-License-Identifier: Apache-2.0
 * Comparisons, logic and selection, reference level. */
#include "kernels/ref/compare.inc.h"
