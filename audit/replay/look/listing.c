/* SPDX-License-Identifier: Apache-2.0
 * The program of a step, a line an instruction, without computing anything. */
#include <inttypes.h>
#include <stdio.h>

#include "audit/replay/look/look.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/program/program_text.h"

static rp_json *name_json(const rp_program *body, uint32_t value)
{
    rp_buffer text = {0};

    rp_look_put_name(&text, body, value);
    return rp_look_words(&text);
}

/* Takes the item, which may be NULL, into the list, which may be NULL too. */
static rp_json *add(rp_json *list, rp_json *item)
{
    if (list && rp_json_array_append_new(list, item) == 0)
        return list;
    if (!list)
        rp_json_free(item);
    rp_json_free(list);
    return NULL;
}

/* The outputs of a body by the instruction that makes them, so that a listing is linear in the program. */
typedef struct outputs_of {
    const rp_program *body;
    uint32_t *first; /* of each instruction; RP_NO_INSTR: none */
    uint32_t *next;  /* of each output */
} outputs_of;

static rp_status outputs_of_body(outputs_of *o, const rp_program *body, rp_error *err)
{
    *o = (outputs_of){.body = body};
    o->first = rp_reallocarray(NULL, body->n_instrs, sizeof *o->first);
    o->next = rp_reallocarray(NULL, body->n_outputs, sizeof *o->next);
    if (!o->first || !o->next)
        return rp_no_memory(err);
    for (size_t k = 0; k < body->n_instrs; k++)
        o->first[k] = RP_NO_INSTR;
    for (size_t i = body->n_outputs; i-- > 0;) {
        const uint32_t maker = body->maker[body->output[i].value];

        o->next[i] = maker == RP_NO_INSTR ? RP_NO_INSTR : o->first[maker];
        if (maker != RP_NO_INSTR && body->output[i].name[0])
            o->first[maker] = (uint32_t)i;
    }
    return RP_OK;
}

static void outputs_free(outputs_of *o)
{
    rp_free(o->first);
    rp_free(o->next);
}

/* "state w", "result loss": what a value becomes. */
static void put_output(rp_buffer *out, const rp_output *output)
{
    rp_buffer_printf(out, "%s %s", output->kind == RP_OUTPUT_STATE ? "state" : "result", output->name);
}

static rp_json *outputs_json(const outputs_of *o, size_t k)
{
    rp_json *list = rp_json_array();

    for (uint32_t i = o->first[k]; i != RP_NO_INSTR && list; i = o->next[i]) {
        rp_buffer text = {0};

        put_output(&text, &o->body->output[i]);
        list = add(list, rp_look_words(&text));
    }
    return list;
}

static bool has_attributes(const rp_instr *instr)
{
    return !instr->region && instr->op->attr[0].kind != RP_ATTR_NONE;
}

/* An object; of a region, whose attributes are its functions and how they are executed, an empty one. */
static rp_json *attributes_json(const rp_instr *instr)
{
    rp_buffer text = {0};
    rp_json *json = NULL;

    if (instr->region)
        return rp_json_object();
    rp_put_attributes(&text, instr);
    if (rp_buffer_status(&text, NULL) == RP_OK)
        (void)rp_json_parse(&json, text.data, text.size, true, "attributes", NULL);
    rp_buffer_free(&text);
    return json;
}

static rp_json *row_json(const outputs_of *o, size_t k)
{
    const rp_program *body = o->body;
    const rp_instr *instr = &body->instr[k];
    rp_json *operands = rp_json_array(), *types = rp_json_array();
    char type[192];

    for (size_t i = 0; i < instr->n_in && operands; i++)
        operands = add(operands, name_json(body, instr->in[i]));
    for (int i = 0; i < instr->n_out && types; i++) {
        rp_type_text(&body->value[instr->out[i]], type, sizeof type);
        types = add(types, rp_json_string(type));
    }
    return rp_json_pack("{s:I, s:s, s:o, s:o, s:o, s:o}", "instruction", (int64_t)k, "operation", instr->op->name,
                        "attributes", attributes_json(instr), "operands", operands, "makes", outputs_json(o, k),
                        "types", types);
}

static void put_row(rp_buffer *out, const outputs_of *o, size_t k, const rp_functions *known)
{
    const rp_program *body = o->body;
    const rp_instr *instr = &body->instr[k];
    char type[192];

    rp_buffer_printf(out, "%6zu  %-20s", k, instr->op->name);
    for (int i = 0; i < instr->n_out; i++) {
        rp_type_text(&body->value[instr->out[i]], type, sizeof type);
        rp_buffer_printf(out, "%s%s", i ? ", " : "", type);
    }
    for (size_t i = 0; i < instr->n_in; i++) {
        rp_buffer_text(out, i ? ", " : " of ");
        rp_look_put_name(out, body, instr->in[i]);
    }
    if (has_attributes(instr)) {
        rp_buffer_u8(out, ' ');
        rp_put_attributes(out, instr);
    }
    for (size_t i = 0; instr->region && i < instr->region->n_functions; i++)
        rp_buffer_printf(out, "%sf%zu", i ? ", " : "; executes ",
                         rp_functions_index(known, instr->region->function[i]));
    for (uint32_t i = o->first[k]; i != RP_NO_INSTR; i = o->next[i]) {
        rp_buffer_text(out, " -> ");
        put_output(out, &body->output[i]);
    }
    rp_buffer_u8(out, '\n');
}

/* The rows of one body, in words, and appended to the list, if there is one; *list is NULL where memory runs out. */
static rp_status put_body(rp_buffer *text, rp_json **list, const rp_program *body, const rp_functions *known,
                          const char *digest, rp_error *err)
{
    outputs_of o;
    rp_json *rows = list ? rp_json_array() : NULL;
    rp_status status = outputs_of_body(&o, body, err);

    for (size_t k = 0; k < body->n_instrs && status == RP_OK && (rows || !list); k++) {
        put_row(text, &o, k, known);
        rows = list ? add(rows, row_json(&o, k)) : NULL;
    }
    outputs_free(&o);
    if (!list)
        return status == RP_OK ? rp_buffer_status(text, err) : status;
    *list = add(*list, rp_json_pack("{s:s?, s:o}", "digest", digest, "instructions", rows));
    if (status == RP_OK && !*list)
        status = rp_no_memory(err);
    return status == RP_OK ? rp_buffer_status(text, err) : status;
}

rp_status rp_look_list(rp_buffer *text, rp_json **json, const rp_program *program, rp_error *err)
{
    rp_function_names names;
    rp_status status = rp_function_names_of(&names, program, err);

    if (json)
        *json = NULL;
    if (status != RP_OK)
        return status;
    if (json)
        *json = rp_json_array();
    status = put_body(text, json, program, &names.known, NULL, err);
    for (size_t i = 0; i < names.known.n && status == RP_OK; i++) {
        const rp_program *body = names.known.function[i]->body;

        rp_buffer_printf(text, "function  f%zu#%.4s of %zu parameters\n", i, names.digest[i], body->n_inputs);
        status = put_body(text, json, body, &names.known, names.digest[i], err);
    }
    rp_function_names_free(&names);
    if (status != RP_OK && json) {
        rp_json_free(*json);
        *json = NULL;
    }
    return status;
}
