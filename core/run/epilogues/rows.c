/* SPDX-License-Identifier: Apache-2.0
 * Norms, softmax and reductions that have a chain next to them are one call with it, if nobody else needs what lies
 * between: the chain in front makes what they read, or the one behind reads what they make, a few rows at a time, and
 * that is stored nowhere (kernels/chain/rows.h). Nothing is moved in the order, and nothing is joined that would hold
 * more memory for longer than it saves. */
#include "base/memory.h"
#include "core/run/epilogues/epilogues.h"
#include "kernels/chain/rows.h"

enum { OPERANDS = 5, ROWS_A_THREAD = 4 /* or threads would have too little to share */ };

typedef struct looked {
    const rp_plan *plan;
    size_t *last; /* of each root: the position that reads it last, or where they end, of outputs */
} looked;

static bool find_last(looked *l)
{
    const rp_program *p = l->plan->program;

    l->last = rp_calloc(p->n_values, sizeof *l->last);
    if (!l->last)
        return false;
    for (size_t k = 0; k < l->plan->order.n; k++)
        for (size_t i = 0; i < rp_plan_at(l->plan, k)->n_in; i++)
            l->last[l->plan->root[rp_plan_at(l->plan, k)->in[i]]] = k;
    for (size_t o = 0; o < p->n_outputs; o++)
        l->last[l->plan->root[p->output[o].value]] = l->plan->order.n;
    return true;
}

/* The rows of the instruction at position k, if its call may have chains in it. */
static bool rows_at(const rp_plan *plan, size_t k, rp_rows *rows)
{
    const rp_instr *instr = rp_plan_at(plan, k);
    rp_view in[OPERANDS], out[OPERANDS];
    const rp_kernel_args args = {in, instr->n_in, out, (size_t)instr->n_out, instr->attr};

    if (instr->region || instr->op->alias || instr->n_in > OPERANDS || instr->n_out > OPERANDS ||
        !rp_plan_is_alone(plan, k))
        return false;
    for (size_t i = 0; i < args.n_in; i++)
        in[i] = plan->view[instr->in[i]];
    for (size_t i = 0; i < args.n_out; i++)
        out[i] = plan->view[instr->out[i]];
    return rp_rows_of(rows, instr->op->kernel, &args) && rows->in * rp_dtype_size(in[0].dtype) <= RP_ROWS_LOOSE &&
           rows->items >= ROWS_A_THREAD * (size_t)rp_device_threads(plan->device);
}

static size_t bytes_of(const rp_plan *plan, uint32_t root)
{
    return rp_type_bytes(&plan->program->value[root]);
}

/* Bytes of the arena that the instructions of the group are the last to read, but not made by them. */
static size_t dying(const looked *l, rp_plan_group g)
{
    size_t bytes = 0;

    for (size_t k = g.first; k < g.end; k++)
        for (size_t i = 0; i < rp_plan_at(l->plan, k)->n_in; i++) {
            const uint32_t root = l->plan->root[rp_plan_at(l->plan, k)->in[i]];

            if (l->last[root] == k && l->plan->kind[root] == VALUE_MADE && !rp_plan_makes(l->plan, g, root))
                bytes += bytes_of(l->plan, root);
        }
    return bytes;
}

/* Bytes of what the group makes and somebody else reads. */
static size_t stored(const looked *l, rp_plan_group g)
{
    size_t bytes = 0;

    for (size_t k = g.first; k < g.end; k++)
        for (int i = 0; i < rp_plan_at(l->plan, k)->n_out; i++) {
            const uint32_t value = rp_plan_at(l->plan, k)->out[i];

            bytes += l->last[value] >= g.end ? bytes_of(l->plan, value) : 0;
        }
    return bytes;
}

static bool reads_state(const rp_plan *plan, rp_plan_group g)
{
    for (size_t k = g.first; k < g.end; k++)
        for (size_t i = 0; i < rp_plan_at(plan, k)->n_in; i++)
            if (plan->kind[plan->root[rp_plan_at(plan, k)->in[i]]] == RP_INPUT_STATE)
                return true;
    return false;
}

/* ---- in front ---- */

/* The one operand of the instruction behind the group that the group makes, of its elements and in order; n_in: none
 * such. */
static size_t operand_made(const rp_plan *plan, rp_plan_group g, const rp_rows *rows)
{
    const rp_instr *instr = rp_plan_at(plan, g.end);
    size_t made = instr->n_in;

    for (size_t i = 0; i < instr->n_in; i++) {
        if (!rp_plan_makes(plan, g, plan->root[instr->in[i]]))
            continue;
        if (made < instr->n_in)
            return instr->n_in;
        made = i;
    }
    return made < instr->n_in && rp_type_count(&plan->program->value[instr->in[made]]) == rows->items * rows->in &&
                   rp_type_count(&plan->program->value[plan->root[instr->in[made]]]) == rows->items * rows->in &&
                   rp_view_contiguous(&plan->view[instr->in[made]])
               ? made
               : instr->n_in;
}

/* The chain and what is behind it. */
static bool join_front(const looked *l, rp_plan_group g)
{
    const rp_plan *plan = l->plan;
    const rp_plan_group next = {g.end, g.end + 1};
    const rp_instr *instr = rp_plan_at(plan, g.end);
    rp_rows rows;
    uint32_t root;
    size_t operand;

    if (!rp_plan_may_follow(plan, g) || rp_plan_goes_before(plan, g.first) || !rows_at(plan, g.end, &rows))
        return false;
    operand = operand_made(plan, g, &rows);
    if (operand == instr->n_in)
        return false;
    root = plan->root[instr->in[operand]];
    if (l->last[root] != g.end || (stored(l, next) > bytes_of(plan, root) && dying(l, g) > bytes_of(plan, root)))
        return false;
    plan->mark[plan->order.instr[g.end]] |= MARK_LED;
    return true;
}

/* ---- behind ---- */

/* What is at position k, and the chain. */
static bool join_behind(const looked *l, size_t k, rp_plan_group g)
{
    const rp_plan *plan = l->plan;
    const rp_plan_group before = {rp_plan_call_first(plan, k), k + 1};
    const uint32_t value = rp_plan_at(plan, k)->out[0];
    rp_rows rows;

    if (!rows_at(plan, k, &rows) || !rows.whole || !rp_plan_may_follow(plan, g) || !rp_plan_reads(plan, g, value) ||
        !rp_plan_reads_own(plan, g, value) || l->last[value] >= g.end ||
        (reads_state(plan, before) && reads_state(plan, g)))
        return false;
    for (size_t at = before.first; at < k; at++)
        for (int i = 0; i < rp_plan_at(plan, at)->n_out; i++)
            if (rp_plan_reads(plan, g, rp_plan_at(plan, at)->out[i]))
                return false;
    if (stored(l, g) > bytes_of(plan, value) && dying(l, before) > bytes_of(plan, value))
        return false;
    plan->mark[plan->order.instr[k]] |= MARK_GOES_ON;
    return true;
}

rp_status rp_plan_rows(rp_plan *plan, rp_error *err)
{
    const unsigned passes = RP_PASS_ROWS | RP_PASS_FUSE;
    looked l = {.plan = plan};

    if ((plan->passes & passes) != passes || plan->late || !rp_device_shares_memory(plan->device) ||
        !rp_device_has_rows(plan->device))
        return RP_OK;
    if (!find_last(&l))
        return rp_no_memory(err);
    for (size_t k = 0, end; k < plan->order.n; k = end) {
        const rp_plan_group g = {k, end = rp_plan_call_end(plan, k)};

        if (end < plan->order.n && join_front(&l, g))
            end++;
        if (end < plan->order.n && join_behind(&l, end - 1, (rp_plan_group){end, rp_plan_chain_end(plan, end)}))
            end = rp_plan_chain_end(plan, end);
    }
    rp_free(l.last);
    return RP_OK;
}
