/* SPDX-License-Identifier: Apache-2.0
 * Passes over the rows of an exact fit: blocks of rows, whose sums a map's tree adds (CONTRACT 12.8). */
#include "core/train/exact_build.h"

#include "base/memory.h"

static size_t passed(const fit *f)
{
    return f->outputs > 1 || has_pearson(f) ? PASSED : CROSS;
}

/* 1 for each row, then its features. */
static rp_tensor with_one(rp_graph *g, rp_tensor x, size_t rows)
{
    rp_tensor part[2] = {filled(g, rows, 1, 1), x};

    return rp_concat(part, 2, 1);
}

/* One output: residual y - mean and curvature of a row. */
static void one_output(const fit *f, rp_tensor z, rp_tensor y, rp_tensor *residual, rp_tensor *weight)
{
    rp_tensor mean, rest;

    if (f->model->loss == RP_LOSS_MSE) {
        *residual = rp_sub(y, z);
        *weight = rp_no_tensor();
        return;
    }
    if (f->model->loss == RP_LOSS_POISSON) {
        *weight = rp_exp(z);
        *residual = rp_sub(y, *weight);
        return;
    }
    if (f->model->loss == RP_LOSS_GAMMA) {
        rest = rp_neg(z);
        rest = rp_exp(rest);
        *weight = rp_mul(y, rest);
        *residual = rp_add_scalar(*weight, -1);
        return;
    }
    mean = rp_sigmoid(z);
    rest = rp_neg(z);
    rest = rp_sigmoid(rest);
    *residual = rp_sub(y, mean);
    *weight = rp_mul(mean, rest);
}

/* row[X] [rows, width], the intercept's column with it. */
static void pass_one(const fit *f, const rp_tensor *row, rp_tensor z, rp_tensor *value)
{
    rp_tensor residual, weight, across, x = row[X], weighted = x, slope;

    one_output(f, z, row[Y], &residual, &weight);
    if (weight.graph)
        weighted = rp_mul(x, weight);
    weighted = weigh(f, weighted, row);
    slope = weigh(f, residual, row);
    across = rp_transpose(slope, NULL);
    value[SLOPE] = rp_matmul(across, x);
    across = rp_transpose(x, NULL);
    value[CURVE] = rp_matmul(across, weighted);
    if (!has_pearson(f))
        return;
    residual = rp_mul(residual, residual);
    if (f->model->loss != RP_LOSS_GAMMA)
        residual = rp_div(residual, weight);
    residual = weigh(f, residual, row);
    value[PEARSON] = all(residual);
}

/* Of several outputs with probabilities p: second derivatives are the sums of p_a x x' in the blocks of the diagonal
 * (CURVE, [width, outputs, width]) less those of (p_a x)(p_b x)' everywhere (CROSS). */
static void pass_several(const fit *f, const rp_tensor *given, rp_tensor z, size_t rows, rp_tensor *value)
{
    const size_t k = f->outputs, w = f->width;
    rp_tensor mean = rp_softmax(z), one = rp_one_hot(given[Y], k, RP_F64), residual = rp_sub(one, mean);
    rp_tensor row[ROW] = {given[X], given[Y], given[W]}, x = row[X], across, p, scaled, weighted;

    if (f->model->weighted)
        row[W] = shaped(row[W], rows, 1);
    residual = weigh(f, residual, row);
    across = rp_transpose(residual, NULL);
    value[SLOPE] = rp_matmul(across, x);
    p = rp_reshape(mean, 3, (size_t[]){rows, k, 1});
    scaled = rp_reshape(x, 3, (size_t[]){rows, 1, w});
    scaled = rp_mul(p, scaled);
    scaled = shaped(scaled, rows, k * w);
    weighted = weigh(f, scaled, row);
    across = rp_transpose(x, NULL);
    value[CURVE] = rp_matmul(across, weighted);
    across = rp_transpose(scaled, NULL);
    value[CROSS] = rp_matmul(across, weighted);
}

/* A graph of a block's function with its first parameters: the block's number and what there is of each row, or of it
 * only features and weights. NULL: the outer graph has failed. */
static rp_graph *begin_block(const fit *f, size_t rows, bool targets, rp_graph *outer, rp_tensor *row)
{
    rp_graph *g = rp_graph_new(NULL);

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    for (size_t i = 0; i < ROW; i++) {
        rp_type type = f->row[i];

        row[i] = rp_no_tensor();
        type.shape[0] = rows;
        if (is_there(f, i) && (targets || i != Y))
            row[i] = rp_function_parameter(g, &type);
    }
    return g;
}

static rp_function *end_block(rp_graph *g, size_t rows, rp_graph *outer)
{
    rp_function *function = NULL;
    rp_error err = {0};
    rp_status status = rp_function_finish(g, &function, &err);

    if (status != RP_OK)
        rp_graph_fail(outer, status, "blocks of %zu rows: %s", rows, err.text);
    return function;
}

/* The function of a block: its number, rows of x and y; the coefficients. NULL: the outer graph has failed. */
static rp_function *block_function(const fit *f, size_t rows, rp_graph *outer)
{
    rp_tensor row[ROW], beta, z, across, value[PASSED];
    rp_graph *g = begin_block(f, rows, true, outer, row);

    if (!g)
        return NULL;
    beta = rp_function_parameter(g, &(rp_type){.dtype = RP_F64, .rank = 2, .shape = {f->outputs, f->width}});
    row[X] = with_one(g, row[X], rows);
    across = rp_transpose(beta, NULL);
    z = rp_matmul(row[X], across);
    across = rp_model_row_losses(f->model, z, row[Y], row[W]);
    value[LOSS] = all(across);
    if (f->outputs == 1)
        pass_one(f, row, z, value);
    else
        pass_several(f, row, z, rows, value);
    for (size_t i = 0; i < passed(f); i++)
        rp_function_return(g, value[i]);
    return end_block(g, rows, outer);
}

/* The function of a block of so many rows. */
typedef rp_function *make_block(const fit *f, size_t rows, rp_graph *outer);

/* What a map takes: rows by block, and what all blocks have. */
typedef struct operands {
    rp_tensor sliced[ROW];
    size_t n_sliced;
    const rp_tensor *shared;
    size_t n_shared;
} operands;

/* A map over the blocks, whose outputs are added. */
static rp_status map_blocks(const fit *f, rp_graph *g, make_block *make, const operands *in, rp_tensor *value,
                            size_t n_value, rp_error *err)
{
    const size_t rest = f->rows % RP_EXACT_ROWS, blocks = f->rows / RP_EXACT_ROWS + (rest > 0);
    const rp_combine combine[PASSED] = {RP_COMBINE_TREE, RP_COMBINE_TREE, RP_COMBINE_TREE, RP_COMBINE_TREE};
    uint64_t *cuts = rp_reallocarray(NULL, blocks + 1, sizeof *cuts);
    rp_function *function[2] = {NULL, NULL};
    size_t n = 0;

    if (!cuts)
        return rp_no_memory(err);
    for (size_t i = 0; i < blocks; i++)
        cuts[i] = i * RP_EXACT_ROWS;
    cuts[blocks] = f->rows;
    if (rest)
        function[n++] = make(f, rest, g);
    if (blocks > (rest > 0))
        function[n++] = make(f, RP_EXACT_ROWS, g);
    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const[]){function[0], function[1]},
                             .n_function = n,
                             .sliced = in->sliced,
                             .n_sliced = in->n_sliced,
                             .shared = in->shared,
                             .n_shared = in->n_shared,
                             .cuts = cuts,
                             .n_cuts = blocks + 1,
                             .combine = combine,
                             .n_combine = n_value},
           value);
    rp_function_free(function[0]);
    rp_function_free(function[1]);
    rp_free(cuts);
    return RP_OK;
}

/* Those that there are, close together. */
static size_t gather_rows(const fit *f, const rp_tensor *row, bool targets, rp_tensor *out)
{
    size_t n = 0;

    for (size_t i = 0; i < ROW; i++)
        if (is_there(f, i) && (targets || i != Y))
            out[n++] = row[i];
    return n;
}

rp_status rp_exact_pass(const fit *f, rp_graph *g, const rp_tensor *row, rp_tensor beta, rp_tensor *value,
                        rp_error *err)
{
    operands in = {.shared = &beta, .n_shared = 1};

    in.n_sliced = gather_rows(f, row, true, in.sliced);
    return map_blocks(f, g, block_function, &in, value, passed(f), err);
}

rp_tensor rp_exact_curvature(const fit *f, rp_graph *g, const rp_tensor *value)
{
    const size_t k = f->outputs, w = f->width;
    rp_tensor own, eye;

    if (k == 1)
        return value[CURVE];
    own = rp_reshape(value[CURVE], 3, (size_t[]){w, k, w});
    own = rp_transpose(own, (int[]){1, 0, 2});
    own = rp_reshape(own, 4, (size_t[]){k, w, 1, w});
    eye = rp_iota(g, RP_I64, k);
    eye = rp_one_hot(eye, k, RP_F64);
    eye = rp_reshape(eye, 4, (size_t[]){k, 1, k, 1});
    own = rp_mul(own, eye);
    own = shaped(own, f->unknowns, f->unknowns);
    return rp_sub(own, value[CROSS]);
}

/* The function of a block: its number, rows of x and weights, to the sums of products of features and 1. */
static rp_function *gram_function(const fit *f, size_t rows, rp_graph *outer)
{
    rp_tensor row[ROW], across, x, weighted;
    rp_graph *g = begin_block(f, rows, false, outer, row);

    if (!g)
        return NULL;
    x = with_one(g, row[X], rows);
    if (f->model->weighted && f->outputs > 1)
        row[W] = shaped(row[W], rows, 1);
    across = rp_transpose(x, NULL);
    weighted = weigh(f, x, row);
    rp_function_return(g, rp_matmul(across, weighted));
    return end_block(g, rows, outer);
}

rp_status rp_exact_gram(const fit *f, rp_graph *g, const rp_tensor *row, rp_tensor *gram, rp_error *err)
{
    operands in = {0};

    in.n_sliced = gather_rows(f, row, false, in.sliced);
    return map_blocks(f, g, gram_function, &in, gram, 1, err);
}
