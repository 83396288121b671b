/* SPDX-License-Identifier: Apache-2.0
 * rp/program.h: functions under construction, and the five regions as calls. */
#include <string.h>

#include "base/memory.h"
#include "base/handle.h"
#include "core/program/graph.h"

rp_tensor rp_function_parameter(rp_graph *graph, const rp_type *type)
{
    uint32_t value = 0;

    if (!graph || graph->status != RP_OK)
        return rp_no_tensor();
    if (graph->device)
        rp_graph_fail(graph, RP_EARG, "a run's step has no parameters: a function is built in a symbolic graph");
    else if (!type || !rp_type_valid(type))
        rp_graph_fail(graph, RP_EARG,
                      "parameter %zu: expected a dtype of rp/dtype.h, 0 to %d axes and at most 2^40 elements",
                      graph->program->n_inputs, RP_MAX_RANK);
    else if (graph->program->n_instrs)
        rp_graph_fail(graph, RP_EARG, "parameter %zu: parameters come before the first operation",
                      graph->program->n_inputs);
    else
        graph->status = rp_program_add_parameter(graph->program, type, &value, &graph->error);
    return graph->status == RP_OK ? rp_graph_tensor(graph, value) : rp_no_tensor();
}

void rp_function_return(rp_graph *graph, rp_tensor value)
{
    if (!graph || graph->status != RP_OK)
        return;
    if (graph->device) {
        rp_graph_fail(graph, RP_EARG, "a run's step returns nothing: a function is built in a symbolic graph");
    } else if (value.graph != graph) {
        rp_graph_fail(graph, RP_EARG, "output %zu of the function belongs to another graph or is no tensor",
                      graph->program->n_outputs);
    } else if (rp_tensor_ok(value)) {
        const rp_type type = *rp_tensor_type(value);

        if (graph->program->maker[value.value] == RP_NO_INSTR || rp_program_returns(graph->program, value.value))
            value = rp_reshape(value, type.rank, type.shape);
        if (rp_tensor_ok(value))
            graph->status = rp_program_add_return(graph->program, value.value, &graph->error);
    }
}

rp_status rp_function_finish(rp_graph *graph, rp_function **out, rp_error *err)
{
    if (!graph) {
        *out = NULL;
        return rp_no_handle(err, __func__, "graph");
    }

    rp_status status;

    *out = NULL;
    if (graph->device)
        return rp_fail(err, RP_EARG, "the graph of a run's step is no function");
    status = rp_graph_status(graph, err);
    if (status != RP_OK) {
        rp_graph_free(graph);
        return status;
    }
    return rp_function_new(out, rp_graph_take_program(graph, err), err);
}

void rp_function_free(rp_function *function)
{
    rp_function_release(function);
}

/* ---- regions ---- */

/* Operands of a region, in its order. */
typedef struct operands {
    const rp_tensor *part[4];
    size_t n[4];
} operands;

/* Options that cannot be looked at, with the graph in error: arrays that are NULL, numbers above every limit. */
static bool check_operands(rp_graph *graph, const char *name, const operands *o)
{
    for (int k = 0; k < 4; k++)
        if (o->n[k] > RP_REGION_OPERANDS_MAX || (o->n[k] && !o->part[k])) {
            if (graph)
                rp_graph_fail(graph, RP_EARG, "%s: found %zu operands%s, expected at most %d, and an array of them",
                              name, o->n[k], o->part[k] ? "" : " at NULL", RP_REGION_OPERANDS_MAX);
            return false;
        }
    return true;
}

static bool check_list(rp_graph *graph, const char *name, const char *what, const void *list, size_t n, size_t most)
{
    if (graph && !list)
        rp_graph_fail(graph, RP_EARG, "%s: the %s are NULL", name, what);
    else if (graph && n > most)
        rp_graph_fail(graph, RP_EARG, "%s: found %zu %s, expected at most %zu", name, n, what, most);
    return list && n <= most;
}

static bool check_options(rp_graph *graph, const char *name, const void *options)
{
    rp_graph_at_work(graph);
    if (!options && graph)
        rp_graph_fail(graph, RP_EARG, "%s: the options are NULL", name);
    return options != NULL;
}

/* Every value that the region would have is no tensor until it has them; the graph is in error where there is no room.
 * Without a function how many it returns is not known, and only what the options tell is cleared. */
static void clear_values(rp_graph *graph, rp_region *region, const rp_function *const *function, rp_tensor *out)
{
    size_t told = region->kind == RP_WHILE ? 1 + region->carried
                  : region->kind == RP_MAP ? region->n_combine
                                           : region->carried;
    bool whole = true;

    region->function = (rp_function **)(void *)function;
    for (size_t i = 0; i < region->n_functions; i++)
        whole = whole && function[i];
    if (whole)
        told = rp_region_values(region);
    for (size_t i = 0; rp_graph_given(graph, "out", out, told) && i < told; i++)
        out[i] = rp_no_tensor();
}

/* The operands in one list, as values may take their places. NULL with the graph in error. */
static rp_tensor *gather_operands(rp_graph *graph, const operands *o, size_t *n)
{
    rp_tensor *in = rp_reallocarray(NULL, o->n[0] + o->n[1] + o->n[2] + o->n[3], sizeof *in);

    *n = 0;
    if (!in)
        rp_graph_fail(graph, RP_ENOMEM, "out of memory");
    for (int k = 0; k < 4 && in; k++)
        for (size_t i = 0; i < o->n[k]; i++)
            in[(*n)++] = o->part[k][i];
    return in;
}

/* The region's functions are borrowed here: the instruction holds its own. */
static void emit(rp_graph *graph, rp_region *region, const rp_function *const *function, const operands *o,
                 rp_tensor *out)
{
    const bool fine = check_operands(graph, rp_region_op(region->kind)->name, o);
    rp_tensor *in = NULL;
    size_t n = 0;

    if (!fine && region->carried > RP_REGION_OPERANDS_MAX)
        return;
    if (fine && graph && graph->status == RP_OK)
        in = gather_operands(graph, o, &n);
    clear_values(graph, region, function, out);
    for (size_t i = 0; in && i < region->n_functions; i++)
        if (!function[i])
            rp_graph_fail(graph, RP_EARG, "%s: function %zu is NULL", rp_region_op(region->kind)->name, i);
    if (in && graph->status == RP_OK)
        rp_emit_region(graph, region, in, n, out);
    rp_free(in);
}

void rp_call(rp_graph *graph, const rp_function *function, const rp_tensor *args, size_t n, rp_tensor *out)
{
    emit(graph, &(rp_region){.kind = RP_CALL, .n_functions = 1}, &function, &(operands){{args}, {n}}, out);
}

void rp_scan(rp_graph *graph, const rp_scan_options *s, rp_tensor *out)
{
    if (!check_options(graph, "scan", s))
        return;

    rp_region region = {.kind = RP_SCAN,
                        .n_functions = 1,
                        .carried = s->n_carried,
                        .sliced = s->n_sliced,
                        .times = s->times,
                        .history = s->history,
                        .reverse = s->reverse};

    emit(graph, &region, &s->function,
         &(operands){{s->carried, s->sliced, s->shared}, {s->n_carried, s->n_sliced, s->n_shared}}, out);
}

static bool check_map(rp_graph *graph, const rp_map_options *m)
{
    return check_list(graph, "map", "functions", m->function, m->n_function, RP_FUNCTIONS_MAX) &&
           check_list(graph, "map", "cuts", m->cuts, m->n_cuts, RP_REGION_OPERANDS_MAX + 1) &&
           check_list(graph, "map", "ways to combine", m->combine, m->n_combine, RP_REGION_OPERANDS_MAX);
}

void rp_map(rp_graph *graph, const rp_map_options *m, rp_tensor *out)
{
    if (!check_options(graph, "map", m))
        return;
    if (!check_map(graph, m)) {
        for (size_t i = 0; out && i < m->n_combine && m->n_combine <= RP_REGION_OPERANDS_MAX; i++)
            out[i] = rp_no_tensor();
        return;
    }

    rp_region region = {.kind = RP_MAP,
                        .n_functions = m->n_function,
                        .sliced = m->n_sliced,
                        .first = m->first,
                        .cuts = (uint64_t *)m->cuts,
                        .n_cuts = m->n_cuts,
                        .n_combine = m->n_combine};

    if (graph && graph->status == RP_OK) {
        region.combine = rp_malloc(m->n_combine);
        if (!region.combine)
            rp_graph_fail(graph, RP_ENOMEM, "out of memory");
        for (size_t i = 0; region.combine && i < m->n_combine; i++) {
            if ((unsigned)m->combine[i] > RP_COMBINE_CONCAT)
                rp_graph_fail(graph, RP_EARG, "map: output %zu: %d is no way to combine shards", i, (int)m->combine[i]);
            region.combine[i] = (unsigned char)m->combine[i];
        }
    }
    emit(graph, &region, m->function, &(operands){{m->sliced, m->shared}, {m->n_sliced, m->n_shared}}, out);
    rp_free(region.combine);
}

void rp_cond(rp_graph *graph, rp_tensor selector, const rp_function *const *function, size_t n_function,
             const rp_tensor *args, size_t n, rp_tensor *out)
{
    rp_graph_at_work(graph);
    if (!check_list(graph, "cond", "functions", function, n_function, RP_FUNCTIONS_MAX))
        return;
    emit(graph, &(rp_region){.kind = RP_COND, .n_functions = n_function}, function,
         &(operands){{&selector, args}, {1, n}}, out);
}

void rp_while(rp_graph *graph, const rp_while_options *w, rp_tensor *out)
{
    if (!check_options(graph, "while", w))
        return;

    const rp_function *function[2] = {w->body, w->predicate};

    emit(graph, &(rp_region){.kind = RP_WHILE, .n_functions = 2, .carried = w->n_carried, .times = w->limit}, function,
         &(operands){{w->carried, w->shared}, {w->n_carried, w->n_shared}}, out);
}
