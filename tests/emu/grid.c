/* SPDX-License-Identifier: Apache-2.0
 * A grid: its blocks shared out to host threads that stay, in the order of the grid; an access to memory that is not
 * there ends the kernel instead of the process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/emu/block_private.h"
#include "tests/emu/settings/driver_settings.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <ucontext.h>
#endif

enum { MOST_HELPERS = EMU_THREADS - 1, SIGNAL_STACK = 64 * 1024 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_once_t once;
    unsigned helpers, busy;
    uint64_t serial; /* counts grids */
    const emu_grid *grid;
    uint64_t blocks;
    atomic_uint_fast64_t next;
    atomic_bool stop;
    char trouble[256];
    emu_block *idle[MOST_HELPERS + 1]; /* places to run blocks that nobody uses */
    unsigned n_idle;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER,
          .once = PTHREAD_ONCE_INIT};

/* ---- memory that is not there ---- */

static struct sigaction before[2];
static const int number[2] = {SIGSEGV, SIGBUS};

#if defined(__x86_64__) && !defined(EMU_SOURCE)
#define EMU_CATCHES 1 /* of the text of kernels a sanitizer tells more */
static __thread uint64_t sought;

static void no_memory_there(void)
{
    char text[96];

    (void)snprintf(text, sizeof text, "an access to memory that is not the device's, at 0x%llx",
                   (unsigned long long)(sought - EMU_NEAR));
    emu_trap(text);
}

static void on_signal(int which, siginfo_t *info, void *context)
{
    ucontext_t *c = context;

    if (!emu_in_kernel()) {
        (void)sigaction(which, &before[which == SIGBUS], NULL); /* whoever had it gets it when it comes again */
        return;
    }
    sought = (uint64_t)(uintptr_t)info->si_addr;
    /* Go on there, on the fiber's stack below what it may still use, as after a call. */
    c->uc_mcontext.gregs[REG_RSP] = (c->uc_mcontext.gregs[REG_RSP] - 256) / 16 * 16 - 8;
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)no_memory_there;
}
#endif

static void catch_signals(bool on)
{
#if defined(EMU_CATCHES)
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    for (int i = 0; i < 2; i++)
        (void)sigaction(number[i], on ? &action : &before[i], on ? &before[i] : NULL);
#else
    (void)on;
    (void)number;
    (void)before;
#endif
}

static __thread stack_t old_stack;

/* A launch takes the stack that the one before gave back: to map one for each took longer than most kernels. */
static void signal_stack(bool on)
{
    static _Atomic(char *) spare;
    static __thread char *stack;
    stack_t s = {.ss_size = SIGNAL_STACK};

    if (on) {
        stack = atomic_exchange(&spare, NULL);
        if (stack == NULL)
            stack = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        s.ss_sp = stack;
        if (stack == MAP_FAILED || sigaltstack(&s, &old_stack) != 0)
            abort();
    } else {
        (void)sigaltstack(&old_stack, NULL);
        stack = atomic_exchange(&spare, stack);
        if (stack != NULL)
            (void)munmap(stack, SIGNAL_STACK);
    }
}

/* ---- blocks ---- */

static emu_block *take_place(void)
{
    emu_block *b = NULL;

    pthread_mutex_lock(&pool.lock);
    if (pool.n_idle > 0)
        b = pool.idle[--pool.n_idle];
    pthread_mutex_unlock(&pool.lock);
    if (b == NULL && (b = emu_block_new()) == NULL)
        abort();
    return b;
}

static void give_place(emu_block *b)
{
    pthread_mutex_lock(&pool.lock);
    pool.idle[pool.n_idle++] = b;
    pthread_mutex_unlock(&pool.lock);
}

/* The i-th block to run: from the front, from the back, from both ends by turns. */
static uint64_t block_of(const emu_grid *g, uint64_t i, uint64_t blocks)
{
    if (g->order == EMU_FORWARD)
        return i;
    if (g->order == EMU_BACKWARD)
        return blocks - 1 - i;
    return i % 2 ? blocks - 1 - i / 2 : i / 2;
}

static void run_blocks(const emu_grid *g, uint64_t blocks, uint64_t serial)
{
    emu_block *b = take_place();
    uint64_t i;
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();

    _mm_setcsr(0x1F80); /* to nearest, subnormals kept: the device has no other */
#endif
    b->run_number = serial;
    while (!atomic_load(&pool.stop) && (i = atomic_fetch_add(&pool.next, 1)) < blocks) {
        if (emu_block_run(b, g, block_of(g, i, blocks)))
            continue;
        pthread_mutex_lock(&pool.lock);
        if (!atomic_exchange(&pool.stop, true))
            memcpy(pool.trouble, b->trouble, sizeof pool.trouble);
        pthread_mutex_unlock(&pool.lock);
    }
#if defined(__x86_64__)
    _mm_setcsr(control);
#endif
    give_place(b);
}

static void *help(void *unused)
{
    uint64_t seen = 0;

    signal_stack(true);
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.serial == seen || pool.grid == NULL)
            pthread_cond_wait(&pool.work, &pool.lock);
        seen = pool.serial;
        pool.busy++;
        {
            const emu_grid *g = pool.grid;
            const uint64_t blocks = pool.blocks;

            pthread_mutex_unlock(&pool.lock);
            run_blocks(g, blocks, seen);
            pthread_mutex_lock(&pool.lock);
        }
        if (--pool.busy == 0)
            pthread_cond_signal(&pool.done);
    }
    return unused;
}

static void start(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = processors < 1 ? 1 : processors > EMU_THREADS ? EMU_THREADS : (size_t)processors;
    sigset_t all, old;

    (void)emu_setting("RP_EMULATED_THREADS", 1, EMU_THREADS, &n);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* interrupts are the program's */
    for (size_t i = 1; i < n; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, help, NULL) != 0)
            break;
        pthread_detach(thread);
        pool.helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

const char *emu_grid_run(const emu_grid *g)
{
    const uint64_t blocks = (uint64_t)g->blocks[0] * g->blocks[1] * g->blocks[2];
    const bool alone = blocks < 2;
    uint64_t serial;

    pthread_once(&pool.once, start);
    catch_signals(true);
    signal_stack(true);
    pthread_mutex_lock(&pool.lock);
    serial = ++pool.serial;
    pool.trouble[0] = '\0';
    atomic_store(&pool.next, 0);
    atomic_store(&pool.stop, false);
    pool.blocks = blocks;
    pool.grid = alone ? NULL : g;
    if (!alone && pool.helpers > 0)
        pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    run_blocks(g, blocks, serial);
    pthread_mutex_lock(&pool.lock);
    pool.grid = NULL; /* who has not begun yet does not begin */
    while (pool.busy > 0)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    signal_stack(false);
    catch_signals(false);
    return pool.trouble[0] ? pool.trouble : NULL;
}
