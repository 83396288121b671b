/* SPDX-License-Identifier: Apache-2.0
 * Values that lie in one block. What a scan carries is both a row that it gives and the next row of its history: where
 * the two lie a row apart these are the same bytes, and no copy is made. Operands of a concat that are made and read at
 * the same time lie side by side in a function, which runs often, so that a device may move them all at once; and where
 * a scalar is added to all of them alone, as pads that meet are summed (core/run/rewrites/pads.c), nobody moves them.
 */
#include "core/run/free_pieces.h"
#include "core/run/plan_private.h"

/* Whether the value is alone in a block of the arena. */
static bool is_alone(const rp_plan *plan, uint32_t value)
{
    const block *b = &plan->block[value];

    return plan->root[value] == value && b->made && b->place == PLACE_ARENA && !b->span && !b->joined;
}

/* `second` lies in the block of `first`, so many bytes behind its beginning. */
static void join(rp_plan *plan, uint32_t first, uint32_t second, size_t shift)
{
    block *a = &plan->block[first], *b = &plan->block[second];

    b->joined = true;
    b->with = first;
    b->shift = shift;
    a->span = shift + b->bytes;
    a->last = b->last > a->last ? b->last : a->last;
}

/* ---- histories ---- */

/* Rows and history of a scan that are as many, of which row i of the one is row i + 1 of the other. */
static void overlap(rp_plan *plan, const rp_region *r, uint32_t rows, uint32_t history)
{
    const size_t row = plan->block[rows].bytes / r->times;

    if (!is_alone(plan, rows) || !is_alone(plan, history) || row == 0 || row % RP_FREE_PIECES_ALIGN != 0)
        return;
    if (r->reverse)
        join(plan, rows, history, row);
    else
        join(plan, history, rows, row);
    plan->block[rows].overlaps = plan->block[history].overlaps = true;
}

void rp_plan_overlap_histories(rp_plan *plan)
{
    for (size_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);
        const rp_region *r = instr->region;
        const rp_plan *body =
            r && r->kind == RP_SCAN && r->history && r->times ? rp_plan_body(plan, r->function[0]) : NULL;
        const size_t outs = body ? body->program->n_outputs : 0;

        for (size_t o = body ? r->carried : 0; o < outs; o++)
            if (body->twin[o] < r->carried)
                overlap(plan, r, instr->out[o], instr->out[outs + body->twin[o]]);
    }
}

/* ---- operands of a concat ---- */

enum { BESIDE_MOST = 32 };

static bool fits_beside(const rp_plan *plan, const rp_instr *instr, size_t i)
{
    const block *a = &plan->block[instr->in[0]], *b = &plan->block[instr->in[i]];

    for (size_t n = 0; n < i; n++)
        if (instr->in[n] == instr->in[i])
            return false;
    return is_alone(plan, instr->in[i]) && a->bytes == b->bytes && a->first == b->first && a->last == b->last &&
           b->bytes % RP_FREE_PIECES_ALIGN == 0;
}

/* The only position at which each value is read; plan->order.n or more: there is none, there are several, or it is an
 * output. */
static void find_readers(const rp_plan *plan, size_t *reader)
{
    const size_t none = plan->order.n;
    const rp_program *p = plan->program;

    for (size_t v = 0; v < p->n_values; v++)
        reader[v] = SIZE_MAX;
    for (size_t k = 0; k < plan->order.n; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++) {
            size_t *of = &reader[plan->root[rp_plan_at(plan, k)->in[i]]];

            *of = *of == SIZE_MAX ? k : none;
        }
    for (size_t o = 0; o < p->n_outputs; o++)
        reader[plan->root[p->output[o].value]] = none;
}

static bool is_scalar(const rp_plan *plan, uint32_t value)
{
    return rp_type_count(&plan->program->value[value]) == 1;
}

/* Whether the call at position q could read the operands of the concat at position k, which lie side by side, as they
 * lie: it adds a scalar to all of them, and has memory of its own to do so. Nobody else reads them behind the concat:
 * they would be overwritten in between by what takes over their blocks, or live longer than the addition. */
static bool reads_as_they_lie(const rp_plan *plan, size_t q, size_t k)
{
    const rp_instr *concat = rp_plan_at(plan, k);
    const uint32_t value = concat->out[0];
    const rp_instr *add = q < plan->order.n ? rp_plan_at(plan, q) : NULL;
    const rp_type *type = &plan->program->value[value];
    const size_t axis = (size_t)RP_AT(concat->attr, concat, axis).i;

    if (!add || add->op->role != RP_PLAYS_ADD || plan->order.first[q] != q || rp_plan_chain_end(plan, q) != q + 1 ||
        plan->block[concat->in[0]].last != k || type->rank == RP_MAX_RANK ||
        !rp_type_equal(type, &plan->program->value[add->out[0]]))
        return false;
    for (size_t i = 0; i < concat->n_in; i++)
        if (plan->program->value[concat->in[i]].shape[axis] * concat->n_in != type->shape[axis])
            return false;
    for (size_t i = 0; i < 2; i++)
        if (add->in[i] == value ? !is_scalar(plan, add->in[1 - i]) : !is_scalar(plan, add->in[i]))
            return false;
    return is_alone(plan, value) && plan->block[add->out[0]].place != PLACE_SHARED;
}

void rp_plan_put_beside(rp_plan *plan, size_t *reader)
{
    if (!plan->function)
        return;
    find_readers(plan, reader);
    for (size_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);
        const size_t at = reader[instr->out[0]];
        bool fit = instr->op->role == RP_PLAYS_CONCAT && instr->n_in > 1 && instr->n_in <= BESIDE_MOST;

        for (size_t i = 0; i < instr->n_in && fit; i++)
            fit = fits_beside(plan, instr, i);
        for (size_t i = 1; i < instr->n_in && fit; i++)
            join(plan, instr->in[0], instr->in[i], i * plan->block[instr->in[0]].bytes);
        if (!fit || !reads_as_they_lie(plan, at, k))
            continue;
        plan->mark[plan->order.instr[k]] |= MARK_LIES;
        plan->mark[plan->order.instr[at]] |= MARK_READS_LYING;
        plan->block[instr->in[0]].last = (uint32_t)at;
        plan->block[instr->out[0]].made = false; /* by anyone: it has no memory */
    }
}

/* x with axis d in n parts, so many elements apart. */
static void split(rp_view *x, int d, size_t n, ptrdiff_t apart)
{
    for (int i = x->rank++; i > d; i--) {
        x->shape[i] = x->shape[i - 1];
        x->stride[i] = x->stride[i - 1];
    }
    x->shape[d + 1] /= n;
    x->shape[d] = n;
    x->stride[d] = apart;
}

void rp_plan_bind_lying(const rp_plan *plan, const rp_instr *concat, size_t at, rp_view *in, rp_view *out)
{
    const rp_type *piece = &plan->program->value[concat->in[0]];
    const int axis = (int)RP_AT(concat->attr, concat, axis).i;
    const ptrdiff_t step = out->stride[axis];

    for (int d = 0; d < piece->rank; d++)
        in[at].stride[d] = plan->view[concat->in[0]].stride[d];
    split(&in[at], axis, concat->n_in, (ptrdiff_t)rp_type_count(piece));
    split(&in[1 - at], axis, concat->n_in, 0);
    split(out, axis, concat->n_in, (ptrdiff_t)piece->shape[axis] * step);
}
