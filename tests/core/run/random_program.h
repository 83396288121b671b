/* SPDX-License-Identifier: Apache-2.0
 * Random programs: DAGs of any operation over states, data and feeds, with views, several states, updates that can be
 * done in place and reads of a state before and after its new value is made. A pure function of the seed. */
#ifndef TESTS_CORE_RUN_RANDOM_PROGRAM_H
#define TESTS_CORE_RUN_RANDOM_PROGRAM_H

#include <stdio.h>

#include "core/program/program.h"
#include "determinism/philox.h"

enum { RANDOM_STATES = 5, RANDOM_VALUE_MAX = 20000 };

typedef struct random_program {
    rp_program *p;
    uint64_t seed, draws;
    size_t rows, cols, states;
    uint32_t index, rate, rng; /* i64[3] of 0 and 1; f32[]; i64[2] */
    uint32_t state[RANDOM_STATES];
} random_program;

static inline size_t draw(random_program *r, size_t below)
{
    return (size_t)rp_random_u32(r->seed, 0, 9, r->draws++) % below;
}

static inline uint32_t add_input(random_program *r, rp_input_kind kind, const char *name, rp_dtype dtype, int rank,
                                 size_t rows, size_t cols)
{
    rp_type type = {dtype, rank, {rows, cols}};
    uint32_t value = UINT32_MAX;

    (void)rp_program_add_input(r->p, kind, name, &type, &value, NULL);
    return value;
}

static inline uint32_t add_state(random_program *r, size_t i)
{
    char name[24];

    snprintf(name, sizeof name, "s%zu", i);
    return add_input(r, RP_INPUT_STATE, name, RP_F32, 2, r->rows, r->cols);
}

/* The list attributes, made to fit often: shapes of the operand's count, permutations, ranges, axes. */
static inline void draw_lists(random_program *r, rp_op_id op, const rp_type *in, rp_attr *attr)
{
    int rank = in ? in->rank : 0;
    size_t count = in ? rp_type_count(in) : 1;

    switch (op) {
    case RP_OP_reshape:
        attr[0].n = 2;
        attr[0].list[0] = count % 2 == 0 && draw(r, 2) ? 2 : 1;
        attr[0].list[1] = (int64_t)count / attr[0].list[0];
        break;
    case RP_OP_transpose:
        attr[0].n = rank;
        for (int i = 0; i < rank; i++)
            attr[0].list[i] = rank - 1 - i;
        break;
    case RP_OP_broadcast_to:
        attr[0].n = rank < 3 ? rank + 1 : rank;
        for (int i = 0; i < attr[0].n; i++)
            attr[0].list[i] = i < attr[0].n - rank ? 2 : (int64_t)in->shape[i - (attr[0].n - rank)];
        break;
    case RP_OP_slice:
    case RP_OP_pad:
        attr[0].n = attr[1].n = rank;
        for (int i = 0; i < rank; i++) {
            attr[0].list[i] = op == RP_OP_pad || in->shape[i] > 1 ? (int64_t)draw(r, 2) : 0;
            attr[1].list[i] = op == RP_OP_pad ? (int64_t)draw(r, 2) : (int64_t)in->shape[i] - (int64_t)draw(r, 1);
        }
        break;
    case RP_OP_slice_step:
        attr[0].n = attr[1].n = attr[2].n = rank;
        for (int i = 0; i < rank; i++) {
            const int64_t length = (int64_t)in->shape[i], apart = length > 2 ? 1 + (int64_t)draw(r, 2) : 1;
            const int64_t size = length > 0 ? (length - 1) / apart + 1 : 0, back = (int64_t)draw(r, 2);

            attr[0].list[i] = back && size > 0 ? (size - 1) * apart : 0;
            attr[1].list[i] = size;
            attr[2].list[i] = back ? -apart : apart;
        }
        break;
    case RP_OP_sum:
    case RP_OP_mean:
    case RP_OP_max:
    case RP_OP_min:
    case RP_OP_var:
    case RP_OP_logsumexp:
        for (int i = 0; i < rank; i++)
            if (draw(r, 2))
                attr[0].list[attr[0].n++] = i;
        break;
    default: /* fill, uniform, normal */
        for (int i = 0; i < RP_MAX_ATTR; i++)
            if (rp_op_get(op)->attr[i].kind == RP_ATTR_LIST) {
                attr[i].n = 2;
                attr[i].list[0] = draw(r, 2) ? (int64_t)r->rows : 1;
                attr[i].list[1] = (int64_t)r->cols;
            }
    }
}

static inline void draw_attributes(random_program *r, rp_op_id op, const rp_type *in, rp_attr *attr)
{
    for (int i = 0; i < RP_MAX_ATTR; i++) {
        attr[i] = (rp_attr){0};
        switch (rp_op_get(op)->attr[i].kind) {
        case RP_ATTR_INT:
            attr[i].i = (int64_t)draw(r, 4);
            break;
        case RP_ATTR_BOOL:
            attr[i].i = (int64_t)draw(r, 2);
            break;
        case RP_ATTR_REAL:
            attr[i].r = (double)draw(r, 16) / 16;
            break;
        case RP_ATTR_DTYPE:
            attr[i].i = draw(r, 4) ? RP_F32 : draw(r, 2) ? RP_F64 : (int64_t)draw(r, RP_DTYPE_COUNT);
            break;
        default:
            break;
        }
    }
    draw_lists(r, op, in, attr);
}

static inline uint32_t draw_value(random_program *r)
{
    size_t n = r->p->n_values;

    return (uint32_t)(draw(r, 2) ? draw(r, n) : n - 1 - draw(r, n < 6 ? n : 6));
}

/* Appends the instruction if its types fit, its indices are in range, and its outputs are not too large. */
static inline bool append(random_program *r, rp_op_id id, const rp_attr *attr, const uint32_t *in, size_t n_in)
{
    const rp_op *op = rp_op_get(id);
    rp_type type[8], out[RP_MAX_OUT] = {{0}};
    uint32_t values[RP_MAX_OUT];

    for (size_t i = 0; i < n_in; i++)
        type[i] = r->p->value[in[i]];
    if ((n_in && !(op->dtypes & 1u << type[0].dtype)) || op->infer(op, attr, type, n_in, out, NULL) != RP_OK ||
        rp_type_count(&out[0]) > RANDOM_VALUE_MAX)
        return false;
    if (op->flags & RP_OP_INDEXED && (in[op->indices.operand] != r->index || rp_op_index_bound(op, attr, type) < 2))
        return false;
    return rp_program_add_instr(r->p, op, attr, in, n_in, values, NULL) == RP_OK;
}

/* Any operation on any operands. */
static inline bool append_any(random_program *r)
{
    rp_op_id id = (rp_op_id)draw(r, RP_OP_COUNT);
    const rp_op *op = rp_op_get(id);
    size_t n_in = op->n_in == RP_MANY ? 1 + draw(r, 3) : (size_t)op->n_in;
    rp_attr attr[RP_MAX_ATTR];
    uint32_t in[8];

    for (size_t i = 0; i < n_in; i++)
        in[i] = draw_value(r);
    if (op->flags & RP_OP_INDEXED)
        in[op->indices.operand] = r->index;
    if (id == RP_OP_uniform || id == RP_OP_normal)
        in[0] = r->rng;
    if (id == RP_OP_dropout)
        in[1] = r->rng;
    if (n_in > 1 && draw(r, 3) == 0 && !(op->flags & RP_OP_INDEXED))
        in[1] = in[0];
    draw_attributes(r, id, n_in ? &r->p->value[in[0]] : NULL, attr);
    return append(r, id, attr, in, n_in);
}

/* An instruction of before once more: its values are common. */
static inline bool append_again(random_program *r)
{
    const rp_instr *instr = r->p->n_instrs ? &r->p->instr[draw(r, r->p->n_instrs)] : NULL;
    uint32_t values[RP_MAX_OUT];

    return instr && rp_program_add_instr(r->p, instr->op, instr->attr, instr->in, instr->n_in, values, NULL) == RP_OK;
}

/* A matrix seen as an image: convolved with itself, pooled, or normalised, whose three outputs live for different
 * times. */
static inline bool append_image(random_program *r)
{
    uint32_t matrix = draw_value(r), image;
    rp_type type = r->p->value[matrix];
    rp_attr shape[RP_MAX_ATTR] = {{.n = 4, .list = {1, (int64_t)type.shape[0], (int64_t)type.shape[1], 1}}};
    rp_attr place[RP_MAX_ATTR] = {{.n = 2, .list = {1, 2}}, {.n = 4, .list = {1, 0, 1, 1}}, {.n = 2, .list = {1, 1}}};
    rp_attr first[RP_MAX_ATTR] = {{.n = 2}, {.n = 2, .list = {1, (int64_t)type.shape[1]}}};
    rp_attr row[RP_MAX_ATTR] = {{.n = 1, .list = {(int64_t)type.shape[1]}}};
    uint32_t last;

    if (type.rank != 2 || !append(r, RP_OP_reshape, shape, &matrix, 1))
        return false;
    image = (uint32_t)r->p->n_values - 1;
    switch (draw(r, 4)) {
    case 0:
        shape[0] = (rp_attr){.n = 4, .list = {(int64_t)type.shape[0], (int64_t)type.shape[1], 1, 1}};
        place[3].i = 1;
        last = image + 1;
        return append(r, RP_OP_reshape, shape, &matrix, 1) &&
               append(r, RP_OP_conv2d, place, (uint32_t[]){image, last}, 2);
    case 1:
        place[3] = (rp_attr){.n = 2, .list = {2, 2}};
        last = image + 1;
        return append(r, RP_OP_max_pool, place, &image, 1) &&
               append(r, RP_OP_max_pool_grad, place, (uint32_t[]){last, image}, 2);
    case 2:
        place[3] = (rp_attr){.n = 2, .list = {2, 2}};
        return append(r, RP_OP_avg_pool, place, &image, 1);
    default:
        last = image + 1;
        if (!append(r, RP_OP_slice, first, &matrix, 1) || !append(r, RP_OP_reshape, row, &last, 1))
            return false;
        last = image + 2;
        return append(r, RP_OP_batch_norm_train, (rp_attr[RP_MAX_ATTR]){{.r = 0.5}}, (uint32_t[]){matrix, last, last},
                      3) &&
               append(r, RP_OP_batch_norm_grad, (rp_attr[RP_MAX_ATTR]){{.r = 0.5}},
                      (uint32_t[]){last + 1, matrix, last, last + 2, last + 3}, 5);
    }
}

/* An update that could overwrite a state: the state in front, other states as moments or operands. */
static inline bool append_update(random_program *r)
{
    static const rp_op_id ops[] = {RP_OP_sgd, RP_OP_adam, RP_OP_adamw, RP_OP_rmsprop,   RP_OP_add,    RP_OP_sub,
                                   RP_OP_mul, RP_OP_neg,  RP_OP_tanh,  RP_OP_tanh_grad, RP_OP_maximum};
    rp_op_id id = ops[draw(r, sizeof ops / sizeof *ops)];
    const rp_op *op = rp_op_get(id);
    uint32_t view = UINT32_MAX;
    size_t tensors = op->n_out > 1 ? (size_t)op->n_out + 1 : (size_t)op->n_in;
    rp_attr attr[RP_MAX_ATTR];
    uint32_t in[8];

    in[0] = r->state[draw(r, r->states)];
    if (draw(r, 2)) { /* a view of the state, or a matrix product, that the update must not spoil */
        static const rp_op_id views[] = {RP_OP_transpose, RP_OP_slice, RP_OP_broadcast_to, RP_OP_reshape};
        rp_op_id of = views[draw(r, 4)];

        draw_attributes(r, of, &r->p->value[in[0]], attr);
        if (append(r, of, attr, in, 1))
            view = (uint32_t)r->p->n_values - 1;
        if (draw(r, 4) == 0) {
            id = RP_OP_matmul;
            op = rp_op_get(id);
            tensors = 2;
            view = UINT32_MAX;
        }
    }
    for (size_t i = 1; i < (size_t)op->n_in; i++)
        in[i] = i >= tensors ? r->rate : draw(r, 3) ? r->state[draw(r, r->states)] : draw_value(r);
    if (op->n_in > 1 && view != UINT32_MAX)
        in[1] = view;
    draw_attributes(r, id, &r->p->value[in[0]], attr);
    return append(r, id, attr, in, (size_t)op->n_in);
}

/* Values made by a kernel, in memory of their own. */
static inline bool made_by_kernel(const rp_program *p, uint32_t value, const rp_instr **maker, int *at)
{
    for (size_t k = 0; k < p->n_instrs; k++)
        for (int i = 0; i < p->instr[k].n_out; i++)
            if (p->instr[k].out[i] == value && !p->instr[k].op->alias) {
                *maker = &p->instr[k];
                *at = i;
                return true;
            }
    return false;
}

static inline void add_outputs(random_program *r)
{
    size_t few = 1 + draw(r, 8);
    const rp_instr *maker = NULL;
    int at = 0;
    char name[24];

    for (size_t s = 0; s < r->states; s++) {
        uint32_t chosen = UINT32_MAX;

        for (uint32_t v = 0; v < r->p->n_values; v++)
            if (made_by_kernel(r->p, v, &maker, &at) && rp_type_equal(&r->p->value[v], &r->p->value[r->state[s]])) {
                bool in_place = (size_t)at < maker->n_in && maker->in[at] == r->state[s];

                if (chosen == UINT32_MAX || draw(r, in_place ? 2 : 6) == 0)
                    chosen = v;
            }
        snprintf(name, sizeof name, "s%zu", s);
        if (chosen != UINT32_MAX && draw(r, 5))
            (void)rp_program_add_output(r->p, RP_OUTPUT_STATE, name, chosen, NULL);
    }
    for (uint32_t v = 0; v < r->p->n_values; v++) {
        const rp_input *input = NULL;

        for (size_t i = 0; i < r->p->n_inputs; i++)
            if (r->p->input[i].value == v)
                input = &r->p->input[i];
        if (draw(r, few) || !(made_by_kernel(r->p, v, &maker, &at) || (input && input->kind != RP_INPUT_STATE)))
            continue;
        snprintf(name, sizeof name, "r%u", (unsigned)v);
        (void)rp_program_add_output(r->p, RP_OUTPUT_RESULT, name, v, NULL);
    }
}

/* Feeds f0 f32[rows, cols], rate, rng, index; data d0 f32[rows, cols], d1 f64[cols], b0 bool[cols]; states s0 ... */
static inline rp_program *random_program_new(uint64_t seed, size_t rows, size_t cols)
{
    random_program r = {.seed = seed, .rows = rows, .cols = cols, .p = rp_program_new()};
    size_t wanted;

    if (!r.p)
        return NULL;
    r.states = 2 + draw(&r, RANDOM_STATES - 1);
    r.index = add_input(&r, RP_INPUT_FEED, "index", RP_I64, 1, 3, 0);
    r.rate = add_input(&r, RP_INPUT_FEED, "rate", RP_F32, 0, 0, 0);
    r.rng = add_input(&r, RP_INPUT_FEED, "rng", RP_I64, 1, 2, 0);
    r.state[0] = add_state(&r, 0);
    (void)append_any(&r);
    for (size_t i = 1; i < r.states; i++) { /* inputs may come between instructions */
        r.state[i] = add_state(&r, i);
        (void)append(&r, RP_OP_neg, (rp_attr[RP_MAX_ATTR]){{0}}, &r.state[draw(&r, i + 1)], 1);
    }
    (void)add_input(&r, RP_INPUT_DATA, "d0", RP_F32, 2, rows, cols);
    (void)add_input(&r, RP_INPUT_DATA, "d1", RP_F64, 1, cols, 0);
    (void)add_input(&r, RP_INPUT_DATA, "b0", RP_BOOL, 1, cols, 0);
    wanted = r.p->n_instrs + 5 + draw(&r, 40);
    for (int tries = 0; tries < 3000 && r.p->n_instrs < wanted; tries++)
        (void)(draw(&r, 12) == 0  ? append_again(&r)
               : draw(&r, 8) == 0 ? append_update(&r)
               : draw(&r, 16)     ? append_any(&r)
                                  : append_image(&r));
    (void)add_input(&r, RP_INPUT_FEED, "f0", RP_F32, 2, rows, cols);
    for (int i = 0; i < 8; i++)
        (void)append_update(&r);
    add_outputs(&r);
    return r.p;
}

#endif
