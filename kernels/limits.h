/* SPDX-License-Identifier: Apache-2.0
 * The physical limits of this host, measured when asked so that a benchmark can divide by what the machine gives at
 * that moment: fused multiply-adds in registers alone, and memory read and copied out of cache. */
#ifndef KERNELS_LIMITS_H
#define KERNELS_LIMITS_H

#include "base/pool.h"

double rp_seconds_now(void); /* seconds, monotonic */
double rp_seconds_cpu(void); /* seconds that the calling thread has run: other processes on the host do not count */
/* The median of n times; sorts them. */
double rp_median(double *times, size_t n);

/* Floating-point operations a second (an fma is two) with the widest vectors of the host, on the pool's threads (NULL
 * is the caller alone). size is that of the element: 4 or 8. */
double rp_limit_fma(rp_pool *pool, size_t size);
/* Bytes a second read from, or read and written between, arrays of `bytes` bytes: many times the caches. 0 if out of
 * memory. */
double rp_limit_read(rp_pool *pool, size_t bytes);
double rp_limit_copy(rp_pool *pool, size_t bytes);

#endif
