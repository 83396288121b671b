/* SPDX-License-Identifier: Apache-2.0
 * rp/program.h: the table of operations by reflection, appending by name, symbolic graphs, and programs as others read
 * them. Nothing here decides anything: names and attributes are looked up in the rows, and the rest is program.c's. */
#include <string.h>

#include "base/memory.h"
#include "base/handle.h"
#include "base/text.h"
#include "core/program/function.h"
#include "core/program/graph.h"
#include "determinism/decimal.h"

_Static_assert((int)RP_OP_ATTRIBUTES >= (int)RP_MAX_ATTR, "a row's attributes fit into its description");
_Static_assert((int)RP_REAL_SIZE == (int)RP_DECIMAL_SIZE && (int)RP_OP_MANY == (int)RP_MANY, "the same numbers");

/* ---- operations ---- */

static void describe(const rp_op *op, rp_op_info *info)
{
    *info = (rp_op_info){
        .name = op->name,
        .inputs = op->n_in,
        .outputs = op->n_out,
        .operands = rp_op_operands(op),
        .results = rp_op_results(op),
        .dtypes = op->dtypes,
        .elementwise = op->flags & RP_OP_ELEMENTWISE,
        .broadcasts = op->flags & RP_OP_BROADCAST,
        .view = op->alias != NULL,
        .differentiable = op->vjp != NULL,
        .index_operand = op->flags & RP_OP_INDEXED ? op->indices.operand : -1,
    };
    for (int i = 0; i < RP_MAX_ATTR && op->attr[i].kind != RP_ATTR_NONE; i++) {
        info->attribute[i].name = op->attr[i].name;
        info->attribute[i].kind = op->attr[i].kind;
        info->attributes++;
    }
}

size_t rp_op_count(void)
{
    return RP_OP_COUNT;
}

bool rp_op_at(size_t index, rp_op_info *info)
{
    if (index >= RP_OP_COUNT)
        return false;
    describe(rp_op_get((rp_op_id)index), info);
    return true;
}

bool rp_op_named(const char *name, rp_op_info *info)
{
    const rp_op *op = name ? rp_op_find(name) : NULL;

    if (op)
        describe(op, info);
    return op != NULL;
}

static const char *kind_name(rp_attr_kind kind)
{
    static const char *const names[] = {"nothing", "an integer", "a bool", "a real", "a list of integers", "a dtype"};

    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "no kind of attribute";
}

/* The value of one attribute, whose kind is the row's. */
static rp_status convert(const rp_op *op, const rp_attribute *from, rp_attr *to, rp_error *err)
{
    switch (from->kind) {
    case RP_ATTR_BOOL:
        to->i = from->integer != 0;
        return RP_OK;
    case RP_ATTR_REAL:
        to->r = from->real;
        return RP_OK;
    case RP_ATTR_DTYPE:
        if (from->integer < 0 || from->integer >= RP_DTYPE_COUNT)
            return rp_fail(err, RP_EARG, "%s: attribute %s: %lld is no dtype of rp/dtype.h", op->name, from->name,
                           (long long)from->integer);
        to->i = from->integer;
        return RP_OK;
    case RP_ATTR_LIST:
        if (from->length > RP_MAX_RANK || (from->length && !from->list))
            return rp_fail(err, RP_EARG, "%s: attribute %s: found %zu integers, expected a list of at most %d",
                           op->name, from->name, from->length, RP_MAX_RANK);
        to->n = (int)from->length;
        if (from->length)
            memcpy(to->list, from->list, from->length * sizeof *to->list);
        return RP_OK;
    default:
        to->i = from->integer;
        return RP_OK;
    }
}

/* The row's attributes from a list of named ones, in any order: each of them once, and no other. */
static rp_status take_attributes(const rp_op *op, const rp_attribute *given, size_t n, rp_attr attr[RP_MAX_ATTR],
                                 rp_error *err)
{
    bool seen[RP_MAX_ATTR] = {false};
    rp_status status = RP_OK;

    memset(attr, 0, RP_MAX_ATTR * sizeof *attr);
    for (size_t k = 0; k < n && status == RP_OK; k++) {
        int i = 0;

        if (!given[k].name)
            return rp_fail(err, RP_EARG, "%s: attribute %zu has no name", op->name, k);
        while (i < RP_MAX_ATTR && (op->attr[i].kind == RP_ATTR_NONE || strcmp(op->attr[i].name, given[k].name) != 0))
            i++;
        if (i == RP_MAX_ATTR)
            return rp_fail(err, RP_EARG, "%s: no attribute %.32s", op->name, given[k].name);
        if (seen[i])
            return rp_fail(err, RP_EARG, "%s: attribute %s is given twice", op->name, op->attr[i].name);
        if (given[k].kind != op->attr[i].kind)
            return rp_fail(err, RP_EARG, "%s: attribute %s: found %s, expected %s", op->name, op->attr[i].name,
                           kind_name(given[k].kind), kind_name(op->attr[i].kind));
        seen[i] = true;
        status = convert(op, &given[k], &attr[i], err);
    }
    for (int i = 0; i < RP_MAX_ATTR && status == RP_OK; i++)
        if (op->attr[i].kind != RP_ATTR_NONE && !seen[i])
            return rp_fail(err, RP_EARG, "%s: attribute %s (%s) is missing", op->name, op->attr[i].name,
                           kind_name(op->attr[i].kind));
    return status;
}

static const char *nearest_name(const char *name)
{
    const char *names[RP_OP_COUNT];

    for (size_t i = 0; i < RP_OP_COUNT; i++)
        names[i] = rp_op_get((rp_op_id)i)->name;
    return rp_nearest(name, names, RP_OP_COUNT);
}

/* Arrays whose length is not 0. */
static rp_status check_arrays(const void *attribute, size_t n_attribute, const void *in, size_t n_in, const void *out,
                              size_t n_out, rp_error *err)
{
    const char *missing = n_attribute && !attribute ? "attribute" : n_in && !in ? "in" : n_out && !out ? "out" : NULL;

    return missing ? rp_fail(err, RP_EARG, "%s is NULL, and its length is not 0", missing) : RP_OK;
}

static rp_status find(const rp_op **op, const char *name, rp_error *err)
{
    const char *nearest;

    *op = name ? rp_op_find(name) : NULL;
    if (*op)
        return RP_OK;
    if (name && rp_region_find(name) != RP_REGION_KINDS)
        return rp_fail(err, RP_EARG, "%s executes functions and is no operation: use rp_%s", name, name);
    nearest = name ? nearest_name(name) : NULL;
    return rp_fail(err, RP_EARG, "there is no operation '%.32s'%s%s%s", name ? name : "",
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static rp_status check_type(const rp_type *type, const char *what, rp_error *err)
{
    return type && rp_type_valid(type)
               ? RP_OK
               : rp_fail(err, RP_EARG, "%.96s: expected a dtype of rp/dtype.h, 0 to %d axes and at most 2^40 elements",
                         what, RP_MAX_RANK);
}

rp_status rp_op_infer(const char *name, const rp_attribute *attribute, size_t n_attribute, const rp_type *in,
                      size_t n_in, rp_type *out, rp_error *err)
{
    const rp_op *op;
    rp_attr attr[RP_MAX_ATTR];
    rp_type type[RP_MAX_OUT];
    rp_status status = find(&op, name, err);

    if (status == RP_OK)
        status = check_arrays(attribute, n_attribute, in, n_in, out, (size_t)op->n_out, err);
    if (status == RP_OK)
        status = take_attributes(op, attribute, n_attribute, attr, err);
    for (size_t i = 0; i < n_in && status == RP_OK; i++)
        status = check_type(&in[i], name, err);
    if (status != RP_OK)
        return status;
    memset(type, 0, sizeof type);
    status = rp_op_types(op, attr, in, n_in, type, err);
    if (status == RP_OK)
        memcpy(out, type, (size_t)op->n_out * sizeof *out);
    return status;
}

/* ---- building ---- */

rp_status rp_graph_symbolic(rp_graph **out, rp_error *err)
{
    *out = rp_graph_new(NULL);
    return *out ? RP_OK : rp_no_memory(err);
}

void rp_graph_discard(rp_graph *graph)
{
    if (graph && !graph->device) /* a step's graph is its run's */
        rp_graph_free(graph);
}

rp_tensor rp_graph_declare(rp_graph *graph, rp_input_kind kind, const char *name, const rp_type *type)
{
    rp_tensor known;

    rp_graph_at_work(graph);
    if (!graph || graph->status != RP_OK)
        return rp_no_tensor();
    if (graph->device)
        rp_graph_fail(graph, RP_EARG, "a run's step takes its inputs from the run: rp_state, rp_data, rp_feed");
    else if ((unsigned)kind > RP_INPUT_FEED || !name)
        rp_graph_fail(graph, RP_EARG, "an input needs a kind and a name");
    else
        graph->status = check_type(type, name, &graph->error);
    if (graph->status != RP_OK)
        return rp_no_tensor();
    known = rp_graph_known(graph, kind, name);
    if (!known.graph)
        return rp_graph_input(graph, kind, name, type, NULL);
    if (!rp_type_equal(rp_tensor_type(known), type)) {
        char before[192], now[192];

        rp_type_text(rp_tensor_type(known), before, sizeof before);
        rp_type_text(type, now, sizeof now);
        rp_graph_fail(graph, RP_EARG, "input %s was declared as %s, and now as %s", name, before, now);
        return rp_no_tensor();
    }
    return known;
}

void rp_append(rp_graph *graph, const char *name, const rp_attribute *attribute, size_t n_attribute,
               const rp_tensor *in, size_t n_in, rp_tensor *out, size_t n_out)
{
    const rp_op *op;
    rp_attr attr[RP_MAX_ATTR];
    rp_tensor made[RP_MAX_OUT];

    for (size_t i = 0; out && i < n_out; i++)
        out[i] = rp_no_tensor();
    rp_graph_at_work(graph);
    if (!graph || graph->status != RP_OK)
        return;
    graph->status = find(&op, name, &graph->error);
    if (graph->status == RP_OK)
        graph->status = check_arrays(attribute, n_attribute, in, n_in, out, n_out, &graph->error);
    if (graph->status == RP_OK)
        graph->status = take_attributes(op, attribute, n_attribute, attr, &graph->error);
    if (graph->status != RP_OK)
        return;
    if (n_out != (size_t)op->n_out) {
        rp_graph_fail(graph, RP_EARG, "%s: room for %zu outputs, expected %d", op->name, n_out, op->n_out);
        return;
    }
    rp_emit(graph, rp_op_index(op), attr, in, n_in, made);
    memcpy(out, made, n_out * sizeof *out);
}

static bool may_output(rp_graph *graph, const char *name)
{
    rp_graph_at_work(graph);
    if (!graph || graph->status != RP_OK)
        return false;
    if (graph->device)
        rp_graph_fail(graph, RP_EARG, "a run's step gives its outputs to the run: rp_set_state, rp_result");
    else if (!name)
        rp_graph_fail(graph, RP_EARG, "an output needs a name");
    return graph->status == RP_OK;
}

void rp_graph_update(rp_graph *graph, const char *state, rp_tensor value)
{
    if (!may_output(graph, state))
        return;
    /* the program must know the old value to be complete on its own */
    if (value.graph == graph && rp_tensor_ok(value)) {
        const rp_type type = *rp_tensor_type(value);

        (void)rp_graph_declare(graph, RP_INPUT_STATE, state, &type);
    }
    rp_graph_set(graph, RP_OUTPUT_STATE, state, value);
}

void rp_graph_result(rp_graph *graph, const char *name, rp_tensor value)
{
    if (!may_output(graph, name))
        return;
    if (strncmp(name, "read.", 5) == 0)
        rp_graph_fail(graph, RP_EARG, "result %.96s: names that begin with \"read.\" are those of rp_read", name);
    rp_graph_set(graph, RP_OUTPUT_RESULT, name, value);
}

static bool is_function(const rp_program *p)
{
    bool any = false;

    for (size_t i = 0; i < p->n_inputs; i++)
        any = any || p->input[i].kind == RP_INPUT_PARAMETER;
    for (size_t i = 0; i < p->n_outputs; i++)
        any = any || p->output[i].kind == RP_OUTPUT_VALUE;
    return any;
}

rp_status rp_graph_finish(rp_graph *graph, rp_program **out, rp_error *err)
{
    if (!graph) {
        *out = NULL;
        return rp_no_handle(err, __func__, "graph");
    }

    rp_status status;

    *out = NULL;
    if (graph->device) /* the run's, whatever its status: not the caller's to free */
        return rp_fail(err, RP_EARG, "the graph of a run's step ends with rp_step_end");
    if (is_function(graph->program))
        rp_graph_fail(graph, RP_EARG, "a graph with parameters or returned values is a function's: rp_function_finish");
    status = rp_graph_status(graph, err);
    *out = rp_graph_take_program(graph, err);
    return status;
}

/* ---- programs ---- */

rp_status rp_program_read(rp_program **out, const void *text, size_t size, const char *where, rp_error *err)
{
    return rp_program_parse(out, text, size, where ? where : "program", err);
}

rp_status rp_program_text(const rp_program *program, void *text, size_t room, size_t *size, rp_error *err)
{
    if (!program)
        return rp_no_handle(err, __func__, "program");

    rp_buffer written = {0};
    rp_status status = rp_program_write(program, &written, err);

    if (status == RP_OK) {
        *size = written.size;
        if (room && written.size)
            memcpy(text, written.data, room < written.size ? room : written.size);
    }
    rp_buffer_free(&written);
    return status;
}

rp_program_sizes rp_program_count(const rp_program *p)
{
    if (!p)
        return (rp_program_sizes){0};
    return (rp_program_sizes){p->n_values, p->n_inputs, p->n_instrs, p->n_outputs};
}

bool rp_program_value(const rp_program *p, size_t value, rp_type *type)
{
    if (!p || value >= p->n_values)
        return false;
    *type = p->value[value];
    return true;
}

bool rp_program_input(const rp_program *p, size_t index, rp_input_info *info)
{
    if (!p || index >= p->n_inputs)
        return false;
    *info = (rp_input_info){p->input[index].kind, p->input[index].name, p->input[index].value,
                            p->value[p->input[index].value]};
    return true;
}

bool rp_program_output(const rp_program *p, size_t index, rp_output_info *info)
{
    if (!p || index >= p->n_outputs)
        return false;
    *info = (rp_output_info){p->output[index].kind, p->output[index].name, p->output[index].value,
                             p->value[p->output[index].value]};
    return true;
}

bool rp_program_instruction(const rp_program *p, size_t index, rp_instruction_info *info)
{
    const rp_instr *instr;

    if (!p || index >= p->n_instrs)
        return false;
    instr = &p->instr[index];
    *info = (rp_instruction_info){
        .op = instr->op->name, .in = instr->in, .out = instr->out, .n_in = instr->n_in, .n_out = (size_t)instr->n_out};
    for (int i = 0; i < RP_MAX_ATTR; i++) {
        const rp_attr *attr = &instr->attr[i];

        if (instr->op->attr[i].kind != RP_ATTR_NONE)
            info->attribute[info->attributes++] = (rp_attribute){
                instr->op->attr[i].name, instr->op->attr[i].kind, attr->i, attr->r, attr->list, (size_t)attr->n};
    }
    return true;
}

bool rp_program_region(const rp_program *p, size_t index, rp_region_info *info)
{
    const rp_region *region = p && index < p->n_instrs ? p->instr[index].region : NULL;

    if (region)
        *info = (rp_region_info){region->kind,        (const rp_function *const *)region->function,
                                 region->n_functions, region->carried,
                                 region->sliced,      region->times,
                                 region->history,     region->reverse,
                                 region->first,       region->cuts,
                                 region->n_cuts,      region->combine,
                                 region->n_combine};
    return region != NULL;
}

const rp_program *rp_function_body(const rp_function *function)
{
    return function ? function->body : NULL;
}

/* ---- reals ---- */

size_t rp_real_text(char out[RP_REAL_SIZE], double x)
{
    return rp_print_f64(out, x);
}

bool rp_real_read(double *out, const char *text)
{
    return text && rp_parse_printed_f64(out, text, strlen(text));
}
