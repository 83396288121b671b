/* SPDX-License-Identifier: Apache-2.0
 * Sums of pads that meet edge to edge, as the gradients of the slices of one value are: the gates of a recurrent cell,
 * the thirds of an attention's product. Each element of such a sum is one operand's element and zeros, so the operands
 * are written side by side once and +0 is added once, which changes no more than further zeros would: only -0 to +0.
 *
 * The instructions keep their places and the numbers of their values: of the pads the last becomes the concat, the
 * first the constant; the sum's last addition adds the two. The others have no reader any more. */
#include <string.h>

#include "base/memory.h"
#include "core/run/rewrites/rewrites.h"

enum { PADS_MOST = RP_CHANGED_IN };

typedef struct pads {
    const rp_program *p;
    uint32_t *reader; /* rp_readers */
    bool *good;       /* of each instruction: a pad, or a sum of two that are good, with one reader */
    rp_changes changes;
    uint32_t operands[PADS_MOST]; /* of the sum that is looked at: its pads */
    size_t n;
} pads;

static bool is_good(const pads *s, uint32_t value)
{
    const uint32_t maker = s->p->maker[value];

    return maker != RP_NO_INSTR && s->good[maker] && s->reader[value] < RP_SEVERAL;
}

static bool sums_good(const pads *s, const rp_instr *instr)
{
    return instr->op->role == RP_PLAYS_ADD && is_good(s, instr->in[0]) && is_good(s, instr->in[1]) &&
           rp_type_equal(&s->p->value[instr->in[0]], &s->p->value[instr->in[1]]);
}

/* The pads below a sum, if they are not too many. */
static bool gather(pads *s, const rp_instr *sum)
{
    const uint32_t *in = sum->in;
    uint32_t wait[PADS_MOST];
    size_t waiting = 2;

    s->n = 0;
    memcpy(wait, in, 2 * sizeof *in);
    while (waiting > 0) {
        const uint32_t maker = s->p->maker[wait[--waiting]];
        const rp_instr *instr = &s->p->instr[maker];

        if (instr->op->role == RP_PLAYS_PAD) {
            if (s->n == PADS_MOST)
                return false;
            s->operands[s->n++] = maker;
        } else {
            if (waiting + 2 > PADS_MOST)
                return false;
            memcpy(wait + waiting, instr->in, 2 * sizeof *in);
            waiting += 2;
        }
    }
    return true;
}

static int64_t before(const pads *s, size_t i, int axis)
{
    return RP_AT(s->p->instr[s->operands[i]].attr, pad, before).list[axis];
}

/* The only axis along which a pad adds something; -1: none or several. */
static int axis_of(const rp_instr *pad)
{
    const rp_attr *front = &RP_AT(pad->attr, pad, before), *behind = &RP_AT(pad->attr, pad, after);
    int axis = -1;

    for (int d = 0; d < front->n; d++)
        if (front->list[d] != 0 || behind->list[d] != 0) {
            if (axis >= 0)
                return -1;
            axis = d;
        }
    return axis;
}

/* Sorts the pads along their axis; whether they meet edge to edge and leave nothing out. */
static bool meet(pads *s, int *axis, const rp_type *sum)
{
    size_t end = 0;

    *axis = axis_of(&s->p->instr[s->operands[0]]);
    for (size_t i = 0; i < s->n; i++)
        if (*axis < 0 || axis_of(&s->p->instr[s->operands[i]]) != *axis)
            return false;
    for (size_t i = 1; i < s->n; i++)
        for (size_t k = i; k > 0 && before(s, k - 1, *axis) > before(s, k, *axis); k--) {
            const uint32_t other = s->operands[k];

            s->operands[k] = s->operands[k - 1];
            s->operands[k - 1] = other;
        }
    for (size_t i = 0; i < s->n; i++) {
        const rp_type *piece = &s->p->value[s->p->instr[s->operands[i]].in[0]];

        if ((size_t)before(s, i, *axis) != end || piece->shape[*axis] == 0)
            return false;
        end += piece->shape[*axis];
    }
    return *axis >= 0 && end == sum->shape[*axis];
}

static rp_status change(pads *s, uint32_t sum, int axis, rp_error *err)
{
    const rp_instr *instr = s->p->instr;
    uint32_t first = RP_NOBODY, last = 0;
    rp_changed *c;

    for (size_t i = 0; i < s->n; i++) {
        first = s->operands[i] < first ? s->operands[i] : first;
        last = s->operands[i] > last ? s->operands[i] : last;
    }
    if (!(c = rp_changes_at(&s->changes, last)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_concat);
    c->n_in = s->n;
    RP_AT(c->attr, concat, axis).i = axis;
    for (size_t i = 0; i < s->n; i++)
        c->in[i] = instr[s->operands[i]].in[0];
    if (!(c = rp_changes_at(&s->changes, first)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_fill);
    RP_AT(c->attr, fill, dtype).i = s->p->value[instr[sum].out[0]].dtype;
    if (!(c = rp_changes_at(&s->changes, sum)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_add);
    c->n_in = 2;
    c->in[0] = instr[last].out[0];
    c->in[1] = instr[first].out[0];
    return RP_OK;
}

static rp_status find(pads *s, rp_error *err)
{
    const rp_program *p = s->p;
    rp_status status = RP_OK;

    for (uint32_t k = 0; k < p->n_instrs && status == RP_OK; k++) {
        const rp_instr *instr = &p->instr[k];
        const bool sum = sums_good(s, instr);
        const uint32_t reader = sum || instr->op->role == RP_PLAYS_PAD ? s->reader[instr->out[0]] : RP_NOBODY;
        int axis;

        s->good[k] = sum || instr->op->role == RP_PLAYS_PAD;
        if (!sum || (reader < RP_SEVERAL && p->instr[reader].op->role == RP_PLAYS_ADD))
            continue; /* a sum that another goes on with is looked at there */
        if (gather(s, instr) && meet(s, &axis, &p->value[instr->out[0]]))
            status = change(s, k, axis, err);
    }
    return status;
}

rp_status rp_plan_pads(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    pads s = {.p = p};
    rp_status status;

    if (!rp_program_has(p, RP_PLAYS_PAD))
        return RP_OK;
    status = rp_changes_begin(&s.changes, p, err);
    s.reader = rp_readers(p);
    s.good = rp_calloc(p->n_instrs, sizeof *s.good);
    if (status == RP_OK && (!s.reader || !s.good))
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = find(&s, err);
    if (status == RP_OK && s.changes.n)
        status = rp_plan_change(plan, &s.changes, err);
    rp_changes_free(&s.changes);
    rp_free(s.reader);
    rp_free(s.good);
    return status;
}
