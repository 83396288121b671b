/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 of many bodies of an archive, on all processors and two side by side on each, in memory that does not depend
 * on their sizes: each lane reads its member window by window. Which thread hashes which member is circumstance; the
 * digests are not, and of several errors the one of the first member is reported. */
#include <stdatomic.h>
#include <stdlib.h>

#include "audit/archive/archive_private.h"
#include "audit/digest/sha256.h"
#include "base/memory.h"
#include "base/pool.h"

enum {
    WINDOW = 1 << 18, /* two of them stay in the second-level cache; smaller ones cost more in calls */
    THREADS_MAX = 8,
    BYTES_A_THREAD = 1 << 20, /* below, a thread is not worth starting */
};
static const size_t none = SIZE_MAX;

/* One member on its way. */
typedef struct slot {
    size_t first;            /* place of the first member it takes; none: it has begun */
    size_t index;            /* none: nothing in it */
    uint64_t read;           /* bytes of the body that were read */
    const unsigned char *at; /* those of them that are not hashed yet */
    size_t left;
    unsigned char *window;
    rp_sha256_lane lane;
} slot;

typedef struct failure {
    size_t index; /* of the first member that failed in this thread; none */
    rp_status status;
    rp_error error;
} failure;

typedef struct place {
    uint64_t size;
    size_t index;
} place;

typedef struct job {
    rp_archive *archive;
    place *order; /* the largest first, so that the last ones to finish are small */
    size_t count;
    atomic_size_t next; /* behind the places that threads begin with */
    size_t parts;
    unsigned char *windows; /* two a thread; NULL over memory */
    failure failed[THREADS_MAX];
} job;

static void note(failure *failed, size_t index, rp_status status, const rp_error *err)
{
    if (index < failed->index)
        *failed = (failure){index, status, *err};
}

static rp_status fill(const rp_archive *archive, const rp_member *member, slot *s, rp_error *err)
{
    uint64_t left = member->size - s->read;
    size_t part = left < WINDOW || archive->reader.memory != NULL ? (size_t)left : WINDOW;
    rp_status status = RP_OK;

    s->at = s->window;
    if (archive->reader.memory != NULL)
        s->at = (const unsigned char *)archive->reader.memory + member->offset + s->read;
    else
        status = rp_archive_source_read(archive, member->offset + s->read, s->window, part, err);
    s->read += part;
    s->left = part;
    return status;
}

/* Brings whole blocks into the slot: reads on, or ends a member and takes the next. False when there are no more. */
static bool prepare(job *j, slot *s, failure *failed)
{
    rp_error err;

    for (;;) {
        rp_status status = RP_OK;

        if (s->index == none) {
            size_t k = s->first != none ? s->first : atomic_fetch_add(&j->next, 1);

            s->first = none;
            if (k >= j->count)
                return false;
            s->index = j->order[k].index;
            s->read = s->left = 0;
            status = rp_sha256_lane_start(&s->lane, &err);
        }
        rp_member *member = &j->archive->member[s->index];
        if (s->left >= RP_SHA_BLOCK)
            return true;
        if (status == RP_OK && s->read < member->size) {
            status = fill(j->archive, member, s, &err);
            if (status == RP_OK)
                continue;
            rp_sha256_lane_drop(&s->lane);
        } else if (status == RP_OK) {
            status = rp_sha256_lane_finish(&s->lane, s->at, s->left, &member->digest, &err);
        }
        if (status != RP_OK)
            note(failed, s->index, status, &err);
        s->index = none;
    }
}

static void used(slot *s, size_t blocks)
{
    s->at += blocks * RP_SHA_BLOCK;
    s->left -= blocks * RP_SHA_BLOCK;
}

/* Two members side by side until there is only one left, which goes on alone. */
static void hash_two(job *j, slot *a, slot *b, failure *failed)
{
    bool first = prepare(j, a, failed), second = prepare(j, b, failed);

    while (first && second) {
        size_t blocks = (a->left < b->left ? a->left : b->left) / RP_SHA_BLOCK;

        rp_sha256_lane_blocks(&a->lane, a->at, &b->lane, b->at, blocks);
        used(a, blocks);
        used(b, blocks);
        first = prepare(j, a, failed);
        second = prepare(j, b, failed);
    }
    for (slot *s = first ? a : b; s->index != none; (void)prepare(j, s, failed)) {
        size_t blocks = s->left / RP_SHA_BLOCK;

        rp_sha256_lane_blocks(&s->lane, s->at, NULL, NULL, blocks);
        used(s, blocks);
    }
}

static void hash_part(void *arg, size_t begin, size_t end)
{
    job *j = arg;

    for (size_t part = begin; part < end; part++) {
        unsigned char *windows = j->windows ? j->windows + part * 2 * WINDOW : NULL;
        /* each begins with one of the largest: of two members every thread gets one, not the first thread both */
        slot a = {.first = part, .index = none, .window = windows};
        slot b = {.first = j->parts + part, .index = none, .window = windows ? windows + WINDOW : NULL};

        hash_two(j, &a, &b, &j->failed[part]);
    }
}

static int largest_first(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->index > y->index) - (x->index < y->index);
}

/* How many threads the bytes are worth. */
static unsigned threads_for(uint64_t bytes, size_t members)
{
    uint64_t most = bytes / BYTES_A_THREAD < members ? bytes / BYTES_A_THREAD : members;

    return most < 2 ? 1 : rp_processors(most < THREADS_MAX ? (unsigned)most : THREADS_MAX);
}

static rp_status hash_all(job *j, unsigned threads, rp_error *err)
{
    const failure *first = &j->failed[0];
    rp_pool *pool = NULL;

    for (unsigned i = 0; i < THREADS_MAX; i++)
        j->failed[i].index = none;
    /* where no threads can be had this one does it alone */
    if (threads > 1 && rp_pool_new(&pool, threads, NULL, NULL) != RP_OK)
        pool = NULL;
    rp_pool_run(pool, threads, 1, hash_part, j);
    rp_pool_free(pool);
    for (unsigned i = 1; i < threads; i++)
        if (j->failed[i].index < first->index)
            first = &j->failed[i];
    if (first->index == none)
        return RP_OK;
    if (err != NULL)
        *err = first->error;
    return rp_fail_at(err, first->status, "%s", j->archive->member[first->index].name);
}

rp_status rp_archive_hash(rp_archive *archive, size_t first, size_t end, rp_error *err)
{
    size_t count = end - first;
    uint64_t bytes = 0;
    job *j = rp_calloc(1, sizeof *j);
    place *order = rp_reallocarray(NULL, count, sizeof *order);
    rp_status status = j && order ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < count && status == RP_OK; i++) {
        order[i] = (place){archive->member[first + i].size, first + i};
        bytes += order[i].size;
    }
    if (status == RP_OK) {
        unsigned threads = threads_for(bytes, count);

        qsort(order, count, sizeof *order, largest_first);
        j->archive = archive;
        j->order = order;
        j->count = count;
        j->parts = threads;
        atomic_init(&j->next, 2 * (size_t)threads);
        j->windows = archive->reader.memory != NULL ? NULL : rp_reallocarray(NULL, threads, (size_t)2 * WINDOW);
        status = archive->reader.memory != NULL || j->windows ? hash_all(j, threads, err) : rp_no_memory(err);
        rp_free(j->windows);
    }
    rp_free(order);
    rp_free(j);
    return status;
}
