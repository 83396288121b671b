/* SPDX-License-Identifier: Apache-2.0
 * Building programs: every append re-derives types, so a program that exists is well formed. */
#include "core/program/function.h"

#include <string.h>

#include "base/memory.h"

bool rp_name_valid(const char *name)
{
    size_t n = 0;

    for (; name[n]; n++) {
        char c = name[n];

        if (n + 1 >= RP_NAME_MAX || !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                                      c == '.' || c == '_' || c == '-'))
            return false;
    }
    return n > 0;
}

rp_program *rp_program_new(void)
{
    return rp_calloc(1, sizeof(rp_program));
}

/* An instruction's attributes and operands are one block, which begins with the attributes. */
static void instr_free(rp_instr *instr)
{
    rp_free((void *)instr->attr);
    rp_region_free(instr->region);
    rp_mark_release(instr->mark);
}

void rp_program_clear(rp_program *p)
{
    for (size_t i = 0; i < p->n_instrs; i++)
        instr_free(&p->instr[i]);
    rp_index_clear(&p->input_index);
    rp_index_clear(&p->output_index);
    p->n_values = p->n_inputs = p->n_instrs = p->n_outputs = p->n_prints = 0;
    p->executed = p->compared = p->roles = 0;
}

void rp_program_free(rp_program *p)
{
    if (!p)
        return;
    rp_program_clear(p);
    rp_free(p->value);
    rp_free(p->maker);
    rp_free(p->input);
    rp_free(p->instr);
    rp_free(p->output);
    rp_free(p->print);
    rp_index_free(&p->input_index);
    rp_index_free(&p->output_index);
    rp_free(p);
}

/* Room for one more element in one of the program's arrays. */
static bool grow(void **array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;

    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *bigger = rp_reallocarray(*array, wanted, size);

    if (!bigger)
        return false;
    *array = bigger;
    *capacity = wanted;
    return true;
}

static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

rp_program *rp_program_new_like(const rp_program *like)
{
    rp_program *p = rp_program_new();

    if (!p)
        return NULL;
    p->cap_values = at_least_one(like->n_values);
    p->cap_instrs = at_least_one(like->n_instrs);
    p->cap_inputs = at_least_one(like->n_inputs);
    p->cap_outputs = at_least_one(like->n_outputs);
    p->value = rp_reallocarray(NULL, p->cap_values, sizeof *p->value);
    p->maker = rp_reallocarray(NULL, p->cap_values, sizeof *p->maker);
    p->instr = rp_reallocarray(NULL, p->cap_instrs, sizeof *p->instr);
    p->input = rp_reallocarray(NULL, p->cap_inputs, sizeof *p->input);
    p->output = rp_reallocarray(NULL, p->cap_outputs, sizeof *p->output);
    if (p->value && p->maker && p->instr && p->input && p->output)
        return p;
    rp_program_free(p);
    return NULL;
}

/* Room for n more values, so that adding them cannot fail. */
static rp_status reserve_values(rp_program *p, size_t n, rp_error *err)
{
    if (p->n_values + n > RP_PROGRAM_MAX_VALUES)
        return rp_fail(err, RP_ESHAPE, "program: more than %d values", RP_PROGRAM_MAX_VALUES);
    while (p->cap_values < p->n_values + n) {
        const size_t wanted = p->cap_values ? 2 * p->cap_values : 16;
        rp_type *value = rp_reallocarray(p->value, wanted, sizeof *value);
        uint32_t *maker;

        if (!value)
            return rp_no_memory(err);
        p->value = value;
        maker = rp_reallocarray(p->maker, wanted, sizeof *maker);
        if (!maker)
            return rp_no_memory(err);
        p->maker = maker;
        p->cap_values = wanted;
    }
    return RP_OK;
}

static uint32_t add_value(rp_program *p, const rp_type *type, uint32_t maker)
{
    rp_type *value = &p->value[p->n_values];

    /* unused shape entries are zeroed so that types compare and copy as plain bytes */
    *value = (rp_type){.dtype = type->dtype, .rank = type->rank};
    memcpy(value->shape, type->shape, (size_t)type->rank * sizeof *type->shape);
    p->maker[p->n_values] = maker;
    return (uint32_t)p->n_values++;
}

/* ---- names ---- */

/* The place of (kind, name) among a program's inputs or outputs. */
static uint64_t hash_of(const rp_index *index, int kind, const char *name)
{
    return rp_index_hash(index, name, strlen(name)) + (uint64_t)kind;
}

static const rp_input *input_at(const rp_program *p, uint64_t hash, rp_input_kind kind, const char *name)
{
    for (rp_index_walk w = rp_index_find(&p->input_index, hash); rp_index_next(&w);)
        if (p->input[w.at].kind == kind && strcmp(p->input[w.at].name, name) == 0)
            return &p->input[w.at];
    return NULL;
}

const rp_input *rp_program_find_input(const rp_program *p, rp_input_kind kind, const char *name)
{
    return input_at(p, hash_of(&p->input_index, kind, name), kind, name);
}

/* Inputs come in the order of their values. */
const rp_input *rp_program_input_of(const rp_program *p, uint32_t value)
{
    size_t low = 0, high = p->maker[value] == RP_NO_INSTR ? p->n_inputs : 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (p->input[middle].value == value)
            return &p->input[middle];
        if (p->input[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static rp_output *output_at(const rp_program *p, uint64_t hash, rp_output_kind kind, const char *name)
{
    for (rp_index_walk w = rp_index_find(&p->output_index, hash); rp_index_next(&w);)
        if (p->output[w.at].kind == kind && strcmp(p->output[w.at].name, name) == 0)
            return &p->output[w.at];
    return NULL;
}

const rp_output *rp_program_find_output(const rp_program *p, rp_output_kind kind, const char *name)
{
    return output_at(p, hash_of(&p->output_index, kind, name), kind, name);
}

const rp_input *rp_program_state_of(const rp_program *p, const rp_output *output)
{
    if (output->kind != RP_OUTPUT_STATE)
        return NULL;
    if (output->state)
        return &p->input[output->state - 1];
    return rp_program_find_input(p, RP_INPUT_STATE, output->name);
}

rp_status rp_program_add_input(rp_program *p, rp_input_kind kind, const char *name, const rp_type *type,
                               uint32_t *value, rp_error *err)
{
    const rp_type held = *type; /* it may be that of a value of this program, which is about to move */
    void *array = p->input;
    rp_input *input;
    rp_status status;
    uint64_t hash;

    if (!rp_name_valid(name))
        return rp_fail(err, RP_EARG, "a name must be 1 to %d of [A-Za-z0-9._-]", RP_NAME_MAX - 1);
    if (!rp_index_reserve(&p->input_index))
        return rp_no_memory(err);
    hash = hash_of(&p->input_index, kind, name);
    rp_index_ask(&p->input_index, hash);
    status = reserve_values(p, 1, err);
    if (status != RP_OK)
        return status;
    if (!grow(&array, &p->cap_inputs, p->n_inputs, sizeof *p->input))
        return rp_no_memory(err);
    p->input = array;
    if (input_at(p, hash, kind, name))
        return rp_fail(err, RP_EARG, "input %s is given twice in one step", name);
    *value = add_value(p, &held, RP_NO_INSTR);
    input = &p->input[p->n_inputs];
    input->kind = kind;
    input->value = *value;
    strcpy(input->name, name);
    rp_index_add(&p->input_index, hash, (uint32_t)p->n_inputs++);
    return RP_OK;
}

/* ---- instructions ---- */

rp_status rp_op_types(const rp_op *op, const rp_attr *attr, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    if (op->n_in == RP_MANY ? n_in < 1 : n_in != (size_t)op->n_in)
        return rp_fail(err, RP_ESHAPE, "%s: found %zu operands, expected %d%s", op->name, n_in,
                       op->n_in == RP_MANY ? 1 : op->n_in, op->n_in == RP_MANY ? " or more" : "");
    if (n_in && !(op->dtypes & 1u << in[0].dtype)) {
        char text[192];

        rp_type_text(&in[0], text, sizeof text);
        return rp_fail(err, RP_ESHAPE, "%s: not defined for %s", op->name, text);
    }
    if (op->allows && !op->allows(attr, op->dtypes & RP_D_FLOAT && n_in ? in[0].dtype : RP_F64))
        return rp_fail(err, RP_ESHAPE, "%s: expected %s", op->name, op->allowed);
    return op->infer(op, attr, in, n_in, out, err);
}

static rp_status infer(rp_program *p, const rp_op *op, const rp_attr *attr, const uint32_t *in, size_t n_in,
                       rp_type *out, rp_error *err)
{
    rp_type few[8], *types = n_in <= 8 ? few : rp_malloc(n_in * sizeof *types);
    rp_status status;

    if (!types)
        return rp_no_memory(err);
    few[0] = (rp_type){0};
    for (size_t i = 0; i < n_in; i++)
        types[i] = p->value[in[i]];
    status = rp_op_types(op, attr, types, n_in, out, err);
    if (types != few)
        rp_free(types);
    return status;
}

/* What fill makes of its real value in an integer or bool tensor: CONTRACT 2.5's conversion. It is derived here, not
 * written to JSON, so that a program read back is the same instruction. */
static int64_t fill_integer(double value, rp_dtype dtype)
{
    const bool is_unsigned = dtype == RP_U8 || dtype == RP_U32;
    const int bits = 8 * (int)rp_dtype_size(dtype) - !is_unsigned; /* of the largest number */
    const int64_t most = (int64_t)(((uint64_t)1 << bits) - 1), least = is_unsigned ? 0 : -most - 1;

    if (dtype == RP_BOOL)
        return value != 0;
    if (value != value)
        return 0;
    if (value >= (double)((uint64_t)1 << bits))
        return most;
    return value < (double)least ? least : (int64_t)value;
}

static void hold_integer(rp_attr *attr, rp_dtype dtype)
{
    rp_attr *value = &RP_AT(attr, fill, value);

    value->i = RP_D_REAL & 1u << dtype ? 0 : fill_integer(value->r, dtype);
}

/* How many of the table's attributes the operation has: they come first. */
static size_t attributes(const rp_op *op)
{
    size_t n = 0;

    while (n < RP_MAX_ATTR && op->attr[n].kind != RP_ATTR_NONE)
        n++;
    return n;
}

/* Attributes, operands and outputs in one block of what there is: at 10^6 instructions, most of them without
 * attributes, size counts. */
static bool instr_hold(rp_instr *instr, const rp_attr *attr, const uint32_t *in)
{
    const size_t n = attributes(instr->op);
    rp_attr *block = rp_malloc(n * sizeof *attr + (instr->n_in + (size_t)instr->n_out) * sizeof *in);

    if (!block)
        return false;
    if (n)
        memcpy(block, attr, n * sizeof *attr);
    instr->attr = block;
    instr->in = (uint32_t *)(void *)(block + n);
    instr->out = instr->in + instr->n_in;
    if (instr->n_in)
        memcpy(instr->in, in, instr->n_in * sizeof *in);
    return true;
}

/* Whether an instruction that executes so many may follow; they count from then on. */
static rp_status count_executed(rp_program *p, const char *name, uint64_t executed, rp_error *err)
{
    if (executed > rp_executed_max - p->executed)
        return rp_fail(err, RP_ESHAPE, "%s: with it, more than 2^40 instructions would be executed", name);
    p->executed += executed;
    return RP_OK;
}

rp_status rp_program_add_instr(rp_program *p, const rp_op *op, const rp_attr *attr, const uint32_t *in, size_t n_in,
                               uint32_t *out, rp_error *err)
{
    static const rp_attr none[RP_MAX_ATTR];
    void *array = p->instr;
    rp_type type[RP_MAX_OUT];
    rp_instr instr = {.op = op, .n_in = (uint32_t)n_in, .n_out = op->n_out};
    rp_status status;

    for (size_t i = 0; i < n_in; i++)
        if (in[i] >= p->n_values)
            return rp_fail(err, RP_ESHAPE, "%s: operand %zu is not a value of the program", op->name, i);
    for (int i = 0; i < op->n_out; i++)
        type[i] = (rp_type){0};
    status = infer(p, op, attr ? attr : none, in, n_in, type, err);
    if (status == RP_OK)
        status = reserve_values(p, (size_t)op->n_out, err);
    if (status != RP_OK)
        return status;
    if (!grow(&array, &p->cap_instrs, p->n_instrs, sizeof *p->instr))
        return rp_no_memory(err);
    p->instr = array;
    status = count_executed(p, op->name, 1, err);
    if (status != RP_OK)
        return status;
    if (!instr_hold(&instr, attr ? attr : none, in))
        return rp_no_memory(err);
    if (op->flags & RP_OP_CONSTANT)
        hold_integer((rp_attr *)instr.attr, type[0].dtype);
    for (int i = 0; i < op->n_out; i++)
        out[i] = instr.out[i] = add_value(p, &type[i], (uint32_t)p->n_instrs);
    p->instr[p->n_instrs++] = instr;
    p->roles |= 1u << op->role;
    return RP_OK;
}

/* Types of the operands, from the program's values. */
static rp_status infer_region(const rp_program *p, const rp_region *region, const uint32_t *in, size_t n_in,
                              rp_type *out, rp_error *err)
{
    rp_type *types = rp_reallocarray(NULL, n_in, sizeof *types);
    rp_status status = types ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n_in && status == RP_OK; i++) {
        if (in[i] < p->n_values)
            types[i] = p->value[in[i]];
        else
            status = rp_fail(err, RP_ESHAPE, "%s: operand %zu is not a value of the program",
                             rp_region_op(region->kind)->name, i);
    }
    if (status == RP_OK)
        status = rp_region_infer(region, types, n_in, out, err);
    rp_free(types);
    return status;
}

static rp_status append_region(rp_program *p, const rp_region *region, const uint32_t *in, size_t n_in,
                               const rp_type *type, size_t n_out, rp_error *err)
{
    rp_instr instr = {.op = rp_region_op(region->kind), .n_in = (uint32_t)n_in, .n_out = (int)n_out};
    void *array = p->instr;
    rp_status status = reserve_values(p, n_out, err);

    if (status != RP_OK)
        return status;
    if (!grow(&array, &p->cap_instrs, p->n_instrs, sizeof *p->instr))
        return rp_no_memory(err);
    p->instr = array;
    instr.region = rp_region_copy(region);
    if (!instr.region || !instr_hold(&instr, NULL, in)) {
        rp_region_free(instr.region);
        return rp_no_memory(err);
    }
    for (size_t i = 0; i < n_out; i++)
        instr.out[i] = add_value(p, &type[i], (uint32_t)p->n_instrs);
    status = count_executed(p, instr.op->name, rp_instr_executed(p, &instr), err);
    if (status != RP_OK) {
        p->n_values -= n_out;
        instr_free(&instr);
        return status;
    }
    p->instr[p->n_instrs++] = instr;
    return RP_OK;
}

/* What it counts in p->compared. */
static uint64_t compared_by(const rp_region *r, size_t n_in, size_t n_out)
{
    return r->n_functions > 1 && n_in < SIZE_MAX / RP_PROGRAM_MAX_VALUES - n_out
               ? (uint64_t)(r->n_functions - 1) * (n_in + n_out)
               : 0;
}

void rp_program_cut(rp_program *p, size_t n_instrs)
{
    while (p->n_instrs > n_instrs) {
        rp_instr *last = &p->instr[p->n_instrs - 1];

        p->executed -= last->region ? rp_instr_executed(p, last) : 1;
        if (last->region)
            p->compared -= compared_by(last->region, last->n_in, (size_t)last->n_out);
        p->n_values -= (size_t)last->n_out;
        p->n_instrs--;
        instr_free(last);
    }
}

/* All functions of a region are compared with its operands and with each other, so a text of many regions that each
 * name many functions of many parameters would take more than the time of reading it. */
static rp_status count_compared(rp_program *p, const rp_region *r, size_t n_in, size_t n_out, rp_error *err)
{
    const uint64_t compared = compared_by(r, n_in, n_out);

    if (compared > RP_COMPARED_MAX - p->compared)
        return rp_fail(err, RP_ESHAPE,
                       "%s: with it, regions have more than %d operands and values, counted for each function beyond "
                       "their first",
                       rp_region_op(r->kind)->name, RP_COMPARED_MAX);
    p->compared += compared;
    return RP_OK;
}

rp_status rp_program_add_region(rp_program *p, const rp_region *region, const uint32_t *in, size_t n_in, uint32_t *out,
                                rp_error *err)
{
    const size_t n_out = rp_region_values(region);
    rp_type *type = rp_calloc(n_out, sizeof *type);
    rp_status status = type ? count_compared(p, region, n_in, n_out, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = infer_region(p, region, in, n_in, type, err);
    if (status == RP_OK)
        status = append_region(p, region, in, n_in, type, n_out, err);
    if (status == RP_OK)
        memcpy(out, p->instr[p->n_instrs - 1].out, n_out * sizeof *out);
    rp_free(type);
    return status;
}

rp_status rp_program_add_like(rp_program *p, const rp_instr *instr, const uint32_t *in, uint32_t *out, rp_error *err)
{
    const rp_status status = instr->region ? rp_program_add_region(p, instr->region, in, instr->n_in, out, err)
                                           : rp_program_add_instr(p, instr->op, instr->attr, in, instr->n_in, out, err);

    rp_program_mark_like(p, p->n_instrs - (status == RP_OK), instr->mark);
    return status;
}

rp_status rp_program_add_parameter(rp_program *p, const rp_type *type, uint32_t *value, rp_error *err)
{
    void *array = p->input;
    rp_status status = reserve_values(p, 1, err);

    if (status != RP_OK)
        return status;
    if (!grow(&array, &p->cap_inputs, p->n_inputs, sizeof *p->input))
        return rp_no_memory(err);
    p->input = array;
    *value = add_value(p, type, RP_NO_INSTR);
    p->input[p->n_inputs++] = (rp_input){.kind = RP_INPUT_PARAMETER, .value = *value};
    return RP_OK;
}

bool rp_instr_exchanges(const rp_instr *instr)
{
    const rp_attr *p = &RP_AT(instr->attr, transpose, permutation);

    if (instr->op->role != RP_PLAYS_TRANSPOSE || p->n < 2)
        return false;
    for (int i = 0; i < p->n; i++)
        if (p->list[i] != (i < p->n - 2 ? i : 2 * p->n - 3 - i))
            return false;
    return true;
}

bool rp_program_returns(const rp_program *p, uint32_t value)
{
    const uint64_t hash = rp_index_hash(&p->output_index, &value, sizeof value);

    for (rp_index_walk w = rp_index_find(&p->output_index, hash); rp_index_next(&w);)
        if (p->output[w.at].value == value)
            return true;
    return false;
}

rp_status rp_program_add_return(rp_program *p, uint32_t value, rp_error *err)
{
    void *array = p->output;

    if (value >= p->n_values)
        return rp_fail(err, RP_EARG, "an output is not a value of the function");
    if (!grow(&array, &p->cap_outputs, p->n_outputs, sizeof *p->output))
        return rp_no_memory(err);
    p->output = array;
    if (!rp_index_reserve(&p->output_index))
        return rp_no_memory(err);
    rp_index_add(&p->output_index, rp_index_hash(&p->output_index, &value, sizeof value), (uint32_t)p->n_outputs);
    p->output[p->n_outputs++] = (rp_output){.kind = RP_OUTPUT_VALUE, .value = value};
    return RP_OK;
}

rp_status rp_program_add_output(rp_program *p, rp_output_kind kind, const char *name, uint32_t value, rp_error *err)
{
    void *array = p->output;
    rp_output *output;
    const rp_input *state = NULL;
    uint64_t hash, state_hash;

    if (!rp_name_valid(name))
        return rp_fail(err, RP_EARG, "a name must be 1 to %d of [A-Za-z0-9._-]", RP_NAME_MAX - 1);
    if (value >= p->n_values)
        return rp_fail(err, RP_EARG, "output %s is not a value of the program", name);
    if (!rp_index_reserve(&p->output_index))
        return rp_no_memory(err);
    hash = hash_of(&p->output_index, kind, name);
    rp_index_ask(&p->output_index, hash);
    state_hash = hash_of(&p->input_index, RP_INPUT_STATE, name);
    rp_index_ask(&p->input_index, state_hash);
    if (!grow(&array, &p->cap_outputs, p->n_outputs, sizeof *p->output))
        return rp_no_memory(err);
    p->output = array;
    output = output_at(p, hash, kind, name);
    if (output) {
        output->value = value;
        return RP_OK;
    }
    output = &p->output[p->n_outputs];
    *output = (rp_output){.kind = kind, .value = value};
    strcpy(output->name, name);
    if (kind == RP_OUTPUT_STATE)
        state = input_at(p, state_hash, RP_INPUT_STATE, name);
    output->state = state ? (uint32_t)(state - p->input) + 1 : 0;
    rp_index_add(&p->output_index, hash, (uint32_t)p->n_outputs++);
    return RP_OK;
}

rp_status rp_program_check_states(const rp_program *p, rp_error *err)
{
    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_output *output = &p->output[o];
        const rp_input *state = rp_program_state_of(p, output);
        char found[192], expected[192];

        if (output->kind != RP_OUTPUT_STATE)
            continue;
        if (!state)
            return rp_fail(err, RP_EFORMAT, "output state %s: no input is the state of that name, expected one",
                           output->name);
        if (rp_type_equal(&p->value[state->value], &p->value[output->value]))
            continue;
        rp_type_text(&p->value[output->value], found, sizeof found);
        rp_type_text(&p->value[state->value], expected, sizeof expected);
        return rp_fail(err, RP_EFORMAT, "output state %s: found %s, expected the input's type, %s", output->name, found,
                       expected);
    }
    return RP_OK;
}

rp_status rp_program_copy_input(rp_program *copy, const rp_program *p, const rp_input *in, rp_error *err)
{
    uint32_t value;

    if (in->kind == RP_INPUT_PARAMETER)
        return rp_program_add_parameter(copy, &p->value[in->value], &value, err);
    return rp_program_add_input(copy, in->kind, in->name, &p->value[in->value], &value, err);
}

rp_status rp_program_copy_output(rp_program *copy, const rp_output *output, rp_error *err)
{
    return output->kind == RP_OUTPUT_VALUE
               ? rp_program_add_return(copy, output->value, err)
               : rp_program_add_output(copy, output->kind, output->name, output->value, err);
}

rp_status rp_program_copy_instr(rp_program *copy, const rp_program *p, const rp_instr *instr, rp_error *err)
{
    uint32_t ignored[RP_MAX_OUT];
    rp_type *type;
    rp_status status;

    if (!instr->region) {
        status = rp_program_add_instr(copy, instr->op, instr->attr, instr->in, instr->n_in, ignored, err);
        rp_program_mark_like(copy, copy->n_instrs - (status == RP_OK), instr->mark);
        return status;
    }
    type = rp_reallocarray(NULL, (size_t)instr->n_out, sizeof *type);
    if (!type)
        return rp_no_memory(err);
    for (int i = 0; i < instr->n_out; i++)
        type[i] = p->value[instr->out[i]];
    status = append_region(copy, instr->region, instr->in, instr->n_in, type, (size_t)instr->n_out, err);
    rp_program_mark_like(copy, copy->n_instrs - (status == RP_OK), instr->mark);
    rp_free(type);
    return status;
}

rp_program *rp_program_copy(const rp_program *p)
{
    rp_program *copy = rp_program_new();
    size_t inputs = 0;
    rp_status status = copy ? RP_OK : RP_ENOMEM;

    /* Inputs and instructions interleave by value number: replay them in that order. */
    for (size_t i = 0; status == RP_OK && (inputs < p->n_inputs || i < p->n_instrs);) {
        if (inputs < p->n_inputs && p->input[inputs].value == copy->n_values)
            status = rp_program_copy_input(copy, p, &p->input[inputs++], NULL);
        else
            status = rp_program_copy_instr(copy, p, &p->instr[i++], NULL);
    }
    for (size_t i = 0; status == RP_OK && i < p->n_outputs; i++)
        status = rp_program_copy_output(copy, &p->output[i], NULL);
    if (status == RP_OK)
        status = rp_program_copy_prints(copy, p, NULL);
    if (status != RP_OK) {
        rp_program_free(copy);
        return NULL;
    }
    return copy;
}
