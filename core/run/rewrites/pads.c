/* SPDX-License-Identifier: Apache-2.0
 * Sums of pads that meet edge to edge, as the gradients of the slices of one value are: the gates of a recurrent cell,
 * the thirds of an attention's product. Each element of such a sum is one operand's element and zeros, so the operands
 * are written side by side once and +0 is added once, which changes no more than further zeros would: only -0 to +0.
 *
 * The instructions keep their places and the numbers of their values: of the pads the last becomes the concat, the
 * first the constant; the sum's last addition adds the two. The others have no reader any more. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/run/rewrites/rewrites.h"

/* One pad of a sum. */
typedef struct piece {
    int64_t before; /* along the axis */
    uint32_t pad;   /* the instruction */
} piece;

typedef struct pads {
    const rp_program *p;
    uint32_t *reader; /* rp_readers */
    bool *good;       /* of each instruction: a pad, or a sum of two that are good, with one reader */
    rp_changes changes;
    piece *piece;   /* of the sum that is looked at */
    uint32_t *wait; /* below it, and not looked at yet */
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

/* The pads below a sum. Each has one reader, so none is met twice. */
static void gather(pads *s, const rp_instr *sum)
{
    size_t waiting = 2;

    s->n = 0;
    memcpy(s->wait, sum->in, 2 * sizeof *sum->in);
    while (waiting > 0) {
        const uint32_t maker = s->p->maker[s->wait[--waiting]];
        const rp_instr *instr = &s->p->instr[maker];

        if (instr->op->role == RP_PLAYS_PAD) {
            s->piece[s->n++].pad = maker;
        } else {
            memcpy(s->wait + waiting, instr->in, 2 * sizeof *instr->in);
            waiting += 2;
        }
    }
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

static int by_place(const void *a, const void *b)
{
    const piece *x = a, *y = b;

    return (x->before > y->before) - (x->before < y->before);
}

/* Sorts the pads along their axis; whether they meet edge to edge and leave nothing out. */
static bool meet(pads *s, int *axis, const rp_type *sum)
{
    const rp_instr *instr = s->p->instr;
    size_t end = 0;

    *axis = axis_of(&instr[s->piece[0].pad]);
    for (size_t i = 0; i < s->n; i++) {
        if (*axis < 0 || axis_of(&instr[s->piece[i].pad]) != *axis)
            return false;
        s->piece[i].before = RP_AT(instr[s->piece[i].pad].attr, pad, before).list[*axis];
    }
    qsort(s->piece, s->n, sizeof *s->piece, by_place);
    for (size_t i = 0; i < s->n; i++) {
        const rp_type *type = &s->p->value[instr[s->piece[i].pad].in[0]];

        if ((size_t)s->piece[i].before != end || type->shape[*axis] == 0)
            return false;
        end += type->shape[*axis];
    }
    return end == sum->shape[*axis];
}

static rp_status change(pads *s, uint32_t sum, int axis, rp_error *err)
{
    const rp_instr *instr = s->p->instr;
    uint32_t first = RP_NOBODY, last = 0;
    rp_changed *c;

    for (size_t i = 0; i < s->n; i++) {
        first = s->piece[i].pad < first ? s->piece[i].pad : first;
        last = s->piece[i].pad > last ? s->piece[i].pad : last;
    }
    if (!(c = rp_changes_at(&s->changes, last, s->n)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_concat);
    RP_AT(c->attr, concat, axis).i = axis;
    for (size_t i = 0; i < s->n; i++)
        c->in[i] = instr[s->piece[i].pad].in[0];
    if (!(c = rp_changes_at(&s->changes, first, 0)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_fill);
    RP_AT(c->attr, fill, dtype).i = s->p->value[instr[sum].out[0]].dtype;
    if (!(c = rp_changes_at(&s->changes, sum, 2)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_add);
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
        gather(s, instr);
        if (meet(s, &axis, &p->value[instr->out[0]]))
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
    s.piece = rp_reallocarray(NULL, p->n_instrs, sizeof *s.piece);
    s.wait = rp_reallocarray(NULL, p->n_instrs + 2, sizeof *s.wait);
    if (status == RP_OK && (!s.reader || !s.good || !s.piece || !s.wait))
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = find(&s, err);
    if (status == RP_OK && s.changes.n)
        status = rp_plan_change(plan, &s.changes, err);
    rp_changes_free(&s.changes);
    rp_free(s.reader);
    rp_free(s.good);
    rp_free(s.piece);
    rp_free(s.wait);
    return status;
}
