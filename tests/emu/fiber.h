/* SPDX-License-Identifier: Apache-2.0
 * Fibers: stacks between which one host thread changes. By hand on x86-64, where a change takes a few nanoseconds; by
 * the system's contexts elsewhere. */
#ifndef TESTS_EMU_FIBER_H
#define TESTS_EMU_FIBER_H

#include <stddef.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef struct emu_fiber {
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    void (*entry)(void);
    const void *stack; /* for the address sanitizer: its bounds, and what it keeps of it */
    size_t size;
    void *kept;
} emu_fiber;

/* Makes a fiber that will run `entry`, which never returns, on the stack. */
void emu_fiber_make(emu_fiber *fiber, char *stack, size_t size, void (*entry)(void));
/* Goes on with `to`; returns when somebody changes to `from`. */
void emu_fiber_change(emu_fiber *from, emu_fiber *to);

#endif
