/* SPDX-License-Identifier: Apache-2.0
 * Workers wait on a generation counter; a run has one contiguous range for each worker and range 0 for the caller. Who
 * is done with its own takes those that nobody has begun: a worker that sleeps, or waits for a processor that others
 * use, holds nobody up, and a run is over when its ranges are done, whoever is still to wake.
 * Waking a sleeping thread takes tens of microseconds, as long as a small kernel: so who waits looks on for about as
 * long before going to sleep, unless there are more threads than processors.
 * A process that forks has no workers in the child: a handler puts each pool there into the state of one that has not
 * started any, and the first run that wants them starts them. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

typedef struct worker {
    rp_pool *pool;
    unsigned index; /* 1 .. threads - 1; the caller is 0 */
    pthread_t thread;
} worker;

/* A thread that loses its processor to another process in the middle of a range is waited for: when that took longer
 * than LATE_NS and a third of the run, ranges are a SHORTER part for the next LATE_RUNS runs, and there is less to wait
 * for. */
enum { SHORTER = 4, LATE_RUNS = 64, LATE_NS = 200000 };

/* What is to be done. */
typedef struct run {
    rp_pool_work *work;
    void *arg;
    size_t items, parts;
    unsigned long generation;
} run;

struct rp_pool {
    unsigned threads, started;
    worker *workers;
    pthread_mutex_t busy; /* held by the application thread that has the workers */
    bool spins;
    pthread_mutex_t lock; /* guards what follows; generation, left and stop are also looked at without it */
    pthread_cond_t wake, done;
    run run;
    atomic_ulong generation;
    atomic_size_t left;  /* ranges of the run that are not done */
    atomic_ulong *taken; /* of each range: the last generation in which somebody took it */
    unsigned late;       /* runs that still get short ranges, since one was waited for */
    unsigned ready;
    atomic_bool stop;
    rp_status (*on_start)(rp_error *);
    rp_status start_status;
    rp_error start_error;
    bool orphaned;          /* after a fork, in the child: no worker has been started here yet */
    rp_pool *next, *before; /* in the list of all pools */
};

unsigned rp_processors(unsigned most)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < n) /* fails where there are over 1,024 */
        n = CPU_COUNT(&set);
#endif

    return n < 1 ? 1 : n > (long)most ? most : (unsigned)n;
}

/* All pools of the process, for the handlers of fork. */
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    rp_pool *first;
} all = {PTHREAD_ONCE_INIT, PTHREAD_MUTEX_INITIALIZER, NULL};

static void make_locks(rp_pool *pool)
{
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
}

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&all.lock);
}

/* Only the thread that forked is here. Whatever another one held or ran, it holds and runs in the parent. */
static void after_fork_child(void)
{
    for (rp_pool *pool = all.first; pool; pool = pool->next) {
        make_locks(pool);
        pool->started = pool->ready = 0;
        atomic_store(&pool->left, 0);
        for (size_t i = 0; i < (size_t)SHORTER * pool->threads; i++) /* pages are copied one after the other */
            atomic_store(&pool->taken[i], 0);
        pool->orphaned = true;
    }
    pthread_mutex_unlock(&all.lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void enlist(rp_pool *pool)
{
    (void)pthread_once(&all.once, watch_forks);
    pthread_mutex_lock(&all.lock);
    pool->next = all.first;
    if (pool->next)
        pool->next->before = pool;
    all.first = pool;
    pthread_mutex_unlock(&all.lock);
}

static void strike(rp_pool *pool)
{
    pthread_mutex_lock(&all.lock);
    if (pool->before)
        pool->before->next = pool->next;
    else
        all.first = pool->next;
    if (pool->next)
        pool->next->before = pool->before;
    pthread_mutex_unlock(&all.lock);
}

/* Range i of n parts: the first items % n ranges are one longer. */
static void part_of(size_t items, size_t parts, size_t i, size_t *begin, size_t *end)
{
    size_t base = items / parts, extra = items % parts;

    *begin = i * base + (i < extra ? i : extra);
    *end = *begin + base + (i < extra);
}

/* Lets the processor's other thread run and saves power, for some tens of cycles. */
static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static long nanoseconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start->tv_sec) * 1000000000L + (now.tv_nsec - start->tv_nsec);
}

/* Looks on, for a bounded time, until there is a generation after `seen` (a worker) or all is done (the caller, seen ==
 * NULL). Only an attempt: the answer is then taken under the lock. After the first microsecond each look
 * yields, since the thread that is waited for may be queued on this very processor behind the one that waits. */
static void look_on(rp_pool *pool, const unsigned long *seen)
{
    enum { LOOKS = 32, LIMIT_NS = 50000 };
    struct timespec start;
    bool yields = false;

    if (!pool->spins)
        return;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (seen != NULL ? atomic_load(&pool->generation) != *seen || atomic_load(&pool->stop)
                             : atomic_load(&pool->left) == 0)
                return;
            if (yields)
                sched_yield();
            else
                relax();
        }
        yields = true;
    } while (nanoseconds_since(&start) < LIMIT_NS);
}

/* Does range i of a run, if nobody has begun it. Generations ascend, so one who comes late finds no range of a run that
 * is over. */
static void do_range(rp_pool *pool, const run *r, size_t i)
{
    unsigned long before = atomic_load(&pool->taken[i]);
    size_t begin, end;

    if (before >= r->generation || !atomic_compare_exchange_strong(&pool->taken[i], &before, r->generation))
        return;
    part_of(r->items, r->parts, i, &begin, &end);
    r->work(r->arg, begin, end);
    if (atomic_fetch_sub(&pool->left, 1) == 1) {
        pthread_mutex_lock(&pool->lock); /* who waits is asleep, or has not looked yet */
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* All ranges that are left, one's own first. */
static void do_ranges(rp_pool *pool, const run *r, size_t own)
{
    for (size_t i = 0; i < r->parts; i++)
        do_range(pool, r, (own + i) % r->parts);
}

static void *worker_main(void *arg)
{
    worker *self = arg;
    rp_pool *pool = self->pool;
    unsigned long seen;
    run todo;
    rp_error error = {0};
    rp_status status = pool->on_start ? pool->on_start(&error) : RP_OK;

    pthread_mutex_lock(&pool->lock);
    seen = pool->generation; /* not 0 where a child starts workers anew */
    if (status != RP_OK && pool->start_status == RP_OK) {
        pool->start_status = status;
        pool->start_error = error;
    }
    pool->ready++;
    pthread_cond_broadcast(&pool->done);
    for (;;) {
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        todo = pool->run;
        pthread_mutex_unlock(&pool->lock);
        do_ranges(pool, &todo, self->index);
        look_on(pool, &seen);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Starts workers 1 .. threads - 1 and waits until they are ready. */
static rp_status start_workers(rp_pool *pool, rp_error *err)
{
    rp_status status = RP_OK;

    for (unsigned i = 1; i < pool->threads; i++) {
        pool->workers[i] = (worker){.pool = pool, .index = i};
        if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0) {
            status = rp_fail(err, RP_ENOMEM, "cannot start thread %u of %u: lower --threads", i + 1, pool->threads);
            break;
        }
        pool->started++;
    }
    pthread_mutex_lock(&pool->lock);
    while (pool->ready < pool->started)
        pthread_cond_wait(&pool->done, &pool->lock);
    if (status == RP_OK && pool->start_status != RP_OK) {
        status = pool->start_status;
        if (err)
            *err = pool->start_error;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static void stop_workers(rp_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i <= pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pool->started = pool->ready = 0;
    pool->stop = false;
}

rp_status rp_pool_new(rp_pool **out, unsigned threads, rp_status (*on_worker_start)(rp_error *), rp_error *err)
{
    rp_pool *pool;
    rp_status status;

    *out = NULL;
    if (threads < 1 || threads > 1024)
        return rp_fail(err, RP_EARG, "threads: expected 1 to 1024, found %u", threads);
    pool = rp_calloc(1, sizeof *pool);
    if (pool)
        pool->workers = rp_calloc(threads, sizeof *pool->workers);
    if (pool)
        pool->taken = rp_calloc((size_t)SHORTER * threads, sizeof *pool->taken);
    if (!pool || !pool->workers || !pool->taken) {
        if (pool) {
            rp_free(pool->workers);
            rp_free(pool->taken);
        }
        rp_free(pool);
        return rp_no_memory(err);
    }
    pool->threads = threads;
    pool->spins = rp_processors(threads) >= threads;
    pool->on_start = on_worker_start;
    make_locks(pool);
    enlist(pool);
    status = start_workers(pool, err);
    if (status != RP_OK)
        rp_pool_free(pool);
    else
        *out = pool;
    return status;
}

void rp_pool_free(rp_pool *pool)
{
    if (!pool)
        return;
    strike(pool);
    stop_workers(pool);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    rp_free(pool->workers);
    rp_free(pool->taken);
    rp_free(pool);
}

unsigned rp_pool_threads(const rp_pool *pool)
{
    return pool ? pool->threads : 1;
}

/* In a child of fork, by the thread that has the pool: workers of its own. Without them it works alone. */
static bool adopt(rp_pool *pool)
{
    if (start_workers(pool, NULL) != RP_OK) {
        stop_workers(pool);
        pool->start_status = RP_OK; /* the next run tries again */
        return false;
    }
    pool->orphaned = false;
    return true;
}

static void wait_for_others(rp_pool *pool, const struct timespec *start)
{
    const long worked = nanoseconds_since(start);
    long waited;

    look_on(pool, NULL);
    pthread_mutex_lock(&pool->lock);
    while (pool->left > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    waited = nanoseconds_since(start) - worked;
    if (waited > LATE_NS && waited > worked / 2)
        pool->late = LATE_RUNS;
    else if (pool->late > 0)
        pool->late--;
}

void rp_pool_run(rp_pool *pool, size_t items, size_t grain, rp_pool_work *work, void *arg)
{
    const size_t most = grain ? items / grain : items;
    size_t parts = most;
    struct timespec start;
    run r;

    if (items == 0)
        return;
    if (pool && parts > pool->threads)
        parts = pool->threads;
    /* trylock: a nested call, or a second application thread, finds the workers taken and runs inline. */
    if (!pool || parts < 2 || pthread_mutex_trylock(&pool->busy) != 0) {
        work(arg, 0, items);
        return;
    }
    if (pool->orphaned && !adopt(pool)) {
        pthread_mutex_unlock(&pool->busy);
        work(arg, 0, items);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (pool->late > 0)
        parts = most < (size_t)SHORTER * parts ? most : (size_t)SHORTER * parts;
    pthread_mutex_lock(&pool->lock);
    r = pool->run = (run){work, arg, items, parts, pool->generation + 1};
    atomic_store(&pool->left, parts);
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    do_ranges(pool, &r, 0);
    if (atomic_load(&pool->left) > 0)
        wait_for_others(pool, &start);
    else if (pool->late > 0)
        pool->late--;
    pthread_mutex_unlock(&pool->busy);
}
