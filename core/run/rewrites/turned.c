/* SPDX-License-Identifier: Apache-2.0
 * Products that are only read turned, as gradients of weights [out, in] are: transpose(matmul(transpose(x), g)). In the
 * plan they are matmul(transpose(g), x), element by element the same chain of the same factors, and lie in the order in
 * which they are read: an optimizer, a clip or a sum then walks memory in its order and not down its columns.
 *
 * The instructions keep their places: the operand's transpose becomes the other operand's, the product is made turned,
 * and the result's transpose becomes a reshape to the shape that it has already. A pinned device's library has bits,
 * and a run's archive an algorithm, for a shape: there products stay as they are. */
#include "base/memory.h"
#include "core/run/rewrites/rewrites.h"
#include "kernels/device.h"

/* The transpose that made a value which nothing but instruction `reader` reads; NULL: it is none. */
static const rp_instr *turned_for(const rp_program *p, const uint32_t *readers, uint32_t value, uint32_t reader)
{
    const uint32_t maker = p->maker[value];

    return maker != RP_NO_INSTR && readers[value] == reader && rp_instr_exchanges(&p->instr[maker]) ? &p->instr[maker]
                                                                                                    : NULL;
}

static void fill_exchange(rp_changed *c, uint32_t value, int rank)
{
    rp_attr *p = &RP_AT(c->attr, transpose, permutation);

    c->op = rp_op_get(RP_OP_transpose);
    c->in[0] = value;
    p->n = rank;
    for (int i = 0; i < rank; i++)
        p->list[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
}

/* Operand `at` of the product is turned, the other one exists before that is. */
static rp_status change(rp_changes *changes, const rp_program *p, const rp_instr *turn, size_t at, rp_error *err)
{
    const rp_instr *product = &p->instr[p->maker[turn->in[0]]];
    const uint32_t k = p->maker[product->in[at]], other = product->in[1 - at];
    const rp_type *type = &p->value[turn->out[0]];
    rp_changed *c = rp_changes_at(changes, k, 1);

    if (!c)
        return rp_no_memory(err);
    fill_exchange(c, other, p->value[other].rank);
    if (!(c = rp_changes_at(changes, p->maker[turn->in[0]], 2)))
        return rp_no_memory(err);
    c->op = product->op;
    c->in[at] = p->instr[k].out[0];
    c->in[1 - at] = p->instr[k].in[0];
    if (!(c = rp_changes_at(changes, p->maker[turn->out[0]], 1)))
        return rp_no_memory(err);
    c->op = rp_op_get(RP_OP_reshape);
    c->in[0] = turn->in[0];
    RP_AT(c->attr, reshape, shape).n = type->rank;
    for (int i = 0; i < type->rank; i++)
        RP_AT(c->attr, reshape, shape).list[i] = (int64_t)type->shape[i];
    return RP_OK;
}

static rp_status find(rp_changes *changes, const rp_program *p, const uint32_t *readers, rp_error *err)
{
    rp_status status = RP_OK;

    for (uint32_t k = 0; k < p->n_instrs && status == RP_OK; k++) {
        const rp_instr *turn = &p->instr[k];
        const uint32_t maker =
            rp_instr_exchanges(turn) && readers[turn->in[0]] == k ? p->maker[turn->in[0]] : RP_NO_INSTR;
        const rp_instr *product = maker == RP_NO_INSTR ? NULL : &p->instr[maker];

        for (size_t at = 0; at < 2 && product && product->op->role == RP_PLAYS_PRODUCT; at++) {
            const rp_instr *operand = turned_for(p, readers, product->in[at], maker);

            if (!operand || product->in[1 - at] >= operand->out[0] || changes->of[maker] != RP_NO_INSTR ||
                changes->of[p->maker[operand->out[0]]] != RP_NO_INSTR)
                continue;
            status = change(changes, p, turn, at, err);
            break;
        }
    }
    return status;
}

rp_status rp_plan_turned(rp_plan *plan, rp_error *err)
{
    const rp_program *p = plan->program;
    rp_changes changes = {0};
    uint32_t *readers;
    rp_status status;

    if (!rp_program_has(p, RP_PLAYS_PRODUCT) || !rp_program_has(p, RP_PLAYS_TRANSPOSE) ||
        rp_device_pinned(plan->device))
        return RP_OK;
    status = rp_changes_begin(&changes, p, err);
    readers = rp_readers(p);
    if (status == RP_OK && !readers)
        status = rp_no_memory(err);
    if (status == RP_OK)
        status = find(&changes, p, readers, err);
    if (status == RP_OK && changes.n)
        status = rp_plan_change(plan, &changes, err);
    rp_changes_free(&changes);
    rp_free(readers);
    return status;
}
