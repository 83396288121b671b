/* SPDX-License-Identifier: Apache-2.0
 * The summation order of CONTRACT 4, for code outside the kernels (metrics, data preparation). */
#ifndef DETERMINISM_SUM_H
#define DETERMINISM_SUM_H

#include <stddef.h>

enum { RP_LANES = 64, RP_CHUNK = 4096, RP_SUM_LEVELS = 6 /* of chunks, for 2^64 elements */ };

/* Element i of a chunk of 4096 joins lane i mod 64; lanes start at +0 and fold by halves (l + l+32, then 16 ... 1);
 * the chunk sums are summed by the same rule again, until one is left. n = 0 gives +0. stride in elements. */
float rp_sum_f32(const float *x, size_t n, ptrdiff_t stride);
double rp_sum_f64(const double *x, size_t n, ptrdiff_t stride);
/* lane[64] folded in place; the result is lane[0]. */
float rp_fold_lanes_f32(float lane[RP_LANES]);
double rp_fold_lanes_f64(double lane[RP_LANES]);

#endif
