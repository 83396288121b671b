/* SPDX-License-Identifier: Apache-2.0
 * Changing stacks: what a function's caller expects to find again is saved on the old stack, the rest is the compiler's
 * business, since the change is a call. */
#define _GNU_SOURCE
#include "tests/emu/fiber.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__)
void emu_fiber_change_to(void **save, void *load) __attribute__((visibility("hidden")));
/* System V: rbx, rbp and r12 to r15 are the caller's; the control words of arithmetic are the same in all fibers. */
__asm__(".text\n"
        ".globl emu_fiber_change_to\n"
        ".hidden emu_fiber_change_to\n"
        ".type emu_fiber_change_to, @function\n"
        "emu_fiber_change_to:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size emu_fiber_change_to, . - emu_fiber_change_to\n");

void emu_fiber_make(emu_fiber *fiber, char *stack, size_t size, void (*entry)(void))
{
    /* At entry the stack is as after a call: 8 beyond a multiple of 16. */
    uintptr_t *top = (uintptr_t *)(void *)(stack + size / 16 * 16);

    *--top = 0; /* where it would return to */
    *--top = (uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--top = 0;
    fiber->stack_pointer = top;
}

void emu_fiber_change(emu_fiber *from, emu_fiber *to)
{
    emu_fiber_change_to(&from->stack_pointer, to->stack_pointer);
}
#else
void emu_fiber_make(emu_fiber *fiber, char *stack, size_t size, void (*entry)(void))
{
    if (getcontext(&fiber->context) != 0)
        abort();
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = size;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, entry, 0);
}

void emu_fiber_change(emu_fiber *from, emu_fiber *to)
{
    if (swapcontext(&from->context, &to->context) != 0)
        abort();
}
#endif
