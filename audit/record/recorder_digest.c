/* SPDX-License-Identifier: Apache-2.0
 * Digests of a step for the recorder: at once, or, for large states where processors are idle, beside the next step.
 * Nothing is copied: a state stays as it is until that step writes to it, which waits for its digest alone
 * (core/run/run.h). */
#include "audit/record/recorder_private.h"

#include "audit/digest/sha256.h"
#include "base/clock.h"
#include "base/memory.h"

/* Bytes of state from which waking a thread costs less than it hides. */
enum { BESIDE_LEAST = 1 << 19 };

static bool room_for(digest_room *room, size_t n)
{
    *room = (digest_room){rp_reallocarray(NULL, n, sizeof *room->tensor),
                          rp_reallocarray(NULL, n, sizeof *room->digest), rp_reallocarray(NULL, n, sizeof *room->list)};
    return room->tensor && room->digest && room->list;
}

static void room_free(digest_room *room)
{
    rp_free(room->list);
    rp_free(room->digest);
    rp_free(room->tensor);
    *room = (digest_room){NULL, NULL, NULL};
}

static rp_tensor_bytes bytes_of(const rp_type *type, const void *data)
{
    return (rp_tensor_bytes){type->dtype, type->rank, type->shape, data, true};
}

/* Their memory is read through the staging, where there is one. */
static void put_tensors(rp_tensor_bytes *to, const rp_device_tensor *tensor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bytes_of(&tensor[i].type, tensor[i].memory);
}

/* As rp_tensors_digest, of tensors on a device. */
static rp_status tensors_digest(rp_digest *out, const rp_tensor_bytes *tensor, size_t n, rp_pool *pool,
                                rp_staging *staging, rp_error *err)
{
    rp_tensors_work *work;
    rp_status status = rp_tensors_prepare(&work, tensor, n, err);

    if (status != RP_OK)
        return status;
    rp_tensors_set_fetch(work, rp_staging_fetch(staging));
    status = rp_staging_begin(staging, err);
    if (status == RP_OK)
        status = rp_tensors_hash(work, pool) ? rp_tensors_finish(out, work, err) : rp_staging_failed(staging, err);
    rp_tensors_free(work);
    return status;
}

static rp_status list_digest(rp_digest *out, const rp_device_tensor *named, const rp_digest *digest, size_t n,
                             rp_named_digest *list, rp_error *err)
{
    for (size_t i = 0; i < n; i++)
        list[i] = (rp_named_digest){named[i].name, digest[i]};
    return rp_named_list_digest(out, list, n, err);
}

rp_status rp_named_tensors_digest(rp_digest *out, const rp_named *named, size_t n, rp_pool *pool, rp_error *err)
{
    digest_room room;
    rp_status status = room_for(&room, n) ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++)
        room.tensor[i] = bytes_of(&named[i].type, named[i].data);
    if (status == RP_OK)
        status = rp_tensors_digest(room.digest, room.tensor, n, pool, err);
    for (size_t i = 0; i < n && status == RP_OK; i++)
        room.list[i] = (rp_named_digest){named[i].name, room.digest[i]};
    if (status == RP_OK)
        status = rp_named_list_digest(out, room.list, n, err);
    room_free(&room);
    return status;
}

rp_status rp_device_tensor_digests(rp_digest *out, const rp_device_tensor *tensor, size_t n, rp_pool *pool,
                                   rp_error *err)
{
    rp_tensor_bytes *bytes = rp_reallocarray(NULL, n, sizeof *bytes);
    rp_staging *staging = NULL;
    rp_status status = bytes ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && n)
        status = rp_staging_new(&staging, tensor[0].device, err);
    if (status == RP_OK) {
        put_tensors(bytes, tensor, n);
        status = tensors_digest(out, bytes, n, pool, staging, err);
    }
    rp_staging_free(staging);
    rp_free(bytes);
    return status;
}

rp_status rp_device_tensors_digest(rp_digest *out, const rp_device_tensor *tensor, size_t n, rp_pool *pool,
                                   rp_error *err)
{
    digest_room room;
    rp_status status =
        room_for(&room, n) ? rp_device_tensor_digests(room.digest, tensor, n, pool, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = list_digest(out, tensor, room.digest, n, room.list, err);
    room_free(&room);
    return status;
}

/* All tensors of the step are hashed together, since many messages are faster than one after another. A rolling digest
 * of the states is made apart, and one beside the next step later. */
rp_status rp_recorder_digest_step(rp_recorder *r, const rp_step_event *event, bool beside, rp_record *record,
                                  rp_error *err)
{
    rp_pool *pool = rp_device_pool(rp_run_device(r->run));
    size_t n_feeds = event->n_feeds, n_results = event->n_results,
           n_states = r->rolling || beside ? 0 : event->n_states;
    rp_digest *digest;
    digest_room room;
    rp_status status = room_for(&room, n_feeds + n_results + n_states) ? RP_OK : rp_no_memory(err);

    digest = room.digest;
    if (status == RP_OK) {
        put_tensors(room.tensor, event->feed, n_feeds);
        put_tensors(room.tensor + n_feeds, event->result, n_results);
        put_tensors(room.tensor + n_feeds + n_results, event->state, n_states);
        status = tensors_digest(digest, room.tensor, n_feeds + n_results + n_states, pool, r->staging, err);
    }
    if (status == RP_OK)
        status = list_digest(&record->feeds, event->feed, digest, n_feeds, room.list, err);
    if (status == RP_OK && r->salted)
        status = rp_salted_feeds(&record->feeds, &r->salt, err);
    if (status == RP_OK)
        status = list_digest(&record->results, event->result, digest + n_feeds, n_results, room.list, err);
    if (status == RP_OK && r->rolling)
        status = rp_rolling_digest(&record->states, r->rolling, event->state, event->step, pool, r->staging, err);
    else if (status == RP_OK && !beside)
        status = list_digest(&record->states, event->state, digest + n_feeds + n_results, n_states, room.list, err);
    for (size_t i = 0; r->feeds && i < n_feeds && status == RP_OK; i++)
        status = rp_feeds_keep(r->feeds, &event->feed[i], &digest[i], err);
    room_free(&room);
    return status;
}

/* ---- states hashed beside the next step ---- */

bool rp_recorder_goes_beside(rp_recorder *r, const rp_step_event *event)
{
    size_t bytes = 0;

    if (r->rolling || r->comparing || r->beside_threads == 0)
        return false;
    for (size_t i = 0; i < event->n_states && bytes < BESIDE_LEAST; i++)
        bytes += rp_type_bytes(&event->state[i].type);
    if (bytes < BESIDE_LEAST)
        return false;
    if (!r->beside && !(r->beside = rp_beside_new(r->beside_threads)))
        r->beside_threads = 0;
    return r->beside != NULL;
}

static void order_free(hash_order *o)
{
    rp_free(o->state);
    rp_free(o->place);
    rp_free(o->tensor);
    *o = (hash_order){0};
}

static bool put_state(hash_order *o, const rp_step_event *event, size_t state, size_t at)
{
    const bool first = o->place[state] == SIZE_MAX;

    if (first) {
        o->state[at] = state;
        o->tensor[at] = event->state[state];
        o->place[state] = at;
    }
    return first;
}

static rp_status find_order(hash_order *o, const rp_step_event *event, rp_error *err)
{
    const size_t n = event->n_states;
    size_t at = 0;

    if (o->n == n && o->compiled == event->compiled)
        return RP_OK;
    order_free(o);
    *o = (hash_order){.state = rp_reallocarray(NULL, n, sizeof *o->state),
                      .place = rp_reallocarray(NULL, n, sizeof *o->place),
                      .tensor = rp_reallocarray(NULL, n, sizeof *o->tensor),
                      .compiled = event->compiled};
    if (!o->state || !o->place || !o->tensor)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        o->place[i] = SIZE_MAX;
    for (size_t i = 0; i < event->n_written; i++)
        at += put_state(o, event, event->written[i], at);
    for (size_t i = 0; i < n; i++)
        at += put_state(o, event, i, at);
    o->n = n;
    return RP_OK;
}

rp_status rp_recorder_begin_beside(rp_recorder *r, const rp_step_event *event, const rp_record *record, rp_error *err)
{
    pending_step *p = &r->pending;
    rp_status status = room_for(&p->room, event->n_states) ? find_order(&r->order, event, err) : rp_no_memory(err);

    p->record = *record;
    if (status == RP_OK) {
        put_tensors(p->room.tensor, r->order.tensor, event->n_states);
        status = rp_tensors_prepare(&p->work, p->room.tensor, event->n_states, err);
    }
    if (status == RP_OK)
        status = rp_staging_begin(r->staging, err);
    if (status == RP_OK) {
        rp_tensors_set_fetch(p->work, rp_staging_fetch(r->staging));
        rp_beside_begin(r->beside, p->work, event->n_states);
    } else {
        rp_tensors_free(p->work);
        p->work = NULL;
        room_free(&p->room);
    }
    return status;
}

/* Its record, without which there is no archive: so a failure stays, also where whoever asked first, as what saves
 * points to resume from, can do without. */
static void complete(rp_recorder *r, pending_step *p)
{
    const uint64_t start = rp_clock_nanoseconds();
    rp_status status = rp_beside_wait(r->beside) ? rp_tensors_finish(p->room.digest, p->work, &r->why)
                                                 : rp_staging_failed(r->staging, &r->why);

    if (status == RP_OK)
        status = list_digest(&p->record.states, r->order.tensor, p->room.digest, r->order.n, p->room.list, &r->why);
    if (status == RP_OK)
        status = rp_recorder_append(r, &p->record, &r->why);
    rp_tensors_free(p->work);
    p->work = NULL;
    room_free(&p->room);
    r->failed = r->failed || status != RP_OK;
    r->nanoseconds += rp_clock_nanoseconds() - start;
}

rp_status rp_recorder_settle(rp_recorder *r, rp_error *err)
{
    pending_step *p = &r->pending;

    if (p->work)
        complete(r, p);
    if (r->why.status != RP_OK && err)
        *err = r->why;
    return r->why.status;
}

rp_status rp_recorder_release_state(rp_recorder *r, size_t state, rp_error *err)
{
    uint64_t start;

    if (state == RP_ALL_STATES || !r->pending.work)
        return rp_recorder_settle(r, err);
    start = rp_clock_nanoseconds();
    rp_beside_wait_for(r->beside, r->pending.work, r->order.place[state]);
    r->nanoseconds += rp_clock_nanoseconds() - start;
    return RP_OK;
}

void rp_recorder_set_beside(rp_recorder *r, unsigned threads)
{
    (void)rp_recorder_settle(r, NULL); /* a failure is kept in r->why */
    rp_beside_free(r->beside);
    r->beside = NULL;
    r->beside_threads = threads;
}

void rp_recorder_drop_beside(rp_recorder *r)
{
    if (r->pending.work)
        (void)rp_beside_wait(r->beside);
    rp_tensors_free(r->pending.work);
    room_free(&r->pending.room);
    rp_beside_free(r->beside);
    order_free(&r->order);
}
