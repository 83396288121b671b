/* SPDX-License-Identifier: Apache-2.0
 * Graphs: what streams were given while they captured (capture/driver_capture.c), with what each piece follows. An
 * instance is launched as one piece of work, and its nodes run in one of the orders that their edges allow, by the
 * order that was chosen. */
#include <stdlib.h>
#include <string.h>

#include "tests/emu/driver_private.h"

void emu_graph_drop(emu_graph *g)
{
    if (g == NULL || --g->users > 0)
        return;
    for (size_t i = 0; i < g->n; i++) {
        emu_work_clear(&g->node[i].work);
        free(g->node[i].after);
    }
    free(g->node);
    free(g);
}

static void *copy_of(const void *memory, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);

    return copy && bytes ? memcpy(copy, memory, bytes) : copy;
}

/* The instance: its own copy of the nodes, in the order in which they will run. */
static emu_graph *instance(const emu_graph *g)
{
    emu_graph *copy = calloc(1, sizeof *copy);

    if (copy == NULL || (copy->node = calloc(g->n + 1, sizeof *copy->node)) == NULL) {
        free(copy);
        return NULL;
    }
    copy->users = 1;
    copy->device = g->device;
    for (size_t i = 0; i < g->n; i++) {
        emu_node *to = &copy->node[copy->n++];
        const emu_node *from = &g->node[i];

        *to = *from;
        to->after = copy_of(from->after, from->n_after * sizeof *from->after);
        if (from->work.params)
            to->work.params = copy_of(from->work.params, emu_param_bytes(from->work.kernel));
        if (to->after == NULL || (from->work.params && to->work.params == NULL)) {
            emu_graph_drop(copy);
            return NULL;
        }
    }
    return copy;
}

static bool ready(const emu_graph *g, size_t i, const bool *done)
{
    for (size_t k = 0; k < g->node[i].n_after; k++)
        if (!done[g->node[i].after[k]])
            return false;
    return !done[i];
}

/* In a captured chain the first that is not done is ready, from either end of what may be; so this is quick where there
 * is one chain, and right for any. */
int emu_graph_do(emu_device *d, emu_graph *g)
{
    bool *done = calloc(g->n + 1, sizeof *done);
    const bool last_first = emu_order_chosen() != EMU_FORWARD;
    size_t first = 0;
    int result = done ? RP_CU_SUCCESS : RP_CU_OUT_OF_MEMORY;

    while (result == RP_CU_SUCCESS && first < g->n) {
        size_t i = first, chosen = first;

        if (done[first]) {
            first++;
            continue;
        }
        /* A node follows an earlier one: beyond a stretch of those that are not ready none can be, mostly. */
        for (i = first; last_first && i < g->n && i < first + 64; i++)
            if (ready(g, i, done))
                chosen = i;
        result = emu_work_do(d, &g->node[chosen].work);
        done[chosen] = true;
    }
    free(done);
    return result;
}

int cuGraphInstantiateWithFlags(rp_cu_graph_exec *exec, rp_cu_graph graph, unsigned long long flags)
{
    int result = emu_enter("cuGraphInstantiateWithFlags");

    *exec = NULL;
    if (result == RP_CU_SUCCESS && (graph == NULL || flags != 0))
        result = RP_CU_INVALID_VALUE;
    if (result == RP_CU_SUCCESS && (*exec = (rp_cu_graph_exec)(void *)instance(graph)) == NULL)
        result = RP_CU_OUT_OF_MEMORY;
    return emu_leave(result);
}

int cuGraphLaunch(rp_cu_graph_exec exec, rp_cu_stream stream)
{
    int result = emu_enter("cuGraphLaunch");
    emu_graph *g = (emu_graph *)(void *)exec;
    emu_stream *s = result == RP_CU_SUCCESS ? emu_stream_of(emu_current(), stream) : NULL;

    if (result == RP_CU_SUCCESS && (g == NULL || s == NULL || g->device != s->device))
        result = EMU_CU_INVALID_HANDLE;
    if (result == RP_CU_SUCCESS && s->capture) /* a true driver makes it a part of that graph */
        result = emu_invalidate(s->capture, EMU_CU_CAPTURE_UNSUPPORTED);
    if (result != RP_CU_SUCCESS)
        return emu_leave(result);
    g->users++;
    return emu_leave(emu_put(s, (emu_work){.kind = EMU_GRAPH, .graph = g}));
}

int cuGraphExecDestroy(rp_cu_graph_exec exec)
{
    const int result = emu_enter("cuGraphExecDestroy");

    emu_graph_drop((emu_graph *)(void *)exec);
    return emu_leave(result);
}

int cuGraphDestroy(rp_cu_graph graph)
{
    const int result = emu_enter("cuGraphDestroy");

    emu_graph_drop(graph);
    return emu_leave(result);
}
