/* SPDX-License-Identifier: Apache-2.0
 * Common subexpressions: an instruction with the operation, attributes and operands of an earlier one has its values,
 * bit for bit, as every operation is a function. If an index of it is out of range, so was the earlier one's, which is
 * then reported: leaving it out changes no error. */
#include <string.h>

#include "base/index.h"
#include "base/memory.h"
#include "core/run/plan_private.h"

enum {
    CHEAP = 4096 /* bytes: a larger value that costs nothing is sooner made again than kept */
};

static uint64_t mix(const rp_index *index, uint64_t h, const void *bytes, size_t size)
{
    return size ? h * 0x9E3779B97F4A7C15u + rp_index_hash(index, bytes, size) : h;
}

static uint64_t hash_attr(const rp_index *index, uint64_t h, rp_attr_kind kind, const rp_attr *a)
{
    if (kind == RP_ATTR_LIST)
        return mix(index, h + (uint64_t)a->n, a->list, (size_t)a->n * sizeof *a->list);
    return kind == RP_ATTR_REAL ? mix(index, h, &a->r, sizeof a->r) : mix(index, h, &a->i, sizeof a->i);
}

bool rp_plan_same_attr(rp_attr_kind kind, const rp_attr *a, const rp_attr *b)
{
    if (kind == RP_ATTR_LIST)
        return a->n == b->n && memcmp(a->list, b->list, (size_t)a->n * sizeof *a->list) == 0;
    return kind == RP_ATTR_REAL ? memcmp(&a->r, &b->r, sizeof a->r) == 0 : a->i == b->i;
}

static uint64_t hash_of(const rp_plan *plan, const rp_index *index, const rp_instr *instr)
{
    const rp_op_id id = rp_op_index(instr->op);
    uint64_t h = mix(index, 0, &id, sizeof id);

    for (int i = 0; i < RP_MAX_ATTR && instr->op->attr[i].kind != RP_ATTR_NONE; i++)
        h = hash_attr(index, h, instr->op->attr[i].kind, &instr->attr[i]);
    for (size_t i = 0; i < instr->n_in; i++)
        h = mix(index, h, &plan->same[instr->in[i]], sizeof *plan->same);
    return h;
}

/* Whether a value's elements are its own, and no view's. */
static bool is_made(const rp_plan *plan, uint32_t value)
{
    return plan->root[value] == value;
}

static bool is_equal(const rp_plan *plan, const rp_instr *a, const rp_instr *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    if (a->op->alias && is_made(plan, a->out[0]) != is_made(plan, b->out[0])) /* for other readers (plan_views.c) */
        return false;
    for (int i = 0; i < RP_MAX_ATTR && a->op->attr[i].kind != RP_ATTR_NONE; i++)
        if (!rp_plan_same_attr(a->op->attr[i].kind, &a->attr[i], &b->attr[i]))
            return false;
    for (size_t i = 0; i < a->n_in; i++)
        if (plan->same[a->in[i]] != plan->same[b->in[i]])
            return false;
    return true;
}

/* instr has the values of an earlier one. */
static void join(rp_plan *plan, const rp_instr *instr, const rp_instr *earlier)
{
    for (int i = 0; i < instr->n_out; i++) {
        const uint32_t value = instr->out[i], first = earlier->out[i];

        plan->same[value] = first;
        plan->root[value] = plan->root[first];
        plan->view[value] = plan->view[first];
    }
}

/* All elements of its root, in the same order: what is a view of one is one of the other. */
static bool is_whole_root(const rp_plan *plan, uint32_t value)
{
    return rp_view_contiguous(&plan->view[value]) &&
           rp_type_bytes(&plan->program->value[value]) == rp_type_bytes(&plan->program->value[plan->root[value]]);
}

void rp_plan_join_copies(rp_plan *plan)
{
    const rp_program *p = plan->program;

    for (size_t k = 0; k < p->n_instrs; k++) {
        const rp_instr *instr = &p->instr[k];
        const uint32_t value = instr->out[0];
        uint32_t of;

        /* a view of a copy that was joined, as what makes a scalar of it, is on the other's memory */
        if (instr->op->alias && plan->root[value] != value)
            plan->root[value] = plan->root[instr->in[0]];
        if (instr->op->role != RP_PLAYS_CONCAT || instr->n_in != 1)
            continue;
        of = instr->in[0];
        if (!is_whole_root(plan, of))
            continue;
        plan->same[value] = plan->same[of];
        plan->root[value] = plan->root[of];
        plan->view[value] = plan->view[of];
    }
}

/* A copy (a concat of one operand) of a value that a copy made already, as reshape does of what does not lie in order:
 * nobody writes to either, so they are one. */
static bool is_copied_again(const rp_plan *plan, const rp_instr *instr)
{
    uint32_t of;

    if (instr->op->role != RP_PLAYS_CONCAT || instr->n_in != 1)
        return false;
    of = plan->same[instr->in[0]];
    return plan->root[of] == of && plan->kind[of] == VALUE_MADE &&
           plan->program->instr[plan->program->maker[of]].op->alias != NULL;
}

static void join_copy(rp_plan *plan, const rp_instr *copy)
{
    const uint32_t of = plan->same[copy->in[0]], value = copy->out[0];

    plan->same[value] = of;
    plan->root[value] = of;
    plan->view[value] = plan->view[of];
}

/* What costs no more to make than to read: constants, and bf16 widened. */
static bool is_made_again(const rp_plan *plan, const rp_instr *instr)
{
    const rp_type *made = &plan->program->value[instr->out[0]];

    return (instr->n_in == 0 || (instr->op->role == RP_PLAYS_CAST && made->dtype == RP_F32 &&
                                 plan->program->value[instr->in[0]].dtype == RP_BF16)) &&
           rp_type_bytes(made) > CHEAP;
}

static bool is_kept_apart(const rp_plan *plan, const rp_instr *instr)
{
    return instr->region || is_made_again(plan, instr);
}

static rp_status visit(rp_plan *plan, rp_index *index, uint32_t k, rp_error *err)
{
    const rp_instr *instr = &plan->program->instr[k];
    uint64_t hash;

    if (!rp_index_reserve(index))
        return rp_no_memory(err);
    hash = hash_of(plan, index, instr);
    for (rp_index_walk w = rp_index_find(index, hash); rp_index_next(&w);)
        if (is_equal(plan, instr, &plan->program->instr[w.at])) {
            join(plan, instr, &plan->program->instr[w.at]);
            return RP_OK;
        }
    rp_index_add(index, hash, k);
    return RP_OK;
}

rp_status rp_plan_common(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_index index = {0};
    rp_status status = RP_OK;

    for (size_t k = 0; k < p->n_instrs && status == RP_OK; k++) {
        const rp_instr *instr = &p->instr[k];

        /* a view of a value that was joined is on the other's memory */
        if (plan->root[instr->out[0]] != instr->out[0])
            plan->root[instr->out[0]] = plan->root[instr->in[0]];
        if (is_copied_again(plan, instr))
            join_copy(plan, instr);
        else if (!is_kept_apart(plan, instr))
            status = visit(plan, &index, (uint32_t)k, err);
    }
    rp_index_free(&index);
    return status;
}
