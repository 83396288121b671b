/* SPDX-License-Identifier: Apache-2.0
 * What tells two programs apart, by their texts: the first input, instruction, attribute or output that differs, inside
 * a function where one does. Values can be compared as long as the same operations have the same operands: programs
 * that differ in attributes alone are alike. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "audit/replay/diff_private.h"
#include "audit/replay/function_names.h"
#include "base/memory.h"
#include "core/program/program_text.h"

enum { SHOWN = 100 }; /* bytes of a value's text */

typedef struct comparison {
    rp_function_names names[2];
    size_t *partner; /* of A's functions: 1 + the number of the one of B's that it was compared with */
    rp_buffer *out;
    bool told, alike;
} comparison;

/* Two bodies that are compared: of the programs, or of functions of them. */
typedef struct bodies {
    const rp_program *a, *b;
    const rp_function *fa, *fb; /* NULL: the programs' own */
} bodies;

/* ---- words: only the first difference is told ---- */

static void begin(comparison *c, const bodies *at)
{
    c->told = true;
    if (at->fa)
        rp_buffer_printf(c->out, "function f%zu (A #%.4s, B #%.4s), ", rp_functions_index(&c->names[0].known, at->fa),
                         rp_function_digest(&c->names[0], at->fa), rp_function_digest(&c->names[1], at->fb));
}

static void tell(comparison *c, const bodies *at, const char *format, ...) RP_PRINTF(3, 4);
static void tell(comparison *c, const bodies *at, const char *format, ...)
{
    char text[400];
    va_list args;

    if (c->told)
        return;
    begin(c, at);
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rp_buffer_text(c->out, text);
}

static void put_shown(rp_buffer *out, const rp_json *value)
{
    rp_buffer text = {0};

    if (!value)
        rp_buffer_text(out, "(absent)");
    else if (rp_json_write(value, &text, NULL) == RP_OK) {
        rp_buffer_append(out, text.data, text.size < SHOWN ? text.size : SHOWN);
        rp_buffer_text(out, text.size < SHOWN ? "" : "...");
    }
    rp_buffer_free(&text);
}

static void put_both(rp_buffer *out, const rp_json *a, const rp_json *b)
{
    rp_buffer_text(out, ": A ");
    put_shown(out, a);
    rp_buffer_text(out, ", B ");
    put_shown(out, b);
}

/* Lists of one length differ in an element, others as a whole. */
static void put_list(rp_buffer *out, const rp_json *a, const rp_json *b)
{
    size_t i = 0;

    if (!rp_json_is_array(a) || !rp_json_is_array(b) || rp_json_array_size(a) != rp_json_array_size(b)) {
        put_both(out, a, b);
        return;
    }
    while (i < rp_json_array_size(a) && rp_json_equal(rp_json_array_get(a, i), rp_json_array_get(b, i)))
        i++;
    rp_buffer_printf(out, "[%zu]", i);
    put_both(out, rp_json_array_get(a, i), rp_json_array_get(b, i));
}

/* The first attribute that differs, in the order of their names. */
static void put_attribute(rp_buffer *out, const rp_json *a, const rp_json *b)
{
    const char *key;
    rp_json *value;

    rp_json_object_foreach ((rp_json *)a, key, value)
        if (!rp_json_equal(value, rp_json_object_get(b, key))) {
            rp_buffer_printf(out, ", %s", key);
            put_list(out, value, rp_json_object_get(b, key));
            return;
        }
}

/* ["mul",{},[1,2],[3]] on both sides. */
static void put_texts(rp_buffer *out, const rp_buffer *a, const rp_buffer *b)
{
    static const char *const part[] = {"", "", ", operands", ", outputs"};
    rp_json *x = NULL, *y = NULL;

    if (rp_json_parse(&x, a->data, a->size, true, "A", NULL) == RP_OK &&
        rp_json_parse(&y, b->data, b->size, true, "B", NULL) == RP_OK) {
        const rp_json *op = rp_json_array_get(x, 0);
        size_t i = 0;

        while (i < 4 && rp_json_equal(rp_json_array_get(x, i), rp_json_array_get(y, i)))
            i++;
        if (i > 0)
            rp_buffer_printf(out, ", %s", rp_json_string_value(op));
        if (i == 0) {
            rp_buffer_text(out, ", operation");
            put_both(out, op, rp_json_array_get(y, 0));
        } else if (i == 1)
            (void)put_attribute(out, rp_json_array_get(x, 1), rp_json_array_get(y, 1));
        else if (i < 4) {
            rp_buffer_text(out, part[i]);
            put_list(out, rp_json_array_get(x, i), rp_json_array_get(y, i));
        }
    }
    rp_json_free(x);
    rp_json_free(y);
}

/* ---- instructions ---- */

/* Functions are compared by themselves. */
static void put_function(rp_buffer *out, const void *self, const rp_function *function)
{
    (void)self;
    (void)function;
    rp_buffer_u8(out, '0');
}

static bool same_types(const bodies *at, const rp_instr *x, const rp_instr *y)
{
    bool same = x->n_out == y->n_out;

    for (int i = 0; i < x->n_out && same; i++)
        same = rp_type_equal(&at->a->value[x->out[i]], &at->b->value[y->out[i]]);
    return same;
}

static bool same_functions(const comparison *c, const rp_region *x, const rp_region *y)
{
    bool same = x->n_functions == y->n_functions;

    for (size_t i = 0; i < x->n_functions && same; i++)
        same = strcmp(rp_function_digest(&c->names[0], x->function[i]),
                      rp_function_digest(&c->names[1], y->function[i])) == 0;
    return same;
}

static rp_status compare_bodies(comparison *c, const bodies *at, rp_error *err);

/* Regions that differ in their functions alone. */
static rp_status compare_functions(comparison *c, const rp_region *x, const rp_region *y, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < x->n_functions && status == RP_OK; i++) {
        const bodies inner = {x->function[i]->body, y->function[i]->body, x->function[i], y->function[i]};
        const size_t number = rp_functions_index(&c->names[0].known, inner.fa),
                     partner = 1 + rp_functions_index(&c->names[1].known, inner.fb);

        if (strcmp(rp_function_digest(&c->names[0], inner.fa), rp_function_digest(&c->names[1], inner.fb)) == 0 ||
            c->partner[number] == partner)
            continue;
        c->alike = c->alike && c->partner[number] == 0; /* else one of A's is two of B's */
        c->partner[number] = partner;
        status = compare_bodies(c, &inner, err);
    }
    return status;
}

/* But for functions; *same: the texts are equal. */
static rp_status compare_texts(comparison *c, const bodies *at, const rp_instr *x, const rp_instr *y, bool *same,
                               rp_error *err)
{
    rp_buffer a = {0}, b = {0};
    rp_status status;

    rp_put_instruction(&a, x, (rp_function_namer){put_function, NULL});
    rp_put_instruction(&b, y, (rp_function_namer){put_function, NULL});
    status = a.failed || b.failed ? rp_no_memory(err) : RP_OK;
    *same = status == RP_OK && a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    if (status == RP_OK && !*same && !c->told) {
        begin(c, at);
        rp_buffer_printf(c->out, "instruction %zu", (size_t)(x - at->a->instr));
        put_texts(c->out, &a, &b);
    }
    rp_buffer_free(&a);
    rp_buffer_free(&b);
    return status;
}

static rp_status compare_instr(comparison *c, const bodies *at, const rp_instr *x, const rp_instr *y, rp_error *err)
{
    const bool structure = x->op == y->op && x->n_in == y->n_in && memcmp(x->in, y->in, x->n_in * sizeof *x->in) == 0 &&
                           same_types(at, x, y);
    bool same;
    rp_status status = compare_texts(c, at, x, y, &same, err);

    if (status == RP_OK && same && x->region && !same_functions(c, x->region, y->region))
        status = compare_functions(c, x->region, y->region, err);
    c->alike = c->alike && structure && (same || !x->region);
    return status;
}

/* ---- inputs and outputs ---- */

static const char *const input_kinds[] = {"state", "data", "feed", "parameter"};

static const char *describe_input(char out[400], const rp_program *p, const rp_input *in)
{
    char type[192];

    rp_type_text(&p->value[in->value], type, sizeof type);
    (void)snprintf(out, 400, "%s%s%s %s", input_kinds[in->kind], *in->name ? " " : "", in->name, type);
    return out;
}

static void compare_input(comparison *c, const bodies *at, size_t i)
{
    const rp_input *x = &at->a->input[i], *y = &at->b->input[i];
    char left[400], right[400];

    if (x->kind == y->kind && strcmp(x->name, y->name) == 0 &&
        rp_type_equal(&at->a->value[x->value], &at->b->value[y->value]))
        return;
    c->alike = false;
    tell(c, at, "value %u is another input: A %.170s, B %.170s", (unsigned)x->value, describe_input(left, at->a, x),
         describe_input(right, at->b, y));
}

static void compare_outputs(comparison *c, const bodies *at)
{
    static const char *const kinds[] = {"state", "result", "value"};
    const size_t n = at->a->n_outputs < at->b->n_outputs ? at->a->n_outputs : at->b->n_outputs;

    for (size_t i = 0; i < n; i++) {
        const rp_output *x = &at->a->output[i], *y = &at->b->output[i];

        if (x->kind == y->kind && x->value == y->value && strcmp(x->name, y->name) == 0)
            continue;
        c->alike = false;
        tell(c, at, "output %zu: A %s %s, value %u, B %s %s, value %u", i, kinds[x->kind], x->name, (unsigned)x->value,
             kinds[y->kind], y->name, (unsigned)y->value);
        return;
    }
    if (at->a->n_outputs != at->b->n_outputs) {
        c->alike = false;
        tell(c, at, "A has %zu outputs, B %zu; the first %zu are the same", at->a->n_outputs, at->b->n_outputs, n);
    }
}

/* What comes next: an instruction, or else the input of that number. */
static const char *describe_maker(char out[400], const rp_program *p, uint32_t instr, size_t input)
{
    char text[400];

    if (instr == RP_NO_INSTR)
        (void)snprintf(out, 400, "an input, %.300s", describe_input(text, p, &p->input[input]));
    else
        (void)snprintf(out, 400, "instruction %u, %s", (unsigned)instr, p->instr[instr].op->name);
    return out;
}

/* Inputs and instructions in the order of their values, for as long as they correspond. */
static rp_status compare_bodies(comparison *c, const bodies *at, rp_error *err)
{
    const rp_program *a = at->a, *b = at->b;
    size_t v = 0, inputs = 0, instrs = 0;
    rp_status status = RP_OK;

    while (v < a->n_values && v < b->n_values && c->alike && status == RP_OK) {
        const uint32_t x = a->maker[v], y = b->maker[v];

        if (x != y) {
            char left[400], right[400];

            c->alike = false;
            tell(c, at, "the %zu instructions before are the same, then A has %.150s, B %.150s", instrs,
                 describe_maker(left, a, x, inputs), describe_maker(right, b, y, inputs));
        } else if (x == RP_NO_INSTR) {
            compare_input(c, at, inputs++);
            v++;
        } else {
            status = compare_instr(c, at, &a->instr[x], &b->instr[y], err);
            v += (size_t)a->instr[x].n_out;
            instrs++;
        }
    }
    if (status == RP_OK && c->alike && a->n_values != b->n_values) {
        c->alike = false;
        tell(c, at, "A has %zu instructions, B %zu; those of the shorter are the first of the longer", a->n_instrs,
             b->n_instrs);
    }
    if (status == RP_OK && c->alike)
        compare_outputs(c, at);
    return status;
}

rp_status rp_diff_programs(const rp_program *a, const rp_program *b, rp_buffer *out, bool *alike, rp_error *err)
{
    comparison c = {.out = out, .alike = true};
    rp_status status = rp_function_names_of(&c.names[0], a, err);

    if (status == RP_OK)
        status = rp_function_names_of(&c.names[1], b, err);
    if (status == RP_OK) {
        c.partner = rp_calloc(c.names[0].known.n ? c.names[0].known.n : 1, sizeof *c.partner);
        status = c.partner ? RP_OK : rp_no_memory(err);
    }
    if (status == RP_OK)
        status = compare_bodies(&c, &(bodies){a, b, NULL, NULL}, err);
    *alike = c.alike;
    rp_free(c.partner);
    rp_function_names_free(&c.names[0]);
    rp_function_names_free(&c.names[1]);
    return status;
}
