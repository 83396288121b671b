/* SPDX-License-Identifier: Apache-2.0
 * How much more memory this host would give the process, and of which pages. */
#ifndef KERNELS_MEMORY_HOST_MEMORY_H
#define KERNELS_MEMORY_HOST_MEMORY_H

#include <stddef.h>

/* Bytes that can be had without anything being swapped out or ended for them: what the system calls available, or what
 * the process's control groups leave, the less of the two. SIZE_MAX where the system does not say. */
size_t rp_host_memory_available(void);

enum { RP_LARGE_PAGE = 2 << 20 };

/* Advises the system to make large pages of those that lie whole in memory. Only advice: without it, or where the
 * system has none, the pages are small. */
void rp_host_memory_prefer_large(void *memory, size_t bytes);

#endif
