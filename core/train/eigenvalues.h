/* SPDX-License-Identifier: Apache-2.0
 * Eigenvalues of a small symmetric matrix, by rotations in a fixed order (CONTRACT 12.9). */
#ifndef CORE_TRAIN_EIGENVALUES_H
#define CORE_TRAIN_EIGENVALUES_H

#include <stddef.h>

enum { RP_EIGENVALUES_MAX = 512 };

/* The square root of the greatest eigenvalue over the least; a [n, n] is overwritten. A NaN where n is 0; infinite
 * where the least is not above 0. */
double rp_condition(double *a, size_t n);

#endif
