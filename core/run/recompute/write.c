/* SPDX-License-Identifier: Apache-2.0
 * The program of a plan with some values made again. Until the fullest position every instruction stands as the plan
 * has it; behind it a reader of what was left out finds its maker once more in front of it, with all that this reads
 * and that is gone too. Views are made of whichever is read. */
#include "base/memory.h"
#include "core/program/function.h"
#include "core/run/recompute/recompute.h"

enum { NONE = UINT32_MAX, OPERANDS = 64 };

typedef struct writer {
    const rp_plan *plan;
    const rp_again *again;
    rp_program *to;
    uint32_t *value[2]; /* of each value of the plan's program: until the fullest position, and behind it */
    uint32_t *number;
    bool *late;
    size_t cap;
    bool behind;     /* what is written stands behind the fullest position */
    uint32_t *stack; /* instructions to be executed again */
    uint32_t *chain; /* views between a value and its root */
    uint32_t *operand;
    size_t operands;
} writer;

static rp_status note(writer *w, uint32_t k, bool late, rp_error *err)
{
    const size_t n = w->to->n_instrs;

    if (n > w->cap) {
        const size_t cap = w->cap ? 2 * w->cap : 256;
        uint32_t *number = rp_reallocarray(w->number, cap, sizeof *number);
        bool *flags;

        if (!number)
            return rp_no_memory(err);
        w->number = number;
        flags = rp_reallocarray(w->late, cap, sizeof *flags);
        if (!flags)
            return rp_no_memory(err);
        w->late = flags;
        w->cap = cap;
    }
    w->number[n - 1] = w->plan->number ? w->plan->number[k] : k;
    w->late[n - 1] = late || (w->plan->late && w->plan->late[k]);
    return RP_OK;
}

/* Which of the two values of a root is read here. */
static int which(const writer *w, uint32_t root)
{
    return w->behind && w->again->made[root];
}

/* The value that stands for this one here; its root is written. Views are appended where they are not yet. */
static rp_status find(writer *w, uint32_t value, uint32_t *out, rp_error *err)
{
    const rp_plan *plan = w->plan;
    const rp_program *p = plan->program;
    uint32_t *map = w->value[which(w, plan->root[value])], v = plan->same[value];
    size_t n = 0;
    rp_status status = RP_OK;

    for (; map[v] == NONE; v = plan->same[p->instr[p->maker[v]].in[0]])
        w->chain[n++] = v;
    for (*out = map[v]; n > 0 && status == RP_OK; map[v] = *out) {
        const rp_instr *instr;

        v = w->chain[--n];
        instr = &p->instr[p->maker[v]];
        status = rp_program_add_instr(w->to, instr->op, instr->attr, out, 1, out, err);
        if (status == RP_OK)
            status = note(w, p->maker[v], false, err);
    }
    return status;
}

static rp_status room_for(writer *w, const rp_instr *instr, rp_error *err)
{
    const size_t n = instr->n_in + (size_t)instr->n_out;
    uint32_t *bigger;

    if (n <= w->operands)
        return RP_OK;
    bigger = rp_reallocarray(w->operand, n, sizeof *bigger);
    if (!bigger)
        return rp_no_memory(err);
    w->operand = bigger;
    w->operands = n;
    return RP_OK;
}

/* Instruction k, whose operands' roots are written. again: not for the first time. */
static rp_status put(writer *w, uint32_t k, bool again, rp_error *err)
{
    const rp_instr *instr = &w->plan->program->instr[k];
    rp_status status = room_for(w, instr, err);
    uint32_t *out = status == RP_OK ? w->operand + instr->n_in : NULL;

    for (size_t i = 0; i < instr->n_in && status == RP_OK; i++)
        status = find(w, instr->in[i], &w->operand[i], err);
    if (status == RP_OK)
        status = rp_program_add_like(w->to, instr, w->operand, out, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        w->value[again][instr->out[i]] = out[i];
    return status == RP_OK ? note(w, k, again, err) : status;
}

/* Whether the operand's root has to be made again before something behind the fullest position reads it. */
static bool lacks(const writer *w, uint32_t operand)
{
    const uint32_t root = w->plan->root[operand];

    return w->again->made[root] && w->value[1][root] == NONE;
}

/* The makers of what an instruction behind the fullest position lacks, and of what they lack. */
static rp_status make_again(writer *w, const rp_instr *reader, rp_error *err)
{
    const rp_program *p = w->plan->program;
    rp_status status = RP_OK;

    for (size_t i = 0; i < reader->n_in && status == RP_OK; i++) {
        size_t n = 0;

        if (lacks(w, reader->in[i]))
            w->stack[n++] = w->plan->root[reader->in[i]];
        while (n > 0 && status == RP_OK) {
            const uint32_t maker = p->maker[w->stack[n - 1]];
            const rp_instr *instr = &p->instr[maker];
            const size_t before = n;

            if (w->value[1][w->stack[n - 1]] != NONE) {
                n--;
                continue;
            }
            for (size_t k = 0; k < instr->n_in && n == before; k++)
                if (lacks(w, instr->in[k]))
                    w->stack[n++] = w->plan->root[instr->in[k]];
            if (n == before) {
                status = put(w, maker, true, err);
                n--;
            }
        }
    }
    return status;
}

static rp_status write_program(writer *w, rp_error *err)
{
    const rp_plan *plan = w->plan;
    const rp_program *p = plan->program;
    rp_status status = RP_OK;

    for (size_t v = 0; v < p->n_values; v++)
        w->value[0][v] = w->value[1][v] = NONE;
    for (size_t i = 0; i < p->n_inputs && status == RP_OK; i++)
        status = rp_program_add_input(w->to, p->input[i].kind, p->input[i].name, &p->value[p->input[i].value],
                                      &w->value[0][p->input[i].value], err);
    for (uint32_t k = 0; k < plan->order.n && status == RP_OK; k++) {
        w->behind = k > w->again->end;
        if (w->behind)
            status = make_again(w, rp_plan_at(plan, k), err);
        if (status == RP_OK)
            status = put(w, plan->order.instr[k], false, err);
    }
    w->behind = true;
    for (size_t o = 0; o < p->n_outputs && status == RP_OK; o++) {
        uint32_t value;

        status = find(w, p->output[o].value, &value, err);
        if (status == RP_OK)
            status = rp_program_add_output(w->to, p->output[o].kind, p->output[o].name, value, err);
    }
    return status;
}

rp_status rp_again_write(const rp_plan *plan, const rp_again *again, rp_program **out, uint32_t **number, bool **late,
                         rp_error *err)
{
    const size_t n = plan->program->n_values;
    writer w = {.plan = plan, .again = again, .to = rp_program_new()};
    rp_status status;

    w.value[0] = rp_reallocarray(NULL, n, sizeof *w.value[0]);
    w.value[1] = rp_reallocarray(NULL, n, sizeof *w.value[1]);
    w.stack = rp_reallocarray(NULL, n, sizeof *w.stack);
    w.chain = rp_reallocarray(NULL, n, sizeof *w.chain);
    status = w.to && w.value[0] && w.value[1] && w.stack && w.chain ? write_program(&w, err) : rp_no_memory(err);
    rp_free(w.value[0]);
    rp_free(w.value[1]);
    rp_free(w.stack);
    rp_free(w.chain);
    rp_free(w.operand);
    *out = w.to;
    *number = w.number;
    *late = w.late;
    if (status == RP_OK)
        return status;
    rp_program_free(w.to);
    rp_free(w.number);
    rp_free(w.late);
    *out = NULL;
    *number = NULL;
    *late = NULL;
    return status;
}
