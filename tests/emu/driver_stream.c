/* SPDX-License-Identifier: Apache-2.0
 * Streams and events. A stream's work is done when somebody waits for it, up to what is waited for; a wait for
 * an event does the other stream's work up to that event and no more. So whoever forgets to wait finds nothing done. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/emu/driver_private.h"

enum { MOST_WAITING = 4096 }; /* beyond it a stream begins on its own, as a device's does */

static char trouble[256];
static unsigned long handles;

EMU_API const char *rp_emulated_trouble(void)
{
    return trouble;
}

EMU_API unsigned long rp_emulated_alive(void)
{
    return handles + emu_memory_alive();
}

/* ---- marks ---- */

static emu_mark *mark_new(emu_stream *s)
{
    emu_mark *m = calloc(1, sizeof *m);

    if (m != NULL) {
        m->users = 1;
        m->stream = s;
    }
    return m;
}

void emu_mark_drop(emu_mark *m)
{
    if (m != NULL && --m->users == 0)
        free(m);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void mark_done(emu_mark *m)
{
    m->done = true;
    m->stream = NULL;
    m->time = now();
}

/* ---- doing work ---- */

static void call(emu_thread *t, void *context)
{
    const emu_work *w = context;
    const char *param[64];
    size_t at = 0;

    for (uint32_t i = 0; i < w->kernel->n_params; i++) {
        param[i] = w->params + at;
        at += (w->kernel->param_size[i] + 15) / 16 * 16;
    }
    w->kernel->run(t, param);
}

static int run_kernel(const emu_work *w)
{
    const uint32_t fixed = (w->kernel->shared + 15) / 16 * 16;
    emu_grid g = {.name = w->kernel->name,
                  .shared = fixed + w->shared,
                  .dynamic = fixed,
                  .meets = w->kernel->meets,
                  .order = emu_order_chosen(),
                  .run = call,
                  .context = (void *)(uintptr_t)w};
    const char *wrong;

    memcpy(g.blocks, w->blocks, sizeof g.blocks);
    memcpy(g.threads, w->threads, sizeof g.threads);
    wrong = emu_grid_run(&g);
    if (wrong == NULL)
        return RP_CU_SUCCESS;
    (void)snprintf(trouble, sizeof trouble, "%s", wrong);
    fprintf(stderr, "emulated device: %s\n", trouble);
    return strstr(wrong, "not the device's") ? RP_CU_ILLEGAL_ADDRESS
           : strstr(wrong, "aligned")        ? EMU_CU_MISALIGNED
                                             : RP_CU_LAUNCH_FAILED;
}

int emu_work_do(emu_device *d, emu_work *w)
{
    int result = RP_CU_SUCCESS;

    switch (w->kind) {
    case EMU_KERNEL:
        result = emu_work_fails("kernel");
        return result != RP_CU_SUCCESS ? result : run_kernel(w);
    case EMU_COPY:
        result = emu_work_fails("copy");
        if (result == RP_CU_SUCCESS)
            memmove(w->to, w->staged ? w->staged : w->from, w->bytes);
        return result;
    case EMU_SET:
        memset(w->to, w->value, w->bytes);
        return RP_CU_SUCCESS;
    case EMU_RECORD:
        mark_done(w->mark);
        return RP_CU_SUCCESS;
    case EMU_WAIT:
        return w->mark->done ? RP_CU_SUCCESS : emu_drain(w->mark->stream, w->mark->ticket);
    case EMU_GRAPH:
        return emu_graph_do(d, w->graph);
    }
    return result;
}

void emu_work_clear(emu_work *w)
{
    free(w->params);
    free(w->staged);
    emu_mark_drop(w->mark);
    emu_graph_drop(w->graph);
}

/* Does, or on a device that has failed drops, the oldest. */
static void do_one(emu_stream *s)
{
    emu_work *w = s->first;
    emu_device *d = s->device;

    s->first = w->next;
    if (s->first == NULL)
        s->last = &s->first;
    if (d->failed == RP_CU_SUCCESS) {
        const int result = emu_work_do(d, w);

        if (result != RP_CU_SUCCESS && d->failed == RP_CU_SUCCESS)
            d->failed = result;
    } else if (w->kind == EMU_RECORD) {
        mark_done(w->mark);
    }
    s->done = w->ticket;
    emu_work_clear(w);
    free(w);
}

int emu_drain(emu_stream *s, uint64_t ticket)
{
    while (s->first != NULL && s->first->ticket <= ticket)
        do_one(s);
    if (s->device->failed == RP_CU_SUCCESS && emu_memory_overrun(s->device)) {
        (void)snprintf(trouble, sizeof trouble, "something was written beyond the end of an allocation");
        fprintf(stderr, "emulated device: %s\n", trouble);
        s->device->failed = RP_CU_ILLEGAL_ADDRESS;
    }
    return s->device->failed;
}

int emu_drain_all(emu_device *d)
{
    if (d == NULL)
        return EMU_CU_INVALID_CONTEXT;
    if (d->legacy)
        (void)emu_drain(d->legacy, UINT64_MAX);
    for (emu_stream *s = d->streams; s != NULL; s = s->next)
        (void)emu_drain(s, UINT64_MAX);
    return d->failed;
}

/* ---- putting work on streams ---- */

static int put(emu_stream *s, const emu_work *work)
{
    emu_work *w = malloc(sizeof *w);

    if (w == NULL)
        return RP_CU_OUT_OF_MEMORY;
    *w = *work;
    w->next = NULL;
    w->ticket = ++s->given;
    if (w->kind == EMU_RECORD)
        w->mark->ticket = w->ticket;
    *s->last = w;
    s->last = &w->next;
    if (s->given - s->done > MOST_WAITING)
        do_one(s);
    return RP_CU_SUCCESS;
}

/* That `s` goes on only after all that `other` has now. */
static int follow(emu_stream *s, emu_stream *other)
{
    emu_work w = {.kind = EMU_WAIT};

    if (other == NULL || other == s || other->first == NULL)
        return RP_CU_SUCCESS;
    w.mark = mark_new(other);
    if (w.mark == NULL)
        return RP_CU_OUT_OF_MEMORY;
    w.mark->users = 2;
    if (put(other, &(emu_work){.kind = EMU_RECORD, .mark = w.mark}) != RP_CU_SUCCESS)
        return RP_CU_OUT_OF_MEMORY;
    return put(s, &w);
}

/* The legacy stream and those that do not refuse it follow each other. */
static int keep_order(emu_stream *s)
{
    emu_device *d = s->device;
    int result = RP_CU_SUCCESS;

    if (s != d->legacy)
        return s->blocking ? follow(s, d->legacy) : RP_CU_SUCCESS;
    for (emu_stream *other = d->streams; other != NULL && result == RP_CU_SUCCESS; other = other->next)
        if (other->blocking)
            result = follow(s, other);
    return result;
}

int emu_put(emu_stream *s, emu_work work)
{
    int result = emu_use_of(s);

    if (result == RP_CU_SUCCESS && s->capture)
        result = emu_capture_put(s, work);
    else if (result == RP_CU_SUCCESS && (result = keep_order(s)) == RP_CU_SUCCESS)
        result = put(s, &work);
    if (result != RP_CU_SUCCESS)
        emu_work_clear(&work);
    return result;
}

/* ---- streams ---- */

emu_stream *emu_stream_make(emu_device *d, bool blocking)
{
    emu_stream *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->device = d;
    s->blocking = blocking;
    s->last = &s->first;
    return s;
}

static void stream_drop(emu_stream *s)
{
    (void)emu_drain(s, UINT64_MAX);
    emu_capture_desert(s);
    free(s->after);
    free(s);
}

void emu_streams_drop(emu_device *d)
{
    while (d->streams != NULL) {
        emu_stream *s = d->streams;

        d->streams = s->next;
        stream_drop(s);
        handles--;
    }
    if (d->legacy)
        stream_drop(d->legacy);
    d->legacy = NULL;
}

emu_stream *emu_stream_of(emu_device *d, rp_cu_stream handle)
{
    if (handle == NULL)
        return d->legacy;
    for (emu_stream *s = d->streams; s != NULL; s = s->next)
        if (s == handle)
            return s;
    return NULL;
}

int cuStreamCreate(rp_cu_stream *stream, unsigned flags)
{
    int result = emu_enter("cuStreamCreate");
    emu_device *d = emu_current();

    *stream = NULL;
    if (result == RP_CU_SUCCESS && flags > RP_CU_STREAM_NON_BLOCKING)
        result = RP_CU_INVALID_VALUE;
    if (result == RP_CU_SUCCESS && (*stream = emu_stream_make(d, flags == 0)) == NULL)
        result = RP_CU_OUT_OF_MEMORY;
    if (result == RP_CU_SUCCESS) {
        (*stream)->next = d->streams;
        d->streams = *stream;
        handles++;
    }
    return emu_leave(result);
}

int cuStreamDestroy_v2(rp_cu_stream stream)
{
    int result = emu_enter("cuStreamDestroy_v2");
    emu_device *d = emu_current();
    emu_stream **at = d ? &d->streams : NULL;

    while (at && *at != NULL && *at != stream)
        at = &(*at)->next;
    if (at == NULL || *at == NULL)
        return emu_leave(result != RP_CU_SUCCESS ? result : EMU_CU_INVALID_HANDLE);
    if (result == RP_CU_SUCCESS || d->failed != RP_CU_SUCCESS) {
        *at = stream->next;
        stream_drop(stream);
        handles--;
    }
    return emu_leave(result);
}

int cuStreamSynchronize(rp_cu_stream stream)
{
    int result = emu_enter("cuStreamSynchronize");
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;

    if (result == RP_CU_SUCCESS && s == NULL)
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS)
        result = emu_wait_for_stream(s);
    if (result == RP_CU_SUCCESS)
        result = emu_drain(s, UINT64_MAX);
    return emu_leave(result);
}

/* ---- events ---- */

int cuEventCreate(rp_cu_event *event, unsigned flags)
{
    int result = emu_enter("cuEventCreate");

    *event = NULL;
    if (result == RP_CU_SUCCESS && flags > 7)
        result = RP_CU_INVALID_VALUE;
    if (result == RP_CU_SUCCESS && (*event = calloc(1, sizeof **event)) == NULL)
        result = RP_CU_OUT_OF_MEMORY;
    if (result == RP_CU_SUCCESS) {
        (*event)->device = emu_current();
        handles++;
    }
    return emu_leave(result);
}

int cuEventDestroy_v2(rp_cu_event event)
{
    int result = emu_enter("cuEventDestroy_v2");

    if (event == NULL)
        return emu_leave(result != RP_CU_SUCCESS ? result : EMU_CU_INVALID_HANDLE);
    emu_mark_drop(event->mark);
    free(event->after);
    free(event);
    handles--;
    return emu_leave(result);
}

static int record(emu_event *e, emu_stream *s)
{
    const int result = emu_use_of(s);
    emu_mark *m;

    if (result != RP_CU_SUCCESS || s->capture)
        return result != RP_CU_SUCCESS ? result : emu_capture_record(e, s);
    m = mark_new(s);
    if (m == NULL)
        return RP_CU_OUT_OF_MEMORY;
    m->users = 2;
    emu_mark_drop(e->mark);
    e->mark = m;
    e->capture = 0;
    return emu_put(s, (emu_work){.kind = EMU_RECORD, .mark = m});
}

int cuEventRecord(rp_cu_event event, rp_cu_stream stream)
{
    int result = emu_enter("cuEventRecord");
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;

    if (result == RP_CU_SUCCESS && (event == NULL || s == NULL || event->device != s->device))
        result = EMU_CU_INVALID_HANDLE;
    return emu_leave(result == RP_CU_SUCCESS ? record(event, s) : result);
}

int cuEventSynchronize(rp_cu_event event)
{
    int result = emu_enter("cuEventSynchronize");

    if (result == RP_CU_SUCCESS && event == NULL)
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS)
        result = emu_ask_event(event);
    if (result == RP_CU_SUCCESS)
        result = emu_unsafe();
    if (result == RP_CU_SUCCESS && event->mark && !event->mark->done)
        result = emu_drain(event->mark->stream, event->mark->ticket);
    return emu_leave(result);
}

int cuEventElapsedTime(float *milliseconds, rp_cu_event start, rp_cu_event end)
{
    int result = emu_enter("cuEventElapsedTime");

    *milliseconds = 0;
    if (result == RP_CU_SUCCESS && (start == NULL || end == NULL || start->mark == NULL || end->mark == NULL))
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS && (result = emu_ask_event(start)) == RP_CU_SUCCESS)
        result = emu_ask_event(end);
    if (result == RP_CU_SUCCESS && !(start->mark->done && end->mark->done))
        result = RP_CU_NOT_READY;
    if (result == RP_CU_SUCCESS)
        *milliseconds = (float)(end->mark->time - start->mark->time);
    return emu_leave(result);
}

static int wait_for(emu_stream *s, emu_event *e)
{
    const int result = emu_use_of(s);

    if (result != RP_CU_SUCCESS || e->capture != 0)
        return result != RP_CU_SUCCESS ? result : emu_capture_join(s, e);
    if (e->mark == NULL) /* never recorded: nothing to wait for */
        return RP_CU_SUCCESS;
    if (s->capture)
        return emu_invalidate(s->capture, EMU_CU_CAPTURE_ISOLATION);
    if (e->mark->done)
        return RP_CU_SUCCESS;
    e->mark->users++;
    return emu_put(s, (emu_work){.kind = EMU_WAIT, .mark = e->mark});
}

int cuStreamWaitEvent(rp_cu_stream stream, rp_cu_event event, unsigned flags)
{
    int result = emu_enter("cuStreamWaitEvent");
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;

    if (result == RP_CU_SUCCESS && (event == NULL || s == NULL))
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS && flags != 0)
        result = RP_CU_INVALID_VALUE;
    return emu_leave(result == RP_CU_SUCCESS ? wait_for(s, event) : result);
}
