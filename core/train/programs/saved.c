/* SPDX-License-Identifier: Apache-2.0
 * Rows go through a saved program in blocks of as many as it was written for, by a map; the last block is filled up
 * with the last row again, whose further logits are cut off. Rows are independent, so no row's logits depend on where
 * it stands. */
#include "core/train/programs/saved.h"

#include <string.h>

#include "base/memory.h"
#include "core/program/graph.h"

static const rp_model_program *program_of(const rp_model *m)
{
    return m->recipe->program.of;
}

rp_status rp_saved_init(rp_model *m, rp_error *err)
{
    const rp_model_program *p = program_of(m);
    size_t features = 1;

    if (!p)
        return rp_fail(err, RP_EARG, "model.program: the program was not read");
    for (int i = 1; i < p->x.rank; i++)
        features *= p->x.shape[i];
    if (features != m->features)
        return rp_fail(err, RP_EARG, "model.program: a row of its feed x has %zu values, but the data has %zu %s",
                       features, m->features, p->on_text ? "(data.length)" : "features");
    if (p->logits.shape[p->logits.rank - 1] != m->outputs)
        return rp_fail(err, RP_EARG, "model.program: its result logits has %zu columns, but the %s has %zu",
                       p->logits.shape[p->logits.rank - 1],
                       p->on_text               ? "text's vocabulary"
                       : m->loss == RP_LOSS_MSE ? "target"
                                                : "loss of these classes",
                       m->outputs);
    for (size_t i = 0; i < p->n_states; i++) {
        rp_parameter *to = &m->parameter[m->n_parameters++];

        *to = (rp_parameter){.rank = p->state[i].type.rank};
        memcpy(to->name, p->state[i].name, sizeof to->name);
        memcpy(to->shape, p->state[i].type.shape, (size_t)to->rank * sizeof *to->shape);
    }
    return RP_OK;
}

int64_t rp_saved_streams(const rp_model *m, size_t rows)
{
    const size_t block = program_of(m)->x.shape[0];

    return (int64_t)((rows + block - 1) / block) * RP_PROGRAM_STREAMS;
}

static rp_tensor integers(rp_graph *g, int64_t value)
{
    return rp_fill(g, RP_I64, 1, (size_t[]){1}, (double)value);
}

/* {seed, step, offset}, and so many streams further. */
static rp_tensor further(rp_tensor rng, rp_tensor streams)
{
    rp_tensor zeros = rp_fill(rng.graph, RP_I64, 1, (size_t[]){2}, 0);

    return rp_add(rng, rp_concat((rp_tensor[]){zeros, streams}, 2, 0));
}

/* The program on a block of its own rows, [rows, features]. */
static rp_tensor call(const rp_model_program *p, const rp_function *f, rp_tensor x, rp_tensor rng,
                      const rp_tensor *weight)
{
    rp_tensor in[RP_MAX_PARAMETERS + 2], out = rp_no_tensor();
    size_t n = 0;

    in[n++] = rp_reshape(x, p->x.rank, p->x.shape);
    if (rng.graph)
        in[n++] = rng;
    for (size_t i = 0; i < p->n_states; i++)
        in[n++] = weight[i];
    rp_call(x.graph, f, in, n, &out);
    return out;
}

/* The function of one block of a map: number, rows, weights, rng. */
static rp_function *block_function(const rp_model *m, const rp_function *f, const rp_tensor *shared, size_t n_shared,
                                   bool random, rp_graph *outer)
{
    const rp_model_program *p = program_of(m);
    const rp_type rows = {.dtype = p->x.dtype, .rank = 2, .shape = {p->x.shape[0], m->features}};
    rp_graph *g = rp_graph_new(NULL);
    rp_function *made = NULL;
    rp_tensor in[RP_MAX_PARAMETERS + 1], number, x, rng = rp_no_tensor();
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    number = rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    x = rp_function_parameter(g, &rows);
    for (size_t i = 0; i < n_shared; i++)
        in[i] = rp_function_parameter(g, rp_tensor_type(shared[i]));
    if (random) {
        number = rp_scale(number, RP_PROGRAM_STREAMS);
        rng = further(in[n_shared - 1], rp_reshape(number, 1, (size_t[]){1}));
    }
    rp_function_return(g, call(p, f, x, rng, in));
    status = rp_function_finish(g, &made, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "model.program: %s", err.text);
    return made;
}

/* x and its last row so often again. Zeros would do for the logits, but not for gradients: of a row of zeros a
 * quotient, a logarithm or a root may have no slope, and what comes back to the parameters is 0 times that, NaN. Where
 * the last row itself has slopes, so have its copies. */
static rp_tensor fill_up(rp_tensor x, size_t rows, size_t features, size_t spare)
{
    rp_tensor last = rp_slice(x, (size_t[]){rows - 1, 0}, (size_t[]){rows, features});

    return rp_concat((rp_tensor[]){x, rp_broadcast_to(last, 2, (size_t[]){spare, features})}, 2, 0);
}

static rp_tensor in_blocks(const rp_model *m, const rp_function *f, rp_tensor x, rp_tensor rng, const rp_tensor *weight,
                           size_t rows)
{
    const rp_model_program *p = program_of(m);
    const size_t block = p->x.shape[0], blocks = (rows + block - 1) / block, spare = blocks * block - rows;
    rp_tensor shared[RP_MAX_PARAMETERS + 1], out = rp_no_tensor();
    const rp_combine combine = RP_COMBINE_CONCAT;
    uint64_t *cuts = rp_reallocarray(NULL, blocks + 1, sizeof *cuts);
    size_t n = p->n_states, end[RP_MAX_RANK];
    rp_function *made;

    memcpy(end, p->logits.shape, sizeof end);
    if (!cuts) {
        rp_graph_fail(x.graph, RP_ENOMEM, "out of memory");
        return out;
    }
    for (size_t i = 0; i <= blocks; i++)
        cuts[i] = i * block;
    memcpy(shared, weight, n * sizeof *shared);
    if (rng.graph)
        shared[n++] = rng;
    if (spare)
        x = fill_up(x, rows, m->features, spare);
    made = block_function(m, f, shared, n, rng.graph != NULL, x.graph);
    if (made)
        rp_map(x.graph,
               &(rp_map_options){.function = (const rp_function *const[]){made},
                                 .n_function = 1,
                                 .sliced = &x,
                                 .n_sliced = 1,
                                 .shared = shared,
                                 .n_shared = n,
                                 .cuts = cuts,
                                 .n_cuts = blocks + 1,
                                 .combine = &combine,
                                 .n_combine = 1},
               &out);
    rp_function_free(made);
    rp_free(cuts);
    end[0] = rows;
    return spare ? rp_slice(out, (size_t[RP_MAX_RANK]){0}, end) : out;
}

rp_tensor rp_saved_forward(const rp_model *m, const rp_tensor *weight, rp_tensor x, rp_tensor rng)
{
    const rp_model_program *p = program_of(m);
    const rp_function *f = p->function[RP_ROLE_FORWARD];
    size_t shape[RP_MAX_RANK];
    rp_dtype dtype;
    int rank;

    if (!rp_shape_of(x, &dtype, &rank, shape))
        return rp_no_tensor();
    for (size_t i = 0; i < p->n_states; i++) /* their types are asked for */
        if (!rp_tensor_ok(weight[i]))
            return rp_no_tensor();
    if (!rng.graph && p->function[RP_ROLE_EVALUATE])
        f = p->function[RP_ROLE_EVALUATE];
    if (rng.graph && rp_tensor_ok(rng) && rp_tensor_type(rng)->shape[0] == 2)
        rng = rp_concat((rp_tensor[]){rng, integers(x.graph, 0)}, 2, 0);
    return shape[0] == p->x.shape[0] ? call(p, f, x, rng, weight) : in_blocks(m, f, x, rng, weight, shape[0]);
}

void rp_saved_initial(const rp_model *m, rp_graph *g, rp_tensor rng, rp_tensor *first)
{
    const rp_model_program *p = program_of(m);

    for (size_t i = 0; i < p->n_states; i++)
        first[i] = rp_no_tensor();
    rp_call(g, p->function[RP_ROLE_INITIAL], &rng, p->initial_random, first);
}
