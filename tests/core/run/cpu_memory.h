/* SPDX-License-Identifier: Apache-2.0
 * For tests and benchmarks on the CPU device, whose memory the host has: feeds and results of a compiled program as
 * pointers. NULL when there is none of that name. */
#ifndef TESTS_CORE_RUN_CPU_MEMORY_H
#define TESTS_CORE_RUN_CPU_MEMORY_H

#include "core/run/run.h"

static inline void *feed_memory(const rp_compiled *compiled, const char *name)
{
    rp_device_tensor feed;

    return rp_compiled_feed(compiled, name, &feed) ? feed.memory : NULL;
}

static inline const void *result_memory(const rp_compiled *compiled, const char *name)
{
    rp_device_tensor result;

    return rp_compiled_result(compiled, name, &result) ? result.memory : NULL;
}

#endif
