/* SPDX-License-Identifier: Apache-2.0
 * An allocator whose n-th call fails, for sweeps (tests/house/sweep.h): blocks are counted, and calls by their callers.
 */
#ifndef TESTS_HOUSE_FAILING_ALLOCATIONS_H
#define TESTS_HOUSE_FAILING_ALLOCATIONS_H

#include "tests/house/sweep.h"

static long blocks;
static size_t calls, failing_call; /* 0: none fails */

static bool fails_now(void)
{
    stacks_note(++calls);
    return calls == failing_call;
}

static void *counted_allocate(void *self, size_t bytes)
{
    void *block = fails_now() ? NULL : malloc(bytes);

    (void)self;
    blocks += block != NULL;
    return block;
}

static void *counted_resize(void *self, void *old, size_t bytes)
{
    void *block = fails_now() ? NULL : realloc(old, bytes);

    (void)self;
    blocks += block != NULL && old == NULL;
    return block;
}

static void counted_release(void *self, void *block)
{
    (void)self;
    blocks--;
    free(block);
}

static const rp_allocator failing_allocator = {counted_allocate, counted_resize, counted_release, NULL};

static void arm(size_t n)
{
    calls = 0;
    failing_call = n;
}

static bool disarm(void)
{
    bool failed = calls >= failing_call;

    failing_call = 0;
    return failed;
}

static size_t counted(void)
{
    return calls;
}

static long live(void)
{
    return blocks;
}

static bool out_of_memory(rp_status status)
{
    return status == RP_ENOMEM;
}

#endif
