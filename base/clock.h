/* SPDX-License-Identifier: Apache-2.0
 * A clock that only goes forwards. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t rp_clock_nanoseconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double rp_clock(void) /* seconds */
{
    return (double)rp_clock_nanoseconds() * 1e-9;
}

#endif
