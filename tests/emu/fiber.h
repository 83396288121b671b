/* SPDX-License-Identifier: Apache-2.0
 * Fibers: stacks between which one host thread changes. By hand on x86-64, where a change takes a few nanoseconds; by
 * the system's contexts elsewhere. */
#ifndef TESTS_EMU_FIBER_H
#define TESTS_EMU_FIBER_H

#include <stddef.h>

#if defined(__x86_64__)
typedef struct emu_fiber {
    void *stack_pointer;
} emu_fiber;
#else
#include <ucontext.h>
typedef struct emu_fiber {
    ucontext_t context;
} emu_fiber;
#endif

/* Makes a fiber that will run `entry`, which never returns, on the stack. */
void emu_fiber_make(emu_fiber *fiber, char *stack, size_t size, void (*entry)(void));
/* Goes on with `to`; returns when somebody changes to `from`. */
void emu_fiber_change(emu_fiber *from, emu_fiber *to);

#endif
