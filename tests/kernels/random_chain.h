/* SPDX-License-Identifier: Apache-2.0
 * Random programs of mostly elementwise operations over one shape, so that plans make chains of them: operands
 * broadcast along rows, columns or both, transposed and sliced, several readers of a value, updates of states in the
 * middle, reductions and products in between, any value an output. A pure function of the seed. */
#ifndef TESTS_KERNELS_RANDOM_CHAIN_H
#define TESTS_KERNELS_RANDOM_CHAIN_H

#include "tests/core/run/random_program.h"

/* Operands of the wanted type or shape are found by drawing again. */
static inline bool append_elementwise(random_program *r)
{
    static const rp_op_id ops[] = {
        RP_OP_neg,         RP_OP_relu,    RP_OP_tanh, RP_OP_abs,         RP_OP_pow_int, RP_OP_cast,
        RP_OP_logical_not, RP_OP_dropout, RP_OP_add,  RP_OP_sub,         RP_OP_mul,     RP_OP_div,
        RP_OP_maximum,     RP_OP_lt,      RP_OP_ge,   RP_OP_logical_and, RP_OP_where,   RP_OP_relu_grad,
        RP_OP_gelu_grad,   RP_OP_sgd,     RP_OP_adam, RP_OP_rmsprop,     RP_OP_silu,    RP_OP_sigmoid};
    const rp_op_id id = ops[draw(r, sizeof ops / sizeof *ops)];
    const rp_op *op = rp_op_get(id);
    const size_t tensors = op->n_out > 1 ? (size_t)op->n_out + 1 : (size_t)op->n_in;
    rp_attr attr[RP_MAX_ATTR];
    uint32_t in[8];

    for (int tries = 0; tries < 12; tries++) {
        for (size_t i = 0; i < (size_t)op->n_in; i++)
            in[i] = i >= tensors ? r->rate : draw_value(r);
        if (id == RP_OP_dropout)
            in[1] = r->rng;
        if (op->n_out > 1 && draw(r, 2))
            in[0] = r->state[draw(r, r->states)];
        draw_attributes(r, id, &r->p->value[in[0]], attr);
        if (append(r, id, attr, in, (size_t)op->n_in))
            return true;
    }
    return false;
}

static inline bool append_between(random_program *r)
{
    static const rp_op_id ops[] = {RP_OP_transpose, RP_OP_reshape, RP_OP_slice, RP_OP_broadcast_to,
                                   RP_OP_sum,       RP_OP_matmul,  RP_OP_fill,  RP_OP_softmax};
    const rp_op_id id = ops[draw(r, sizeof ops / sizeof *ops)];
    const rp_op *op = rp_op_get(id);
    rp_attr attr[RP_MAX_ATTR];
    uint32_t in[2] = {draw_value(r), draw_value(r)};

    draw_attributes(r, id, op->n_in ? &r->p->value[in[0]] : NULL, attr);
    return append(r, id, attr, in, (size_t)op->n_in);
}

/* Feeds f0 f32[rows, cols], rate, rng; data d0 f32[rows, cols], row f32[cols], col f32[rows, 1]; states s0 ... */
static inline rp_program *random_chain_new(uint64_t seed, size_t rows, size_t cols)
{
    random_program r = {.seed = seed + 1000000, .rows = rows, .cols = cols, .p = rp_program_new()};
    size_t wanted;

    if (!r.p)
        return NULL;
    r.states = 2 + draw(&r, 2);
    r.index = UINT32_MAX;
    r.rate = add_input(&r, RP_INPUT_FEED, "rate", RP_F32, 0, 0, 0);
    r.rng = add_input(&r, RP_INPUT_FEED, "rng", RP_I64, 1, 2, 0);
    for (size_t i = 0; i < r.states; i++)
        r.state[i] = add_state(&r, i);
    (void)add_input(&r, RP_INPUT_DATA, "row", RP_F32, 1, cols, 0);
    (void)add_input(&r, RP_INPUT_DATA, "col", RP_F32, 2, rows, 1);
    (void)add_input(&r, RP_INPUT_DATA, "d0", RP_F32, 2, rows, cols);
    (void)add_input(&r, RP_INPUT_FEED, "f0", RP_F32, 2, rows, cols);
    wanted = 8 + draw(&r, 40);
    for (int tries = 0; tries < 400 && r.p->n_instrs < wanted; tries++)
        (void)(draw(&r, 6) ? append_elementwise(&r) : draw(&r, 3) ? append_between(&r) : append_update(&r));
    add_outputs(&r);
    return r.p;
}

#endif
