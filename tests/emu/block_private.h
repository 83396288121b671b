/* SPDX-License-Identifier: Apache-2.0
 * The state of a block while it runs, for block.c and grid.c. */
#ifndef TESTS_EMU_BLOCK_PRIVATE_H
#define TESTS_EMU_BLOCK_PRIVATE_H

#include "tests/emu/block.h"
#include "tests/emu/fiber.h"

typedef struct emu_async {
    char *to;
    const char *from;
    uint32_t bytes, taken; /* what is not taken becomes zero */
    uint32_t group;
} emu_async;

typedef struct emu_copies { /* of a thread */
    emu_async *copy;
    size_t n, room;
    uint32_t group; /* that is being filled */
} emu_copies;

typedef struct emu_warp {
    uint32_t waiting;
    unsigned generation;
} emu_warp;

struct emu_block {
    const emu_grid *grid;
    uint32_t threads, live, waiting, site, idle;
    unsigned generation;
    uint32_t turn, first;
    uint64_t chance;
    char *shared, *window, *stacks;
    emu_fiber host;
    uint64_t run_number, prepared; /* of the grid; for which the threads have been prepared */
    emu_order ring_order;
    uint32_t ring_threads;
    char trouble[256];
    uint32_t ring[EMU_MAX_THREADS]; /* the order in which threads run */
    uint32_t next[EMU_MAX_THREADS], previous[EMU_MAX_THREADS];
    uint32_t slot[EMU_MAX_THREADS]; /* what lanes show each other */
    emu_warp warp[EMU_MAX_THREADS / EMU_WARP];
    emu_thread thread[EMU_MAX_THREADS];
    emu_copies copies[EMU_MAX_THREADS];
    emu_fiber fiber[EMU_MAX_THREADS];
};

emu_block *emu_block_new(void);
void emu_block_free(emu_block *b);
/* false: b->trouble says why the kernel does not go on. */
bool emu_block_run(emu_block *b, const emu_grid *grid, uint64_t number);
/* Whether this host thread runs a kernel now. */
bool emu_in_kernel(void);

#endif
