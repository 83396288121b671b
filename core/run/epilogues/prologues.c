/* SPDX-License-Identifier: Apache-2.0
 * Prologues: a matrix product whose right operand a chain makes for it alone, as of weights that are widened, scaled or
 * masked, is one call with the chain, block by block (kernels/chain/prologue.h), so that the operand is stored nowhere.
 * Only for few rows: each block is then used about as long as storing it would take. The chain comes to stand in front
 * of the product, whose call may run one behind it too (epilogues.c). */
#include <string.h>

#include "base/memory.h"
#include "core/program/execute.h"
#include "core/run/epilogues/epilogues.h"
#include "kernels/chain/prologue.h"

enum { NEAR = 128 /* positions in which the chain is looked for */ };
enum { ROWS = 128, LEAST = 1 << 20 /* bytes of the operand, which a second cache may hold otherwise */ };
/* What another call makes or reads. */
enum { NEITHER = MARK_GATHERED | MARK_GATHERS | MARK_LIES | MARK_READS_LYING | MARK_BOTH | MARK_GIVEN };
enum { NOR = MARK_PRODUCT | MARK_DOTS | MARK_LED };

typedef rp_plan_group group;

/* The chain that makes the value, before position k; an empty one: there is none near. */
static group chain_of(const rp_plan *plan, size_t k, uint32_t root)
{
    const uint32_t maker = plan->program->maker[root];
    const size_t least = k < NEAR ? 0 : k - NEAR;

    for (size_t q = k; maker != RP_NO_INSTR && q-- > least;)
        if (plan->order.instr[q] == maker)
            return (group){plan->order.first[q], rp_plan_chain_end(plan, plan->order.first[q])};
    return (group){k, k};
}

static size_t readers_in(const rp_plan *plan, group g, uint32_t root)
{
    size_t n = 0;

    for (size_t k = g.first; k < g.end; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++)
            n += plan->root[rp_plan_at(plan, k)->in[i]] == root;
    return n;
}

/* Whether nobody but the chain needs what it makes, and the product that operand, once. */
static bool is_for_it_alone(const rp_plan *plan, group g, uint32_t root, const uint32_t *readers)
{
    for (size_t k = g.first; k < g.end; k++)
        for (int i = 0; i < rp_plan_at(plan, k)->n_out; i++) {
            const uint32_t value = rp_plan_at(plan, k)->out[i];

            if (readers[value] != readers_in(plan, g, value) + (value == root ? 1 : 0))
                return false;
        }
    return readers_in(plan, g, root) == 0;
}

/* Whether the instruction at position k could make its value in the memory of the operand, if it is the last to read
 * it. */
static bool may_write_to(const rp_plan *plan, size_t k, uint32_t operand)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    const unsigned char kind = plan->kind[operand];

    if (!(instr->op->flags & RP_OP_INPLACE) || (kind != VALUE_MADE && kind != RP_INPUT_STATE))
        return false;
    for (size_t i = 0; i < instr->n_in; i++)
        if (plan->root[instr->in[i]] == operand &&
            rp_type_bytes(&plan->program->value[operand]) == rp_type_bytes(&plan->program->value[instr->out[0]]))
            return true;
    return false;
}

/* Whether what the chain reads may be held until the product is done: it is no more than what need not be stored, and
 * nobody in [g.end, end), where the product's call ends, could write to it otherwise. */
static bool may_read_later(const rp_plan *plan, group g, size_t end, uint32_t root)
{
    size_t held = 0;

    for (size_t k = g.first; k < g.end; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++) {
            const uint32_t operand = plan->root[rp_plan_at(plan, k)->in[i]];

            if (rp_plan_makes(plan, g, operand))
                continue;
            if (plan->kind[operand] == VALUE_MADE)
                held += rp_type_bytes(&plan->program->value[operand]);
            for (size_t at = g.end; at < end; at++)
                if (may_write_to(plan, at, operand))
                    return false;
        }
    return held <= rp_type_bytes(&plan->program->value[root]);
}

/* Whether the views of the product at position k lie as the kernel wants them, the right operand as all of its root,
 * and it is worth while. */
static bool fits(const rp_plan *plan, size_t k)
{
    const rp_instr *product = rp_plan_at(plan, k);
    const rp_type *right = &plan->program->value[product->in[1]];
    rp_view in[2] = {plan->view[product->in[0]], plan->view[product->in[1]]};
    const rp_view *out = &plan->view[product->out[0]];
    const size_t n = out->shape[out->rank - 1], count = rp_type_count(&plan->program->value[product->out[0]]);
    const size_t rows = n > 0 ? count / n : 0;

    rp_bind_operands(product->op, in, 2, out);
    return rp_prologue_fits(in, out) &&
           rp_type_count(right) == rp_type_count(&plan->program->value[plan->root[product->in[1]]]) && rows <= ROWS &&
           rp_type_bytes(right) >= LEAST;
}

static bool is_product(const rp_plan *plan, size_t k)
{
    return rp_plan_at(plan, k)->op->role == RP_PLAYS_PRODUCT && !(plan->mark[plan->order.instr[k]] & (NEITHER | NOR)) &&
           fits(plan, k);
}

/* The chain at positions g goes behind those up to k. */
static void move(plan_order *o, group g, size_t k)
{
    const size_t n = g.end - g.first, back = k - g.end;
    uint32_t room[RP_CHAIN_STEPS];

    memcpy(room, o->instr + g.first, n * sizeof *room);
    memmove(o->instr + g.first, o->instr + g.end, back * sizeof *room);
    memcpy(o->instr + g.first + back, room, n * sizeof *room);
    for (size_t i = 0; i < back; i++)
        o->first[g.first + i] = o->first[g.end + i] - (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        o->first[g.first + back + i] = (uint32_t)(g.first + back);
}

/* The product at position k with the chain that makes its right operand. */
static void join(rp_plan *plan, size_t k, const uint32_t *readers)
{
    const uint32_t root = plan->root[rp_plan_at(plan, k)->in[1]];
    const group g = chain_of(plan, k, root);

    if (g.first == g.end || g.first < plan->constants || g.end - g.first > RP_CHAIN_STEPS ||
        !rp_plan_may_follow(plan, g) || rp_plan_goes_before(plan, g.first) ||
        !is_for_it_alone(plan, g, root, readers) || !may_read_later(plan, g, rp_plan_call_end(plan, k), root))
        return;
    move(&plan->order, g, k);
    plan->mark[plan->order.instr[k]] |= MARK_LED;
}

rp_status rp_plan_prologues(rp_plan *plan, uint32_t **readers, rp_error *err)
{
    const unsigned passes = RP_PASS_PROLOGUES | RP_PASS_FUSE;
    rp_status status = RP_OK;

    if ((plan->passes & passes) != passes || plan->late || !rp_device_shares_memory(plan->device) ||
        !rp_device_has_prologue(plan->device) || !rp_program_has(plan->program, RP_PLAYS_PRODUCT))
        return RP_OK;
    for (size_t k = 0; k < plan->order.n && status == RP_OK; k++) {
        if (!is_product(plan, k))
            continue;
        status = rp_plan_count_readers(plan, readers, err);
        if (status == RP_OK)
            join(plan, k, *readers);
    }
    return status;
}
