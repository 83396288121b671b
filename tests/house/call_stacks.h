/* SPDX-License-Identifier: Apache-2.0
 * Which of many calls to let fail where failing each of them takes too long: of those that come from one and the same
 * chain of callers the first, the second and the last. Passes through the same code differ in what was there before it:
 * nothing yet, something, all of it. Under sanitizers, where a pass takes three times as long: whichever call brings
 * six callers in a row, anywhere in its chain, that no earlier one brought, of this job or another. So every place that
 * allocates fails, and every caller at any depth sees the failure come up each of its paths. */
#ifndef TESTS_HOUSE_CALL_STACKS_H
#define TESTS_HOUSE_CALL_STACKS_H

#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/house/sanitized.h"

enum { STACK_FRAMES = 96, STACK_ROW = SANITIZED ? 6 : STACK_FRAMES, STACK_SLOTS = 1 << 16 };

typedef struct call_stack {
    uint64_t hash;              /* 0: free */
    size_t first, second, last; /* numbers of calls, from 1; 0: none */
    bool known;                 /* of a pass before, and not to be failed again */
} call_stack;

static struct {
    bool noting, inside;
    size_t distinct;
    call_stack slot[STACK_SLOTS];
} stacks;

/* From now on; the unwinder loads itself here, and allocates for it. */
static inline void stacks_begin(void)
{
    void *frame[2];

    for (size_t i = 0; i < STACK_SLOTS; i++) {
        const bool stays = SANITIZED || stacks.slot[i].known;

        stacks.distinct -= !stays && stacks.slot[i].hash != 0;
        stacks.slot[i] = (call_stack){.hash = stays ? stacks.slot[i].hash : 0, .known = stacks.slot[i].known};
    }
    (void)backtrace(frame, 2);
    stacks.noting = true;
}

/* What was noted since stacks_begin is left out from now on, in what further passes bring. */
static inline void stacks_know(void)
{
    stacks.noting = false;
    for (size_t i = 0; i < STACK_SLOTS; i++)
        stacks.slot[i] = (call_stack){.hash = stacks.slot[i].hash, .known = stacks.slot[i].hash != 0};
}

/* What earlier jobs brought counts no more. */
static inline void stacks_forget(void)
{
    memset(&stacks, 0, sizeof stacks);
}

static inline call_stack *stacks_slot(uint64_t hash)
{
    size_t at = hash % STACK_SLOTS;

    while (stacks.slot[at].hash != 0 && stacks.slot[at].hash != hash)
        at = (at + 1) % STACK_SLOTS;
    return &stacks.slot[at];
}

static inline void stacks_note_row(void *const *frame, int count, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    call_stack *one;

    for (int i = 0; i < count; i++)
        hash = (hash ^ (uintptr_t)frame[i]) * UINT64_C(0x100000001b3);
    one = stacks_slot(hash | 1);
    if (one->known)
        return;
    if (one->hash == 0 && ++stacks.distinct > STACK_SLOTS / 2)
        abort();
    if (one->hash == 0)
        one->first = n;
    else if (!SANITIZED && one->second == 0)
        one->second = n;
    else if (!SANITIZED)
        one->last = n;
    one->hash = hash | 1;
}

/* For the hooks: this is call number n. */
static inline void stacks_note(size_t n)
{
    void *frame[STACK_FRAMES];
    int depth;

    if (!stacks.noting || stacks.inside)
        return;
    stacks.inside = true; /* whatever the unwinder calls is not the job's */
    depth = backtrace(frame, STACK_FRAMES);
    stacks.inside = false;
    for (int at = 0; at == 0 || at + STACK_ROW <= depth; at++)
        stacks_note_row(frame + at, depth < STACK_ROW ? depth : STACK_ROW, n);
}

static inline int stacks_order(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Ends the noting. The numbers chosen, in order and each once, freed by the caller. */
static inline size_t *stacks_chosen(size_t *count)
{
    size_t *list = malloc((3 * stacks.distinct + 1) * sizeof *list), n = 0, kept = 0;

    stacks.noting = false;
    for (size_t i = 0; list && i < STACK_SLOTS; i++) {
        const call_stack *one = &stacks.slot[i];

        if (one->first)
            list[n++] = one->first;
        if (one->second)
            list[n++] = one->second;
        if (one->last)
            list[n++] = one->last;
    }
    if (list)
        qsort(list, n, sizeof *list, stacks_order);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || list[i] != list[kept - 1])
            list[kept++] = list[i];
    *count = kept;
    return list;
}

#endif
