/* SPDX-License-Identifier: Apache-2.0
 * Allocation through the hooks of rp/memory.h. Zero bytes are rounded up to one, so NULL always means failure. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>

#include "rp/memory.h"

void *rp_malloc(size_t bytes);
void *rp_calloc(size_t count, size_t bytes); /* zeroed; NULL when count * bytes overflows */
void *rp_realloc(void *block, size_t bytes); /* the old block stays valid on failure */
void *rp_reallocarray(void *block, size_t count, size_t bytes);
char *rp_strdup(const char *text);
char *rp_strndup(const char *text, size_t length);
void rp_free(void *block); /* NULL is fine */

/* err: "out of memory"; returns RP_ENOMEM. */
rp_status rp_no_memory(rp_error *err);

/* For a program's beginning, no library's: blocks from 256 KiB on go back to the system when they are freed. The GNU C
 * library learns to keep ever larger ones, so that a table's columns would stay beside what is made of them. */
void rp_memory_return_blocks(void);

#endif
