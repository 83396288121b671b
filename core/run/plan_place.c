/* SPDX-License-Identifier: Apache-2.0
 * Places. Feeds and results lie in memory of the plan's own, since they are written before a run and read after it; all
 * else in the arena, which the next plan may use. Lifetimes are walked as an allocator would see them, from the first
 * position to the last and again from the last to the first, and the walk that ends smaller counts: what is hard for
 * one, a large value born beside a dying one, is easy for the other. */
#include <string.h>

#include "base/memory.h"
#include "core/run/free_pieces.h"
#include "core/run/plan_private.h"

enum { NOTHING = UINT32_MAX };

/* ---- values that take over an operand's block ---- */

/* The operand whose block output i at position k may take over: of the same position and layout, in the arena, and read
 * for the last time. A chain's instructions take turns, so of these only calls of one instruction do this. */
static uint32_t operand_to_share(const rp_plan *plan, size_t k, size_t i)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    uint32_t root;

    if (!(instr->op->flags & RP_OP_INPLACE) || i >= instr->n_in)
        return NOTHING;
    root = plan->root[instr->in[i]];
    if ((plan->block[root].place != PLACE_ARENA && plan->block[root].place != PLACE_SHARED) ||
        plan->block[root].last != k || plan->block[root].overlaps ||
        plan->block[root].bytes != plan->block[instr->out[i]].bytes ||
        plan->view[root].dtype != plan->view[instr->out[i]].dtype ||
        !rp_view_is_whole(&plan->view[instr->in[i]], &plan->program->value[instr->out[i]]))
        return NOTHING;
    for (size_t n = 0; n < instr->n_in; n++)
        if (n != i && plan->root[instr->in[n]] == root)
            return NOTHING;
    return root;
}

/* How many operands at positions [from, to) have this root. */
static size_t readers(const rp_plan *plan, size_t from, size_t to, uint32_t root)
{
    size_t n = 0;

    for (size_t k = from; k < to; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++)
            n += plan->root[rp_plan_at(plan, k)->in[i]] == root;
    return n;
}

/* Of a chain behind a product: the product's output, if output i at position k may take over its block; what the
 * product reads is still needed. The chain is the last to read it, by its own elements, and reads none behind position
 * k, which itself reads it only where it may work in place. */
static uint32_t product_to_share(const rp_plan *plan, size_t k, size_t i, size_t end)
{
    const rp_instr *instr = rp_plan_at(plan, k), *product = rp_plan_goes_before(plan, k);
    const uint32_t value = product->out[0];
    const block *b = &plan->block[value];

    const size_t here = readers(plan, k, k + 1, value);

    if (b->place != PLACE_ARENA || b->last != end - 1 || b->overlaps || b->bytes != plan->block[instr->out[i]].bytes ||
        plan->view[value].dtype != plan->view[instr->out[i]].dtype || readers(plan, k + 1, end, value) > 0 || here > 1)
        return NOTHING;
    if (here == 1 && (!(instr->op->flags & RP_OP_INPLACE) || i >= instr->n_in || plan->root[instr->in[i]] != value))
        return NOTHING;
    return value;
}

/* The first of those that share a block stands for all: it lives as long as the last of them. */
static void share_at(rp_plan *plan, size_t k, size_t end, bool behind, bool *taken)
{
    const rp_instr *instr = rp_plan_at(plan, k);

    for (size_t i = 0; i < (size_t)instr->n_out; i++) {
        block *b = &plan->block[instr->out[i]];
        const bool free = b->place == PLACE_ARENA && !b->joined;
        const uint32_t from = !free    ? NOTHING
                              : behind ? (*taken ? NOTHING : product_to_share(plan, k, i, end))
                                       : operand_to_share(plan, k, i);

        if (from == NOTHING)
            continue;
        *taken = true;
        b->place = PLACE_SHARED;
        b->shared = plan->block[from].place == PLACE_SHARED ? plan->block[from].shared : from;
        plan->block[b->shared].last = b->last;
    }
}

static void share(rp_plan *plan)
{
    for (size_t k = 0, end; k < plan->order.n; k = end) {
        const bool behind = rp_plan_goes_before(plan, k) != NULL;
        bool taken = false;

        end = rp_plan_chain_end(plan, k);
        for (size_t at = k; at < end && (behind || end - k == 1); at++)
            share_at(plan, at, end, behind, &taken);
    }
}

/* ---- walks ---- */

/* Values in lists by the position of their birth and of their death. */
typedef struct lists {
    uint32_t *born, *dying;           /* of each position, the first of a list; NOTHING: empty */
    uint32_t *next_born, *next_dying; /* of each value */
    uint32_t *piece;
    size_t positions;
} lists;

/* apart: without what regions need. */
static bool lists_new(lists *l, const rp_plan *plan, bool apart)
{
    const size_t n = plan->n_blocks;

    l->positions = plan->order.n + 1;
    l->born = rp_malloc(l->positions * sizeof *l->born);
    l->dying = rp_malloc(l->positions * sizeof *l->dying);
    l->next_born = rp_malloc(n * sizeof *l->next_born);
    l->next_dying = rp_malloc(n * sizeof *l->next_dying);
    l->piece = rp_malloc(n * sizeof *l->piece);
    if (!l->born || !l->dying || !l->next_born || !l->next_dying || !l->piece)
        return false;
    for (size_t k = 0; k < l->positions; k++)
        l->born[k] = l->dying[k] = NOTHING;
    for (uint32_t v = 0; v < (apart ? plan->program->n_values : n); v++) {
        const block *b = &plan->block[v];

        if (rp_block_taken(b) == 0)
            continue;
        l->next_born[v] = l->born[b->first];
        l->born[b->first] = v;
        l->next_dying[v] = l->dying[b->last];
        l->dying[b->last] = v;
    }
    return true;
}

static void lists_free(lists *l)
{
    rp_free(l->born);
    rp_free(l->dying);
    rp_free(l->next_born);
    rp_free(l->next_dying);
    rp_free(l->piece);
}

/* One walk, which notes where each value would lie; *bytes: how far it came. */
static bool walk(const rp_plan *plan, const lists *l, bool back, size_t *offset, size_t *bytes)
{
    const uint32_t *come = back ? l->dying : l->born, *go = back ? l->born : l->dying;
    const uint32_t *next_come = back ? l->next_dying : l->next_born, *next_go = back ? l->next_born : l->next_dying;
    bool memory = true;
    rp_free_pieces pieces;

    rp_free_pieces_init(&pieces, rp_free_pieces_most);
    for (size_t i = 0; i < l->positions && memory; i++) {
        const size_t k = back ? l->positions - 1 - i : i;

        for (uint32_t v = come[k]; v != NOTHING && memory; v = next_come[v]) {
            memory = rp_free_pieces_take(&pieces, rp_block_taken(&plan->block[v]), &l->piece[v]);
            offset[v] = memory ? rp_free_pieces_offset(&pieces, l->piece[v]) : 0;
        }
        for (uint32_t v = go[k]; v != NOTHING && memory && plan->passes & RP_PASS_REUSE; v = next_go[v])
            rp_free_pieces_give(&pieces, l->piece[v]);
    }
    *bytes = pieces.end;
    rp_free_pieces_free(&pieces);
    return memory;
}

/* Where the blocks begin in which the walk has put the values. */
static size_t offset_of(const rp_plan *plan, const size_t *offset, size_t v)
{
    const size_t at = plan->block[v].place == PLACE_SHARED ? plan->block[v].shared : v;
    const block *b = &plan->block[at];

    return b->joined ? offset[b->with] + b->shift : offset[at];
}

/* Walks there and back; the better one counts if it needs less than `bytes`. apart: what regions need lies behind all
 * values, one at the place of the other, as only one of them runs. So no plan needs more than all its values and the
 * largest region, whatever gaps the other walks leave. */
static bool place_arena(rp_plan *plan, bool apart, size_t *offset)
{
    size_t behind = 0, bytes;
    lists l = {0};
    bool memory = lists_new(&l, plan, apart);

    for (size_t v = plan->program->n_values; v < plan->n_blocks; v++)
        behind = apart && plan->block[v].made && plan->block[v].bytes > behind ? plan->block[v].bytes : behind;
    for (int back = 0; back < 2 && memory; back++) {
        memory = walk(plan, &l, back, offset, &bytes);
        if (!memory || bytes + behind >= plan->arena_bytes)
            continue;
        plan->arena_bytes = bytes + behind;
        for (size_t v = 0; v < plan->n_blocks; v++) {
            block *b = &plan->block[v];

            if (b->made && (b->place == PLACE_ARENA || b->place == PLACE_SHARED))
                b->offset = apart && v >= plan->program->n_values ? bytes : offset_of(plan, offset, v);
        }
    }
    lists_free(&l);
    return memory;
}

/* Copies of states that regions keep, one after the other as regions are bound. */
static bool place_kept(rp_plan *plan)
{
    bool room = true;

    plan->kept = plan->own_bytes;
    for (size_t k = 0; k < plan->order.n; k++) {
        const rp_instr *instr = &plan->program->instr[plan->order.instr[k]];

        for (size_t i = 0; instr->region && i < instr->n_in && room; i++)
            if (rp_plan_keeps(plan, instr, i))
                room = rp_free_pieces_add(&plan->own_bytes, rp_type_bytes(&plan->program->value[instr->in[i]]));
    }
    return room;
}

/* Feeds, results that no state's memory holds, and copies of states. */
static rp_status place_own(rp_plan *plan, rp_error *err)
{
    for (size_t v = 0; v < plan->program->n_values; v++) {
        block *b = &plan->block[v];

        if (plan->root[v] != v || b->place != PLACE_OWN || b->joined)
            continue;
        b->offset = plan->own_bytes;
        if (!rp_free_pieces_add(&plan->own_bytes, b->bytes))
            return rp_fail(err, RP_ENOMEM, "a step's feeds and results take more than 2^%d bytes",
                           (int)(8 * sizeof rp_free_pieces_most) - 2);
    }
    for (size_t v = 0; v < plan->program->n_values; v++) {
        block *b = &plan->block[v];

        if (b->place == PLACE_OWN && b->joined)
            b->offset = plan->block[b->with].offset + b->shift;
    }
    return place_kept(plan) ? RP_OK : rp_fail(err, RP_ENOMEM, "copies of states take more memory than there is");
}

/* All in the arena; whether something lies inside a concat. False: memory ran out. */
static bool place_all(rp_plan *plan, plan_inside how, size_t *offset, bool *lies_inside)
{
    bool memory = true;

    if (plan->passes & RP_PASS_INPLACE) {
        rp_plan_overlap_histories(plan);
        *lies_inside = rp_plan_put_inside(plan, how);
        share(plan);
        rp_plan_put_beside(plan, offset);
    }
    plan->arena_bytes = SIZE_MAX;
    memory = place_arena(plan, false, offset);
    if (plan->n_blocks > plan->program->n_values)
        memory = memory && place_arena(plan, true, offset);
    return memory;
}

static void swap(block **a, block **b)
{
    block *c = *a;

    *a = *b;
    *b = c;
}

/* What lies inside a concat of the arena holds that concat's block for longer, and what leaves the arena leaves gaps
 * that the walks fill in their own way: the more is inside the better, but where the arena would be larger for it. */
static bool place_smallest(rp_plan *plan, size_t *offset)
{
    const size_t size = plan->n_blocks * sizeof *plan->block;
    block *before = rp_malloc(size), *other = rp_malloc(size);
    bool inside = false, memory = before && other;

    if (memory) {
        memcpy(before, plan->block, size);
        memory = place_all(plan, INSIDE_ALL, offset, &inside);
    }
    for (int how = INSIDE_RESULTS; how <= INSIDE_NONE && memory && inside; how++) {
        const size_t bytes = plan->arena_bytes;

        swap(&plan->block, &other);
        memcpy(plan->block, before, size);
        memory = place_all(plan, (plan_inside)how, offset, &inside);
        if (bytes <= plan->arena_bytes) {
            swap(&plan->block, &other);
            plan->arena_bytes = bytes;
        }
    }
    rp_free(before);
    rp_free(other);
    return memory;
}

rp_status rp_plan_place(rp_plan *plan, rp_error *err)
{
    size_t *offset = rp_malloc(plan->n_blocks * sizeof *offset);
    bool inside, memory = offset != NULL;

    memory = memory &&
             (rp_plan_has_inside(plan) ? place_smallest(plan, offset) : place_all(plan, INSIDE_NONE, offset, &inside));
    rp_free(offset);
    if (!memory)
        return rp_no_memory(err);
    return place_own(plan, err);
}
