/* SPDX-License-Identifier: Apache-2.0
 * A value that differs, in words and as JSON: its place, its type, the element, both values and how far they are apart.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/replay/diff_private.h"
#include "audit/replay/function_names.h"
#include "base/memory.h"
#include "determinism/bits.h"

typedef struct teller {
    const rp_diff_value *value;
    const rp_program *body; /* A's, of the value */
    const rp_input *input;  /* NULL: an instruction makes it */
    const rp_instr *instr;
    size_t k, output; /* of instr: its place, and which of its values it is */
    rp_function_names names[2];
} teller;

static const char *const kinds[] = {"state", "data", "feed"};

/* ---- places: instruction, frame, instruction, ... ---- */

static void put_place(rp_buffer *out, const teller *t)
{
    for (size_t i = 0; i < t->value->depth; i++) {
        const rp_diff_frame *f = &t->value->frame[i];

        rp_buffer_printf(out, "%zu/%s%" PRIu64 "/", f->instr,
                         f->kind == RP_COND ? "b"
                         : f->predicate     ? "p"
                                            : "",
                         f->number);
    }
    rp_buffer_printf(out, "%zu", t->k);
}

/* f3#9ac1, and what B has there if that is another. */
static void put_function(rp_buffer *out, const teller *t, const rp_diff_frame *f)
{
    const char *digest[2];
    size_t number[2];

    for (int i = 0; i < 2; i++) {
        digest[i] = rp_function_digest(&t->names[i], f->function[i]);
        number[i] = rp_functions_index(&t->names[i].known, f->function[i]);
    }
    rp_buffer_printf(out, "f%zu#%.4s", number[0], digest[0]);
    if (strcmp(digest[0], digest[1]) != 0)
        rp_buffer_printf(out, " (of B f%zu#%.4s)", number[1], digest[1]);
}

/* The place again, for people, from the inside out. */
static void put_path(rp_buffer *out, const teller *t)
{
    static const char *const frames[] = {[RP_CALL] = "",
                                         [RP_SCAN] = "iteration ",
                                         [RP_MAP] = "shard ",
                                         [RP_COND] = "branch ",
                                         [RP_WHILE] = "iteration "};
    const rp_diff_value *v = t->value;

    rp_buffer_printf(out, "place     instruction %zu", t->k);
    for (size_t i = v->depth; i-- > 0;) {
        const rp_diff_frame *f = &v->frame[i];

        rp_buffer_text(out, i + 1 == v->depth ? " of " : " in ");
        if (i + 1 == v->depth) {
            put_function(out, t, f);
            rp_buffer_text(out, ", in ");
        }
        if (f->predicate)
            rp_buffer_text(out, "the predicate of ");
        if (f->kind != RP_CALL)
            rp_buffer_printf(out, "%s%" PRIu64 " of ", frames[f->kind], f->number);
        rp_buffer_printf(out, "%s %zu", rp_region_op(f->kind)->name, f->instr);
    }
    rp_buffer_text(out, v->depth ? "\n" : " of the program\n");
    if (v->gathered)
        rp_buffer_text(out, "place     all values in its frames are the same: they are put together differently\n");
}

/* ---- elements ---- */

/* The element's index along each axis. */
static void index_of(const rp_type *type, size_t element, size_t index[RP_MAX_RANK])
{
    for (int i = type->rank; i-- > 0;) {
        index[i] = element % type->shape[i];
        element /= type->shape[i];
    }
}

static void put_element(rp_buffer *out, const teller *t)
{
    const rp_type *type = &t->body->value[t->value->value];
    size_t index[RP_MAX_RANK] = {0};
    char text[2][64];
    uint64_t apart = rp_ulps(t->value->bits[0], t->value->bits[1], type->dtype);

    index_of(type, t->value->element, index);
    for (int i = 0; i < 2; i++)
        rp_describe_element(text[i], sizeof text[i], t->value->bits[i], type->dtype);
    rp_buffer_text(out, "element   [");
    for (int i = 0; i < type->rank; i++)
        rp_buffer_printf(out, "%s%zu", i ? "," : "", index[i]);
    rp_buffer_printf(out, "]: A %s, B %s", text[0], text[1]);
    if (apart == UINT64_MAX)
        rp_buffer_text(out, ", one of them NaN");
    else if (RP_D_REAL & 1u << type->dtype)
        rp_buffer_printf(out, ", %" PRIu64 " %s in the last place of %s apart", apart, apart == 1 ? "unit" : "units",
                         rp_dtype_name(type->dtype));
    else if (type->dtype != RP_BOOL)
        rp_buffer_printf(out, ", %" PRIu64 " apart", apart);
    rp_buffer_u8(out, '\n');
}

static void put_lines(rp_buffer *out, const teller *t)
{
    char type[192];

    rp_type_text(&t->body->value[t->value->value], type, sizeof type);
    rp_buffer_text(out, "value     ");
    if (t->input) {
        rp_buffer_printf(out, "input %s %s, %s\n", kinds[t->input->kind], t->input->name, type);
    } else {
        put_place(out, t);
        rp_buffer_printf(out, " %s", t->instr->op->name);
        if (t->value->depth) {
            rp_buffer_text(out, " in ");
            put_function(out, t, &t->value->frame[t->value->depth - 1]);
        }
        rp_buffer_printf(out, ", output %zu, %s\n", t->output, type);
        put_path(out, t);
    }
    put_element(out, t);
}

/* ---- JSON ---- */

static rp_json *frame_json(const teller *t, const rp_diff_frame *f)
{
    rp_json *both[2];

    for (int i = 0; i < 2; i++)
        both[i] = rp_json_pack("{s:I, s:s}", "number", (int64_t)rp_functions_index(&t->names[i].known, f->function[i]),
                               "sha256", rp_function_digest(&t->names[i], f->function[i]));
    return rp_json_pack("{s:I, s:s, s:I, s:b, s:o, s:o}", "instruction", (int64_t)f->instr, "kind",
                        rp_region_op(f->kind)->name, "number", (int64_t)f->number, "predicate", f->predicate,
                        "function_a", both[0], "function_b", both[1]);
}

static rp_json *frames_json(const teller *t)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < t->value->depth && list; i++)
        if (rp_json_array_append_new(list, frame_json(t, &t->value->frame[i])) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    return list;
}

static rp_json *sizes_json(const size_t *size, int n)
{
    rp_json *list = rp_json_array();

    for (int i = 0; i < n && list; i++)
        if (rp_json_array_append_new(list, rp_json_integer((int64_t)size[i])) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    return list;
}

/* "0x3f800000 (1)" in its two parts. */
static rp_json *element_json(const void *element, rp_dtype dtype)
{
    char text[64], *space;

    rp_describe_element(text, sizeof text, element, dtype);
    space = strchr(text, ' ');
    *space = '\0';
    return rp_json_pack("{s:s, s:o}", "bits", text, "value", rp_json_stringn(space + 2, strlen(space + 2) - 1));
}

/* Distances do not fit the integers of JSON, so they are texts. */
static rp_json *apart_json(const teller *t, rp_dtype dtype)
{
    const uint64_t apart = rp_ulps(t->value->bits[0], t->value->bits[1], dtype);
    char text[24];

    if (apart == UINT64_MAX || dtype == RP_BOOL)
        return rp_json_null();
    (void)snprintf(text, sizeof text, "%" PRIu64, apart);
    return rp_json_string(text);
}

/* What makes it: an input, or an instruction. */
static rp_json *maker_json(const teller *t)
{
    rp_buffer place = {0};
    rp_json *made;

    if (t->input)
        return rp_json_pack("{s:s, s:s}", "input", kinds[t->input->kind], "name", t->input->name);
    put_place(&place, t);
    rp_buffer_u8(&place, 0);
    made = place.failed ? NULL
                        : rp_json_pack("{s:s, s:I, s:s, s:I, s:b, s:o}", "place", (char *)place.data, "instruction",
                                       (int64_t)t->k, "operation", t->instr->op->name, "output", (int64_t)t->output,
                                       "gathered", t->value->gathered, "frames", frames_json(t));
    rp_buffer_free(&place);
    return made;
}

static rp_json *value_json(const teller *t)
{
    const rp_type *type = &t->body->value[t->value->value];
    size_t index[RP_MAX_RANK] = {0};

    index_of(type, t->value->element, index);
    return rp_json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "made_by", maker_json(t), "dtype",
                        rp_dtype_name(type->dtype), "shape", sizes_json(type->shape, type->rank), "element",
                        sizes_json(index, type->rank), "a", element_json(t->value->bits[0], type->dtype), "b",
                        element_json(t->value->bits[1], type->dtype), "units_apart", apart_json(t, type->dtype));
}

rp_status rp_diff_put_value(findings *f, const rp_diff_value *value, rp_program *const program[2], rp_error *err)
{
    teller t = {.value = value, .body = value->body[0]};
    rp_status status = rp_function_names_of(&t.names[0], program[0], err);

    if (status == RP_OK)
        status = rp_function_names_of(&t.names[1], program[1], err);
    if (status == RP_OK) {
        t.input = rp_program_input_of(t.body, value->value);
        if (!t.input) {
            t.k = t.body->maker[value->value];
            t.instr = &t.body->instr[t.k];
            t.output = value->value - t.instr->out[0];
        }
        put_lines(&f->text, &t);
        f->value = value_json(&t);
        status = f->value ? rp_buffer_status(&f->text, err) : rp_no_memory(err);
    }
    rp_function_names_free(&t.names[0]);
    rp_function_names_free(&t.names[1]);
    return status;
}
