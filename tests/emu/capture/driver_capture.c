/* SPDX-License-Identifier: Apache-2.0
 * Captures, as strict as the driver's documentation: what it forbids while a stream captures is refused with its code
 * and gives the capture up, so that a call in the middle of a graph is found here. Where it leaves open whether a wait
 * is one of those that may be unsafe (for a stream that no capture has), it is. */
#include <stdlib.h>
#include <string.h>

#include "tests/emu/driver_private.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED }; /* a capture's mode */

static emu_capture *captures; /* going on */
static uint64_t begun;
static __thread char here; /* its address tells threads apart */

int emu_invalidate(emu_capture *c, int result)
{
    c->invalid = true;
    return result;
}

emu_capture *emu_capture_of(uint64_t id)
{
    emu_capture *c = captures;

    while (c != NULL && c->id != id)
        c = c->next;
    return c;
}

int emu_unsafe(void)
{
    int result = RP_CU_SUCCESS;

    for (emu_capture *c = captures; c != NULL; c = c->next)
        if (c->mode == GLOBAL || (c->mode == THREAD_LOCAL && c->thread == &here))
            result = emu_invalidate(c, EMU_CU_CAPTURE_UNSUPPORTED);
    return result;
}

int emu_enter_unsafe(const char *call)
{
    const int result = emu_enter(call);

    return result == RP_CU_SUCCESS ? emu_unsafe() : result;
}

/* The legacy stream stands for all streams that do not refuse it, so for those that capture too. */
int emu_use_of(const emu_stream *s)
{
    int result = RP_CU_SUCCESS;

    if (s->capture)
        return s->capture->invalid ? EMU_CU_CAPTURE_INVALIDATED : RP_CU_SUCCESS;
    for (emu_stream *other = s->device->streams; s == s->device->legacy && other != NULL; other = other->next)
        if (other->blocking && other->capture)
            result = emu_invalidate(other->capture, EMU_CU_CAPTURE_IMPLICIT);
    return result;
}

int emu_wait_for_stream(emu_stream *s)
{
    const int result = emu_use_of(s);

    if (result != RP_CU_SUCCESS)
        return result;
    return s->capture ? emu_invalidate(s->capture, EMU_CU_CAPTURE_UNSUPPORTED) : emu_unsafe();
}

int emu_ask_event(const emu_event *e)
{
    emu_capture *c = emu_capture_of(e->capture);

    if (c != NULL)
        return emu_invalidate(c, EMU_CU_CAPTURED_EVENT);
    return e->capture != 0 ? EMU_CU_CAPTURED_EVENT : RP_CU_SUCCESS;
}

/* ---- what is captured ---- */

/* Takes the work. */
int emu_capture_put(emu_stream *s, emu_work work)
{
    emu_graph *g = s->capture->graph;
    size_t *after = malloc(sizeof *after);

    if (g->n == g->room) {
        const size_t room = g->room ? 2 * g->room : 16;
        emu_node *more = realloc(g->node, room * sizeof *more);

        if (more != NULL) {
            g->node = more;
            g->room = room;
        }
    }
    if (after == NULL || g->n == g->room) {
        free(after);
        return RP_CU_OUT_OF_MEMORY;
    }
    g->node[g->n] = (emu_node){.work = work, .after = s->after, .n_after = s->n_after};
    s->after = after;
    s->after[0] = g->n++;
    s->n_after = 1;
    return RP_CU_SUCCESS;
}

static bool add_after(size_t **to, size_t *n, const size_t *from, size_t n_from)
{
    size_t *more = realloc(*to, (*n + n_from + 1) * sizeof *more);

    if (more == NULL)
        return false;
    if (n_from > 0)
        memcpy(more + *n, from, n_from * sizeof *more);
    *to = more;
    *n += n_from;
    return true;
}

int emu_capture_record(emu_event *e, const emu_stream *s)
{
    e->capture = s->capture->id;
    e->n_after = 0;
    return add_after(&e->after, &e->n_after, s->after, s->n_after) ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY;
}

/* The stream joins the capture that the event was recorded in. */
int emu_capture_join(emu_stream *s, const emu_event *e)
{
    emu_capture *c = emu_capture_of(e->capture);

    if (c == NULL)
        return EMU_CU_CAPTURED_EVENT;
    if (c->invalid)
        return EMU_CU_CAPTURE_INVALIDATED;
    if (s == s->device->legacy)
        return emu_invalidate(c, EMU_CU_CAPTURE_UNSUPPORTED);
    if (s->capture && s->capture != c)
        return emu_invalidate(s->capture, emu_invalidate(c, EMU_CU_CAPTURE_MERGE));
    s->capture = c;
    return add_after(&s->after, &s->n_after, e->after, e->n_after) ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY;
}

/* ---- from begin to end ---- */

int cuStreamBeginCapture_v2(rp_cu_stream stream, int mode)
{
    int result = emu_enter("cuStreamBeginCapture_v2");
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;
    emu_capture *c;

    if (result != RP_CU_SUCCESS)
        return emu_leave(result);
    if (s == NULL || mode < GLOBAL || mode > RELAXED)
        return emu_leave(s ? RP_CU_INVALID_VALUE : EMU_CU_INVALID_HANDLE);
    if (s == s->device->legacy)
        return emu_leave(EMU_CU_CAPTURE_UNSUPPORTED);
    if (s->capture)
        return emu_leave(emu_invalidate(s->capture, EMU_CU_CAPTURE_UNSUPPORTED));
    c = calloc(1, sizeof *c);
    if (c != NULL && (c->graph = calloc(1, sizeof *c->graph)) == NULL) {
        free(c);
        c = NULL;
    }
    if (c == NULL)
        return emu_leave(RP_CU_OUT_OF_MEMORY);
    c->graph->users = 1;
    c->graph->device = s->device;
    c->id = ++begun;
    c->origin = s;
    c->thread = &here;
    c->mode = mode;
    c->next = captures;
    captures = c;
    s->capture = c;
    s->n_after = 0;
    return emu_leave(RP_CU_SUCCESS);
}

static bool follows(const emu_graph *g, size_t node, size_t other)
{
    if (node == other)
        return true;
    for (size_t k = 0; k < g->node[node].n_after; k++)
        if (g->node[node].after[k] >= other && follows(g, g->node[node].after[k], other))
            return true;
    return false;
}

/* Whether every other stream of the capture has its last nodes behind the origin's. */
static bool joined(const emu_capture *c)
{
    const emu_stream *origin = c->origin;
    bool all = true;

    for (emu_stream *s = origin->device->streams; s != NULL; s = s->next)
        for (size_t k = 0; s != origin && s->capture == c && k < s->n_after; k++) {
            bool one = false;

            for (size_t o = 0; o < origin->n_after; o++)
                one |= follows(c->graph, origin->after[o], s->after[k]);
            all &= one;
        }
    return all;
}

/* Its streams are streams again. What it captured is the caller's. */
static emu_graph *leave(emu_capture *c)
{
    emu_capture **at = &captures;
    emu_graph *graph = c->graph;

    for (emu_stream *s = c->origin->device->streams; s != NULL; s = s->next)
        if (s->capture == c) {
            s->capture = NULL;
            s->n_after = 0;
        }
    c->origin->capture = NULL; /* no longer in that list when it is destroyed */
    c->origin->n_after = 0;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
    return graph;
}

void emu_capture_desert(emu_stream *s)
{
    if (s->capture == NULL)
        return;
    (void)emu_invalidate(s->capture, 0);
    if (s->capture->origin == s)
        emu_graph_drop(leave(s->capture));
}

/* Ended whatever is wrong with it, but for who may end it. */
int cuStreamEndCapture(rp_cu_stream stream, rp_cu_graph *graph)
{
    int result = emu_enter("cuStreamEndCapture");
    emu_stream *s = emu_current() ? emu_stream_of(emu_current(), stream) : NULL;
    emu_capture *c = s ? s->capture : NULL;

    *graph = NULL;
    if (c == NULL)
        return emu_leave(result != RP_CU_SUCCESS ? result : s ? RP_CU_INVALID_VALUE : EMU_CU_INVALID_HANDLE);
    if (c->origin != s)
        return emu_leave(emu_invalidate(c, EMU_CU_CAPTURE_UNMATCHED));
    if (c->mode != RELAXED && c->thread != &here)
        return emu_leave(emu_invalidate(c, EMU_CU_CAPTURE_WRONG_THREAD));
    if (result == RP_CU_SUCCESS && c->invalid)
        result = EMU_CU_CAPTURE_INVALIDATED;
    if (result == RP_CU_SUCCESS && !joined(c))
        result = EMU_CU_CAPTURE_UNJOINED;
    *graph = leave(c);
    if (result != RP_CU_SUCCESS) {
        emu_graph_drop(*graph);
        *graph = NULL;
    }
    return emu_leave(result);
}
