/* SPDX-License-Identifier: Apache-2.0
 * Building programs: every append re-derives types, so a program that exists is well formed. */
#include "core/program/program.h"

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

void rp_program_clear(rp_program *p)
{
    for (size_t i = 0; i < p->n_instrs; i++)
        rp_free(p->instr[i].in);
    p->n_values = p->n_inputs = p->n_instrs = p->n_outputs = 0;
}

void rp_program_free(rp_program *p)
{
    if (!p)
        return;
    rp_program_clear(p);
    rp_free(p->value);
    rp_free(p->input);
    rp_free(p->instr);
    rp_free(p->output);
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

static rp_status add_value(rp_program *p, const rp_type *type, uint32_t *value, rp_error *err)
{
    void *array = p->value;

    if (p->n_values >= RP_PROGRAM_MAX_VALUES)
        return rp_fail(err, RP_ESHAPE, "program: more than %d values", RP_PROGRAM_MAX_VALUES);
    if (!grow(&array, &p->cap_values, p->n_values, sizeof *p->value))
        return rp_no_memory(err);
    p->value = array;
    /* unused shape entries are zeroed so that types compare and copy as plain bytes */
    p->value[p->n_values] = (rp_type){.dtype = type->dtype, .rank = type->rank};
    memcpy(p->value[p->n_values].shape, type->shape, (size_t)type->rank * sizeof *type->shape);
    *value = (uint32_t)p->n_values++;
    return RP_OK;
}

rp_status rp_program_add_input(rp_program *p, rp_input_kind kind, const char *name, const rp_type *type,
                               uint32_t *value, rp_error *err)
{
    void *array = p->input;
    rp_status status;

    if (!rp_name_valid(name))
        return rp_fail(err, RP_EARG, "a name must be 1 to %d of [A-Za-z0-9._-]", RP_NAME_MAX - 1);
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->input[i].kind == kind && strcmp(p->input[i].name, name) == 0)
            return rp_fail(err, RP_EARG, "input %s is given twice in one step", name);
    if (!grow(&array, &p->cap_inputs, p->n_inputs, sizeof *p->input))
        return rp_no_memory(err);
    p->input = array;
    status = add_value(p, type, value, err);
    if (status != RP_OK)
        return status;
    p->input[p->n_inputs].kind = kind;
    p->input[p->n_inputs].value = *value;
    strcpy(p->input[p->n_inputs].name, name);
    p->n_inputs++;
    return RP_OK;
}

static rp_status infer(rp_program *p, const rp_op *op, const rp_attr *attr, const uint32_t *in, size_t n_in,
                       rp_type *out, rp_error *err)
{
    rp_type few[8], *types = n_in <= 8 ? few : rp_malloc(n_in * sizeof *types);
    rp_status status;

    if (!types)
        return rp_no_memory(err);
    for (size_t i = 0; i < n_in; i++)
        types[i] = p->value[in[i]];
    if (n_in && !(op->dtypes & 1u << types[0].dtype)) {
        char text[192];

        rp_type_text(&types[0], text, sizeof text);
        status = rp_fail(err, RP_ESHAPE, "%s: not defined for %s", op->name, text);
    } else {
        status = op->infer(op, attr, types, n_in, out, err);
    }
    if (types != few)
        rp_free(types);
    return status;
}

/* What fill makes of its real value in an integer or bool tensor: CONTRACT 2.5's conversion. It is derived here, not
 * written to JSON, so that a program read back is the same instruction. */
static int64_t fill_integer(double value, rp_dtype dtype)
{
    const double end = dtype == RP_I32 ? 0x1p31 : 0x1p63;
    const int64_t most = dtype == RP_I32 ? INT32_MAX : INT64_MAX;

    if (dtype == RP_BOOL)
        return value != 0;
    if (value != value)
        return 0;
    if (value >= end)
        return most;
    return value < -end ? -most - 1 : (int64_t)value;
}

rp_status rp_program_add_instr(rp_program *p, const rp_op *op, const rp_attr *attr, const uint32_t *in, size_t n_in,
                               uint32_t *out, rp_error *err)
{
    static const rp_attr none[RP_MAX_ATTR];
    void *array = p->instr;
    rp_type type[RP_MAX_OUT];
    rp_instr instr = {.op = op, .n_in = (uint32_t)n_in, .n_out = op->n_out};
    rp_status status = RP_OK;

    if (op->n_in == RP_MANY ? n_in < 1 : n_in != (size_t)op->n_in)
        return rp_fail(err, RP_ESHAPE, "%s: found %zu operands, expected %d", op->name, n_in, op->n_in);
    for (size_t i = 0; i < n_in; i++)
        if (in[i] >= p->n_values)
            return rp_fail(err, RP_ESHAPE, "%s: operand %zu is not a value of the program", op->name, i);
    memset(type, 0, sizeof type);
    status = infer(p, op, attr ? attr : none, in, n_in, type, err);
    if (status != RP_OK)
        return status;
    if (!grow(&array, &p->cap_instrs, p->n_instrs, sizeof *p->instr))
        return rp_no_memory(err);
    p->instr = array;
    instr.in = rp_malloc((n_in + (size_t)op->n_out) * sizeof *in);
    if (!instr.in)
        return rp_no_memory(err);
    instr.out = instr.in + n_in;
    if (n_in)
        memcpy(instr.in, in, n_in * sizeof *in);
    memcpy(instr.attr, attr ? attr : none, sizeof instr.attr);
    if (rp_op_index(op) == RP_OP_fill)
        instr.attr[0].i = RP_D_REAL & 1u << type[0].dtype ? 0 : fill_integer(instr.attr[0].r, type[0].dtype);
    for (int i = 0; i < op->n_out && status == RP_OK; i++)
        status = add_value(p, &type[i], &instr.out[i], err);
    if (status != RP_OK) {
        rp_free(instr.in);
        return status;
    }
    memcpy(out, instr.out, (size_t)op->n_out * sizeof *out);
    p->instr[p->n_instrs++] = instr;
    return RP_OK;
}

rp_status rp_program_add_output(rp_program *p, rp_output_kind kind, const char *name, uint32_t value, rp_error *err)
{
    void *array = p->output;

    if (!rp_name_valid(name))
        return rp_fail(err, RP_EARG, "a name must be 1 to %d of [A-Za-z0-9._-]", RP_NAME_MAX - 1);
    if (value >= p->n_values)
        return rp_fail(err, RP_EARG, "output %s is not a value of the program", name);
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output[i].kind == kind && strcmp(p->output[i].name, name) == 0) {
            p->output[i].value = value;
            return RP_OK;
        }
    if (!grow(&array, &p->cap_outputs, p->n_outputs, sizeof *p->output))
        return rp_no_memory(err);
    p->output = array;
    p->output[p->n_outputs].kind = kind;
    p->output[p->n_outputs].value = value;
    strcpy(p->output[p->n_outputs].name, name);
    p->n_outputs++;
    return RP_OK;
}

rp_program *rp_program_copy(const rp_program *p)
{
    rp_program *copy = rp_program_new();
    uint32_t ignored[RP_MAX_OUT];
    size_t inputs = 0;
    rp_status status = copy ? RP_OK : RP_ENOMEM;

    /* Inputs and instructions interleave by value number: replay them in that order. */
    for (size_t i = 0; status == RP_OK && (inputs < p->n_inputs || i < p->n_instrs);) {
        if (inputs < p->n_inputs && p->input[inputs].value == copy->n_values) {
            const rp_input *in = &p->input[inputs++];

            status = rp_program_add_input(copy, in->kind, in->name, &p->value[in->value], ignored, NULL);
        } else {
            const rp_instr *instr = &p->instr[i++];

            status = rp_program_add_instr(copy, instr->op, instr->attr, instr->in, instr->n_in, ignored, NULL);
        }
    }
    for (size_t i = 0; status == RP_OK && i < p->n_outputs; i++)
        status = rp_program_add_output(copy, p->output[i].kind, p->output[i].name, p->output[i].value, NULL);
    if (status != RP_OK) {
        rp_program_free(copy);
        return NULL;
    }
    return copy;
}
