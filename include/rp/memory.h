/* SPDX-License-Identifier: Apache-2.0
 * Allocator hooks. All memory the library itself asks for comes through here. */
#ifndef RP_MEMORY_H
#define RP_MEMORY_H

#include <stddef.h>

#include "rp/error.h"

typedef struct rp_allocator {
    void *(*allocate)(void *self, size_t bytes);            /* NULL on failure; bytes > 0 */
    void *(*resize)(void *self, void *block, size_t bytes); /* like realloc; block may be NULL */
    void (*release)(void *self, void *block);               /* block is never NULL */
    void *self;
} rp_allocator;

/* Replaces the process-wide allocator; NULL restores malloc. Call before any other use of the library,
 * or while no object of the library is alive. Not thread-safe. */
RP_API void rp_set_allocator(const rp_allocator *allocator);

#endif
