/* SPDX-License-Identifier: Apache-2.0
 * The turns that stages of the Fourier transform multiply by. They hang on a length alone, and one costs as much as a
 * line's ten stages do for its element, so they are made once in a process and kept. Those of lengths that are powers
 * of two are parts of each other: addresses for the longest are reserved at first, and only those in use cost memory,
 * 2 n elements for the longest line so far. Those of other lengths are kept for the lengths used last. */
#ifndef KERNELS_CPU_FOURIER_TURNS_H
#define KERNELS_CPU_FOURIER_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "rp/dtype.h"

enum { RP_TURNS_LONGEST = 1 << 24, RP_TURNS_OTHERS_LONGEST = 1 << 21 };

/* Of a stage of r with m transforms of r elements in each (CONTRACT 7.16) turn p h s is element h m + p, 0 < h < r,
 * p < m, of every n one behind the other: what s is, m tells. Where n is no power of two there are behind element n,
 * for each of its odd primes r, ascending, turns k n / r, k < r. None is of the inverse. */
typedef struct rp_turns {
    const void *c, *d;
    int kept; /* by rp_turns_return */
} rp_turns;

/* Those that a line of n elements has, n a power of two <= RP_TURNS_LONGEST or another length that fft takes
 * <= RP_TURNS_OTHERS_LONGEST; false where the system grants no memory, or each place is in use. */
bool rp_turns_get(rp_turns *turns, rp_dtype dtype, size_t n);
void rp_turns_return(const rp_turns *turns);

#endif
