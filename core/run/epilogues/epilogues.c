/* SPDX-License-Identifier: Apache-2.0
 * Epilogues: a product, of matrices or a convolution, and the chain that reads it are one call, which runs the chain on
 * each block of the product's outputs as soon as these are finished, while a cache has them (kernels/chain/epilogue.h).
 * The two come to stand together: the product goes to the chain where nothing in between needs it, or the chain to the
 * product. They take turns, so what either reads or makes lives as long as both, and the chain writes to none of the
 * product's operands.
 */
#include <string.h>

#include "base/memory.h"
#include "core/run/epilogues/epilogues.h"
#include "kernels/chain/epilogue.h"

enum { NEAR = 64 /* positions in which the product is looked for */, NONE = UINT32_MAX };
/* What another call makes or reads, or a state that somebody may still be reading when it is overwritten. */
enum { NOT_OF_THESE = MARK_UPDATE | MARK_GATHERED | MARK_GATHERS | MARK_LIES | MARK_READS_LYING | MARK_BOTH };
enum { NOR_OF_THESE = MARK_PRODUCT | MARK_DOTS | MARK_GOES_ON };

static bool is_marked(const rp_plan *plan, size_t k, unsigned marks)
{
    return (plan->mark[plan->order.instr[k]] & marks) != 0;
}

static bool goes_on(const rp_plan *plan, size_t k)
{
    return is_marked(plan, k, MARK_GOES_ON);
}

const rp_instr *rp_plan_goes_before(const rp_plan *plan, size_t position)
{
    const size_t first = plan->order.first[position];

    return first > 0 && goes_on(plan, first - 1) ? rp_plan_at(plan, first - 1) : NULL;
}

static bool is_led(const rp_plan *plan, size_t k)
{
    return k < plan->order.n && is_marked(plan, k, MARK_LED);
}

size_t rp_plan_call_first(const rp_plan *plan, size_t k)
{
    const size_t first = plan->order.first[k] - (rp_plan_goes_before(plan, k) ? 1 : 0);

    return is_led(plan, first) ? plan->order.first[first - 1] : first;
}

size_t rp_plan_call_end(const rp_plan *plan, size_t first)
{
    size_t end = rp_plan_chain_end(plan, first);

    end += is_led(plan, end) ? 1 : 0;
    return goes_on(plan, end - 1) ? rp_plan_chain_end(plan, end) : end;
}

/* ---- which product ---- */

typedef rp_plan_group group;

bool rp_plan_makes(const rp_plan *plan, group g, uint32_t root)
{
    for (size_t k = g.first; k < g.end; k++)
        for (int i = 0; i < rp_plan_at(plan, k)->n_out; i++)
            if (rp_plan_at(plan, k)->out[i] == root)
                return true;
    return false;
}

bool rp_plan_is_alone(const rp_plan *plan, size_t k)
{
    return !is_marked(plan, k, NOT_OF_THESE | NOR_OF_THESE | MARK_GIVEN);
}

/* Whether it is one sum that frames may carry: its call makes the product then, in registers (core/run/places/over.c).
 */
static bool may_be_carried(const rp_plan *plan, group g)
{
    return g.end == g.first + 1 && is_marked(plan, g.first, MARK_GIVEN) &&
           rp_plan_at(plan, g.first)->op->role == RP_PLAYS_ADD;
}

bool rp_plan_may_follow(const rp_plan *plan, group g)
{
    size_t views = 0;

    for (size_t k = g.first; k < g.end; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        if (!(instr->op->flags & RP_OP_ELEMENTWISE) || instr->region ||
            is_marked(plan, k, NOT_OF_THESE | NOR_OF_THESE) || may_be_carried(plan, g))
            return false;
        views += instr->n_in + (size_t)instr->n_out;
    }
    return views <= RP_CHAIN_VIEWS &&
           rp_type_count(&plan->program->value[rp_plan_at(plan, g.first)->out[0]]) > RP_CHAIN_BLOCK;
}

bool rp_plan_reads_own(const rp_plan *plan, group g, uint32_t value)
{
    const rp_type *made = &plan->program->value[rp_plan_at(plan, g.first)->out[0]];

    if (rp_type_count(&plan->program->value[value]) != rp_type_count(made))
        return false;
    for (size_t k = g.first; k < g.end; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++) {
            const uint32_t operand = rp_plan_at(plan, k)->in[i];

            if (plan->root[operand] == value && !rp_view_is_whole(&plan->view[operand], made))
                return false;
        }
    return true;
}

static bool is_read_at(const rp_plan *plan, size_t k, uint32_t root)
{
    const rp_instr *instr = rp_plan_at(plan, k);

    for (size_t i = 0; i < instr->n_in; i++)
        if (plan->root[instr->in[i]] == root)
            return true;
    return false;
}

bool rp_plan_reads(const rp_plan *plan, group g, uint32_t root)
{
    for (size_t k = g.first; k < g.end; k++)
        if (is_read_at(plan, k, root))
            return true;
    return false;
}

/* Of matrices, or a convolution. */
static bool is_product(const rp_plan *plan, size_t k)
{
    return rp_plan_is_alone(plan, k) && rp_device_has_epilogue(plan->device, rp_plan_at(plan, k)->op->kernel);
}

static bool has_products(const rp_plan *plan)
{
    for (size_t k = 0; k < plan->order.n; k++)
        if (is_product(plan, k))
            return true;
    return false;
}

/* Whether the product at position k may go behind all that is in front of the chain: nobody there needs it, or would
 * miss the last turn to read its operands, which is when memory may be taken over. */
static bool may_come_later(const rp_plan *plan, size_t k, size_t first)
{
    const rp_instr *product = rp_plan_at(plan, k);

    for (size_t between = k + 1; between < first; between++) {
        if (is_read_at(plan, between, product->out[0]))
            return false;
        for (size_t i = 0; i < product->n_in; i++)
            if (rp_plan_at(plan, between)->op->flags & RP_OP_INPLACE &&
                is_read_at(plan, between, plan->root[product->in[i]]))
                return false;
    }
    return true;
}

/* The same of the chain: all that it reads is there already, and nobody in between reads it. */
static bool may_come_sooner(const rp_plan *plan, size_t k, group g)
{
    for (size_t between = k + 1; between < g.first; between++) {
        const rp_instr *instr = rp_plan_at(plan, between);

        for (size_t at = g.first; at < g.end; at++)
            for (size_t i = 0; i < rp_plan_at(plan, at)->n_in; i++) {
                const uint32_t root = plan->root[rp_plan_at(plan, at)->in[i]];

                for (int o = 0; o < instr->n_out; o++)
                    if (instr->out[o] == root)
                        return false;
                if (root != rp_plan_at(plan, k)->out[0] && is_read_at(plan, between, root))
                    return false;
            }
    }
    return true;
}

/* Whether the product reads a state that the chain reads too, and may make the new value of in its place: then not
 * before the product is done. */
static bool reads_its_state(const rp_plan *plan, size_t k, group g)
{
    const rp_instr *product = rp_plan_at(plan, k);

    for (size_t i = 0; i < product->n_in; i++) {
        const uint32_t root = plan->root[product->in[i]];

        for (size_t at = g.first; at < g.end && plan->kind[root] == RP_INPUT_STATE; at++)
            if (is_read_at(plan, at, root))
                return true;
    }
    return false;
}

/* The position of a product that the chain could be behind, the nearest one; g.first: there is none. *later: it is the
 * product that moves. */
static size_t product_of(const rp_plan *plan, group g, bool *later)
{
    const size_t least = g.first < NEAR ? 0 : g.first - NEAR;

    for (size_t k = g.first; k-- > least;) {
        if (!is_product(plan, k))
            continue;
        if (!rp_plan_reads(plan, g, rp_plan_at(plan, k)->out[0]) ||
            rp_plan_makes(plan, g, rp_plan_at(plan, k)->out[0]) ||
            !rp_plan_reads_own(plan, g, rp_plan_at(plan, k)->out[0]) || reads_its_state(plan, k, g))
            continue;
        *later = may_come_later(plan, k, g.first);
        if (*later || may_come_sooner(plan, k, g))
            return k;
    }
    return g.first;
}

/* ---- the order ---- */

/* Positions [at, from) move behind those of [from, to). Chains move whole: what begins at a position ends in it. */
static void turn(plan_order *o, uint32_t *room, size_t at, size_t from, size_t to)
{
    const size_t front = from - at, back = to - from;

    memcpy(room, o->instr + at, front * sizeof *room);
    memmove(o->instr + at, o->instr + from, back * sizeof *room);
    memcpy(o->instr + at + back, room, front * sizeof *room);
    memcpy(room, o->first + at, front * sizeof *room);
    for (size_t k = 0; k < back; k++)
        o->first[at + k] = o->first[from + k] - (uint32_t)front;
    for (size_t k = 0; k < front; k++)
        o->first[at + back + k] = room[k] + (uint32_t)back;
}

rp_status rp_plan_epilogues(rp_plan *plan, rp_error *err)
{
    uint32_t room[NEAR];
    const unsigned passes = RP_PASS_EPILOGUES | RP_PASS_FUSE;
    bool later;

    (void)err;
    /* what is made again has its place */
    if ((plan->passes & passes) != passes || plan->late || !rp_device_shares_memory(plan->device) ||
        !rp_device_has_epilogues(plan->device) || !has_products(plan))
        return RP_OK;
    for (size_t k = 0, end; k < plan->order.n; k = end) {
        const group g = {k, end = rp_plan_chain_end(plan, k)};
        const size_t at = rp_plan_may_follow(plan, g) ? product_of(plan, g, &later) : k;

        if (at == k)
            continue;
        plan->mark[plan->order.instr[at]] |= MARK_GOES_ON;
        if (later)
            turn(&plan->order, room, at, at + 1, g.first);
        else
            turn(&plan->order, room, at + 1, g.first, g.end);
    }
    return RP_OK;
}

/* ---- lifetimes ---- */

/* What is stored nowhere of the call at positions [first, end). */
static void loosen(rp_plan *plan, size_t first, size_t end)
{
    for (size_t k = first; k < end; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);
        const bool led = plan->mark[plan->order.instr[k]] & MARK_LED;

        if (plan->mark[plan->order.instr[k]] & MARK_GOES_ON && !rp_device_has_epilogue(plan->device, instr->op->kernel))
            plan->block[instr->out[0]].place = PLACE_LOOSE;
        for (size_t i = 0; i < instr->n_in && led; i++)
            if (rp_plan_makes(plan, (rp_plan_group){first, k}, plan->root[instr->in[i]]))
                plan->block[plan->root[instr->in[i]]].place = PLACE_LOOSE;
    }
}

void rp_plan_hold_epilogues(rp_plan *plan)
{
    for (size_t first = 0, end; first < plan->order.n; first = end) {
        end = rp_plan_call_end(plan, first);
        if (rp_plan_chain_end(plan, first) == end)
            continue;
        loosen(plan, first, end);
        for (size_t k = first; k < end; k++) {
            const rp_instr *instr = rp_plan_at(plan, k);

            for (size_t i = 0; i < instr->n_in; i++) {
                block *b = &plan->block[plan->root[instr->in[i]]];

                b->last = b->last < end - 1 ? (uint32_t)end - 1 : b->last;
            }
            for (int i = 0; i < instr->n_out; i++) {
                block *b = &plan->block[instr->out[i]];

                b->first = (uint32_t)first;
                b->last = b->last < end - 1 ? (uint32_t)end - 1 : b->last;
            }
        }
    }
}
