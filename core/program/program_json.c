/* SPDX-License-Identifier: Apache-2.0
 * Programs as canonical JSON and back (audit/FORMAT.md, "programs"):
 *   {"contract":1,"inputs":[[value,kind,name,dtype,[shape]],..],"instructions":[[op,{attributes},[in],[out]],..],
 *    "outputs":[[kind,name,value],..]}
 * The writer streams text, since programs are written on every eager step; the parser rebuilds through program.c. */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "core/program/program.h"
#include "base/text.h"
#include "determinism/decimal.h"
#include "determinism/pins.h"

static const char *const input_kinds[] = {"state", "data", "feed"};
static const char *const output_kinds[] = {"state", "result"};

static void put_int(rp_buffer *out, int64_t v)
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
        put_int(out, list[i]);
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
            put_int(out, attr->i);
            rp_buffer_u8(out, '"');
        } else {
            put_int(out, attr->i);
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
static void put_attrs(rp_buffer *out, const rp_instr *instr)
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
        put_int(out, value[i]);
    }
    rp_buffer_u8(out, ']');
}

static void put_input(rp_buffer *out, const rp_program *p, const rp_input *in)
{
    const rp_type *type = &p->value[in->value];
    int64_t shape[RP_MAX_RANK];

    for (int i = 0; i < type->rank; i++)
        shape[i] = (int64_t)type->shape[i];
    rp_buffer_u8(out, '[');
    put_int(out, in->value);
    rp_buffer_text(out, ",\"");
    rp_buffer_text(out, input_kinds[in->kind]);
    rp_buffer_text(out, "\",\"");
    rp_buffer_text(out, in->name);
    rp_buffer_text(out, "\",\"");
    rp_buffer_text(out, rp_dtype_name(type->dtype));
    rp_buffer_text(out, "\",");
    put_list(out, shape, type->rank);
    rp_buffer_u8(out, ']');
}

rp_status rp_program_write(const rp_program *p, rp_buffer *out, rp_error *err)
{
    rp_buffer_text(out, "{\"contract\":");
    put_int(out, RP_CONTRACT_VERSION);
    rp_buffer_text(out, ",\"inputs\":[");
    for (size_t i = 0; i < p->n_inputs; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        put_input(out, p, &p->input[i]);
    }
    rp_buffer_text(out, "],\"instructions\":[");
    for (size_t i = 0; i < p->n_instrs; i++) {
        const rp_instr *instr = &p->instr[i];

        rp_buffer_text(out, i ? ",[\"" : "[\"");
        rp_buffer_text(out, instr->op->name);
        rp_buffer_text(out, "\",");
        put_attrs(out, instr);
        rp_buffer_u8(out, ',');
        put_values(out, instr->in, instr->n_in);
        rp_buffer_u8(out, ',');
        put_values(out, instr->out, (size_t)instr->n_out);
        rp_buffer_u8(out, ']');
    }
    rp_buffer_text(out, "],\"outputs\":[");
    for (size_t i = 0; i < p->n_outputs; i++) {
        rp_buffer_text(out, i ? ",[\"" : "[\"");
        rp_buffer_text(out, output_kinds[p->output[i].kind]);
        rp_buffer_text(out, "\",\"");
        rp_buffer_text(out, p->output[i].name);
        rp_buffer_text(out, "\",");
        put_int(out, p->output[i].value);
        rp_buffer_u8(out, ']');
    }
    rp_buffer_text(out, "]}");
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

static rp_status parse_input(rp_program *p, const rp_json *row, size_t index, const char *where, rp_error *err)
{
    const char *name = rp_json_string_value(rp_json_array_get(row, 2));
    int kind = find(rp_json_string_value(rp_json_array_get(row, 1)), input_kinds, 3);
    int dtype = dtype_of(rp_json_string_value(rp_json_array_get(row, 3)));
    rp_attr shape = {0};
    rp_type type = {0};
    uint32_t value;
    rp_status status;

    if (rp_json_array_size(row) != 5 || kind < 0 || !name || dtype < 0 || !get_list(rp_json_array_get(row, 4), &shape))
        return malformed(where, "input", index, err);
    type.dtype = (rp_dtype)dtype;
    type.rank = shape.n;

    size_t bytes = rp_dtype_size(type.dtype);

    for (int i = 0; i < shape.n; i++) {
        if (shape.list[i] < 0 || (shape.list[i] && bytes > ((size_t)1 << 42) / (size_t)shape.list[i]))
            return malformed(where, "input", index, err);
        type.shape[i] = (size_t)shape.list[i];
        bytes *= shape.list[i] ? (size_t)shape.list[i] : 1;
    }
    status = rp_program_add_input(p, (rp_input_kind)kind, name, &type, &value, err);
    return status == RP_OK || status == RP_ENOMEM ? status : rp_fail_at(err, RP_EFORMAT, "%s: input %zu", where, index);
}

static rp_status parse_instr(rp_program *p, const rp_json *row, size_t index, const char *where, rp_error *err)
{
    const char *name = rp_json_string_value(rp_json_array_get(row, 0));
    const rp_json *attrs = rp_json_array_get(row, 1), *in = rp_json_array_get(row, 2),
                  *outs = rp_json_array_get(row, 3);
    const rp_op *op = name ? rp_op_find(name) : NULL;
    rp_attr attr[RP_MAX_ATTR];
    uint32_t out[RP_MAX_OUT], *operands;
    size_t known = 0, n_in = rp_json_array_size(in);
    rp_status status = RP_OK;

    memset(attr, 0, sizeof attr);
    if (name && !op)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: instruction %zu: unknown operation '%.32s'", where, index, name);
    if (rp_json_array_size(row) != 4 || !op || !rp_json_is_object(attrs) || !rp_json_is_array(in) ||
        !rp_json_is_array(outs) || rp_json_array_size(outs) != (size_t)op->n_out)
        return malformed(where, "instruction", index, err);
    for (int i = 0; i < RP_MAX_ATTR; i++) {
        if (op->attr[i].kind == RP_ATTR_NONE)
            continue;
        if (!get_attr(rp_json_object_get(attrs, op->attr[i].name), op->attr[i].kind, &attr[i]))
            return malformed(where, "an attribute of instruction", index, err);
        known++;
    }
    if (known != rp_json_object_size(attrs))
        return malformed(where, "an attribute of instruction", index, err);
    operands = rp_malloc(n_in * sizeof *operands);
    if (!operands)
        return rp_no_memory(err);
    for (size_t i = 0; i < n_in; i++) {
        const rp_json *v = rp_json_array_get(in, i);

        operands[i] =
            rp_json_is_integer(v) && rp_json_integer_value(v) >= 0 && rp_json_integer_value(v) < RP_PROGRAM_MAX_VALUES
                ? (uint32_t)rp_json_integer_value(v)
                : UINT32_MAX;
    }
    status = rp_program_add_instr(p, op, attr, operands, n_in, out, err);
    rp_free(operands);
    if (status != RP_OK)
        return status == RP_ENOMEM ? status : rp_fail_at(err, RP_EFORMAT, "%s: instruction %zu", where, index);
    for (int i = 0; i < op->n_out; i++)
        if (rp_json_integer_value(rp_json_array_get(outs, (size_t)i)) != (int64_t)out[i])
            return malformed(where, "the numbering of instruction", index, err);
    return RP_OK;
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

static rp_status parse_body(rp_program *p, const rp_json *json, const char *where, rp_error *err)
{
    const rp_json *inputs = rp_json_object_get(json, "inputs"), *instrs = rp_json_object_get(json, "instructions");
    const rp_json *outputs = rp_json_object_get(json, "outputs"), *contract = rp_json_object_get(json, "contract");
    size_t next = 0;
    rp_status status = RP_OK;

    if (rp_json_object_size(json) != 4 || !rp_json_is_array(inputs) || !rp_json_is_array(instrs) ||
        !rp_json_is_array(outputs) || !rp_json_is_integer(contract))
        return rp_fail(err, RP_EFORMAT, "%s: not a program", where);
    if (rp_json_integer_value(contract) != RP_CONTRACT_VERSION)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: numeric contract %lld, this build knows %d", where,
                       (long long)rp_json_integer_value(contract), RP_CONTRACT_VERSION);
    for (size_t i = 0; status == RP_OK && (i < rp_json_array_size(instrs) || next < rp_json_array_size(inputs));) {
        const rp_json *row = rp_json_array_get(inputs, next);

        if (row && rp_json_integer_value(rp_json_array_get(row, 0)) == (int64_t)p->n_values &&
            rp_json_is_integer(rp_json_array_get(row, 0))) {
            status = parse_input(p, row, next, where, err);
            next++;
        } else if (i < rp_json_array_size(instrs)) {
            status = parse_instr(p, rp_json_array_get(instrs, i), i, where, err);
            i++;
        } else {
            status = malformed(where, "the numbering of input", next, err);
        }
    }
    for (size_t i = 0; status == RP_OK && i < rp_json_array_size(outputs); i++)
        status = parse_output(p, rp_json_array_get(outputs, i), i, where, err);
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
