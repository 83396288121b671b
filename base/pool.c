/* SPDX-License-Identifier: Apache-2.0
 * Workers wait on a generation counter; a run hands every worker one contiguous range and keeps range 0 for the caller. */
#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"

typedef struct worker {
    rp_pool *pool;
    unsigned index; /* 1 .. threads - 1; the caller is 0 */
    pthread_t thread;
} worker;

struct rp_pool {
    unsigned threads, started;
    worker *workers;
    pthread_mutex_t busy; /* held by the application thread that has the workers */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake, done;
    rp_pool_work *work;
    void *arg;
    size_t items, parts;
    unsigned long generation;
    unsigned running, ready;
    bool stop;
    rp_status (*on_start)(rp_error *);
    rp_status start_status;
    rp_error start_error;
};

/* Range i of n parts: the first items % n ranges are one longer. */
static void part_of(size_t items, size_t parts, size_t i, size_t *begin, size_t *end)
{
    size_t base = items / parts, extra = items % parts;

    *begin = i * base + (i < extra ? i : extra);
    *end = *begin + base + (i < extra);
}

static void *worker_main(void *arg)
{
    worker *self = arg;
    rp_pool *pool = self->pool;
    unsigned long seen = 0;
    rp_error error = {0};
    rp_status status = pool->on_start ? pool->on_start(&error) : RP_OK;

    pthread_mutex_lock(&pool->lock);
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
        if (self->index < pool->parts) {
            size_t begin, end;

            part_of(pool->items, pool->parts, self->index, &begin, &end);
            pthread_mutex_unlock(&pool->lock);
            pool->work(pool->arg, begin, end);
            pthread_mutex_lock(&pool->lock);
        }
        if (--pool->running == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

rp_status rp_pool_new(rp_pool **out, unsigned threads, rp_status (*on_worker_start)(rp_error *), rp_error *err)
{
    rp_pool *pool;
    rp_status status = RP_OK;

    *out = NULL;
    if (threads < 1 || threads > 1024)
        return rp_fail(err, RP_EARG, "threads: expected 1 to 1024, found %u", threads);
    pool = rp_calloc(1, sizeof *pool);
    if (pool)
        pool->workers = rp_calloc(threads, sizeof *pool->workers);
    if (!pool || !pool->workers) {
        rp_free(pool);
        return rp_no_memory(err);
    }
    pool->threads = threads;
    pool->on_start = on_worker_start;
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (unsigned i = 1; i < threads; i++) {
        pool->workers[i] = (worker){.pool = pool, .index = i};
        if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0) {
            status = rp_fail(err, RP_ENOMEM, "cannot start thread %u of %u: lower --threads", i + 1, threads);
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
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i <= pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    rp_free(pool->workers);
    rp_free(pool);
}

unsigned rp_pool_threads(const rp_pool *pool)
{
    return pool ? pool->threads : 1;
}

void rp_pool_run(rp_pool *pool, size_t items, size_t grain, rp_pool_work *work, void *arg)
{
    size_t parts = grain ? items / grain : items;
    size_t begin, end;

    if (items == 0)
        return;
    if (pool && parts > pool->threads)
        parts = pool->threads;
    /* trylock: a nested call, or a second application thread, finds the workers taken and runs inline. */
    if (!pool || parts < 2 || pthread_mutex_trylock(&pool->busy) != 0) {
        work(arg, 0, items);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->arg = arg;
    pool->items = items;
    pool->parts = parts;
    pool->running = pool->started;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    part_of(items, parts, 0, &begin, &end);
    work(arg, begin, end);
    pthread_mutex_lock(&pool->lock);
    while (pool->running)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->busy);
}
