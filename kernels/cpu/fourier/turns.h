/* SPDX-License-Identifier: Apache-2.0
 * The turns that stages of the Fourier transform multiply by. They hang on a length alone, and one costs as much as a
 * line's ten stages do for its element, so they are made once in a process and kept. Addresses for the longest are
 * reserved at first; only those in use cost memory: 2 n elements for the longest line so far. */
#ifndef KERNELS_CPU_FOURIER_TURNS_H
#define KERNELS_CPU_FOURIER_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "rp/dtype.h"

enum { RP_TURNS_LONGEST = 1 << 24 };

/* cos and -sin of 2 pi p / 2m (CONTRACT 7.16), p < m, are elements m + p: of all m one behind the other. */
typedef struct rp_turns {
    const void *c, *d;
} rp_turns;

/* Those that a line of n <= RP_TURNS_LONGEST elements has; false where the system grants no memory. */
bool rp_turns_get(rp_turns *turns, rp_dtype dtype, size_t n);

#endif
