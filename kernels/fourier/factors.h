/* SPDX-License-Identifier: Apache-2.0
 * The lengths that fft takes: products of small primes. */
#ifndef KERNELS_FOURIER_FACTORS_H
#define KERNELS_FOURIER_FACTORS_H

#include <stdbool.h>
#include <stddef.h>

/* A stage of a prime takes as many operations for each element, so none is above this one. */
enum { RP_FOURIER_PRIME = 256, RP_FOURIER_STAGES = 64 };
/* Kernels make lines up to this length as pairs of real and imaginary part as fast as in two parts, where a vector's
 * lines are there. */
enum { RP_FOURIER_PAIRS = 4096, RP_FOURIER_PAIRS_LINES = 16 };

/* The prime factors of a length, ascending. */
typedef struct rp_fourier_factors {
    int count;
    unsigned short radix[RP_FOURIER_STAGES];
} rp_fourier_factors;

/* False for 0 and where a factor is above RP_FOURIER_PRIME; those below are in f then. */
static inline bool rp_fourier_factor(rp_fourier_factors *f, size_t n)
{
    f->count = 0;
    for (size_t r = 2; r <= RP_FOURIER_PRIME && n > 1; r += 1 + (r > 2))
        for (; n % r == 0; n /= r)
            f->radix[f->count++] = (unsigned short)r;
    return n == 1;
}

#endif
