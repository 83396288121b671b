/* SPDX-License-Identifier: Apache-2.0
 * What memory allows: the best loop over a pattern of streams that does nothing but read and write. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include "base/pool.h"

enum { LIMIT_READS = 4, LIMIT_WRITES = 3 };

/* Streams of `bytes` bytes each (a multiple of 64, aligned to 64). What is written to output j is what input j holds
 * (a constant beyond the last input), so outputs that are inputs keep their data. */
typedef struct bench_streams {
    void *in[LIMIT_READS], *out[LIMIT_WRITES];
    int reads, writes;
    size_t bytes;
} bench_streams;

/* Seconds: that the caller has run where it works alone, as other processes do not count then; else of the wall. */
double bench_clock(const rp_pool *pool);

/* One pass over the streams with plain (0) or non-temporal (1) stores; pool may be NULL. Returns the seconds. */
double bench_pass(rp_pool *pool, const bench_streams *streams, int bypass);

#endif
