/* SPDX-License-Identifier: Apache-2.0
 * Saved programs as models: what they must have, and the functions that a graph calls. Untrusted: each is read by the
 * parser of programs, which derives every type again, and is priced before anything is made of it. */
#include "core/recipe/recipe_program.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

const char *const rp_role_names[RP_ROLES] = {"program", "evaluate", "initial"};

/* Beyond it no block of rows could be computed by anybody. */
static const uint64_t most_work = (uint64_t)1 << 50, most_memory = (uint64_t)1 << 40;

void rp_model_program_free(rp_model_program *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < RP_ROLES; i++) {
        rp_json_free(m->text[i]);
        rp_function_release(m->function[i]);
    }
    rp_free(m->state);
    rp_free(m);
}

/* What is being made of one text. */
typedef struct reading {
    rp_model_program *m;
    rp_role role;
    const char *where;
    rp_program *p;    /* as read */
    rp_program *body; /* of the function */
    uint32_t *value;  /* of each value of p: its number in body; RP_NO_INSTR: not there */
    rp_error *err;
} reading;

static rp_status refuse(const reading *r, const char *what, const char *name)
{
    return rp_fail(r->err, RP_EFORMAT, "%s: key model.%s: %s%s%.64s", r->where, rp_role_names[r->role], what,
                   *name ? " " : "", name);
}

static const rp_program_state *find_state(const rp_model_program *m, const char *name)
{
    for (size_t i = 0; i < m->n_states; i++)
        if (strcmp(m->state[i].name, name) == 0)
            return &m->state[i];
    return NULL;
}

/* ---- what a program must have ---- */

static rp_status check_feed(reading *r, const rp_input *in)
{
    const rp_type *type = &r->p->value[in->value];
    const bool first = r->role == RP_ROLE_INITIAL;
    const rp_type rng = {.dtype = RP_I64, .rank = 1, .shape = {first ? 2 : 3}};

    if (strcmp(in->name, "rng") == 0) {
        if (r->role == RP_ROLE_EVALUATE)
            return refuse(r, "an evaluation takes no feed", "rng");
        *(first ? &r->m->initial_random : &r->m->random) = true;
        return rp_type_equal(type, &rng)
                   ? RP_OK
                   : refuse(r, first ? "expected i64 [2], seed and step, as feed" : "expected i64 [3] as feed",
                            in->name);
    }
    if (first || strcmp(in->name, "x") != 0)
        return refuse(r, first ? "expected rng as its only feed, found" : "expected the feeds x and rng, found",
                      in->name);
    if (r->m->on_text && (type->dtype != RP_I64 || type->rank != 2 || rp_type_count(type) == 0))
        return refuse(r, "expected windows of tokens, i64 [windows, length], as feed", "x");
    if (!r->m->on_text && (type->dtype != RP_F32 || type->rank < 2 || rp_type_count(type) == 0))
        return refuse(r, "expected rows of f32, [rows, ..], as feed", "x");
    if (r->role == RP_ROLE_EVALUATE && !rp_type_equal(type, &r->m->x))
        return refuse(r, "another shape than model.program has of the feed", "x");
    r->m->x = *type;
    return RP_OK;
}

/* Moments and copies of parameters have these names, and the optimizer's kernels want reals. */
enum { STATE_NAME_MAX = 64 };

static rp_status check_state(reading *r, const rp_input *in)
{
    const rp_type *type = &r->p->value[in->value];
    const rp_program_state *known = find_state(r->m, in->name);

    if (strncmp(in->name, "optim.", 6) == 0 || strncmp(in->name, "best.", 5) == 0)
        return refuse(r, "names that begin with optim. and best. are the trainer's: state", in->name);
    if (strlen(in->name) > STATE_NAME_MAX)
        return refuse(r, "names of states have at most 64 bytes, as their moments are named by them:", in->name);
    if (type->dtype != RP_F32 || type->rank > 4)
        return refuse(r, "expected f32 of at most 4 axes as state", in->name);
    if (r->role != RP_ROLE_FORWARD && (!known || !rp_type_equal(&known->type, type)))
        return refuse(r, "model.program has no such state of that shape:", in->name);
    if (r->role == RP_ROLE_FORWARD) {
        if (r->m->n_states == RP_PROGRAM_STATES)
            return refuse(r, "more than 512 states", "");
        (void)snprintf(r->m->state[r->m->n_states].name, RP_NAME_MAX, "%s", in->name);
        r->m->state[r->m->n_states++].type = *type;
    }
    return RP_OK;
}

static rp_status check_inputs(reading *r)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < r->p->n_inputs && status == RP_OK; i++) {
        const rp_input *in = &r->p->input[i];

        if (in->kind == RP_INPUT_FEED)
            status = check_feed(r, in);
        else if (in->kind == RP_INPUT_STATE)
            status = check_state(r, in);
        else
            status = refuse(r, "expected feeds and states, found data", in->name);
    }
    if (status == RP_OK && r->role != RP_ROLE_INITIAL && !rp_program_find_input(r->p, RP_INPUT_FEED, "x"))
        status = refuse(r, "expected rows as a feed", "x");
    return status;
}

static rp_status check_outputs(reading *r)
{
    const rp_output *logits = rp_program_find_output(r->p, RP_OUTPUT_RESULT, "logits");
    const bool first = r->role == RP_ROLE_INITIAL;
    const rp_type *type;

    for (size_t i = 0; i < r->p->n_outputs; i++)
        if ((r->p->output[i].kind == RP_OUTPUT_STATE) != first)
            return refuse(r,
                          first ? "expected states alone as outputs, found" : "expected results alone, found a state",
                          r->p->output[i].name);
    if (first)
        return r->p->n_outputs == r->m->n_states ? RP_OK : refuse(r, "does not make every state of model.program", "");
    if (!logits)
        return refuse(r, "expected the result", "logits");
    if (r->p->n_outputs != 1)
        return refuse(r, "expected logits as its only output, found also",
                      r->p->output[&r->p->output[0] == logits].name);
    type = &r->p->value[logits->value];
    if (r->m->on_text && (type->dtype != RP_F32 || type->rank != 3 || type->shape[0] != r->m->x.shape[0] ||
                          type->shape[1] != r->m->x.shape[1] || type->shape[2] == 0))
        return refuse(r, "expected f32 [windows, length, tokens], windows and length as x has them, as result",
                      "logits");
    if (!r->m->on_text &&
        (type->dtype != RP_F32 || type->rank != 2 || type->shape[0] != r->m->x.shape[0] || type->shape[1] == 0))
        return refuse(r, "expected f32 [rows, outputs], as many rows as x has, as result", "logits");
    if (r->role == RP_ROLE_EVALUATE && !rp_type_equal(type, &r->m->logits))
        return refuse(r, "another shape than model.program has of", "logits");
    r->m->logits = *type;
    return RP_OK;
}

/* ---- the function ---- */

static rp_status add_parameter(reading *r, rp_input_kind kind, const char *name, const rp_type *type)
{
    const rp_input *in = rp_program_find_input(r->p, kind, name);
    uint32_t number;
    rp_status status = rp_program_add_parameter(r->body, type, &number, r->err);

    if (status == RP_OK && in)
        r->value[in->value] = number;
    return status;
}

static rp_status add_parameters(reading *r)
{
    const bool first = r->role == RP_ROLE_INITIAL;
    const bool random = r->role == RP_ROLE_FORWARD ? r->m->random : first && r->m->initial_random;
    const rp_type rng = {.dtype = RP_I64, .rank = 1, .shape = {first ? 2 : 3}};
    rp_status status = first ? RP_OK : add_parameter(r, RP_INPUT_FEED, "x", &r->m->x);

    if (status == RP_OK && random)
        status = add_parameter(r, RP_INPUT_FEED, "rng", &rng);
    for (size_t i = 0; i < r->m->n_states && status == RP_OK && !first; i++)
        status = add_parameter(r, RP_INPUT_STATE, r->m->state[i].name, &r->m->state[i].type);
    return status;
}

/* A block of rows draws with the streams behind those of the block before it, 4,096 further on each (CONTRACT 12.1a).
 */
static rp_status check_stream(const reading *r, const rp_instr *instr)
{
    for (int i = 0; i < RP_MAX_ATTR; i++)
        if (instr->op->attr[i].kind == RP_ATTR_INT && strcmp(instr->op->attr[i].name, "stream") == 0 &&
            (instr->attr[i].i < 0 || instr->attr[i].i >= RP_PROGRAM_STREAMS))
            return rp_fail(r->err, RP_EFORMAT,
                           "%s: key model.%s: %s draws from stream %lld, expected 0 to %d: further ones are those of "
                           "other rows",
                           r->where, rp_role_names[r->role], instr->op->name, (long long)instr->attr[i].i,
                           RP_PROGRAM_STREAMS - 1);
    return RP_OK;
}

/* Of the program and of all functions that it executes. */
static rp_status check_streams(const reading *r)
{
    rp_functions known = {0};
    rp_status status = rp_functions_of(&known, r->p, r->err);

    for (size_t i = 0; i < r->p->n_instrs && status == RP_OK; i++)
        status = check_stream(r, &r->p->instr[i]);
    for (size_t f = 0; f < known.n; f++)
        for (size_t i = 0; i < known.function[f]->body->n_instrs && status == RP_OK; i++)
            status = check_stream(r, &known.function[f]->body->instr[i]);
    rp_functions_free(&known);
    return status;
}

static rp_status copy_instr(reading *r, const rp_instr *instr, size_t number)
{
    const size_t n = instr->n_in + (size_t)instr->n_out;
    uint32_t *in = rp_reallocarray(NULL, n ? n : 1, sizeof *in), *out;
    rp_status status = RP_OK;

    if (!in)
        return rp_no_memory(r->err);
    out = in + instr->n_in;
    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++) {
        in[i] = r->value[instr->in[i]];
        if (in[i] == RP_NO_INSTR)
            status = rp_fail(r->err, RP_EFORMAT,
                             "%s: key model.%s: instruction %zu reads a state, of which there is none yet", r->where,
                             rp_role_names[r->role], number);
    }
    if (status == RP_OK)
        status = instr->region ? rp_program_add_region(r->body, instr->region, in, instr->n_in, out, r->err)
                               : rp_program_add_instr(r->body, instr->op, instr->attr, in, instr->n_in, out, r->err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        r->value[instr->out[i]] = out[i];
    rp_free(in);
    return status;
}

static rp_status add_return(reading *r, rp_output_kind kind, const char *name, const rp_type *type)
{
    const rp_output *made = rp_program_find_output(r->p, kind, name);

    if (!made || !rp_type_equal(&r->p->value[made->value], type))
        return refuse(r, "does not make the state, or with another shape than model.program has of it:", name);
    if (r->value[made->value] == RP_NO_INSTR)
        return refuse(r, "has no first value for", name);
    return rp_program_add_return(r->body, r->value[made->value], r->err);
}

static rp_status make_body(reading *r)
{
    rp_status status = RP_OK;

    r->body = rp_program_new();
    r->value = rp_reallocarray(NULL, r->p->n_values ? r->p->n_values : 1, sizeof *r->value);
    if (!r->body || !r->value)
        return rp_no_memory(r->err);
    for (size_t i = 0; i < r->p->n_values; i++)
        r->value[i] = RP_NO_INSTR;
    status = add_parameters(r);
    for (size_t i = 0; i < r->p->n_instrs && status == RP_OK; i++)
        status = copy_instr(r, &r->p->instr[i], i);
    if (status == RP_OK && r->role != RP_ROLE_INITIAL)
        return add_return(r, RP_OUTPUT_RESULT, "logits", &r->m->logits);
    for (size_t i = 0; i < r->m->n_states && status == RP_OK; i++)
        status = add_return(r, RP_OUTPUT_STATE, r->m->state[i].name, &r->m->state[i].type);
    return status;
}

static rp_status parse(reading *r)
{
    char where[160];
    rp_buffer text = {0};
    rp_price price;
    rp_status status = rp_json_write(r->m->text[r->role], &text, r->err);

    (void)snprintf(where, sizeof where, "%.96s: key model.%s", r->where, rp_role_names[r->role]);
    if (status == RP_OK && text.size > RP_PROGRAM_BYTES)
        status =
            rp_fail(r->err, RP_EFORMAT, "%s: %zu bytes, expected at most %d", where, text.size, (int)RP_PROGRAM_BYTES);
    if (status == RP_OK)
        status = rp_program_parse(&r->p, text.data, text.size, where, r->err);
    rp_buffer_free(&text);
    if (status != RP_OK)
        return status;
    price = rp_program_price(r->p);
    if (price.work > most_work || price.memory > most_memory)
        return rp_fail(r->err, RP_EFORMAT,
                       "%s: takes %llu operations on elements and %llu bytes of values, expected at most 2^50 and 2^40",
                       where, (unsigned long long)price.work, (unsigned long long)price.memory);
    return RP_OK;
}

static rp_status read_role(rp_model_program *m, rp_role role, const char *where, rp_error *err)
{
    reading r = {.m = m, .role = role, .where = where, .err = err};
    rp_status status = parse(&r);

    if (status == RP_OK)
        status = check_inputs(&r);
    if (status == RP_OK)
        status = check_outputs(&r);
    if (status == RP_OK && role != RP_ROLE_INITIAL)
        status = check_streams(&r);
    if (status == RP_OK)
        status = make_body(&r);
    if (status == RP_OK) {
        status = rp_function_new(&m->function[role], r.body, err);
        r.body = NULL;
        if (status == RP_ESHAPE)
            status = rp_fail_at(err, RP_EFORMAT, "%s: key model.%s", where, rp_role_names[role]);
    }
    if (r.p)
        rp_program_free(r.p);
    if (r.body)
        rp_program_free(r.body);
    rp_free(r.value);
    return status;
}

rp_status rp_model_program_new(rp_model_program **out, rp_json *const *text, bool on_text, const char *where,
                               rp_error *err)
{
    rp_model_program *m = rp_calloc(1, sizeof *m);
    rp_status status = RP_OK;

    *out = NULL;
    if (!m)
        return rp_no_memory(err);
    m->on_text = on_text;
    m->state = rp_calloc(RP_PROGRAM_STATES, sizeof *m->state);
    if (!m->state)
        status = rp_no_memory(err);
    for (size_t i = 0; i < RP_ROLES; i++)
        m->text[i] = text[i] ? rp_json_share(text[i]) : NULL;
    for (size_t i = 0; i < RP_ROLES && status == RP_OK; i++)
        if (m->text[i])
            status = read_role(m, (rp_role)i, where, err);
    if (status == RP_OK && m->n_states == 0)
        status =
            rp_fail(err, RP_EFORMAT, "%s: key model.program: it has no state, so there is nothing to train", where);
    if (status == RP_OK && m->random && !m->function[RP_ROLE_EVALUATE])
        status =
            rp_fail(err, RP_EFORMAT,
                    "%s: key model.evaluate: required where model.program has a feed rng: the same without it", where);
    if (status == RP_OK && !m->random && m->function[RP_ROLE_EVALUATE])
        status =
            rp_fail(err, RP_EFORMAT,
                    "%s: key model.evaluate: only where model.program has a feed rng: without it that evaluates, so "
                    "leave this out",
                    where);
    if (status != RP_OK)
        rp_model_program_free(m);
    else
        *out = m;
    return status;
}
