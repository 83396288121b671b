/* SPDX-License-Identifier: Apache-2.0
 * The thread that hashes. A process that forks has no such thread in the child: there the caller hashes itself. */
#include "audit/record/async_digest.h"

#include <pthread.h>
#include <unistd.h>

#include "base/memory.h"

struct rp_beside {
    pthread_t thread;
    rp_pool *pool;        /* NULL: the thread alone */
    size_t least;         /* leaves between two looks at who waits, */
    pid_t process;        /* that has the thread */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    rp_tensors_work *work; /* NULL: nothing was begun, or it is done */
    size_t at_once;        /* or more, where the work has them hashed together */
    size_t leaves, hashed; /* all of it, and those that are done */
    bool ok, stop;
};

/* Leaves hashed here, for each thread: 1 MiB, after which a waiting step may go on. A device hashes all at once. */
enum { AT_ONCE = 128 };

static void *beside_main(void *arg)
{
    rp_beside *b = arg;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->stop && b->work == NULL)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->work == NULL)
            break;
        b->ok = true;
        while (b->ok && b->hashed < b->leaves) {
            const size_t left = b->leaves - b->hashed, part = left < b->at_once ? left : b->at_once;
            bool ok;

            pthread_mutex_unlock(&b->lock);
            ok = rp_tensors_hash_part(b->work, b->hashed, part, b->pool);
            pthread_mutex_lock(&b->lock);
            b->ok = ok;
            b->hashed += part;
            pthread_cond_broadcast(&b->changed);
        }
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
    b->least = (size_t)threads * AT_ONCE;
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

void rp_beside_begin(rp_beside *b, rp_tensors_work *work, size_t tensors)
{
    if (b->process != getpid()) {
        b->ok = rp_tensors_hash(work, NULL);
        return;
    }
    pthread_mutex_lock(&b->lock);
    b->work = work;
    b->leaves = rp_tensors_leaves(work, tensors - 1);
    b->at_once = rp_tensors_at_once(work);
    b->at_once = b->at_once > b->least ? b->at_once : b->least;
    b->hashed = 0;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

void rp_beside_wait_for(rp_beside *b, const rp_tensors_work *work, size_t tensor)
{
    const size_t leaves = rp_tensors_leaves(work, tensor);

    if (b->process != getpid()) {
        (void)rp_beside_wait(b);
        return;
    }
    pthread_mutex_lock(&b->lock);
    while (b->work != NULL && b->hashed < leaves)
        pthread_cond_wait(&b->changed, &b->lock);
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
