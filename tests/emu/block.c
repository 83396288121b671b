/* SPDX-License-Identifier: Apache-2.0
 * One block on one host thread: its order, its fibers, its barriers, what its warps exchange, its asynchronous copies.
 * What is wrong with a kernel ends it with a text that names block and thread: a barrier that a thread does not reach,
 * threads at different barriers, an access that is not aligned or to no memory. */
#define _GNU_SOURCE
#include "tests/emu/block_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, STACK = 256 * 1024 };
#define SHARED_WINDOW ((size_t)4 << 30) /* of every 32-bit address */

__thread emu_thread *emu_now;
static __thread emu_block *running;

unsigned char emu_junk(emu_order order)
{
    static const unsigned char junk[EMU_ORDERS] = {0xFF, 0xA5, 0x7B};

    return junk[order];
}

/* ---- a place for blocks to run ---- */

emu_block *emu_block_new(void)
{
    emu_block *b = calloc(1, sizeof *b);

    if (b == NULL)
        return NULL;
    b->stacks = mmap(NULL, (size_t)EMU_MAX_THREADS * STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    b->window =
        mmap(NULL, EMU_MAX_SHARED + SHARED_WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->stacks == MAP_FAILED || b->window == MAP_FAILED ||
        mprotect(b->window, EMU_MAX_SHARED, PROT_READ | PROT_WRITE) != 0)
        abort();
    for (size_t i = 0; i < EMU_MAX_THREADS; i++) /* what is below a stack is nobody's */
        (void)mprotect(b->stacks + i * STACK, PAGE, PROT_NONE);
    return b;
}

void emu_block_free(emu_block *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < EMU_MAX_THREADS; i++)
        free(b->copies[i].copy);
    (void)munmap(b->stacks, (size_t)EMU_MAX_THREADS * STACK);
    (void)munmap(b->window, EMU_MAX_SHARED + SHARED_WINDOW);
    free(b);
}

/* ---- whose turn it is ---- */

static void go_on_with(emu_block *b, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    b->turn = to;
    emu_now = &b->thread[to];
    emu_fiber_change(&b->fiber[from], &b->fiber[to]);
}

/* Waits for something that another thread does. */
static __attribute__((noinline)) void give_way(emu_block *b)
{
    if (++b->idle > 8 * b->threads + 64)
        emu_trap("threads that wait for each other for ever");
    go_on_with(b, b->turn, b->next[b->turn]);
}

void emu_trap(const char *what)
{
    emu_block *b = running;
    emu_fiber gone;

    if (b == NULL) {
        fprintf(stderr, "emulated device: %s, outside of a kernel\n", what);
        abort();
    }
    (void)snprintf(b->trouble, sizeof b->trouble, "kernel %s, block %u,%u,%u, thread %u: %s", b->grid->name,
                   emu_now->ctaid[0], emu_now->ctaid[1], emu_now->ctaid[2], emu_now->index, what);
    emu_fiber_change(&gone, &b->host);
    abort();
}

bool emu_in_kernel(void)
{
    return running != NULL;
}

/* ---- barriers ---- */

void emu_barrier(emu_thread *t, uint32_t which, uint32_t site)
{
    emu_block *b = t->block;
    const unsigned generation = b->generation;

    b->idle = 0;
    if (which != 0)
        emu_trap("a barrier other than the block's");
    if (b->waiting > 0 && b->site != site)
        emu_trap("threads of a block at different barriers");
    if (b->live < b->threads)
        emu_trap("a barrier that a thread which has ended will not reach");
    b->site = site;
    if (++b->waiting == b->threads) {
        b->waiting = 0;
        b->generation++;
        go_on_with(b, b->turn, b->first);
        return;
    }
    while (b->generation == generation)
        give_way(b);
}

/* All lanes of a warp that the block has. */
static uint32_t warp_lanes(const emu_block *b, uint32_t warp)
{
    const uint32_t left = b->threads - warp * EMU_WARP;

    return left >= EMU_WARP ? UINT32_MAX : (UINT32_C(1) << left) - 1;
}

void emu_warp_barrier(emu_thread *t, uint32_t mask)
{
    emu_block *b = t->block;
    emu_warp *w = &b->warp[t->index / EMU_WARP];
    const unsigned generation = w->generation;
    const uint32_t lanes = warp_lanes(b, t->index / EMU_WARP);

    b->idle = 0;
    if ((mask & lanes) != lanes)
        emu_trap("a part of a warp: kernels here name all of it");
    if (++w->waiting == (uint32_t)__builtin_popcount(lanes)) {
        w->waiting = 0;
        w->generation++;
        return;
    }
    while (w->generation == generation)
        give_way(b);
}

static uint32_t source_lane(emu_shuffle_kind kind, uint32_t lane, uint32_t by, uint32_t c, bool *in_range)
{
    const uint32_t segment = c >> 8 & 31, clamp = c & 31;
    const int least = (int)(lane & segment), most = least | (int)(clamp & ~segment);
    const int step = (int)(by & 31);
    int from = (int)lane;

    switch (kind) {
    case EMU_UP:
        from -= step;
        break;
    case EMU_DOWN:
        from += step;
        break;
    case EMU_BFLY:
        from ^= step;
        break;
    case EMU_IDX:
        from = least | (step & ~(int)segment);
        break;
    }
    *in_range = kind == EMU_UP ? from >= most : from <= most;
    return *in_range ? (uint32_t)from : lane;
}

uint32_t emu_shuffle(emu_thread *t, emu_shuffle_kind kind, uint32_t value, uint32_t by, uint32_t c, uint32_t mask,
                     bool *in_range)
{
    emu_block *b = t->block;
    const uint32_t first = t->index / EMU_WARP * EMU_WARP;
    uint32_t from, got;

    b->slot[t->index] = value;
    emu_warp_barrier(t, mask);
    from = source_lane(kind, t->index % EMU_WARP, by, c, in_range);
    got = first + from < b->threads ? b->slot[first + from] : 0x7B7B7B7Bu; /* of a lane that is not there: anything */
    emu_warp_barrier(t, mask);
    return got;
}

uint32_t emu_ballot(emu_thread *t, bool predicate, uint32_t mask)
{
    emu_block *b = t->block;
    const uint32_t first = t->index / EMU_WARP * EMU_WARP;
    uint32_t held = 0;

    b->slot[t->index] = predicate;
    emu_warp_barrier(t, mask);
    for (uint32_t i = 0; i < EMU_WARP && first + i < b->threads; i++)
        held |= b->slot[first + i] << i;
    emu_warp_barrier(t, mask);
    return held;
}

/* ---- asynchronous copies ---- */

static bool coin(emu_block *b)
{
    b->chance = b->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return b->chance >> 63;
}

static void copy_now(const emu_async *c)
{
    memcpy(c->to, c->from, c->taken);
    if (c->taken < c->bytes)
        memset(c->to + c->taken, 0, c->bytes - c->taken);
}

static void copy_later(emu_block *b, emu_copies *queue, emu_async copy)
{
    if (b->grid->order == EMU_BACKWARD || (b->grid->order == EMU_SHUFFLED && coin(b))) {
        copy_now(&copy);
        return;
    }
    if (queue->n == queue->room) {
        queue->room = queue->room ? 2 * queue->room : 16;
        queue->copy = realloc(queue->copy, queue->room * sizeof *queue->copy);
        if (queue->copy == NULL)
            abort();
    }
    copy.group = queue->group;
    queue->copy[queue->n++] = copy;
}

void emu_copy_host(emu_thread *t, char *to, const char *from, uint32_t bytes)
{
    if ((uintptr_t)to % bytes != 0 || (uintptr_t)from % bytes != 0)
        emu_trap("an asynchronous copy that is not aligned to its size");
    copy_later(t->block, &t->block->copies[t->index], (emu_async){to, from, bytes, bytes, 0});
}

void emu_copy(emu_thread *t, uint32_t to, uint64_t from, uint32_t bytes, uint32_t taken)
{
    if (to % bytes != 0 || from % bytes != 0 || taken > bytes)
        emu_trap("an asynchronous copy that is not aligned to its size");
    copy_later(t->block, &t->block->copies[t->index],
               (emu_async){t->shared + to, (const char *)(uintptr_t)(from + EMU_NEAR), bytes, taken, 0});
}

void emu_copy_commit(emu_thread *t)
{
    t->block->copies[t->index].group++;
}

void emu_copy_wait(emu_thread *t, uint32_t groups_left)
{
    emu_copies *queue = &t->block->copies[t->index];
    size_t done = 0;

    while (done < queue->n && queue->copy[done].group + groups_left < queue->group)
        copy_now(&queue->copy[done++]);
    if (done == 0)
        return;
    memmove(queue->copy, queue->copy + done, (queue->n - done) * sizeof *queue->copy);
    queue->n -= done;
}

void emu_copy_wait_all(emu_thread *t)
{
    emu_copy_commit(t);
    emu_copy_wait(t, 0);
}

/* ---- a block ---- */

/* A fiber's whole life: it leaves the ring, and the last one goes back to the host. */
static void live(void)
{
    emu_block *b = running;
    uint32_t me, before;

    b->grid->run(emu_now, b->grid->context);
    me = b->turn;
    if (b->waiting > 0)
        emu_trap("the end of a thread for which others wait at a barrier");
    b->idle = 0;
    if (--b->live == 0)
        emu_fiber_change(&b->fiber[me], &b->host);
    before = b->previous[me];
    b->next[before] = b->next[me];
    b->previous[b->next[me]] = before;
    if (b->first == me)
        b->first = b->next[me];
    go_on_with(b, me, b->next[me]);
}

/* Without barriers each thread runs to its end. */
static void live_in_turn(void)
{
    emu_block *b = running;

    for (uint32_t i = 0; i < b->threads; i++) {
        b->turn = b->ring[i];
        emu_now = &b->thread[b->turn];
        b->grid->run(emu_now, b->grid->context);
    }
    emu_fiber_change(&b->fiber[0], &b->host);
}

static void choose_ring(emu_block *b, uint64_t number)
{
    const emu_grid *g = b->grid;

    if (g->order == b->ring_order && b->threads == b->ring_threads && g->order != EMU_SHUFFLED)
        return;
    b->ring_order = g->order;
    b->ring_threads = b->threads;
    for (uint32_t i = 0; i < b->threads; i++)
        b->ring[i] = g->order == EMU_BACKWARD ? b->threads - 1 - i : i;
    if (g->order != EMU_SHUFFLED)
        return;
    b->chance = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
    for (uint32_t i = b->threads - 1; i > 0; i--) {
        uint32_t j, at = b->ring[i];

        (void)coin(b);
        j = (uint32_t)((b->chance >> 32) % (i + 1));
        b->ring[i] = b->ring[j];
        b->ring[j] = at;
    }
}

static void prepare_threads(emu_block *b, const uint32_t block[3])
{
    const emu_grid *g = b->grid;

    for (uint32_t i = 0; i < b->threads; i++) {
        emu_thread *t = &b->thread[i];

        memcpy(t->ctaid, block, sizeof t->ctaid);
        b->copies[i].n = 0;
        b->copies[i].group = 0;
        if (b->prepared == b->run_number)
            continue;
        *t = (emu_thread){.index = i, .dynamic = g->dynamic, .shared = b->shared, .block = b};
        t->tid[0] = i % g->threads[0];
        t->tid[1] = i / g->threads[0] % g->threads[1];
        t->tid[2] = i / g->threads[0] / g->threads[1];
        memcpy(t->ntid, g->threads, sizeof t->ntid);
        memcpy(t->nctaid, g->blocks, sizeof t->nctaid);
        memcpy(t->ctaid, block, sizeof t->ctaid);
    }
    b->prepared = b->run_number;
}

static void prepare_fibers(emu_block *b)
{
    const uint32_t n = b->threads;

    b->live = n;
    b->waiting = 0;
    b->idle = 0;
    memset(b->warp, 0, sizeof b->warp);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = b->ring[i];

        b->next[at] = b->ring[(i + 1) % n];
        b->previous[at] = b->ring[(i + n - 1) % n];
        emu_fiber_make(&b->fiber[at], b->stacks + (size_t)at * STACK + PAGE, STACK - PAGE, live);
    }
    b->first = b->ring[0];
}

bool emu_block_run(emu_block *b, const emu_grid *g, uint64_t number)
{
    const uint32_t block[3] = {(uint32_t)(number % g->blocks[0]), (uint32_t)(number / g->blocks[0] % g->blocks[1]),
                               (uint32_t)(number / g->blocks[0] / g->blocks[1])};
    const uint32_t taken = (g->shared + 127) / 128 * 128;

    b->grid = g;
    b->threads = g->threads[0] * g->threads[1] * g->threads[2];
    b->trouble[0] = '\0';
    b->shared = b->window + EMU_MAX_SHARED - taken; /* what is beyond its end is nobody's */
    memset(b->shared, emu_junk(g->order), taken);
    choose_ring(b, number);
    prepare_threads(b, block);
    if (g->meets)
        prepare_fibers(b);
    else
        emu_fiber_make(&b->fiber[b->ring[0]], b->stacks + (size_t)b->ring[0] * STACK + PAGE, STACK - PAGE,
                       live_in_turn);
    running = b;
    b->turn = b->ring[0];
    emu_now = &b->thread[b->turn];
    emu_fiber_change(&b->host, &b->fiber[b->turn]);
    running = NULL;
    emu_now = NULL;
    return b->trouble[0] == '\0';
}
