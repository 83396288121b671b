/* SPDX-License-Identifier: Apache-2.0
 * Elementwise arithmetic, reference level: scalar code, elementary functions out of line. */
#include "kernels/ref/functions/elementwise.inc.h"
