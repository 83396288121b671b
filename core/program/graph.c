/* SPDX-License-Identifier: Apache-2.0
 * Graphs: inputs, instructions and outputs are appended to a program, which tape.c executes when there is a device. */
#include "core/program/graph.h"
#include "base/handle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

rp_graph *rp_graph_new(rp_device *device)
{
    rp_graph *graph = rp_calloc(1, sizeof *graph);

    if (!graph)
        return NULL;
    graph->program = rp_program_new();
    graph->cache = rp_calloc(1, sizeof *graph->cache);
    if (!graph->program || !graph->cache) {
        rp_program_free(graph->program);
        rp_free(graph->cache);
        rp_free(graph);
        return NULL;
    }
    graph->device = graph->cache->device = device;
    return graph;
}

static _Thread_local rp_graph *at_work;

void rp_graph_at_work(rp_graph *graph)
{
    at_work = graph;
}

void rp_graph_free(rp_graph *graph)
{
    if (!graph)
        return;
    if (at_work == graph)
        at_work = NULL;
    rp_graph_release_values(graph);
    rp_device_cache_release(graph->cache);
    rp_free(graph->cache);
    rp_program_free(graph->program);
    rp_graph_forget_marks(graph);
    rp_free(graph->view);
    rp_free(graph->memory);
    rp_free(graph->late);
    rp_free(graph);
}

void rp_graph_reset(rp_graph *graph)
{
    rp_graph_release_values(graph);
    rp_device_cache_turn(graph->cache);
    rp_program_clear(graph->program);
    graph->status = RP_OK;
    graph->placed = graph->swept = false;
    graph->marked = graph->faulty = 0;
    graph->epoch++;
}

/* Errors are sticky, so the first call that is followed by one is the call that failed. */
void rp_site(const char *file, int line, const char *call)
{
    rp_graph *graph = at_work;
    rp_error found;

    at_work = NULL;
    if (graph && graph->status == RP_OK)
        rp_graph_mark(graph, file, line);
    if (!graph || graph->status == RP_OK || graph->placed)
        return;
    found = graph->error;
    graph->placed = true;
    (void)rp_fail(&graph->error, graph->status, "%.200s:%d: %.64s: %s", file, line, call, found.text);
}

rp_tensor rp_sited(rp_tensor x, const char *file, int line, const char *call)
{
    rp_site(file, line, call);
    return x;
}

void rp_graph_fail(rp_graph *graph, rp_status status, const char *format, ...)
{
    va_list args;

    rp_graph_at_work(graph);
    if (graph->status != RP_OK)
        return;
    graph->status = graph->error.status = status;
    va_start(args, format);
    if (vsnprintf(graph->error.text, sizeof graph->error.text, format, args) < 0)
        graph->error.text[0] = '\0';
    va_end(args);
}

bool rp_graph_given(rp_graph *graph, const char *name, const void *array, size_t n)
{
    if (n > 0 && !array && graph)
        rp_graph_fail(graph, RP_EARG, "%s is NULL, expected an array of %zu", name, n);
    return n == 0 || array;
}

rp_status rp_graph_settle(rp_graph *graph, rp_error *err)
{
    rp_status status = rp_device_synchronize(graph->device, NULL, err);
    rp_index_fault fault;

    if (!rp_device_fault(graph->device, &fault) || status != RP_OK)
        return status;
    graph->faulty = fault.where + 1;
    return rp_execute_fault(graph->program, NULL, &fault, err);
}

/* A wrong index came before every other error: those of the host stop what follows them at once. */
static void settle(rp_graph *graph)
{
    rp_error found = {0};
    rp_status status = rp_graph_settle(graph, &found);

    if (status != RP_OK) {
        graph->status = status;
        graph->error = found;
        graph->placed = true; /* found late: the call that comes next is not to blame */
    }
}

rp_status rp_graph_status(const rp_graph *graph, rp_error *err)
{
    if (!graph)
        return rp_no_handle(err, __func__, "graph");
    if (graph->device)
        settle((rp_graph *)graph); /* what it waits for was begun before the question */
    if (graph->status != RP_OK && err)
        *err = graph->error;
    return graph->status;
}

rp_tensor rp_graph_tensor(rp_graph *graph, uint32_t value)
{
    return (rp_tensor){graph, value, graph->epoch};
}

bool rp_tensor_ok(rp_tensor x)
{
    if (!x.graph)
        return false;
    rp_graph_at_work(x.graph);
    if (x.graph->status != RP_OK)
        return false;
    if (x.epoch != x.graph->epoch || x.value >= x.graph->program->n_values) {
        rp_graph_fail(x.graph, RP_EARG, "a tensor of an earlier step was used: tensors live until their step ends");
        return false;
    }
    return true;
}

rp_graph *rp_graph_of(const rp_tensor *in, size_t n)
{
    size_t i = 0;

    while (i + 1 < n && !in[i].graph)
        i++;
    return n > 0 ? in[i].graph : NULL;
}

const rp_type *rp_tensor_type(rp_tensor x)
{
    return &x.graph->program->value[x.value];
}

bool rp_shape_of(rp_tensor x, rp_dtype *dtype, int *rank, size_t *shape)
{
    const rp_type *type;

    if (!rp_tensor_ok(x))
        return false;
    type = rp_tensor_type(x);
    *dtype = type->dtype;
    *rank = type->rank;
    memcpy(shape, type->shape, (size_t)type->rank * sizeof *shape);
    return true;
}

rp_tensor rp_graph_input(rp_graph *graph, rp_input_kind kind, const char *name, const rp_type *type, void *data)
{
    uint32_t value;

    if (graph->status != RP_OK)
        return rp_no_tensor();
    graph->status = rp_program_add_input(graph->program, kind, name, type, &value, &graph->error);
    if (graph->status == RP_OK && graph->device) {
        graph->status = rp_graph_hold_views(graph);
        if (graph->status == RP_OK) {
            graph->view[value] = rp_view_of(&graph->program->value[value], data);
            graph->memory[value].mark = RP_D_REAL & 1u << type->dtype ? RP_VALUE_TAPED : 0;
            if (kind == RP_INPUT_STATE)
                graph->memory[value].mark |= RP_VALUE_TRAINED;
        }
    }
    return graph->status == RP_OK ? rp_graph_tensor(graph, value) : rp_no_tensor();
}

void rp_graph_output(rp_graph *graph, rp_output_kind kind, const char *name, rp_tensor value)
{
    if (graph->status != RP_OK)
        return;
    if (value.graph != graph)
        rp_graph_fail(graph, RP_EARG, "output %.96s belongs to another graph or is no tensor", name);
    else if (rp_tensor_ok(value))
        graph->status = rp_program_add_output(graph->program, kind, name, value.value, &graph->error);
    if (graph->status == RP_OK && graph->device)
        graph->status = rp_graph_pin(graph, value.value);
}

rp_tensor rp_graph_known(rp_graph *graph, rp_input_kind kind, const char *name)
{
    const rp_input *known = rp_program_find_input(graph->program, kind, name);

    return known ? rp_graph_tensor(graph, known->value) : rp_no_tensor();
}

/* The instruction that made a value; NULL for an input. */
static const rp_instr *maker(const rp_program *p, uint32_t value)
{
    return p->maker[value] == RP_NO_INSTR ? NULL : &p->instr[p->maker[value]];
}

/* Whether the value is a copy that rp_graph_own made: of rank 0 that ends in a reshape. */
static bool is_scalar_copy(const rp_program *p, const rp_instr *last)
{
    const rp_instr *copy;

    if (last->op->role != RP_PLAYS_RESHAPE || p->value[last->out[0]].rank != 0)
        return false;
    copy = maker(p, last->in[0]);
    return copy && copy->op->role == RP_PLAYS_CONCAT && copy->n_in == 1;
}

rp_tensor rp_graph_own(rp_tensor x)
{
    rp_type type;
    const rp_instr *instr;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    instr = maker(x.graph->program, x.value);
    if (instr && (!instr->op->alias || is_scalar_copy(x.graph->program, instr)))
        return x;
    type = *rp_tensor_type(x);
    if (type.rank)
        return rp_concat(&x, 1, 0);
    x = rp_reshape(x, 1, (size_t[]){1});
    return rp_reshape(rp_concat(&x, 1, 0), 0, NULL);
}

void rp_graph_set(rp_graph *graph, rp_output_kind kind, const char *name, rp_tensor value)
{
    /* a foreign value is refused as it is: copying it would write to a graph that is not ours */
    rp_graph_output(graph, kind, name, value.graph == graph ? rp_graph_own(value) : value);
}

rp_program *rp_graph_take_program(rp_graph *graph, rp_error *err)
{
    rp_program *program = NULL;

    if (rp_graph_status(graph, err) == RP_OK) {
        program = graph->program;
        graph->program = NULL;
    }
    rp_graph_free(graph);
    return program;
}

/* The operands' numbers, in `few` when they are few; NULL with the graph in error. */
static uint32_t *numbers_of(rp_graph *graph, const char *name, const rp_tensor *in, size_t n_in, uint32_t few[8])
{
    uint32_t *operands = n_in <= 8 ? few : rp_reallocarray(NULL, n_in, sizeof *operands);

    if (!operands)
        rp_graph_fail(graph, RP_ENOMEM, "out of memory");
    for (size_t i = 0; i < n_in && graph->status == RP_OK; i++) {
        if (in[i].graph != graph)
            rp_graph_fail(graph, RP_EARG, "%s: operand %zu belongs to another graph or is no tensor", name, i);
        else if (rp_tensor_ok(in[i]))
            operands[i] = in[i].value;
    }
    if (graph->status == RP_OK)
        return operands;
    if (operands != few)
        rp_free(operands);
    return NULL;
}

void rp_emit(rp_graph *graph, rp_op_id id, const rp_attr *attr, const rp_tensor *in, size_t n_in, rp_tensor *out)
{
    const rp_op *op = rp_op_get(id);
    uint32_t few[8], *operands, value[RP_MAX_OUT];

    for (int i = 0; i < op->n_out; i++)
        out[i] = rp_no_tensor();
    rp_graph_at_work(graph);
    if (!graph || graph->status != RP_OK)
        return;
    operands = numbers_of(graph, op->name, in, n_in, few);
    if (!operands)
        return;
    graph->status = rp_program_add_instr(graph->program, op, attr, operands, n_in, value, &graph->error);
    rp_graph_execute_last(graph);
    if (operands != few)
        rp_free(operands);
    for (int i = 0; i < op->n_out && graph->status == RP_OK; i++)
        out[i] = rp_graph_tensor(graph, value[i]);
}

void rp_emit_region(rp_graph *graph, const rp_region *region, const rp_tensor *in, size_t n_in, rp_tensor *out)
{
    const size_t n_out = rp_region_values(region);
    uint32_t few[8], *operands, *value;

    for (size_t i = 0; i < n_out; i++)
        out[i] = rp_no_tensor();
    rp_graph_at_work(graph);
    if (!graph || graph->status != RP_OK)
        return;
    operands = numbers_of(graph, rp_region_op(region->kind)->name, in, n_in, few);
    if (!operands)
        return;
    value = rp_reallocarray(NULL, n_out, sizeof *value);
    if (value)
        graph->status = rp_program_add_region(graph->program, region, operands, n_in, value, &graph->error);
    else
        rp_graph_fail(graph, RP_ENOMEM, "out of memory");
    rp_graph_execute_last(graph);
    if (operands != few)
        rp_free(operands);
    for (size_t i = 0; i < n_out && graph->status == RP_OK; i++)
        out[i] = rp_graph_tensor(graph, value[i]);
    rp_free(value);
}

rp_status rp_graph_trace(rp_graph **out, const rp_program *p, rp_device *device, void *const *input_memory,
                         rp_error *err)
{
    rp_graph *graph = rp_graph_new(device);
    size_t inputs = 0;

    *out = graph;
    if (!graph)
        return rp_no_memory(err);
    /* Inputs and instructions interleave by value number: the same order gives the same numbers. */
    for (size_t i = 0; graph->status == RP_OK && (inputs < p->n_inputs || i < p->n_instrs);) {
        if (inputs < p->n_inputs && p->input[inputs].value == graph->program->n_values) {
            const rp_input *in = &p->input[inputs];

            (void)rp_graph_input(graph, in->kind, in->name, &p->value[in->value], input_memory[inputs]);
            inputs++;
        } else {
            graph->status = rp_program_copy_instr(graph->program, p, &p->instr[i++], &graph->error);
            rp_graph_execute_last(graph);
        }
    }
    return rp_graph_status(graph, err);
}

bool rp_tensor_beside(const char *call, const char *what, rp_tensor x, rp_tensor beside)
{
    char a[192], b[192];
    rp_type type, other;
    bool fits;

    if (!rp_tensor_ok(x) || !rp_tensor_ok(beside))
        return true; /* the operation tells */
    type = *rp_tensor_type(x);
    other = *rp_tensor_type(beside);
    fits = other.rank <= type.rank;
    for (int i = 1; fits && i <= other.rank; i++)
        fits = other.shape[other.rank - i] == 1 || other.shape[other.rank - i] == type.shape[type.rank - i];
    if (fits)
        return true;
    rp_type_text(&type, a, sizeof a);
    rp_type_text(&other, b, sizeof b);
    rp_graph_fail(x.graph, RP_ESHAPE,
                  "%s: found %s of %s beside %s, expected its shape, or one that stretches to it: reshape one of them",
                  call, what, b, a);
    return false;
}

bool rp_moments_given(const char *call, rp_tensor p, const rp_tensor *m, const rp_tensor *v)
{
    if (m && v)
        return true;
    if (p.graph)
        rp_graph_fail(p.graph, RP_EARG, "%s: a moment is NULL, expected the tensor of its state, which is replaced",
                      call);
    return false;
}
