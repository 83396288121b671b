/* SPDX-License-Identifier: Apache-2.0
 * A grid of blocks run on the host: the blocks shared out to a few host threads, the threads of a block one after the
 * other, or as fibers of one host thread where they wait for each other. Used by the driver for kernels of PTX, and by
 * tests/emu/source.h for kernels compiled as C++. */
#ifndef TESTS_EMU_BLOCK_H
#define TESTS_EMU_BLOCK_H

#include "tests/emu/emu.h"

enum { EMU_MAX_THREADS = 1024, EMU_MAX_SHARED = 227 * 1024 };

/* In which order threads and blocks run, when asynchronous copies happen, and what memory holds that nobody wrote:
 * three of the many that a device may have. A kernel is right if all give the same. */
typedef enum emu_order { EMU_FORWARD, EMU_BACKWARD, EMU_SHUFFLED, EMU_ORDERS } emu_order;

enum { EMU_THREADS = 16 }; /* of the host, at most */

typedef struct emu_grid {
    const char *name;
    uint32_t blocks[3], threads[3];
    uint32_t shared; /* bytes, with those that are given at launch, which begin at `dynamic` */
    uint32_t dynamic;
    bool meets;
    emu_order order;
    void (*run)(emu_thread *t, void *context);
    void *context;
} emu_grid;

/* Runs all of it. NULL, or what was wrong with the kernel: valid until the next call. One call at a time. */
const char *emu_grid_run(const emu_grid *grid);

/* The thread that runs now; NULL outside of kernels. */
extern __thread emu_thread *emu_now;

/* As emu_copy, for addresses of the host. */
void emu_copy_host(emu_thread *t, char *to, const char *from, uint32_t bytes);

unsigned char emu_junk(emu_order order);

#endif
