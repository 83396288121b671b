/* SPDX-License-Identifier: Apache-2.0
 * Programs as canonical JSON and back (audit/FORMAT.md, "programs"):
 *   {"contract":1,"inputs":[[value,kind,name,dtype,[shape]],..],"instructions":[[op,{attributes},[in],[out]],..],
 *    "outputs":[[kind,name,value],..]}
 * The writer streams text, since programs are written on every eager step; the parser rebuilds through program.c. */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/program/program_text.h"
#include "determinism/decimal.h"
#include "determinism/pins.h"

static const char *const input_kinds[] = {"state", "data", "feed"};
static const char *const output_kinds[] = {"state", "result"};

void rp_put_int(rp_buffer *out, int64_t v)
{
    char text[24];
    char *at = text + sizeof text;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do {
        *--at = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        *--at = '-';
    rp_buffer_append(out, at, (size_t)(text + sizeof text - at));
}

static void put_list(rp_buffer *out, const int64_t *list, int n)
{
    rp_buffer_u8(out, '[');
    for (int i = 0; i < n; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        rp_put_int(out, list[i]);
    }
    rp_buffer_u8(out, ']');
}

/* Integers beyond 2^53 - 1 (a pow exponent) are not canonical JSON: they are strings. */
static void put_attr(rp_buffer *out, const rp_attr_spec *spec, const rp_attr *attr)
{
    char text[RP_DECIMAL_SIZE];
    static const int64_t exact = ((int64_t)1 << 53) - 1;

    rp_buffer_u8(out, '"');
    rp_buffer_text(out, spec->name);
    rp_buffer_text(out, "\":");
    switch (spec->kind) {
    case RP_ATTR_INT:
        if (attr->i > exact || attr->i < -exact) {
            rp_buffer_u8(out, '"');
            rp_put_int(out, attr->i);
            rp_buffer_u8(out, '"');
        } else {
            rp_put_int(out, attr->i);
        }
        break;
    case RP_ATTR_BOOL:
        rp_buffer_text(out, attr->i ? "true" : "false");
        break;
    case RP_ATTR_REAL:
        rp_buffer_u8(out, '"');
        rp_buffer_append(out, text, rp_print_f64(text, attr->r));
        rp_buffer_u8(out, '"');
        break;
    case RP_ATTR_DTYPE:
        rp_buffer_u8(out, '"');
        rp_buffer_text(out, rp_dtype_name((rp_dtype)attr->i));
        rp_buffer_u8(out, '"');
        break;
    default:
        put_list(out, attr->list, attr->n);
    }
}

/* Attributes in key order, as canonical JSON wants: rows have at most five, so selection is enough. */
void rp_put_attributes(rp_buffer *out, const rp_instr *instr)
{
    const rp_attr_spec *spec = instr->op->attr;
    const char *last = "";

    rp_buffer_u8(out, '{');
    for (;;) {
        int next = -1;

        for (int i = 0; i < RP_MAX_ATTR; i++)
            if (spec[i].kind != RP_ATTR_NONE && strcmp(spec[i].name, last) > 0 &&
                (next < 0 || strcmp(spec[i].name, spec[next].name) < 0))
                next = i;
        if (next < 0)
            break;
        if (*last)
            rp_buffer_u8(out, ',');
        put_attr(out, &spec[next], &instr->attr[next]);
        last = spec[next].name;
    }
    rp_buffer_u8(out, '}');
}

static void put_values(rp_buffer *out, const uint32_t *value, size_t n)
{
    rp_buffer_u8(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        rp_put_int(out, value[i]);
    }
    rp_buffer_u8(out, ']');
}

void rp_put_type(rp_buffer *out, const rp_type *type)
{
    int64_t shape[RP_MAX_RANK];

    for (int i = 0; i < type->rank; i++)
        shape[i] = (int64_t)type->shape[i];
    rp_buffer_u8(out, '"');
    rp_buffer_text(out, rp_dtype_name(type->dtype));
    rp_buffer_text(out, "\",");
    put_list(out, shape, type->rank);
}

static void put_input(rp_buffer *out, const rp_program *p, const rp_input *in)
{
    rp_buffer_u8(out, '[');
    rp_put_int(out, in->value);
    rp_buffer_text(out, ",\"");
    rp_buffer_text(out, input_kinds[in->kind]);
    rp_buffer_text(out, "\",\"");
    rp_buffer_text(out, in->name);
    rp_buffer_text(out, "\",");
    rp_put_type(out, &p->value[in->value]);
    rp_buffer_u8(out, ']');
}

void rp_put_instruction(rp_buffer *out, const rp_instr *instr, rp_function_namer namer)
{
    rp_buffer_text(out, "[\"");
    rp_buffer_text(out, instr->op->name);
    rp_buffer_text(out, "\",");
    if (instr->region)
        rp_region_text(out, instr->region, namer);
    else
        rp_put_attributes(out, instr);
    rp_buffer_u8(out, ',');
    put_values(out, instr->in, instr->n_in);
    rp_buffer_u8(out, ',');
    put_values(out, instr->out, (size_t)instr->n_out);
    rp_buffer_u8(out, ']');
}

void rp_put_instructions(rp_buffer *out, const rp_program *p, rp_function_namer namer)
{
    for (size_t i = 0; i < p->n_instrs; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        rp_put_instruction(out, &p->instr[i], namer);
    }
}

static void put_number(rp_buffer *out, const void *self, const rp_function *function)
{
    rp_put_int(out, (int64_t)rp_functions_index(self, function));
}

static void put_functions(rp_buffer *out, const rp_functions *functions)
{
    if (functions->n == 0)
        return;
    rp_buffer_text(out, ",\"functions\":[");
    for (size_t i = 0; i < functions->n; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        rp_buffer_append(out, functions->text[i].data, functions->text[i].size);
    }
    rp_buffer_u8(out, ']');
}

rp_status rp_program_write(const rp_program *p, rp_buffer *out, rp_error *err)
{
    rp_functions functions;
    rp_status status = rp_functions_of(&functions, p, err);

    if (status != RP_OK)
        return status;
    rp_buffer_text(out, "{\"contract\":");
    rp_put_int(out, RP_CONTRACT_VERSION);
    put_functions(out, &functions);
    rp_buffer_text(out, ",\"inputs\":[");
    for (size_t i = 0; i < p->n_inputs; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        put_input(out, p, &p->input[i]);
    }
    rp_buffer_text(out, "],\"instructions\":[");
    rp_put_instructions(out, p, (rp_function_namer){put_number, &functions});
    rp_buffer_text(out, "],\"outputs\":[");
    for (size_t i = 0; i < p->n_outputs; i++) {
        rp_buffer_text(out, i ? ",[\"" : "[\"");
        rp_buffer_text(out, output_kinds[p->output[i].kind]);
        rp_buffer_text(out, "\",\"");
        rp_buffer_text(out, p->output[i].name);
        rp_buffer_text(out, "\",");
        rp_put_int(out, p->output[i].value);
        rp_buffer_u8(out, ']');
    }
    rp_buffer_text(out, "]}");
    rp_functions_free(&functions);
    return rp_buffer_status(out, err);
}

/* ---- parsing ---- */

static rp_status malformed(const char *where, const char *what, size_t index, rp_error *err)
{
    return rp_fail(err, RP_EFORMAT, "%s: %s %zu is malformed", where, what, index);
}

static int find(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

static int dtype_of(const char *name)
{
    for (int i = 0; name && i < RP_DTYPE_COUNT; i++)
        if (strcmp(name, rp_dtype_name((rp_dtype)i)) == 0)
            return i;
    return -1;
}

static bool get_list(const rp_json *json, rp_attr *attr)
{
    if (!rp_json_is_array(json) || rp_json_array_size(json) > RP_MAX_RANK)
        return false;
    attr->n = (int)rp_json_array_size(json);
    for (int i = 0; i < attr->n; i++) {
        if (!rp_json_is_integer(rp_json_array_get(json, (size_t)i)))
            return false;
        attr->list[i] = rp_json_integer_value(rp_json_array_get(json, (size_t)i));
    }
    return true;
}

static bool get_real(const rp_json *json, double *out)
{
    const char *text = rp_json_string_value(json);

    return text && rp_parse_printed_f64(out, text, strlen(text));
}

static bool get_attr(const rp_json *json, rp_attr_kind kind, rp_attr *attr)
{
    switch (kind) {
    case RP_ATTR_INT:
        attr->i = rp_json_integer_value(json);
        return rp_json_is_integer(json) ||
               (rp_json_is_string(json) &&
                rp_parse_i64(&attr->i, rp_json_string_value(json), rp_json_string_length(json)));
    case RP_ATTR_BOOL:
        attr->i = rp_json_is_true(json);
        return rp_json_is_boolean(json);
    case RP_ATTR_REAL:
        return get_real(json, &attr->r);
    case RP_ATTR_DTYPE:
        attr->i = dtype_of(rp_json_string_value(json));
        return attr->i >= 0;
    default:
        return get_list(json, attr);
    }
}

bool rp_parse_type(const rp_json *row, size_t at, rp_type *type)
{
    int dtype = dtype_of(rp_json_string_value(rp_json_array_get(row, at)));
    rp_attr shape = {0};

    if (dtype < 0 || !get_list(rp_json_array_get(row, at + 1), &shape))
        return false;
    *type = (rp_type){.dtype = (rp_dtype)dtype, .rank = shape.n};
    for (int i = 0; i < shape.n; i++) {
        if (shape.list[i] < 0)
            return false;
        type->shape[i] = (size_t)shape.list[i];
    }
    return rp_type_valid(type);
}

static rp_status parse_input(rp_program *p, const rp_json *row, size_t index, const char *where, rp_error *err)
{
    const char *name = rp_json_string_value(rp_json_array_get(row, 2));
    int kind = find(rp_json_string_value(rp_json_array_get(row, 1)), input_kinds, 3);
    rp_type type;
    uint32_t value;
    rp_status status;

    if (rp_json_array_size(row) != 5 || kind < 0 || !name || !rp_parse_type(row, 3, &type))
        return malformed(where, "input", index, err);
    status = rp_program_add_input(p, (rp_input_kind)kind, name, &type, &value, err);
    return status == RP_OK || status == RP_ENOMEM ? status : rp_fail_at(err, RP_EFORMAT, "%s: input %zu", where, index);
}

/* Attributes of an operation of the table, by name. */
static bool get_attrs(const rp_op *op, const rp_json *attrs, rp_attr *attr)
{
    size_t known = 0;

    for (int i = 0; i < RP_MAX_ATTR; i++) {
        if (op->attr[i].kind == RP_ATTR_NONE)
            continue;
        if (!get_attr(rp_json_object_get(attrs, op->attr[i].name), op->attr[i].kind, &attr[i]))
            return false;
        known++;
    }
    return known == rp_json_object_size(attrs);
}

static rp_status add_plain(rp_program *p, const rp_op *op, const rp_json *attrs, const uint32_t *in, size_t n_in,
                           size_t index, const char *where, rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR];
    uint32_t out[RP_MAX_OUT];

    memset(attr, 0, sizeof attr);
    if (!get_attrs(op, attrs, attr))
        return malformed(where, "an attribute of instruction", index, err);
    return rp_program_add_instr(p, op, attr, in, n_in, out, err);
}

static rp_status add_region(rp_program *p, rp_region_kind kind, const rp_json *attrs, const uint32_t *in, size_t n_in,
                            const rp_parsed_functions *known, size_t index, const char *where, rp_error *err)
{
    rp_region *region = NULL;
    uint32_t *out = NULL;
    rp_status status = rp_parse_region(&region, kind, attrs, known, where, index, err);

    if (status == RP_OK) {
        out = rp_reallocarray(NULL, rp_region_values(region), sizeof *out);
        status = out ? rp_program_add_region(p, region, in, n_in, out, err) : rp_no_memory(err);
    }
    rp_region_free(region);
    rp_free(out);
    return status;
}

/* What the text says that the last instruction gives. */
static bool same_numbers(const rp_program *p, const rp_json *outs)
{
    const rp_instr *instr = &p->instr[p->n_instrs - 1];

    if (rp_json_array_size(outs) != (size_t)instr->n_out)
        return false;
    for (int i = 0; i < instr->n_out; i++) {
        const rp_json *v = rp_json_array_get(outs, (size_t)i);

        if (!rp_json_is_integer(v) || rp_json_integer_value(v) != (int64_t)instr->out[i])
            return false;
    }
    return true;
}

rp_status rp_parse_instruction(rp_program *p, const rp_json *row, size_t index, const rp_parsed_functions *known,
                               const char *where, rp_error *err)
{
    const char *name = rp_json_string_value(rp_json_array_get(row, 0));
    const rp_json *attrs = rp_json_array_get(row, 1), *in = rp_json_array_get(row, 2),
                  *outs = rp_json_array_get(row, 3);
    const rp_region_kind kind = name ? rp_region_find(name) : RP_REGION_KINDS;
    const rp_op *op = kind < RP_REGION_KINDS ? rp_region_op(kind) : name ? rp_op_find(name) : NULL;
    size_t n_in = rp_json_array_size(in);
    uint32_t *operands;
    rp_status status;

    if (name && !op)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: instruction %zu: unknown operation '%.32s'", where, index, name);
    if (rp_json_array_size(row) != 4 || !op || !rp_json_is_object(attrs) || !rp_json_is_array(in) ||
        !rp_json_is_array(outs))
        return malformed(where, "instruction", index, err);
    operands = rp_reallocarray(NULL, n_in, sizeof *operands);
    if (!operands)
        return rp_no_memory(err);
    for (size_t i = 0; i < n_in; i++) {
        const rp_json *v = rp_json_array_get(in, i);

        operands[i] =
            rp_json_is_integer(v) && rp_json_integer_value(v) >= 0 && rp_json_integer_value(v) < RP_PROGRAM_MAX_VALUES
                ? (uint32_t)rp_json_integer_value(v)
                : UINT32_MAX;
    }
    status = kind < RP_REGION_KINDS ? add_region(p, kind, attrs, operands, n_in, known, index, where, err)
                                    : add_plain(p, op, attrs, operands, n_in, index, where, err);
    rp_free(operands);
    if (status != RP_OK)
        return status == RP_ENOMEM || status == RP_EFORMAT
                   ? status
                   : rp_fail_at(err, RP_EFORMAT, "%s: instruction %zu", where, index);
    return same_numbers(p, outs) ? RP_OK : malformed(where, "the numbering of instruction", index, err);
}

static rp_status parse_output(rp_program *p, const rp_json *row, size_t index, const char *where, rp_error *err)
{
    int kind = find(rp_json_string_value(rp_json_array_get(row, 0)), output_kinds, 2);
    const char *name = rp_json_string_value(rp_json_array_get(row, 1));
    const rp_json *value = rp_json_array_get(row, 2);
    size_t before = p->n_outputs;
    rp_status status;

    if (rp_json_array_size(row) != 3 || kind < 0 || !name || !rp_json_is_integer(value) ||
        rp_json_integer_value(value) < 0 || rp_json_integer_value(value) >= (int64_t)p->n_values)
        return malformed(where, "output", index, err);
    status = rp_program_add_output(p, (rp_output_kind)kind, name, (uint32_t)rp_json_integer_value(value), err);
    if (status == RP_OK && p->n_outputs == before)
        return malformed(where, "repeated output", index, err);
    return status == RP_OK || status == RP_ENOMEM ? status
                                                  : rp_fail_at(err, RP_EFORMAT, "%s: output %zu", where, index);
}

static rp_status parse_values(rp_program *p, const rp_json *json, const rp_parsed_functions *known, const char *where,
                              rp_error *err)
{
    const rp_json *inputs = rp_json_object_get(json, "inputs"), *instrs = rp_json_object_get(json, "instructions");
    const rp_json *outputs = rp_json_object_get(json, "outputs");
    size_t next = 0;
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && (i < rp_json_array_size(instrs) || next < rp_json_array_size(inputs));) {
        const rp_json *row = rp_json_array_get(inputs, next);

        if (row && rp_json_integer_value(rp_json_array_get(row, 0)) == (int64_t)p->n_values &&
            rp_json_is_integer(rp_json_array_get(row, 0))) {
            status = parse_input(p, row, next, where, err);
            next++;
        } else if (i < rp_json_array_size(instrs)) {
            status = rp_parse_instruction(p, rp_json_array_get(instrs, i), i, known, where, err);
            i++;
        } else {
            status = malformed(where, "the numbering of input", next, err);
        }
    }
    for (size_t i = 0; status == RP_OK && i < rp_json_array_size(outputs); i++)
        status = parse_output(p, rp_json_array_get(outputs, i), i, where, err);
    return status;
}

static rp_status parse_body(rp_program *p, const rp_json *json, const char *where, rp_error *err)
{
    const rp_json *contract = rp_json_object_get(json, "contract"), *functions = rp_json_object_get(json, "functions");
    rp_parsed_functions known = {0};
    rp_status status = RP_OK;

    if (rp_json_object_size(json) != (functions ? 5 : 4) || !rp_json_is_array(rp_json_object_get(json, "inputs")) ||
        !rp_json_is_array(rp_json_object_get(json, "instructions")) ||
        !rp_json_is_array(rp_json_object_get(json, "outputs")) || !rp_json_is_integer(contract))
        return rp_fail(err, RP_EFORMAT, "%s: not a program", where);
    if (rp_json_integer_value(contract) != RP_CONTRACT_VERSION)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: numeric contract %lld, this build knows %d", where,
                       (long long)rp_json_integer_value(contract), RP_CONTRACT_VERSION);
    if (functions)
        status = rp_parse_functions(&known, functions, where, err);
    p->compared = known.compared;
    if (status == RP_OK)
        status = parse_values(p, json, &known, where, err);
    if (status == RP_OK && rp_program_check_states(p, err) != RP_OK)
        status = rp_fail_at(err, RP_EFORMAT, "%s", where);
    if (status == RP_OK)
        status = rp_parsed_functions_check(&known, p, where, err);
    rp_parsed_functions_free(&known);
    return status;
}

/* One program has one text: an attribute spelt differently, or anything else the writer would not write, is refused. */
static rp_status check_canonical(const rp_program *p, const void *bytes, size_t size, const char *where, rp_error *err)
{
    rp_buffer again = {0};
    rp_status status = rp_program_write(p, &again, err);

    if (status == RP_OK && (again.size != size || memcmp(again.data, bytes, size) != 0))
        status = rp_fail(err, RP_EFORMAT, "%s: not the canonical form of its program", where);
    rp_buffer_free(&again);
    return status;
}

rp_status rp_program_parse(rp_program **out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    rp_json *json;
    rp_program *p;
    rp_status status = rp_json_parse_within(&json, bytes, size, RP_JSON_PROGRAM_MEMORY, true, where, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    p = rp_program_new();
    status = p ? parse_body(p, json, where, err) : rp_no_memory(err);
    rp_json_free(json);
    if (status == RP_OK)
        status = check_canonical(p, bytes, size, where, err);
    if (status != RP_OK)
        rp_program_free(p);
    else
        *out = p;
    return status;
}
