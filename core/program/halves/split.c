/* SPDX-License-Identifier: Apache-2.0
 * A program in two (rp_program_split): what it computes of data and of states that no step changes, weights turned or
 * joined above all, and the rest, which takes that as data. Every operation is a function of its operands, so both
 * together have the bits of the whole. */
#include <stdio.h>
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/program/function.h"
#include "core/program/program.h"
#include "rp/program.h"

typedef enum settled { VARIES, CONSTANT, SETTLED } settled;

typedef struct split {
    const rp_program *p;
    unsigned char *kind;    /* of each value */
    bool *carried, *wanted; /* of each value: first gives it to rest; the half that is written needs it */
    uint32_t *value;        /* of each value: what it is in the half that is written */
} split;

/* What makes more than it is made of, as a broadcast, is not worth keeping; what can fail fails in its step. */
static settled kind_of(const split *s, const rp_instr *instr)
{
    size_t of = 0, makes = 0;
    bool any = false;

    if (instr->region || instr->op->flags & RP_OP_INDEXED)
        return VARIES;
    for (size_t i = 0; i < instr->n_in; i++) {
        if (s->kind[instr->in[i]] == VARIES)
            return VARIES;
        any = any || s->kind[instr->in[i]] == SETTLED;
        of += rp_type_bytes(&s->p->value[instr->in[i]]);
    }
    for (int i = 0; i < instr->n_out; i++)
        makes += rp_type_bytes(&s->p->value[instr->out[i]]);
    return !any ? CONSTANT : makes > of ? VARIES : SETTLED;
}

/* Whether anything is carried. */
static bool find(split *s)
{
    const rp_program *p = s->p;
    bool any = false;

    for (size_t i = 0; i < p->n_inputs; i++)
        s->kind[p->input[i].value] =
            p->input[i].kind == RP_INPUT_DATA || p->input[i].kind == RP_INPUT_STATE ? SETTLED : VARIES;
    for (size_t o = 0; o < p->n_outputs; o++) {
        const rp_input *state = rp_program_state_of(p, &p->output[o]);

        if (state)
            s->kind[state->value] = VARIES;
    }
    for (size_t k = 0; k < p->n_instrs; k++) {
        const settled kind = kind_of(s, &p->instr[k]);

        for (int i = 0; i < p->instr[k].n_out; i++)
            s->kind[p->instr[k].out[i]] = (unsigned char)kind;
        for (size_t i = 0; i < p->instr[k].n_in && kind == VARIES; i++) {
            const uint32_t v = p->instr[k].in[i];

            s->carried[v] = s->kind[v] == SETTLED && p->maker[v] != RP_NO_INSTR;
            any = any || s->carried[v];
        }
    }
    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t v = p->output[o].value;

        s->carried[v] = s->carried[v] || (s->kind[v] == SETTLED && p->maker[v] != RP_NO_INSTR);
        any = any || s->carried[v];
    }
    return any;
}

/* Which values a half needs: of what it gives, and backwards. rest: of the instructions that vary, too. */
static void want(split *s, bool rest)
{
    const rp_program *p = s->p;

    for (size_t v = 0; v < p->n_values; v++)
        s->wanted[v] = !rest && s->carried[v];
    for (size_t o = 0; o < p->n_outputs && rest; o++)
        s->wanted[p->output[o].value] = true;
    for (size_t k = p->n_instrs; k-- > 0;) {
        const rp_instr *instr = &p->instr[k];
        bool needed = rest && s->kind[instr->out[0]] == VARIES;

        for (int i = 0; i < instr->n_out; i++)
            needed = needed || (s->wanted[instr->out[i]] && !(rest && s->carried[instr->out[i]]));
        for (size_t i = 0; i < instr->n_in && needed; i++)
            s->wanted[instr->in[i]] = true;
        for (int i = 0; i < instr->n_out && needed; i++)
            s->wanted[instr->out[i]] = true;
    }
}

/* The name under which first gives value v; no input of p has it. */
static void name_of(const split *s, uint32_t v, char name[RP_NAME_MAX])
{
    const char *more = "";
    static const char many[] = "________________";
    size_t n = 0;

    do {
        more = many + sizeof many - 1 - n;
        snprintf(name, RP_NAME_MAX, "settled%s.%u", more, v);
    } while (n++ < sizeof many - 1 &&
             (rp_program_find_input(s->p, RP_INPUT_DATA, name) || rp_program_find_input(s->p, RP_INPUT_STATE, name) ||
              rp_program_find_input(s->p, RP_INPUT_FEED, name)));
}

static rp_status write_input(split *s, rp_program *to, const rp_input *in, bool rest, rp_error *err)
{
    if (!s->wanted[in->value] && !(rest && s->kind[in->value] == VARIES)) /* feeds, and states that are updated, stay */
        return RP_OK;
    return rp_program_add_input(to, in->kind, in->name, &s->p->value[in->value], &s->value[in->value], err);
}

static rp_status write_instr(split *s, rp_program *to, const rp_instr *instr, bool rest, rp_error *err)
{
    const size_t n = instr->n_in + (size_t)instr->n_out;
    uint32_t *in;
    bool makes = false;
    rp_status status = RP_OK;

    for (int i = 0; i < instr->n_out && status == RP_OK; i++) {
        const uint32_t v = instr->out[i];
        char name[RP_NAME_MAX];

        makes = makes || (s->wanted[v] && !(rest && s->carried[v]));
        if (!rest || !s->carried[v])
            continue;
        name_of(s, v, name);
        status = rp_program_add_input(to, RP_INPUT_DATA, name, &s->p->value[v], &s->value[v], err);
    }
    if (status != RP_OK || !makes || (rest && s->kind[instr->out[0]] == SETTLED))
        return status;
    in = rp_reallocarray(NULL, n, sizeof *in);
    if (!in)
        return rp_no_memory(err);
    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = s->value[instr->in[i]];
    status = rp_program_add_like(to, instr, in, in + instr->n_in, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        s->value[instr->out[i]] = in[instr->n_in + (size_t)i];
    rp_free(in);
    return status;
}

static rp_status write_half(split *s, rp_program **out, bool rest, rp_error *err)
{
    const rp_program *p = s->p;
    rp_program *to = rp_program_new();
    rp_status status = to ? RP_OK : rp_no_memory(err);

    want(s, rest);
    for (size_t v = 0, input = 0, k = 0; v < p->n_values && status == RP_OK;) {
        if (p->maker[v] == RP_NO_INSTR) {
            status = write_input(s, to, &p->input[input++], rest, err);
            v++;
        } else {
            status = write_instr(s, to, &p->instr[k], rest, err);
            v += (size_t)p->instr[k++].n_out;
        }
    }
    for (uint32_t v = 0; v < p->n_values && status == RP_OK && !rest; v++) {
        char name[RP_NAME_MAX];

        if (!s->carried[v])
            continue;
        name_of(s, v, name);
        status = rp_program_add_output(to, RP_OUTPUT_RESULT, name, s->value[v], err);
    }
    for (size_t o = 0; o < p->n_outputs && status == RP_OK && rest; o++)
        status = rp_program_add_output(to, p->output[o].kind, p->output[o].name, s->value[p->output[o].value], err);
    if (status == RP_OK)
        *out = to;
    else
        rp_program_free(to);
    return status;
}

rp_status rp_program_split(const rp_program *program, rp_program **first, rp_program **rest, rp_error *err)
{
    split s = {.p = program};
    rp_status status = RP_OK;

    if (!program || !first || !rest)
        return rp_fail(err, RP_EARG, "a program to split, and where its halves go, are needed, found NULL");
    *first = *rest = NULL;
    s.kind = rp_calloc(program->n_values + 1, 1);
    s.carried = rp_calloc(program->n_values + 1, sizeof *s.carried);
    s.wanted = rp_calloc(program->n_values + 1, sizeof *s.wanted);
    s.value = rp_calloc(program->n_values + 1, sizeof *s.value);
    if (!s.kind || !s.carried || !s.wanted || !s.value)
        status = rp_no_memory(err);
    else if (program->n_prints == 0 && find(&s)) {
        status = write_half(&s, first, false, err);
        if (status == RP_OK)
            status = write_half(&s, rest, true, err);
        if (status != RP_OK) {
            rp_program_free(*first);
            *first = NULL;
        }
    }
    rp_free(s.kind);
    rp_free(s.carried);
    rp_free(s.wanted);
    rp_free(s.value);
    return status;
}
