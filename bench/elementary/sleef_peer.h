/* SPDX-License-Identifier: Apache-2.0
 * The peer of functions.c where SLEEF is installed: NULL for a function it lacks, or a host without AVX-512. */
#ifndef BENCH_SLEEF_PEER_H
#define BENCH_SLEEF_PEER_H

#include <stddef.h>

typedef void sleef_run(float *y, const float *x, size_t n);
sleef_run *sleef_peer(const char *name);

#endif
