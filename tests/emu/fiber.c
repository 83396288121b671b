/* SPDX-License-Identifier: Apache-2.0
 * Changing stacks: what a function's caller expects to find again is saved on the old stack, the rest is the compiler's
 * business, since the change is a call. */
#define _GNU_SOURCE
#include "tests/emu/fiber.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif

#if defined(WATCHED)
#include <sanitizer/common_interface_defs.h>
static __thread emu_fiber *left, *entered;

/* The address sanitizer wants to know of every change, and tells the bounds of the stack that was left. */
static void leave(emu_fiber *from, emu_fiber *to)
{
    left = from;
    entered = to;
    __sanitizer_start_switch_fiber(&from->kept, to->stack, to->size);
}

static void arrive(emu_fiber *fiber)
{
    __sanitizer_finish_switch_fiber(fiber->kept, &left->stack, &left->size);
}

static void begin(void)
{
    __sanitizer_finish_switch_fiber(NULL, &left->stack, &left->size);
    entered->entry();
}
#define ENTRY(fiber) begin
#else
#define leave(from, to) ((void)0)
#define arrive(fiber) ((void)0)
#define ENTRY(fiber) ((fiber)->entry)
#endif

static void note(emu_fiber *fiber, const char *stack, size_t size, void (*entry)(void))
{
    fiber->entry = entry;
    fiber->stack = stack;
    fiber->size = size;
    fiber->kept = NULL;
}

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

    note(fiber, stack, size, entry);
    *--top = 0; /* where it would return to */
    *--top = (uintptr_t)ENTRY(fiber);
    for (int i = 0; i < 6; i++)
        *--top = 0;
    fiber->stack_pointer = top;
}

void emu_fiber_change(emu_fiber *from, emu_fiber *to)
{
    leave(from, to);
    emu_fiber_change_to(&from->stack_pointer, to->stack_pointer);
    arrive(from);
}
#else
void emu_fiber_make(emu_fiber *fiber, char *stack, size_t size, void (*entry)(void))
{
    note(fiber, stack, size, entry);
    if (getcontext(&fiber->context) != 0)
        abort();
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = size;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, ENTRY(fiber), 0);
}

void emu_fiber_change(emu_fiber *from, emu_fiber *to)
{
    leave(from, to);
    if (swapcontext(&from->context, &to->context) != 0)
        abort();
    arrive(from);
}
#endif
