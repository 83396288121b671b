/* SPDX-License-Identifier: Apache-2.0
 * The thread that hashes. A process that forks has no such thread in the child: there the caller hashes itself. */
#include "audit/record/async_digest.h"

#include <pthread.h>
#include <unistd.h>

#include "base/memory.h"

struct rp_beside {
    pthread_t thread;
    rp_pool *pool;        /* NULL: the thread alone */
    pid_t process;        /* that has the thread */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    rp_tensors_work *work; /* NULL: nothing was begun, or it is done */
    bool ok, stop;
};

static void *beside_main(void *arg)
{
    rp_beside *b = arg;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        bool ok;

        while (!b->stop && b->work == NULL)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->work == NULL)
            break;
        pthread_mutex_unlock(&b->lock);
        ok = rp_tensors_hash(b->work, b->pool);
        pthread_mutex_lock(&b->lock);
        b->ok = ok;
        b->work = NULL;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

rp_beside *rp_beside_new(unsigned threads)
{
    rp_beside *b = rp_calloc(1, sizeof *b);

    if (b == NULL)
        return NULL;
    if (threads > 1 && rp_pool_new(&b->pool, threads, NULL, NULL) != RP_OK) {
        rp_free(b);
        return NULL;
    }
    b->process = getpid();
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (pthread_create(&b->thread, NULL, beside_main, b) != 0) {
        rp_pool_free(b->pool);
        rp_free(b);
        return NULL;
    }
    return b;
}

void rp_beside_free(rp_beside *b)
{
    if (b == NULL)
        return;
    if (b->process == getpid()) {
        pthread_mutex_lock(&b->lock);
        b->stop = true;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
        pthread_cond_destroy(&b->changed);
        pthread_mutex_destroy(&b->lock);
    }
    rp_pool_free(b->pool);
    rp_free(b);
}

void rp_beside_begin(rp_beside *b, rp_tensors_work *work)
{
    if (b->process != getpid()) {
        b->ok = rp_tensors_hash(work, NULL);
        return;
    }
    pthread_mutex_lock(&b->lock);
    b->work = work;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

bool rp_beside_wait(rp_beside *b)
{
    bool ok;

    if (b->process != getpid()) {
        if (b->work != NULL) /* begun before the fork */
            b->ok = rp_tensors_hash(b->work, NULL);
        b->work = NULL;
        return b->ok;
    }
    pthread_mutex_lock(&b->lock);
    while (b->work != NULL)
        pthread_cond_wait(&b->changed, &b->lock);
    ok = b->ok;
    pthread_mutex_unlock(&b->lock);
    return ok;
}
