/* SPDX-License-Identifier: Apache-2.0
 * Where the caller stood when it appended an instruction, and which values it wants printed: beside the program, in
 * none of its texts. A gradient's instructions stand where that of which they are the gradient does. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/program/graph.h"

struct rp_mark {
    atomic_size_t users;
    int line;
    char file[]; /* a copy: a caller may be unloaded before its programs go */
};

const char *rp_mark_file(const rp_mark *mark)
{
    return mark->file;
}

int rp_mark_line(const rp_mark *mark)
{
    return mark->line;
}

void rp_mark_release(rp_mark *mark)
{
    if (mark && atomic_fetch_sub_explicit(&mark->users, 1, memory_order_acq_rel) == 1)
        rp_free(mark);
}

static rp_mark *hold(rp_mark *mark)
{
    if (mark)
        atomic_fetch_add_explicit(&mark->users, 1, memory_order_relaxed);
    return mark;
}

/* NULL when memory runs out: then nobody knows where the call stood. */
static rp_mark *mark_new(const char *file, int line)
{
    const size_t size = strlen(file) + 1;
    rp_mark *mark = rp_malloc(sizeof *mark + size);

    if (!mark)
        return NULL;
    atomic_init(&mark->users, 1);
    mark->line = line;
    memcpy(mark->file, file, size);
    return mark;
}

void rp_program_mark_like(rp_program *to, size_t from, rp_mark *mark)
{
    for (size_t k = from; mark && k < to->n_instrs; k++)
        if (!to->instr[k].mark)
            to->instr[k].mark = hold(mark);
}

/* The graph's. */
static rp_mark *mark_of(rp_graph *graph, const char *file, int line)
{
    rp_mark **kept = &graph->mark[(unsigned)line % RP_MARKS_KEPT];

    if (!*kept || (*kept)->line != line || strcmp((*kept)->file, file) != 0) {
        rp_mark_release(*kept);
        *kept = mark_new(file, line);
    }
    return *kept;
}

void rp_graph_forget_marks(rp_graph *graph)
{
    for (size_t i = 0; i < RP_MARKS_KEPT; i++)
        rp_mark_release(graph->mark[i]);
}

void rp_graph_mark(rp_graph *graph, const char *file, int line)
{
    rp_program *p = graph->program;

    if (graph->device && !graph->watch) /* an eager step that nobody watches has no use of it */
        return;
    if (graph->marked < p->n_instrs)
        rp_program_mark_like(p, graph->marked, mark_of(graph, file, line));
    graph->marked = p->n_instrs;
}

/* ---- values to be printed ---- */

rp_status rp_program_add_print(rp_program *p, uint32_t value, const char *name, rp_error *err)
{
    rp_print_request *bigger = rp_reallocarray(p->print, p->n_prints + 1, sizeof *bigger);

    if (!bigger)
        return rp_no_memory(err);
    p->print = bigger;
    bigger[p->n_prints].value = value;
    (void)snprintf(bigger[p->n_prints++].name, RP_NAME_MAX, "%.*s", RP_NAME_MAX - 1, name);
    return RP_OK;
}

rp_status rp_program_copy_prints(rp_program *copy, const rp_program *p, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < p->n_prints && status == RP_OK; i++)
        status = rp_program_add_print(copy, p->print[i].value, p->print[i].name, err);
    return status;
}
