/* SPDX-License-Identifier: Apache-2.0
 * The text of functions and regions (audit/FORMAT.md, "functions"), and the walk that numbers functions: by completion,
 * equal texts once. So the order of building, and whether two equal functions were made apart, shows nowhere. */
#include <string.h>

#include "base/memory.h"
#include "core/program/program_text.h"

/* ---- text ---- */

static void put_key(rp_buffer *out, const char *key)
{
    rp_buffer_text(out, key);
}

static void put_bool(rp_buffer *out, bool v)
{
    rp_buffer_text(out, v ? "true" : "false");
}

static void put_functions(rp_buffer *out, const rp_region *r, rp_function_namer namer)
{
    for (size_t i = 0; i < r->n_functions; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        namer.put(out, namer.self, r->function[i]);
    }
}

const char *rp_combine_name(rp_combine combine)
{
    static const char *const names[] = {"tree", "stack", "concat"};

    return names[combine];
}

static void put_map(rp_buffer *out, const rp_region *r, rp_function_namer namer)
{
    put_key(out, "\"combine\":[");
    for (size_t i = 0; i < r->n_combine; i++) {
        rp_buffer_text(out, i ? ",\"" : "\"");
        rp_buffer_text(out, rp_combine_name((rp_combine)r->combine[i]));
        rp_buffer_u8(out, '"');
    }
    put_key(out, "],\"cuts\":[");
    for (size_t i = 0; i < r->n_cuts; i++) {
        if (i)
            rp_buffer_u8(out, ',');
        rp_put_int(out, (int64_t)r->cuts[i]);
    }
    put_key(out, "],\"first\":");
    rp_put_int(out, (int64_t)r->first);
    put_key(out, ",\"functions\":[");
    put_functions(out, r, namer);
    put_key(out, "],\"sliced\":");
    rp_put_int(out, (int64_t)r->sliced);
}

void rp_region_text(rp_buffer *out, const rp_region *r, rp_function_namer namer)
{
    rp_buffer_u8(out, '{');
    switch (r->kind) {
    case RP_CALL:
        put_key(out, "\"function\":");
        put_functions(out, r, namer);
        break;
    case RP_SCAN:
        put_key(out, "\"carried\":");
        rp_put_int(out, (int64_t)r->carried);
        put_key(out, ",\"function\":");
        put_functions(out, r, namer);
        put_key(out, ",\"history\":");
        put_bool(out, r->history);
        put_key(out, ",\"reverse\":");
        put_bool(out, r->reverse);
        put_key(out, ",\"sliced\":");
        rp_put_int(out, (int64_t)r->sliced);
        put_key(out, ",\"times\":");
        rp_put_int(out, (int64_t)r->times);
        break;
    case RP_MAP:
        put_map(out, r, namer);
        break;
    case RP_COND:
        put_key(out, "\"functions\":[");
        put_functions(out, r, namer);
        rp_buffer_u8(out, ']');
        break;
    default:
        put_key(out, "\"body\":");
        namer.put(out, namer.self, r->function[0]);
        put_key(out, ",\"carried\":");
        rp_put_int(out, (int64_t)r->carried);
        put_key(out, ",\"limit\":");
        rp_put_int(out, (int64_t)r->times);
        put_key(out, ",\"predicate\":");
        namer.put(out, namer.self, r->function[1]);
    }
    rp_buffer_u8(out, '}');
}

void rp_function_text(rp_buffer *out, const rp_function *f, rp_function_namer namer)
{
    rp_buffer_text(out, "{\"instructions\":[");
    rp_put_instructions(out, f->body, namer);
    rp_buffer_text(out, "],\"outputs\":[");
    for (size_t i = 0; i < rp_function_outs(f); i++) {
        if (i)
            rp_buffer_u8(out, ',');
        rp_put_int(out, f->body->output[i].value);
    }
    rp_buffer_text(out, "],\"parameters\":[");
    for (size_t i = 0; i < rp_function_params(f); i++) {
        rp_buffer_text(out, i ? ",[" : "[");
        rp_put_type(out, rp_function_param(f, i));
        rp_buffer_u8(out, ']');
    }
    rp_buffer_text(out, "]}");
}

/* ---- the walk ---- */

/* Where a function that was walked is among the distinct ones. */
struct rp_function_seen {
    const rp_function *function;
    size_t number;
};

void rp_functions_free(rp_functions *w)
{
    for (size_t i = 0; i < w->n; i++)
        rp_buffer_free(&w->text[i]);
    rp_free(w->text);
    rp_free(w->function);
    rp_free(w->seen);
    rp_index_free(&w->by_address);
    rp_index_free(&w->by_text);
    *w = (rp_functions){0};
}

static uint64_t address_hash(const rp_functions *w, const rp_function *f)
{
    return rp_index_hash(&w->by_address, &f, sizeof f);
}

size_t rp_functions_index(const rp_functions *w, const rp_function *f)
{
    for (rp_index_walk at = rp_index_find(&w->by_address, address_hash(w, f)); rp_index_next(&at);)
        if (w->seen[at.at].function == f)
            return w->seen[at.at].number;
    return SIZE_MAX;
}

static rp_status note(rp_functions *w, const rp_function *f, size_t number, rp_error *err)
{
    if (w->n_seen == w->cap_seen) {
        size_t cap = w->cap_seen ? 2 * w->cap_seen : 16;
        struct rp_function_seen *seen = rp_reallocarray(w->seen, cap, sizeof *seen);

        if (!seen)
            return rp_no_memory(err);
        w->seen = seen;
        w->cap_seen = cap;
    }
    if (!rp_index_reserve(&w->by_address))
        return rp_no_memory(err);
    w->seen[w->n_seen] = (struct rp_function_seen){f, number};
    rp_index_add(&w->by_address, address_hash(w, f), (uint32_t)w->n_seen++);
    return RP_OK;
}

static void put_number(rp_buffer *out, const void *self, const rp_function *f)
{
    rp_put_int(out, (int64_t)rp_functions_index(self, f));
}

/* The number of the function with this text; n when there is none yet. */
static size_t equal_text(const rp_functions *w, const rp_buffer *text)
{
    const uint64_t hash = rp_index_hash(&w->by_text, text->data, text->size);

    for (rp_index_walk at = rp_index_find(&w->by_text, hash); rp_index_next(&at);)
        if (w->text[at.at].size == text->size && memcmp(w->text[at.at].data, text->data, text->size) == 0)
            return at.at;
    return w->n;
}

static rp_status reserve(rp_functions *w, rp_error *err)
{
    if (w->n == RP_FUNCTIONS_MAX)
        return rp_fail(err, RP_ESHAPE, "program: more than %d functions", RP_FUNCTIONS_MAX);
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 16;
        const rp_function **function = rp_reallocarray(w->function, cap, sizeof *function);
        rp_buffer *texts;

        if (!function)
            return rp_no_memory(err);
        w->function = function;
        texts = rp_reallocarray(w->text, cap, sizeof *texts);
        if (!texts)
            return rp_no_memory(err);
        w->text = texts;
        w->cap = cap;
    }
    return rp_index_reserve(&w->by_text) ? RP_OK : rp_no_memory(err);
}

/* Operands and values of the regions of one body, for each function beyond a region's first. */
static uint64_t compared_in(const rp_program *body)
{
    uint64_t n = 0;

    for (size_t k = 0; k < body->n_instrs; k++) {
        const rp_instr *instr = &body->instr[k];

        if (instr->region)
            n += (uint64_t)(instr->region->n_functions - 1) * (instr->n_in + (size_t)instr->n_out);
    }
    return n;
}

/* Takes the text when it is kept. */
static rp_status append(rp_functions *w, const rp_function *f, const rp_buffer *text, rp_error *err)
{
    rp_status status = reserve(w, err);

    if (status != RP_OK)
        return status;
    rp_index_add(&w->by_text, rp_index_hash(&w->by_text, text->data, text->size), (uint32_t)w->n);
    w->function[w->n] = f;
    w->text[w->n++] = *text;
    w->values += f->body->n_values;
    w->compared += compared_in(f->body);
    if (w->values > RP_PROGRAM_MAX_VALUES)
        return rp_fail(err, RP_ESHAPE, "program: more than %d values in its functions", RP_PROGRAM_MAX_VALUES);
    return w->compared <= RP_COMPARED_MAX
               ? RP_OK
               : rp_fail(err, RP_ESHAPE,
                         "program: its functions' regions have more than %d operands and values, counted for each "
                         "function beyond their first",
                         RP_COMPARED_MAX);
}

static rp_status walk(rp_functions *w, const rp_program *p, rp_error *err);

/* A function is complete when those that it calls are: its text is then final. */
static rp_status complete(rp_functions *w, const rp_function *f, rp_error *err)
{
    rp_buffer text = {0};
    size_t number, before;
    rp_status status;

    if (rp_functions_index(w, f) != SIZE_MAX)
        return RP_OK;
    status = walk(w, f->body, err);
    if (status != RP_OK)
        return status;
    rp_function_text(&text, f, (rp_function_namer){put_number, w});
    status = rp_buffer_status(&text, err);
    number = status == RP_OK ? equal_text(w, &text) : 0;
    before = w->n;
    if (status == RP_OK)
        status = note(w, f, number, err);
    if (status == RP_OK && number == before)
        status = append(w, f, &text, err);
    if (w->n == before)
        rp_buffer_free(&text);
    return status;
}

static rp_status walk(rp_functions *w, const rp_program *p, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t k = 0; k < p->n_instrs && status == RP_OK; k++)
        for (size_t i = 0; p->instr[k].region && i < p->instr[k].region->n_functions && status == RP_OK; i++)
            status = complete(w, p->instr[k].region->function[i], err);
    return status;
}

rp_status rp_functions_of(rp_functions *out, const rp_program *p, rp_error *err)
{
    rp_status status;

    *out = (rp_functions){.values = p->n_values, .compared = compared_in(p)};
    status = walk(out, p, err);
    if (status != RP_OK)
        rp_functions_free(out);
    return status;
}
