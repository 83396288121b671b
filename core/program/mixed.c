/* SPDX-License-Identifier: Apache-2.0
 * Mixed precision (CONTRACT 11.8): what a gradient rule reads of the forward pass is brought to bf16, which is what a
 * plan keeps until the rule's turn, and widened again for the rule. */
#include "core/program/grads.h"
#include "core/program/sweep.h"

/* What made x; NULL: an input of the program. */
static const rp_instr *maker_of(rp_tensor x)
{
    const rp_program *p = x.graph->program;
    const uint32_t k = p->maker[x.value];

    return k == RP_NO_INSTR ? NULL : &p->instr[k];
}

/* x in the form that it was made in: chains can join there. */
static rp_tensor as_made(rp_tensor x)
{
    for (const rp_instr *maker = maker_of(x); maker && maker->op->role == RP_PLAYS_RESHAPE; maker = maker_of(x))
        x = rp_graph_tensor(x.graph, maker->in[0]);
    return x;
}

/* x as bf16; x itself where there is nothing to gain: inputs, which are kept anyhow, single elements, other types. */
static rp_tensor halved(rp_tensor x)
{
    const rp_instr *maker;
    rp_tensor made, half;
    rp_type type;

    if (!rp_tensor_ok(x) || rp_tensor_type(x)->dtype != RP_F32 || rp_type_count(rp_tensor_type(x)) <= 1)
        return x;
    type = *rp_tensor_type(x);
    made = as_made(x);
    maker = maker_of(made);
    if (!maker)
        return x;
    half = maker->op->role == RP_PLAYS_CAST ? rp_graph_tensor(x.graph, maker->in[0]) : made;
    if (rp_tensor_type(half)->dtype != RP_BF16)
        half = rp_cast(made, RP_BF16);
    return made.value == x.value ? half : rp_reshape(half, type.rank, type.shape);
}

static rp_tensor widened(rp_tensor x)
{
    rp_tensor half = halved(x);

    return half.value == x.value || !rp_tensor_ok(half) ? x : rp_cast(half, RP_F32);
}

/* The attributes of what turned rows into columns, if x came by that. NULL: it did not. */
static const rp_attr *turned(rp_tensor x)
{
    const rp_instr *maker = rp_tensor_ok(x) ? maker_of(x) : NULL;
    const rp_attr *permutation;

    if (!maker || maker->op->role != RP_PLAYS_TRANSPOSE)
        return NULL;
    permutation = &RP_AT(maker->attr, transpose, permutation);
    return permutation->n && permutation->list[permutation->n - 1] != permutation->n - 1 ? maker->attr : NULL;
}

/* What a rule reads in the place of x, as bf16 or widened. Of columns the rows are converted, which lie in order. */
static rp_tensor brought(rp_tensor x, bool half)
{
    const rp_attr *attr = turned(x);
    rp_tensor rows, other;

    if (!attr)
        return half ? halved(x) : widened(x);
    rows = rp_graph_tensor(x.graph, maker_of(x)->in[0]);
    other = half ? halved(rows) : widened(rows);
    return other.value == rows.value ? x : grad_emit(RP_OP_transpose, attr, &other, 1);
}

/* A product of two matrices reads bf16 as fast as binary32; many small ones do not. */
static bool takes_halves(const rp_op *op, const rp_tensor *in)
{
    return op->role == RP_PLAYS_PRODUCT && rp_tensor_ok(in[0]) && rp_tensor_ok(in[1]) &&
           rp_tensor_type(in[0])->rank == 2 && rp_tensor_type(in[1])->rank == 2;
}

void rp_sweep_halve(const rp_op *op, const bool *need, rp_tensor *in, rp_tensor *out)
{
    const bool half = takes_halves(op, in);
    const unsigned operands = op->halves & RP_HALVES_OPERANDS;

    for (size_t i = 0; i < operands; i++)
        if (operands != RP_HALVES_PAIR || need[1 - i])
            in[i] = brought(in[i], half);
    if (op->halves & RP_HALVES_RESULT)
        out[0] = brought(out[0], half);
}
