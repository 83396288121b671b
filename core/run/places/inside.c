/* SPDX-License-Identifier: Apache-2.0
 * Operands of a concat that are made where they go. What a program makes for one concat alone to read, and what lies in
 * one piece there, gets its place in the concat's block, so that it is not copied; the concat's kernels leave alone an
 * operand that already lies where it would be put. The concat's block is then needed from its first such operand on.
 * Other operands may be views of what is made there, as edges that a pad repeats are: they are read, and written
 * elsewhere. Real and imaginary parts that a transform makes for a concat of pairs are made as every second element. */
#include "core/run/free_pieces.h"
#include "core/run/plan_private.h"
#include "kernels/fourier/factors.h"

/* Whether an operand lies in one piece in the concat: there is nothing before its axis. */
static bool is_one_piece(const rp_type *type, int64_t axis)
{
    for (int64_t d = 0; d < axis; d++)
        if (type->shape[d] != 1)
            return false;
    return true;
}

/* Whether the concat's memory is there before it: in the arena, or a result's. */
static bool may_hold(const rp_plan *plan, uint32_t value, plan_inside how)
{
    const block *b = &plan->block[value];

    return plan->root[value] == value && b->made && !b->span && (b->joined || !b->overlaps) &&
           (b->place == PLACE_OWN || (how == INSIDE_ALL && b->place == PLACE_ARENA));
}

/* Whether an operand of the concat at position k is alone in a block of the arena, whole, read no later, and has no
 * place yet: it may be there twice. */
static bool may_lie_inside(const rp_plan *plan, uint32_t value, size_t k)
{
    const block *b = &plan->block[value];

    return plan->root[value] == value && b->made && b->place == PLACE_ARENA && !b->span && !b->joined && !b->overlaps &&
           b->last == k && rp_type_count(&plan->program->value[value]) > 0 &&
           b->bytes == rp_type_bytes(&plan->program->value[value]);
}

/* The operand lies `shift` bytes behind the beginning of what the concat makes, which may lie in another concat. */
static void put_inside(rp_plan *plan, uint32_t whole, uint32_t operand, size_t shift)
{
    const block *of = &plan->block[whole];
    const uint32_t with = of->joined ? of->with : whole;
    block *b = &plan->block[operand], *base = &plan->block[with];

    b->place = base->place;
    b->joined = true;
    b->with = with;
    b->shift = shift + (of->joined ? of->shift : 0);
    b->overlaps = true;
    base->first = b->first < base->first ? b->first : base->first;
}

/* Whether nothing but the concat at position k reads a value that is made at position `from`. */
static bool reads_alone(const rp_plan *plan, uint32_t root, size_t from, size_t k)
{
    size_t readers = 0;

    for (size_t at = from; at <= k; at++)
        for (size_t i = 0; i < rp_plan_at(plan, at)->n_in; i++)
            readers += plan->root[rp_plan_at(plan, at)->in[i]] == root;
    return readers == 1;
}

/* Whether the concat at position k puts the parts of a transform together as pairs, either one first, of lines that
 * kernels make so. */
static bool pairs_a_transform(const rp_plan *plan, size_t k)
{
    const rp_instr *instr = rp_plan_at(plan, k), *maker;
    const rp_program *p = plan->program;
    const rp_type *type = &p->value[instr->in[0]];
    const uint32_t u = plan->root[instr->in[0]];
    size_t n;

    if (instr->n_in != 2 || RP_AT(instr->attr, concat, axis).i != type->rank - 1 || type->shape[type->rank - 1] != 1 ||
        p->maker[u] == RP_NO_INSTR)
        return false;
    maker = &p->instr[p->maker[u]];
    if (maker->op->work != RP_WORK_TRANSFORM || maker->n_out != 2 || (maker->out[0] != u && maker->out[1] != u) ||
        plan->root[instr->in[1]] != maker->out[maker->out[0] == u])
        return false;
    n = p->value[u].shape[p->value[u].rank - 1];
    return n > 1 && n <= RP_FOURIER_PAIRS && rp_type_count(&p->value[u]) / n >= RP_FOURIER_PAIRS_LINES;
}

/* Both parts: their operands of the concat are all of them in their order, but for axes of one element. */
static bool may_pair(const rp_plan *plan, size_t k)
{
    const rp_instr *instr = rp_plan_at(plan, k);

    if (!rp_device_shares_memory(plan->device))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const uint32_t part = plan->root[instr->in[i]];

        if (!may_lie_inside(plan, part, k) || !rp_view_contiguous(&plan->view[instr->in[i]]) ||
            rp_type_count(&plan->program->value[instr->in[i]]) != rp_type_count(&plan->program->value[part]) ||
            !reads_alone(plan, part, plan->block[part].first, k))
            return false;
    }
    return true;
}

/* As `visit` says, of the concat at position k. */
static bool visit_pairs(rp_plan *plan, size_t k, bool ask)
{
    const rp_instr *instr = rp_plan_at(plan, k);

    if (!pairs_a_transform(plan, k) || !may_pair(plan, k))
        return false;
    for (size_t i = 0; i < 2 && !ask; i++) {
        const uint32_t part = plan->root[instr->in[i]];

        put_inside(plan, instr->out[0], part, i * rp_dtype_size(plan->program->value[part].dtype));
        plan->block[part].paired = true;
    }
    return true;
}

/* Concats from the last to the first: where one lies in another, its operands lie there too. Whether something lies
 * inside, or (ask) would. */
static bool visit(rp_plan *plan, plan_inside how, bool ask)
{
    const bool anywhere = rp_device_shares_memory(plan->device);
    const bool none = how == INSIDE_NONE || !rp_program_has(plan->program, RP_PLAYS_CONCAT);
    bool some = false;

    for (size_t k = none ? 0 : plan->order.n; k-- > 0 && !(ask && some);) {
        const rp_instr *instr = rp_plan_at(plan, k);
        size_t shift = 0;

        if (instr->op->role != RP_PLAYS_CONCAT || !may_hold(plan, instr->out[0], how))
            continue;
        if (visit_pairs(plan, k, ask)) {
            some = true;
            continue;
        }
        if (!is_one_piece(&plan->program->value[instr->out[0]], RP_AT(instr->attr, concat, axis).i))
            continue;
        for (size_t i = 0; i < instr->n_in; i++) {
            if ((anywhere || shift % RP_FREE_PIECES_ALIGN == 0) && may_lie_inside(plan, instr->in[i], k)) {
                if (!ask)
                    put_inside(plan, instr->out[0], instr->in[i], shift);
                some = true;
            }
            shift += rp_type_bytes(&plan->program->value[instr->in[i]]);
        }
    }
    return some;
}

bool rp_plan_has_inside(rp_plan *plan)
{
    return !plan->function && plan->passes & RP_PASS_INSIDE && plan->passes & RP_PASS_INPLACE &&
           visit(plan, INSIDE_ALL, true);
}

bool rp_plan_put_inside(rp_plan *plan, plan_inside how)
{
    return visit(plan, how, false);
}
