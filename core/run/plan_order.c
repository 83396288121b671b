/* SPDX-License-Identifier: Apache-2.0
 * The order: that of the program, but an instruction that frees at least as much memory as it takes comes as soon as it
 * can. So a state is updated when its gradient exists, and the gradients of a deep network are not all alive at its
 * end. Values are assigned once: every order in which operands come before their readers gives the same bits. What can
 * fail keeps its place among its like: the error of a step is that of the program's order. */
#include "base/memory.h"
#include "core/run/plan_private.h"

typedef struct sequence {
    rp_plan *plan;
    uint32_t *missing; /* of each instruction: operands that are not made yet */
    uint32_t *readers; /* of each root value: operands of instructions still to come that read it */
    uint32_t *left;    /* of each root value: those instructions, folded by xor, so that the last one is known */
    uint32_t *state;   /* of each value: the state whose new value it is, where it could be made in its memory */
    bool *done, *kept; /* of each instruction; of each root value: an output or an input */
    uint32_t *ready;   /* instructions to look at, a stack */
    size_t n_ready, cap_ready;
} sequence;

enum { NONE = UINT32_MAX };

static const rp_instr *at(const sequence *s, uint32_t k)
{
    return &s->plan->program->instr[k];
}

/* The memory that the outputs take: none when made in that of their states. SIZE_MAX: they could be made there once
 * others have read the old value, for which an update waits. */
static size_t taken(const sequence *s, const rp_instr *instr)
{
    size_t bytes = 0;

    for (int i = 0; i < instr->n_out; i++) {
        const uint32_t state = s->state[instr->out[i]];

        if (state == NONE)
            bytes += rp_type_bytes(&s->plan->program->value[instr->out[i]]);
        else if (s->readers[state] > 1)
            return SIZE_MAX;
    }
    return bytes;
}

static size_t freed(const sequence *s, const rp_instr *instr)
{
    size_t bytes = 0;

    for (size_t i = 0; i < instr->n_in; i++) {
        const uint32_t root = s->plan->root[instr->in[i]];

        if (!s->kept[root] && s->readers[root] == 1)
            bytes += rp_type_bytes(&s->plan->program->value[root]);
    }
    return bytes;
}

/* Whether the instruction should come now, before those that the program has in front of it. */
static bool is_due(const sequence *s, uint32_t k)
{
    const rp_instr *instr = at(s, k);

    if (s->done[k] || s->missing[k] || rp_plan_can_fail(instr) || (s->plan->late && s->plan->late[k]))
        return false;
    return taken(s, instr) <= freed(s, instr);
}

/* ---- who reads what ---- */

static void count(sequence *s)
{
    const rp_plan *plan = s->plan;
    const rp_program *p = plan->program;

    for (uint32_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];

        for (size_t i = 0; i < instr->n_in && plan->executed[k]; i++) {
            const uint32_t root = plan->root[instr->in[i]];

            s->missing[k] += plan->kind[root] == VALUE_MADE;
            s->readers[root]++;
            s->left[root] ^= k;
        }
    }
}

/* Which values could be made in the memory of their state: overwrite_state in core/run/plan_lifetimes.c has the last
 * word. */
static void find_updates(sequence *s)
{
    const rp_plan *plan = s->plan;
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++) {
        s->state[v] = NONE;
        s->kept[v] = plan->kind[v] != VALUE_MADE;
    }
    for (size_t o = 0; o < p->n_outputs; o++) {
        const uint32_t value = plan->same[p->output[o].value];
        const rp_input *state = rp_program_state_of(p, &p->output[o]);

        s->kept[plan->root[value]] = true;
        if (!state || p->maker[value] == RP_NO_INSTR || !(at(s, p->maker[value])->op->flags & RP_OP_INPLACE))
            continue;
        for (int i = 0; i < at(s, p->maker[value])->n_out; i++)
            if (at(s, p->maker[value])->out[i] == value && (uint32_t)i < at(s, p->maker[value])->n_in &&
                at(s, p->maker[value])->in[i] == state->value) {
                s->state[value] = state->value;
                s->plan->mark[p->maker[value]] |= MARK_UPDATE;
            }
    }
}

/* ---- the sequence ---- */

static bool push(sequence *s, uint32_t k)
{
    if (s->n_ready == s->cap_ready) {
        const size_t wanted = s->cap_ready ? 2 * s->cap_ready : 64;
        uint32_t *bigger = rp_reallocarray(s->ready, wanted, sizeof *bigger);

        if (!bigger)
            return false;
        s->ready = bigger;
        s->cap_ready = wanted;
    }
    s->ready[s->n_ready++] = k;
    return true;
}

/* Takes instruction k, and notes who may be due by that: the last readers of its operands. The readers of what it makes
 * are looked at when they lack nothing more, through the list of values' readers (next). */
static bool take(sequence *s, uint32_t k, const uint32_t *reader, const uint32_t *begin)
{
    const rp_plan *plan = s->plan;
    const rp_instr *instr = at(s, k);
    bool memory = true;

    s->done[k] = true;
    s->plan->order.instr[s->plan->order.n++] = k;
    for (size_t i = 0; i < instr->n_in; i++) {
        const uint32_t root = plan->root[instr->in[i]];

        s->left[root] ^= k;
        if (--s->readers[root] == 1 && memory)
            memory = push(s, s->left[root]);
    }
    for (int i = 0; i < instr->n_out; i++)
        for (uint32_t r = begin[instr->out[i]]; r < begin[instr->out[i] + 1] && memory; r++)
            if (--s->missing[reader[r]] == 0)
                memory = push(s, reader[r]);
    return memory;
}

/* The readers of each root value made by an instruction, one after another: value v's are reader[begin[v] ..
 * begin[v + 1]), once for each operand. */
static void list_readers(const rp_plan *plan, uint32_t *begin, uint32_t *reader)
{
    const rp_program *p = plan->program;

    for (size_t pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < p->n_instrs; k++)
            for (size_t i = 0; i < p->instr[k].n_in && plan->executed[k]; i++) {
                const uint32_t root = plan->root[p->instr[k].in[i]];

                if (plan->kind[root] != VALUE_MADE)
                    continue;
                if (pass == 0)
                    begin[root + 2]++;
                else
                    reader[begin[root + 1]++] = k;
            }
        for (size_t v = 2; v <= p->n_values + 1 && pass == 0; v++)
            begin[v] += begin[v - 1];
    }
}

static rp_status early(sequence *s, rp_error *err)
{
    const rp_plan *plan = s->plan;
    const rp_program *p = plan->program;
    size_t operands = 0;
    uint32_t *begin, *reader;
    bool memory;

    for (size_t k = 0; k < p->n_instrs; k++)
        operands += plan->executed[k] ? p->instr[k].n_in : 0;
    begin = rp_calloc(p->n_values + 2, sizeof *begin);
    reader = rp_malloc(operands * sizeof *reader);
    memory = begin && reader;
    if (memory) {
        list_readers(plan, begin, reader);
        count(s);
        find_updates(s);
    }
    for (uint32_t k = 0; k < p->n_instrs && memory; k++) {
        if (!plan->executed[k] || s->done[k])
            continue;
        memory = take(s, k, reader, begin);
        while (s->n_ready && memory) {
            const uint32_t next = s->ready[--s->n_ready];

            if (is_due(s, next)) {
                s->plan->mark[next] |= MARK_EARLY;
                memory = take(s, next, reader, begin);
            }
        }
    }
    rp_free(begin);
    rp_free(reader);
    return memory ? RP_OK : rp_no_memory(err);
}

static rp_status in_program_order(rp_plan *plan)
{
    for (uint32_t k = 0; k < plan->program->n_instrs; k++)
        if (plan->executed[k])
            plan->order.instr[plan->order.n++] = k;
    return RP_OK;
}

rp_status rp_plan_order(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    sequence s = {.plan = plan};
    rp_status status;

    plan->order.instr = rp_malloc(p->n_instrs * sizeof *plan->order.instr);
    plan->order.first = rp_malloc(p->n_instrs * sizeof *plan->order.first);
    if (!plan->order.instr || !plan->order.first)
        return rp_no_memory(err);
    if (!(plan->passes & RP_PASS_EARLY))
        return in_program_order(plan);
    s.missing = rp_calloc(p->n_instrs, sizeof *s.missing);
    s.readers = rp_calloc(p->n_values, sizeof *s.readers);
    s.left = rp_calloc(p->n_values, sizeof *s.left);
    s.state = rp_malloc(p->n_values * sizeof *s.state);
    s.done = rp_calloc(p->n_instrs, sizeof *s.done);
    s.kept = rp_malloc(p->n_values * sizeof *s.kept);
    status = s.missing && s.readers && s.left && s.state && s.done && s.kept ? early(&s, err) : rp_no_memory(err);
    rp_free(s.missing);
    rp_free(s.readers);
    rp_free(s.left);
    rp_free(s.state);
    rp_free(s.done);
    rp_free(s.kept);
    rp_free(s.ready);
    return status;
}
