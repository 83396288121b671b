/* SPDX-License-Identifier: Apache-2.0
 * Random functions, written twice: as regions, and as the frames of these regions one after another. Both forms take
 * the same inputs under the same names, so that their results can be compared bit by bit. */
#ifndef TESTS_CORE_RUN_REGION_BODIES_H
#define TESTS_CORE_RUN_REGION_BODIES_H

#include "core/program/graph.h"
#include "rp/program.h"
#include "tests/core/run/plan_steps.h"

enum { COLS = 5, BODY_PARAMS = 16, BODY_POOL = 64 };

/* A body of wide tensors [rows, COLS]; shared are weights [COLS, COLS] and rows [1, COLS] in turn. */
typedef struct body {
    uint64_t seed;
    size_t wide, shared; /* how many parameters of each */
    size_t rows;
    size_t outs, narrow; /* wide outputs, then outputs [1, COLS] */
    int depth;           /* regions within it */
    bool frames;         /* written as frames */
    bool smooth;         /* no steps whose gradient is a matter of a tie */
    bool calls;          /* regions within it are calls */
} body;

static inline uint64_t chance(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

static inline rp_type f32_type(size_t rows, size_t cols)
{
    return (rp_type){.dtype = RP_F32, .rank = 2, .shape = {rows, cols}};
}

static inline rp_type shared_type(size_t i)
{
    return f32_type(i % 2 ? 1 : COLS, COLS);
}

static inline rp_tensor index_of(rp_graph *g, int64_t i)
{
    return rp_fill(g, RP_I64, 0, NULL, (double)i);
}

static inline void body_emit(rp_graph *g, const body *b, rp_tensor index, const rp_tensor *param, rp_tensor *out);

/* parameters: index, the wide ones, the shared ones. */
static inline rp_function *body_function(const body *b)
{
    rp_graph *g;
    rp_function *f;
    rp_tensor param[BODY_PARAMS], out[BODY_PARAMS], index;
    rp_type type = {.dtype = RP_I64};
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    index = rp_function_parameter(g, &type);
    for (size_t i = 0; i < b->wide + b->shared; i++) {
        type = i < b->wide ? f32_type(b->rows, COLS) : shared_type(i - b->wide);
        param[i] = rp_function_parameter(g, &type);
    }
    body_emit(g, b, index, param, out);
    for (size_t i = 0; i < b->outs + b->narrow; i++)
        rp_function_return(g, out[i]);
    if (rp_function_finish(g, &f, &err) != RP_OK)
        fail_msg("%s", err.text);
    return f;
}

/* Within a body: a call, or a scan of three steps that carries one value. */
static inline rp_tensor inner_region(rp_graph *g, const body *b, uint64_t *r, rp_tensor index, const rp_tensor *x,
                                     const rp_tensor *shared)
{
    body in = *b;
    rp_tensor arg[BODY_PARAMS], out[3];
    const bool loop = chance(r, 2) && !b->calls;

    in.seed = b->seed * 31 + 7 + chance(r, 3);
    in.depth = b->depth - 1;
    in.wide = loop ? 1 : 2;
    in.outs = loop ? 1 : 2;
    in.narrow = 0;
    for (size_t i = 0; i < in.wide; i++)
        arg[1 + i] = x[i];
    for (size_t i = 0; i < b->shared; i++)
        arg[1 + in.wide + i] = shared[i];
    if (b->frames) {
        for (int64_t t = 0; t < (loop ? 3 : 1); t++) {
            body_emit(g, &in, loop ? index_of(g, 2 - t) : index, arg + 1, out);
            if (loop)
                arg[1] = out[0];
        }
        return out[in.outs - 1];
    }
    rp_function *f = body_function(&in);

    arg[0] = index;
    if (loop)
        rp_scan(g,
                &(rp_scan_options){.function = f,
                                   .carried = arg + 1,
                                   .n_carried = 1,
                                   .shared = arg + 2,
                                   .n_shared = b->shared,
                                   .times = 3,
                                   .reverse = true,
                                   .history = b->seed % 2},
                out);
    else
        rp_call(g, f, arg, 1 + in.wide + b->shared, out);
    rp_function_free(f);
    return out[loop ? 0 : 1];
}

static inline rp_tensor body_step(rp_graph *g, const body *b, uint64_t *r, rp_tensor index, const rp_tensor *pool,
                                  size_t n, const rp_tensor *shared)
{
    const rp_tensor x = pool[chance(r, n)], y = pool[chance(r, n)];
    const size_t weight = b->shared ? chance(r, b->shared) : 0;

    switch (chance(r, b->depth > 0 ? 16 : 13)) {
    case 0:
        return rp_add(x, y);
    case 1:
        return rp_mul(x, y);
    case 2:
        return rp_sub(x, y);
    case 3:
        return rp_tanh(x);
    case 4:
        return rp_neg(x);
    case 5:
        return rp_sigmoid(x);
    case 6:
    case 7:
        if (!b->shared)
            return rp_add(x, x);
        return weight % 2 ? rp_mul(x, shared[weight]) : rp_matmul(x, shared[weight]);
    case 8:
        return b->shared > 1 ? rp_add(x, shared[1]) : rp_mul(x, x);
    case 9: {
        rp_tensor t = rp_cast(index, RP_F32);

        return rp_mul(x, rp_add_scalar(rp_scale(t, 0.25), 0.5));
    }
    case 10:
        return b->smooth ? rp_sigmoid(y) : rp_maximum(x, y);
    case 11:
        return b->smooth ? rp_tanh(rp_mul(x, y)) : rp_relu(x);
    case 12:
        return rp_softmax(x);
    default:
        return inner_region(g, b, r, index, (rp_tensor[]){x, y}, shared);
    }
}

/* What rp_function_return does: parameters and values that are outputs already are copied. */
static inline void copy_outputs(const body *b, const rp_tensor *param, rp_tensor *out)
{
    for (size_t i = 0; i < b->outs + b->narrow; i++) {
        const rp_type type = *rp_tensor_type(out[i]);
        bool taken = false;

        for (size_t k = 0; k < b->wide + b->shared; k++)
            taken = taken || param[k].value == out[i].value;
        for (size_t k = 0; k < i; k++)
            taken = taken || out[k].value == out[i].value;
        if (taken)
            out[i] = rp_reshape(out[i], type.rank, type.shape);
    }
}

static inline void body_emit(rp_graph *g, const body *b, rp_tensor index, const rp_tensor *param, rp_tensor *out)
{
    rp_tensor pool[BODY_POOL];
    size_t n = b->wide, length;
    uint64_t r = b->seed * 2654435761u + 99;

    for (size_t i = 0; i < b->wide; i++)
        pool[i] = param[i];
    length = 2 + chance(&r, 9);
    for (size_t i = 0; i < length; i++, n++)
        pool[n] = body_step(g, b, &r, index, pool, n, param + b->wide);
    for (size_t i = 0; i < b->outs; i++) /* now and then a parameter, or one value twice */
        out[i] = pool[chance(&r, 5) ? n - 1 - chance(&r, n < 3 ? n : 3) : chance(&r, n)];
    for (size_t i = 0; i < b->narrow; i++)
        out[b->outs + i] = rp_sum(pool[n - 1 - chance(&r, n < 4 ? n : 4)], (int[]){0}, 1, true);
    if (b->frames)
        copy_outputs(b, param, out);
}

/* ---- rows ---- */

static inline rp_tensor row_at(rp_tensor x, size_t i)
{
    const rp_type type = *rp_tensor_type(x);
    size_t begin[RP_MAX_RANK] = {i}, end[RP_MAX_RANK];
    rp_tensor row;

    memcpy(end, type.shape, sizeof end);
    end[0] = i + 1;
    row = rp_slice(x, begin, end);
    return rp_reshape(row, type.rank - 1, type.shape + 1);
}

static inline rp_tensor rows_at(rp_tensor x, size_t from, size_t to)
{
    size_t begin[RP_MAX_RANK] = {from}, end[RP_MAX_RANK];

    memcpy(end, rp_tensor_type(x)->shape, sizeof end);
    end[0] = to;
    return rp_slice(x, begin, end);
}

/* [n, ..] of n values [..] */
static inline rp_tensor stack_of(const rp_tensor *x, size_t n)
{
    rp_tensor row[64];
    size_t shape[RP_MAX_RANK] = {1};

    memcpy(shape + 1, rp_tensor_type(x[0])->shape, 7 * sizeof *shape);
    for (size_t i = 0; i < n; i++)
        row[i] = rp_reshape(x[i], rp_tensor_type(x[0])->rank + 1, shape);
    return rp_concat(row, n, 0);
}

/* The tree of CONTRACT 12.3, level by level. */
static inline rp_tensor tree_of(rp_tensor *x, size_t n)
{
    while (n > 1) {
        for (size_t i = 0; i < n / 2; i++)
            x[i] = rp_add(x[2 * i], x[2 * i + 1]);
        if (n % 2)
            x[n / 2] = x[n - 1];
        n = (n + 1) / 2;
    }
    return x[0];
}

#endif
