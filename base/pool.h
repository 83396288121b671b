/* SPDX-License-Identifier: Apache-2.0
 * A pool of POSIX threads: n items are cut into contiguous ranges, one a thread; a thread that comes late finds its
 * range done by another. Which thread runs a range is circumstance; callers pass only work whose result does not depend
 * on the cut. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "rp/error.h"

/* Processors that this process may use, at least 1 and at most `most`. */
unsigned rp_processors(unsigned most);

typedef struct rp_pool rp_pool;
typedef void rp_pool_work(void *arg, size_t begin, size_t end);

/* threads >= 1 counts the caller. on_worker_start (may be NULL) runs in each worker first; if it returns an error
 * rp_pool_new fails with it. */
rp_status rp_pool_new(rp_pool **out, unsigned threads, rp_status (*on_worker_start)(rp_error *), rp_error *err);
void rp_pool_free(rp_pool *pool);
unsigned rp_pool_threads(const rp_pool *pool);
/* Runs work over [0, items), each range at least grain items; returns when all is done. There may be several ranges a
 * thread, but no more are worked on at a time than there are threads. A NULL pool runs inline.
 * Safe from several application threads (one at a time gets the workers; the others run inline) and nested. A child
 * of fork starts workers of its own when first needed. */
void rp_pool_run(rp_pool *pool, size_t items, size_t grain, rp_pool_work *work, void *arg);

#endif
