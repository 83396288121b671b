/* SPDX-License-Identifier: Apache-2.0
 * Random programs of concats: of what is made for them, of views of that, of what others read before or later, of
 * inputs, of other concats and of one operand; along axes that leave an operand in one piece and others; updates, any
 * value an output. A pure function of the seed. */
#ifndef TESTS_KERNELS_RANDOM_CONCATS_H
#define TESTS_KERNELS_RANDOM_CONCATS_H

#include "tests/kernels/random_chain.h"

enum { CONCAT_OPERANDS = 4 };

/* A value of the wanted length along the other axis; UINT32_MAX: none was drawn. */
static inline uint32_t draw_fitting(random_program *r, int rank, int axis, size_t other)
{
    for (int tries = 0; tries < 12; tries++) {
        const uint32_t v = draw_value(r);
        const rp_type *type = &r->p->value[v];

        if (type->dtype == RP_F32 && type->rank == rank && type->shape[rank - 1 - (axis == rank - 1)] == other)
            return v;
    }
    return UINT32_MAX;
}

/* Rows of a value: some from the front, backwards, or the first again and again. */
static inline bool append_rows_of(random_program *r, uint32_t value)
{
    const rp_type type = r->p->value[value];
    const int64_t rows = (int64_t)type.shape[0], some = rows > 0 ? 1 + (int64_t)draw(r, (size_t)rows) : 0;
    rp_attr attr[RP_MAX_ATTR] = {{.n = type.rank}, {.n = type.rank}, {.n = type.rank}};

    for (int d = 0; d < type.rank; d++)
        attr[1].list[d] = d ? (int64_t)type.shape[d] : some;
    if (draw(r, 2))
        return append(r, RP_OP_slice, attr, &value, 1);
    for (int d = 0; d < type.rank; d++)
        attr[2].list[d] = 1;
    attr[0].list[0] = rows > 0 ? rows - 1 : 0;
    attr[2].list[0] = -1;
    return append(r, RP_OP_slice_step, attr, &value, 1);
}

/* A concat of values that are there, some of them made now, and of rows of one of these. */
static inline bool append_concat(random_program *r)
{
    static const rp_op_id makers[] = {RP_OP_neg, RP_OP_relu, RP_OP_tanh, RP_OP_abs};
    const uint32_t like = draw_value(r);
    const rp_type type = r->p->value[like];
    const int axis = draw(r, 4) ? 0 : type.rank - 1;
    const size_t n = 1 + draw(r, CONCAT_OPERANDS);
    uint32_t in[CONCAT_OPERANDS];

    if (type.dtype != RP_F32 || type.rank != 2)
        return false;
    for (size_t i = 0; i < n; i++) {
        const size_t way = draw(r, 4);

        in[i] = draw_fitting(r, type.rank, axis, type.shape[1 - axis]);
        if (in[i] == UINT32_MAX)
            return false;
        if (way && append(r, makers[draw(r, 4)], (rp_attr[RP_MAX_ATTR]){{0}}, &in[i], 1))
            in[i] = (uint32_t)r->p->n_values - 1;
        if (i > 0 && axis == 0 && draw(r, 3) == 0 && append_rows_of(r, in[draw(r, i)]))
            in[i] = (uint32_t)r->p->n_values - 1;
    }
    for (size_t i = n; i > 1 && draw(r, 2); i--) { /* what was made first does not always come first */
        const size_t other = draw(r, i);
        const uint32_t last = in[i - 1];

        in[i - 1] = in[other];
        in[other] = last;
    }
    return append(r, RP_OP_concat, (rp_attr[RP_MAX_ATTR]){{.i = axis}}, in, n);
}

/* The same values with an axis of length 1 in front: along the second they lie in one piece too. */
static inline bool append_deeper_concat(random_program *r)
{
    uint32_t in[2];

    for (int i = 0; i < 2; i++) {
        const uint32_t v = i ? draw_fitting(r, 2, 0, r->p->value[in[0]].shape[2]) : draw_value(r);
        rp_attr shape[RP_MAX_ATTR] = {{.n = 3, .list = {1}}};

        if (v == UINT32_MAX || r->p->value[v].dtype != RP_F32 || r->p->value[v].rank != 2)
            return false;
        for (int d = 0; d < 2; d++)
            shape[0].list[1 + d] = (int64_t)r->p->value[v].shape[d];
        if (!append(r, RP_OP_reshape, shape, &v, 1))
            return false;
        in[i] = (uint32_t)r->p->n_values - 1;
        if (!append(r, RP_OP_neg, (rp_attr[RP_MAX_ATTR]){{0}}, &in[i], 1))
            return false;
        in[i] = (uint32_t)r->p->n_values - 1;
    }
    return append(r, RP_OP_concat, (rp_attr[RP_MAX_ATTR]){{.i = 1}}, in, 2);
}

/* Feeds f0 f32[rows, cols], rate, rng; data d0 f32[rows, cols]; states s0 ... */
static inline rp_program *random_concats_new(uint64_t seed, size_t rows, size_t cols)
{
    random_program r = {.seed = seed + 2000000, .rows = rows, .cols = cols, .p = rp_program_new()};
    size_t wanted;

    if (!r.p)
        return NULL;
    r.states = 2 + draw(&r, 2);
    r.index = UINT32_MAX;
    r.rate = add_input(&r, RP_INPUT_FEED, "rate", RP_F32, 0, 0, 0);
    r.rng = add_input(&r, RP_INPUT_FEED, "rng", RP_I64, 1, 2, 0);
    for (size_t i = 0; i < r.states; i++)
        r.state[i] = add_state(&r, i);
    (void)add_input(&r, RP_INPUT_DATA, "d0", RP_F32, 2, rows, cols);
    (void)add_input(&r, RP_INPUT_FEED, "f0", RP_F32, 2, rows, cols);
    wanted = 6 + draw(&r, 30);
    for (int tries = 0; tries < 400 && r.p->n_instrs < wanted; tries++)
        (void)(draw(&r, 3)   ? append_concat(&r)
               : draw(&r, 4) ? append_elementwise(&r)
               : draw(&r, 3) ? append_deeper_concat(&r)
               : draw(&r, 2) ? append_between(&r)
                             : append_update(&r));
    add_outputs(&r);
    return r.p;
}

#endif
