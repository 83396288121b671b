/* SPDX-License-Identifier: Apache-2.0
 * Chains (kernels/chain.h): elementwise instructions over one large shape are brought together where nothing in between
 * needs them. While a group is open, an instruction either joins it, or does not depend on it and goes before it,
 * or waits to go after it; a large elementwise instruction that cannot join closes the group and opens the next. */

#include <string.h>

#include "base/memory.h"
#include "core/run/plan_private.h"

/* Where a value stands towards the open group. */
enum { BEFORE, INSIDE, AFTER };

typedef struct gather {
    const rp_program *p;
    const uint32_t *root;
    const rp_view *view;
    plan_order *order;               /* the chains */
    uint32_t member[RP_CHAIN_STEPS]; /* instructions of the open group */
    size_t n_members, n_views, n_outs;
    uint32_t *waiting; /* instructions to go after it */
    size_t n_waiting;
    bool
        check_waits; /* one of them has indices: what follows and has them too waits with it, as errors come in order */
    unsigned char *place; /* of each root value */
} gather;

size_t rp_plan_chain_end(const rp_plan *plan, size_t first)
{
    size_t end = first + 1;

    while (end < plan->order.n && plan->order.first[end] == first)
        end++;
    return end;
}

bool rp_view_is_whole(const rp_view *view, const rp_type *type)
{
    return view->rank == type->rank &&
           memcmp(view->shape, type->shape, (size_t)type->rank * sizeof *type->shape) == 0 && rp_view_contiguous(view);
}

static bool large(const rp_type *type)
{
    return rp_type_count(type) > RP_CHAIN_BLOCK;
}

static const rp_type *type_made(const gather *g, const rp_instr *instr)
{
    return &g->p->value[instr->out[0]];
}

/* Where the instruction has to go: the latest place of its operands. */
static int latest_operand(const gather *g, const rp_instr *instr)
{
    int latest = BEFORE;

    for (size_t i = 0; i < instr->n_in; i++)
        if (g->place[g->root[instr->in[i]]] > latest)
            latest = g->place[g->root[instr->in[i]]];
    return latest;
}

static void set_place(const gather *g, const rp_instr *instr, unsigned char place)
{
    for (int i = 0; i < instr->n_out; i++)
        g->place[instr->out[i]] = place;
}

static bool can_join(const gather *g, const rp_instr *instr)
{
    const rp_type *type = type_made(g, instr), *group = type_made(g, &g->p->instr[g->member[0]]);

    if (g->n_members == RP_CHAIN_STEPS || type->rank != group->rank ||
        memcmp(type->shape, group->shape, (size_t)type->rank * sizeof *type->shape) != 0 ||
        g->n_views + instr->n_in + (size_t)instr->n_out > RP_CHAIN_VIEWS ||
        g->n_outs + (size_t)instr->n_out > RP_CHAIN_SLOTS)
        return false;
    for (size_t i = 0; i < instr->n_in; i++) /* a block's elements exist, others may not yet */
        if (g->place[g->root[instr->in[i]]] == INSIDE && !rp_view_is_whole(&g->view[instr->in[i]], type))
            return false;
    return latest_operand(g, instr) != AFTER;
}

static void join(gather *g, uint32_t k)
{
    const rp_instr *instr = &g->p->instr[k];

    g->member[g->n_members++] = k;
    g->n_views += instr->n_in + (size_t)instr->n_out;
    g->n_outs += (size_t)instr->n_out;
    set_place(g, instr, INSIDE);
}

static void emit(gather *g, uint32_t k, size_t first)
{
    g->order->instr[g->order->n] = k;
    g->order->first[g->order->n++] = (uint32_t)first;
}

/* Whether two instructions have a large value in common. */
static bool related(const gather *g, const rp_instr *a, const rp_instr *b)
{
    for (size_t i = 0; i < b->n_in; i++) {
        uint32_t operand = g->root[b->in[i]];

        if (!large(&g->p->value[operand]))
            continue;
        for (int k = 0; k < a->n_out; k++)
            if (a->out[k] == operand)
                return true;
        for (size_t k = 0; k < a->n_in; k++)
            if (g->root[a->in[k]] == operand)
                return true;
    }
    return false;
}

/* Members with nothing in common would only compete for the cache: each set of related ones is a chain of its own. */
static void emit_chains(gather *g)
{
    size_t set[RP_CHAIN_STEPS];

    for (size_t i = 0; i < g->n_members; i++) {
        set[i] = i;
        for (size_t k = 0; k < i; k++)
            if (set[k] != set[i] && related(g, &g->p->instr[g->member[k]], &g->p->instr[g->member[i]])) {
                size_t from = set[i] > set[k] ? set[i] : set[k], to = set[i] > set[k] ? set[k] : set[i];

                for (size_t m = 0; m <= i; m++)
                    if (set[m] == from)
                        set[m] = to;
            }
    }
    for (size_t s = 0; s < g->n_members; s++) {
        const size_t first = g->order->n;

        for (size_t i = s; i < g->n_members; i++)
            if (set[i] == s)
                emit(g, g->member[i], first);
    }
}

static void close_group(gather *g)
{
    emit_chains(g);
    for (size_t i = 0; i < g->n_members; i++)
        set_place(g, &g->p->instr[g->member[i]], BEFORE);
    for (size_t i = 0; i < g->n_waiting; i++) {
        emit(g, g->waiting[i], g->order->n);
        set_place(g, &g->p->instr[g->waiting[i]], BEFORE);
    }
    g->n_members = g->n_waiting = g->n_views = g->n_outs = 0;
    g->check_waits = false;
}

static void take(gather *g, uint32_t k)
{
    const rp_instr *instr = &g->p->instr[k];
    const bool check = rp_plan_can_fail(instr);

    if (instr->op->flags & RP_OP_ELEMENTWISE && large(type_made(g, instr))) {
        if (g->n_members && !can_join(g, instr))
            close_group(g);
        join(g, k);
    } else if (latest_operand(g, instr) == BEFORE && !(check && g->check_waits)) {
        emit(g, k, g->order->n);
    } else {
        g->waiting[g->n_waiting++] = k;
        g->check_waits = g->check_waits || check;
        set_place(g, instr, AFTER);
    }
}

/* Whether the instruction at k is the last of updates that came early: what they free, a group that stays open would
 * hold. */
static bool ends_updates(const rp_plan *plan, const plan_order *o, size_t k)
{
    return plan->mark[o->instr[k]] & MARK_UPDATE && !(k + 1 < o->n && plan->mark[o->instr[k + 1]] & MARK_EARLY);
}

static rp_status alone(plan_order *o)
{
    for (size_t k = 0; k < o->n; k++)
        o->first[k] = (uint32_t)k;
    return RP_OK;
}

rp_status rp_plan_fuse(rp_plan *plan, rp_error *err)
{
    const plan_order before = plan->order;
    plan_order after = {.instr = rp_malloc(before.n * sizeof *after.instr), .first = before.first};
    gather g = {.p = plan->program, .root = plan->root, .view = plan->view, .order = &after};

    if (!(plan->passes & RP_PASS_FUSE)) {
        rp_free(after.instr);
        return alone(&plan->order);
    }
    g.waiting = rp_malloc(before.n * sizeof *g.waiting);
    g.place = rp_calloc(plan->program->n_values, 1);
    if (!after.instr || !g.waiting || !g.place) {
        rp_free(after.instr);
        rp_free(g.waiting);
        rp_free(g.place);
        return rp_no_memory(err);
    }
    for (size_t k = 0; k < before.n; k++) {
        take(&g, before.instr[k]);
        if (ends_updates(plan, &before, k))
            close_group(&g);
    }
    close_group(&g);
    rp_free(g.waiting);
    rp_free(g.place);
    rp_free(before.instr);
    plan->order = after;
    return RP_OK;
}
