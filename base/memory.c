/* SPDX-License-Identifier: Apache-2.0
 * The process-wide allocator and the checked calls the library uses. */
#include "base/memory.h"

#include <stdlib.h> /* says whether this is the GNU C library */
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void *plain_allocate(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void *plain_resize(void *self, void *block, size_t bytes)
{
    (void)self;
    return realloc(block, bytes);
}

static void plain_release(void *self, void *block)
{
    (void)self;
    free(block);
}

static const rp_allocator plain = {plain_allocate, plain_resize, plain_release, NULL};
static rp_allocator current = {plain_allocate, plain_resize, plain_release, NULL};

void rp_set_allocator(const rp_allocator *allocator)
{
    current = allocator ? *allocator : plain;
}

void *rp_malloc(size_t bytes)
{
    return current.allocate(current.self, bytes ? bytes : 1);
}

void *rp_calloc(size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        return NULL;

    size_t size = count * bytes;
    void *block = rp_malloc(size);

    if (block && size)
        memset(block, 0, size);
    return block;
}

void *rp_realloc(void *block, size_t bytes)
{
    return current.resize(current.self, block, bytes ? bytes : 1);
}

void *rp_reallocarray(void *block, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        return NULL;
    return rp_realloc(block, count * bytes);
}

char *rp_strndup(const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? rp_malloc(length + 1) : NULL;

    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *rp_strdup(const char *text)
{
    return rp_strndup(text, strlen(text));
}

void rp_free(void *block)
{
    if (block)
        current.release(current.self, block);
}

rp_status rp_no_memory(rp_error *err)
{
    return rp_fail(err, RP_ENOMEM, "out of memory");
}

void rp_memory_return_blocks(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}
