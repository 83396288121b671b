/* SPDX-License-Identifier: Apache-2.0
 * Builds the program of an exact fit (CONTRACT 12.8). Rows are taken in blocks, whose sums a map's tree adds; the
 * unknowns are the rows of a matrix [outputs, 1 + features], one output after another, intercepts first. */
#include "core/train/exact.h"

#include "base/memory.h"
#include "core/data/schema.h"
#include "core/program/function.h"
#include "core/program/graph.h"

/* What the parts of the builder share. */
typedef struct fit {
    const rp_model *model;
    const rp_schema *schema;
    size_t rows, width, outputs, unknowns; /* width: 1 + features; unknowns: outputs * width */
    rp_type x, y;
} fit;

/* What a pass over the rows gives: the sum of losses; the sum of residuals times features [outputs, width]; the matrix
 * of second derivatives, in two parts where there are several outputs; of the families with a log link Pearson's sum.
 */
enum { LOSS, SLOPE, CURVE, CROSS, PEARSON = CROSS, PASSED };

static bool is_log_link(const fit *f)
{
    return f->model->loss == RP_LOSS_POISSON || f->model->loss == RP_LOSS_GAMMA;
}

static size_t passed(const fit *f)
{
    return f->outputs > 1 || is_log_link(f) ? PASSED : CROSS;
}

static rp_tensor number(rp_graph *g, double value)
{
    return rp_fill(g, RP_F64, 0, NULL, value);
}

static rp_tensor filled(rp_graph *g, size_t rows, size_t cols, double value)
{
    return rp_fill(g, RP_F64, 2, (size_t[]){rows, cols}, value);
}

static rp_tensor shaped(rp_tensor x, size_t rows, size_t cols)
{
    return rp_reshape(x, 2, (size_t[]){rows, cols});
}

static rp_tensor all(rp_tensor x)
{
    return rp_sum(x, NULL, 0, false);
}

/* 1 for each row, then its features. */
static rp_tensor with_one(rp_graph *g, rp_tensor x, size_t rows)
{
    rp_tensor part[2] = {filled(g, rows, 1, 1), x};

    return rp_concat(part, 2, 1);
}

/* One output: residual y - mean and weight of a row. */
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

/* x [rows, width], the intercept's column with it. */
static void pass_one(const fit *f, rp_tensor x, rp_tensor z, rp_tensor y, rp_tensor *value)
{
    rp_tensor residual, weight, across, weighted = x;

    one_output(f, z, y, &residual, &weight);
    if (weight.graph)
        weighted = rp_mul(x, weight);
    across = rp_transpose(residual, NULL);
    value[SLOPE] = rp_matmul(across, x);
    across = rp_transpose(x, NULL);
    value[CURVE] = rp_matmul(across, weighted);
    if (!is_log_link(f))
        return;
    residual = rp_mul(residual, residual);
    if (f->model->loss == RP_LOSS_POISSON)
        residual = rp_div(residual, weight);
    value[PEARSON] = all(residual);
}

/* Of several outputs with probabilities p: second derivatives are the sums of p_a x x' in the blocks of the diagonal
 * (CURVE, [width, outputs, width]) less those of (p_a x)(p_b x)' everywhere (CROSS). */
static void pass_several(const fit *f, rp_graph *g, rp_tensor x, rp_tensor z, rp_tensor y, size_t rows,
                         rp_tensor *value)
{
    const size_t k = f->outputs, w = f->width;
    rp_tensor mean = rp_softmax(z), one = rp_one_hot(y, k, RP_F64), residual = rp_sub(one, mean), across, p, scaled;

    (void)g;
    across = rp_transpose(residual, NULL);
    value[SLOPE] = rp_matmul(across, x);
    p = rp_reshape(mean, 3, (size_t[]){rows, k, 1});
    scaled = rp_reshape(x, 3, (size_t[]){rows, 1, w});
    scaled = rp_mul(p, scaled);
    scaled = shaped(scaled, rows, k * w);
    across = rp_transpose(x, NULL);
    value[CURVE] = rp_matmul(across, scaled);
    across = rp_transpose(scaled, NULL);
    value[CROSS] = rp_matmul(across, scaled);
}

/* The function of a block: its number, rows of x and y; the coefficients. NULL: the outer graph has failed. */
static rp_function *block_function(const fit *f, size_t rows, rp_graph *outer)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_type type = f->x;
    rp_tensor x, y, beta, z, across, value[PASSED];
    rp_function *function = NULL;
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    type.shape[0] = rows;
    x = rp_function_parameter(g, &type);
    type = f->y;
    type.shape[0] = rows;
    y = rp_function_parameter(g, &type);
    beta = rp_function_parameter(g, &(rp_type){.dtype = RP_F64, .rank = 2, .shape = {f->outputs, f->width}});
    x = with_one(g, x, rows);
    across = rp_transpose(beta, NULL);
    z = rp_matmul(x, across);
    across = rp_model_row_losses(f->model, z, y, rp_no_tensor());
    value[LOSS] = all(across);
    if (f->outputs == 1)
        pass_one(f, x, z, y, value);
    else
        pass_several(f, g, x, z, y, rows, value);
    for (size_t i = 0; i < passed(f); i++)
        rp_function_return(g, value[i]);
    status = rp_function_finish(g, &function, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "blocks of %zu rows: %s", rows, err.text);
    return function;
}

/* The function of a block of so many rows. */
typedef rp_function *make_block(const fit *f, size_t rows, rp_graph *outer);

/* A map over the blocks, whose outputs are added. */
static rp_status map_blocks(const fit *f, rp_graph *g, make_block *make, const rp_tensor *sliced, size_t n_sliced,
                            const rp_tensor *shared, size_t n_shared, rp_tensor *value, size_t n_value, rp_error *err)
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
                             .sliced = sliced,
                             .n_sliced = n_sliced,
                             .shared = shared,
                             .n_shared = n_shared,
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

/* A pass over all rows under beta. */
static rp_status pass(const fit *f, rp_graph *g, const rp_tensor *rows, rp_tensor beta, rp_tensor *value, rp_error *err)
{
    return map_blocks(f, g, block_function, rows, 2, &beta, 1, value, passed(f), err);
}

/* [unknowns, unknowns] of what a pass gave. */
static rp_tensor curvature(const fit *f, rp_graph *g, const rp_tensor *value)
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

/* ---- what is estimated: 1, and 0 for what stays 0 ---- */

/* Of runs of equal values along a row, joined. */
typedef struct runs {
    rp_graph *g;
    rp_tensor part[2 * RP_EXACT_UNKNOWNS + 2];
    size_t n, length;
    double value;
} runs;

static void end_run(runs *r)
{
    if (r->length)
        r->part[r->n++] = filled(r->g, 1, r->length, r->value);
    r->length = 0;
}

static void add_run(runs *r, size_t length, double value)
{
    if (value != r->value)
        end_run(r);
    r->value = value;
    r->length += length;
}

/* Without a penalty the first of a column's categories or bins is the reference: the others differ from it, and their
 * sum would be the intercept's column. */
static void add_features(const fit *f, runs *r, bool reference)
{
    size_t rest = f->width - 1; /* behind the columns' own: products of them */

    for (size_t i = 0; i < f->schema->n_columns; i++) {
        const rp_schema_column *column = &f->schema->columns[i];
        const bool groups = (column->kind == RP_COL_CATEGORICAL || column->binned) && !column->woe;

        if (column->kind == RP_COL_IGNORE)
            continue;
        rest -= column->width;
        if (groups && reference && column->width > 0) {
            add_run(r, 1, 0);
            add_run(r, column->width - 1, 1);
        } else {
            add_run(r, column->width, 1);
        }
    }
    add_run(r, rest, 1);
}

/* [1, unknowns]. Of several outputs the first's intercept stays 0, as all could be raised together, and without a
 * penalty its other coefficients too: it is then the reference. */
static rp_tensor estimated(const fit *f, rp_graph *g, rp_error *err)
{
    const bool penalty = f->model->recipe->train.l1 > 0 || f->model->recipe->train.l2 > 0;
    runs *r = rp_calloc(1, sizeof *r);
    rp_tensor result;

    if (!r) {
        (void)rp_no_memory(err);
        return rp_no_tensor();
    }
    r->g = g;
    for (size_t k = 0; k < f->outputs; k++) {
        const bool first = f->outputs > 1 && k == 0;

        add_run(r, 1, !first);
        if (first && !penalty)
            add_run(r, f->width - 1, 0);
        else
            add_features(f, r, !penalty);
    }
    end_run(r);
    result = r->n == 1 ? r->part[0] : rp_concat(r->part, r->n, 1);
    rp_free(r);
    return result;
}

/* [1, unknowns]: the strength for each coefficient but the intercepts. */
static rp_tensor penalties(const fit *f, rp_graph *g, double strength)
{
    rp_tensor part[2], row, rows;

    part[0] = filled(g, 1, 1, 0);
    part[1] = filled(g, 1, f->width - 1, strength);
    row = rp_concat(part, 2, 1);
    if (f->outputs == 1)
        return row;
    rows = rp_broadcast_to(row, 2, (size_t[]){f->outputs, f->width});
    return shaped(rows, 1, f->unknowns);
}

/* ---- the loop ---- */

/* The last of each with l1 only: how many sweeps there were, and l1 of each coefficient. */
enum { BETA, STEP, OBJECTIVE, DECREMENT, SWEEPS, CARRIED };
enum { X, Y, MASK, PENALTY, LIMIT, LASSO, SHARED };

static bool is_lasso(const fit *f)
{
    return f->model->recipe->train.l1 > 0;
}

static bool is_penalised(const fit *f)
{
    return f->model->recipe->train.l1 > 0 || f->model->recipe->train.l2 > 0;
}

static size_t carried_of(const fit *f)
{
    return is_lasso(f) ? CARRIED : SWEEPS;
}

static size_t shared_of(const fit *f)
{
    return is_lasso(f) ? SHARED : LASSO;
}

/* The curvature with penalties, of what is estimated: a unit diagonal stands for what is not. */
static rp_tensor system_of(rp_graph *g, rp_tensor curve, rp_tensor mask, rp_tensor penalty, size_t n)
{
    rp_tensor across = rp_transpose(mask, NULL), both = rp_mul(across, mask), eye, diagonal, fixed;

    curve = rp_mul(curve, both);
    fixed = rp_neg(mask);
    fixed = rp_add_scalar(fixed, 1);
    diagonal = rp_add(penalty, fixed);
    eye = rp_iota(g, RP_I64, n);
    eye = rp_one_hot(eye, n, RP_F64);
    diagonal = rp_mul(eye, diagonal);
    return rp_add(curve, diagonal);
}

/* What is minimised, the step to take, and how much is to be gained by it. */
typedef struct newton {
    rp_tensor objective, factor, step, decrement, losses, pearson, sweeps; /* factor without l1, sweeps with it */
} newton;

/* One coordinate of a sweep: the coefficient that is best while all others stay (Friedman, Hastie and Tibshirani 2010).
 * Parameters: its number; the step so far [1, n]; of the coordinate its row of the system [n], slope, coefficient, l1,
 * diagonal [] and row of the unit matrix [n]. */
static rp_function *coordinate_function(size_t n, rp_graph *outer)
{
    const rp_type number_of = {.dtype = RP_F64}, row_of = {.dtype = RP_F64, .rank = 1, .shape = {n}};
    rp_graph *g = rp_graph_new(NULL);
    rp_function *function = NULL;
    rp_tensor step, row, slope, beta, lasso, diagonal, unit, own, rest, target, size, minus, soft, best, other, change;
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    step = rp_function_parameter(g, &(rp_type){.dtype = RP_F64, .rank = 2, .shape = {1, n}});
    row = rp_function_parameter(g, &row_of);
    slope = rp_function_parameter(g, &number_of);
    beta = rp_function_parameter(g, &number_of);
    lasso = rp_function_parameter(g, &number_of);
    diagonal = rp_function_parameter(g, &number_of);
    unit = rp_function_parameter(g, &row_of);
    unit = shaped(unit, 1, n);
    own = rp_mul(unit, step);
    own = all(own);
    row = shaped(row, 1, n);
    rest = rp_mul(row, step);
    rest = all(rest);
    target = rp_sub(slope, rest);
    other = rp_add(beta, own);
    other = rp_mul(diagonal, other);
    target = rp_add(target, other); /* the diagonal times the best coefficient without l1 */
    size = rp_abs(target);
    size = rp_sub(size, lasso);
    size = rp_relu(size);
    minus = rp_neg(size);
    other = rp_lt(target, number(g, 0));
    soft = rp_where(other, minus, size);
    best = rp_div(soft, diagonal);
    best = rp_sub(best, beta);
    best = rp_sub(best, own);
    other = rp_gt(diagonal, number(g, 0)); /* a column of zeros stays */
    best = rp_where(other, best, number(g, 0));
    unit = rp_mul(unit, best);
    rp_function_return(g, rp_add(step, unit));
    change = rp_mul(best, best);
    rp_function_return(g, rp_mul(diagonal, change));
    status = rp_function_finish(g, &function, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "a coordinate: %s", err.text);
    return function;
}

enum { SYSTEM, SLOPES, COEFFICIENTS, LASSOS, DIAGONAL, UNIT, COORDINATE, BOUND = COORDINATE, SWEEP };

/* Body or predicate of the loop over sweeps: the step and its last change are carried. */
static rp_function *sweep_function(size_t n, bool body, const rp_tensor *shared, rp_graph *outer)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor step, change, s[SWEEP], out[2] = {rp_no_tensor(), rp_no_tensor()};
    rp_function *function = NULL, *coordinate;
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    step = rp_function_parameter(g, &(rp_type){.dtype = RP_F64, .rank = 2, .shape = {1, n}});
    change = rp_function_parameter(g, &(rp_type){.dtype = RP_F64});
    for (size_t i = 0; i < SWEEP; i++)
        s[i] = rp_function_parameter(g, rp_tensor_type(shared[i]));
    if (body) {
        coordinate = coordinate_function(n, g);
        rp_scan(g,
                &(rp_scan_options){.function = coordinate,
                                   .carried = &step,
                                   .n_carried = 1,
                                   .sliced = s,
                                   .n_sliced = COORDINATE,
                                   .times = n},
                out);
        rp_function_free(coordinate);
        rp_function_return(g, out[0]);
        rp_function_return(g, all(out[1]));
    } else {
        rp_function_return(g, rp_gt(change, s[BOUND]));
    }
    status = rp_function_finish(g, &function, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "a sweep: %s", err.text);
    return function;
}

/* The step to the minimum of the quadratic model with l1, by coordinate descent. system [n, n], slope [n, 1]. */
static void descend(const fit *f, rp_graph *g, const rp_tensor *shared, rp_tensor beta, rp_tensor system,
                    rp_tensor slope, newton *out)
{
    const size_t n = f->unknowns, one[1] = {n};
    rp_tensor s[SWEEP], carried[2], value[3];
    rp_function *body, *predicate;

    carried[0] = filled(g, 1, n, 0);
    carried[1] = number(g, __builtin_inf());
    s[SYSTEM] = system;
    s[SLOPES] = rp_reshape(slope, 1, one);
    s[COEFFICIENTS] = rp_reshape(beta, 1, one);
    s[LASSOS] = rp_reshape(shared[LASSO], 1, one);
    s[UNIT] = rp_iota(g, RP_I64, n);
    s[UNIT] = rp_one_hot(s[UNIT], n, RP_F64);
    s[DIAGONAL] = rp_mul(system, s[UNIT]);
    s[DIAGONAL] = rp_sum(s[DIAGONAL], (int[]){1}, 1, false);
    s[BOUND] = rp_scale(shared[LIMIT], 0.01);
    for (size_t i = 0; i < SWEEP; i++)
        if (!rp_tensor_ok(s[i]))
            return;
    body = sweep_function(n, true, s, g);
    predicate = sweep_function(n, false, s, g);
    rp_while(g,
             &(rp_while_options){.body = body,
                                 .predicate = predicate,
                                 .carried = carried,
                                 .n_carried = 2,
                                 .shared = s,
                                 .n_shared = SWEEP,
                                 .limit = RP_EXACT_SWEEPS},
             value);
    rp_function_free(body);
    rp_function_free(predicate);
    out->sweeps = value[0];
    out->step = value[1];
}

static rp_status iterate(const fit *f, rp_graph *g, const rp_tensor *shared, rp_tensor beta, newton *out, rp_error *err)
{
    rp_tensor value[PASSED], penalised, slope, system, t;
    rp_status status = pass(f, g, &shared[X], beta, value, err);

    if (status != RP_OK)
        return status;
    beta = shaped(beta, 1, f->unknowns);
    penalised = rp_mul(shared[PENALTY], beta);
    t = rp_mul(penalised, beta);
    t = all(t);
    t = rp_scale(t, 0.5);
    out->losses = value[LOSS];
    out->pearson = is_log_link(f) ? value[PEARSON] : rp_no_tensor();
    out->objective = f->model->loss == RP_LOSS_MSE ? rp_scale(value[LOSS], 0.5) : value[LOSS];
    out->objective = rp_add(out->objective, t);
    if (is_lasso(f)) {
        t = rp_abs(beta);
        t = rp_mul(shared[LASSO], t);
        t = all(t);
        out->objective = rp_add(out->objective, t);
    }
    slope = shaped(value[SLOPE], 1, f->unknowns);
    slope = rp_sub(slope, penalised);
    slope = rp_mul(slope, shared[MASK]);
    slope = shaped(slope, f->unknowns, 1);
    system = curvature(f, g, value);
    system = system_of(g, system, shared[MASK], shared[PENALTY], f->unknowns);
    if (is_lasso(f)) {
        descend(f, g, shared, beta, system, slope, out);
        if (!rp_tensor_ok(out->step))
            return RP_OK; /* the graph tells */
        t = rp_matmul(out->step, system);
    } else {
        out->factor = rp_cholesky(system, 1e-11);
        out->step = rp_triangular_solve(out->factor, slope, false, false);
        out->step = rp_triangular_solve(out->factor, out->step, false, true);
        t = slope;
    }
    t = rp_mul(t, out->step);
    out->decrement = all(t);
    out->step = shaped(out->step, f->outputs, f->width);
    return RP_OK;
}

/* A step that does not lower the objective is halved until it does. */
static rp_status build_body(const fit *f, rp_graph *g, const rp_tensor *carried, const rp_tensor *shared, rp_error *err)
{
    newton n = {0};
    rp_status status = iterate(f, g, shared, carried[BETA], &n, err);
    rp_tensor slack, bound, lower, half, ahead, back, beta, step, objective, decrement;

    if (status != RP_OK)
        return status;
    slack = rp_abs(carried[OBJECTIVE]);
    slack = rp_scale(slack, 1e-12);
    bound = rp_add(carried[OBJECTIVE], slack);
    lower = rp_le(n.objective, bound);
    half = rp_scale(carried[STEP], 0.5);
    ahead = rp_add(carried[BETA], n.step);
    back = rp_sub(carried[BETA], half);
    beta = rp_where(lower, ahead, back);
    step = rp_where(lower, n.step, half);
    objective = rp_where(lower, n.objective, carried[OBJECTIVE]);
    decrement = number(g, __builtin_inf());
    decrement = rp_where(lower, n.decrement, decrement);
    rp_function_return(g, beta);
    rp_function_return(g, step);
    rp_function_return(g, objective);
    rp_function_return(g, decrement);
    if (is_lasso(f))
        rp_function_return(g, rp_add(carried[SWEEPS], n.sweeps));
    return RP_OK;
}

/* Body or predicate: both see the number of the iteration, what is carried, what is shared. */
static rp_status loop_function(const fit *f, bool body, const rp_tensor *carried, const rp_tensor *shared,
                               rp_function **out, rp_error *err)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor c[CARRIED], s[SHARED];
    rp_status status = RP_OK;

    *out = NULL;
    if (!g)
        return rp_no_memory(err);
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    for (size_t i = 0; i < carried_of(f); i++)
        c[i] = rp_function_parameter(g, rp_tensor_type(carried[i]));
    for (size_t i = 0; i < shared_of(f); i++)
        s[i] = rp_function_parameter(g, rp_tensor_type(shared[i]));
    if (body)
        status = build_body(f, g, c, s, err);
    else
        rp_function_return(g, rp_gt(c[DECREMENT], s[LIMIT]));
    if (status == RP_OK)
        return rp_function_finish(g, out, err);
    rp_graph_free(g);
    return status;
}

/* out: the number of iterations, then what was carried. */
static rp_status loop(const fit *f, rp_graph *g, const rp_tensor *carried, const rp_tensor *shared, rp_tensor *out,
                      rp_error *err)
{
    rp_function *body = NULL, *predicate = NULL;
    rp_status status = loop_function(f, true, carried, shared, &body, err);

    if (status == RP_OK)
        status = loop_function(f, false, carried, shared, &predicate, err);
    if (status == RP_OK)
        rp_while(g,
                 &(rp_while_options){.body = body,
                                     .predicate = predicate,
                                     .carried = carried,
                                     .n_carried = carried_of(f),
                                     .shared = shared,
                                     .n_shared = shared_of(f),
                                     .limit = is_penalised(f) ? RP_EXACT_PENALISED : RP_EXACT_ITERATIONS},
                 out);
    rp_function_free(body);
    rp_function_free(predicate);
    return status;
}

/* ---- beginning and end ---- */

/* Intercepts that fit the mean of the targets; zeros of several outputs. */
static rp_tensor start(const fit *f, rp_graph *g, rp_tensor y)
{
    rp_tensor row[2], rest;

    if (f->outputs > 1)
        return filled(g, f->outputs, f->width, 0);
    row[0] = rp_mean(y, NULL, 0, false);
    if (f->model->loss == RP_LOSS_BCE) {
        rest = rp_neg(row[0]);
        rest = rp_add_scalar(rest, 1);
        row[0] = rp_div(row[0], rest);
        row[0] = rp_log(row[0]);
    } else if (is_log_link(f)) {
        row[0] = rp_log(row[0]);
    }
    row[0] = shaped(row[0], 1, 1);
    row[1] = filled(g, 1, f->width - 1, 0);
    return rp_concat(row, 2, 1);
}

/* Of the decrement, which is the squared change of the fit in units of its standard errors, or, in a linear
 * regression, of the target. */
static rp_tensor limit(const fit *f, rp_graph *g, rp_tensor y)
{
    rp_tensor mean, spread, size;

    if (f->model->loss != RP_LOSS_MSE)
        return number(g, 1e-18);
    mean = rp_mean(y, NULL, 0, false);
    spread = rp_sub(y, mean);
    spread = rp_mul(spread, spread);
    spread = all(spread);
    spread = rp_scale(spread, 1e-18);
    size = rp_mul(y, y);
    size = all(size);
    size = rp_scale(size, 1e-28);
    return rp_maximum(spread, size);
}

static void set_states(const fit *f, rp_graph *g, const rp_run *run, rp_tensor beta)
{
    const size_t k = f->outputs, w = f->width;
    rp_tensor bias = rp_slice(beta, (size_t[]){0, 0}, (size_t[]){k, 1});
    rp_tensor weight = rp_slice(beta, (size_t[]){0, 1}, (size_t[]){k, w});

    weight = rp_transpose(weight, NULL);
    bias = rp_reshape(bias, 1, (size_t[]){k});
    (void)rp_graph_state(g, run, f->model->parameter[0].name);
    rp_graph_set(g, RP_OUTPUT_STATE, f->model->parameter[0].name, weight);
    (void)rp_graph_state(g, run, f->model->parameter[1].name);
    rp_graph_set(g, RP_OUTPUT_STATE, f->model->parameter[1].name, bias);
}

/* ---- what standard errors and inflation follow from (CONTRACT 12.9) ---- */

/* The inverse of a factor's transpose times itself comes from this inverse of the factor. */
static rp_tensor inverse_of(rp_graph *g, rp_tensor factor, size_t n)
{
    rp_tensor eye = rp_iota(g, RP_I64, n);

    eye = rp_one_hot(eye, n, RP_F64);
    return rp_triangular_solve(factor, eye, false, false);
}

/* The function of a block: its number and rows of x, to the sums of products of features and 1. */
static rp_function *gram_function(const fit *f, size_t rows, rp_graph *outer)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_type type = f->x;
    rp_function *function = NULL;
    rp_tensor x, across;
    rp_error err = {0};
    rp_status status;

    if (!g) {
        rp_graph_fail(outer, RP_ENOMEM, "out of memory");
        return NULL;
    }
    (void)rp_function_parameter(g, &(rp_type){.dtype = RP_I64});
    type.shape[0] = rows;
    x = rp_function_parameter(g, &type);
    x = with_one(g, x, rows);
    across = rp_transpose(x, NULL);
    rp_function_return(g, rp_matmul(across, x));
    status = rp_function_finish(g, &function, &err);
    if (status != RP_OK)
        rp_graph_fail(outer, status, "blocks of %zu rows: %s", rows, err.text);
    return function;
}

/* Of the gamma family the expected second derivatives are the gram itself. */
static rp_status set_inference(const fit *f, rp_graph *g, rp_tensor x, rp_tensor mask, rp_tensor factor, rp_error *err)
{
    const size_t w = f->width, last = f->unknowns - w;
    rp_tensor gram, nothing, inverse, across, squares;
    rp_status status = map_blocks(f, g, gram_function, &x, 1, NULL, 0, &gram, 1, err);

    if (status != RP_OK)
        return status;
    rp_graph_set(g, RP_OUTPUT_RESULT, "gram", gram);
    mask = rp_slice(mask, (size_t[]){0, last}, (size_t[]){1, f->unknowns});
    nothing = filled(g, 1, w, 0);
    gram = system_of(g, gram, mask, nothing, w);
    gram = rp_cholesky(gram, 1e-11);
    inverse = inverse_of(g, gram, w);
    squares = rp_mul(inverse, inverse);
    squares = rp_sum(squares, (int[]){0}, 1, true);
    rp_graph_set(g, RP_OUTPUT_RESULT, "gram_inverse", squares);
    if (f->model->loss != RP_LOSS_GAMMA)
        inverse = inverse_of(g, factor, f->unknowns);
    across = rp_transpose(inverse, NULL);
    rp_graph_set(g, RP_OUTPUT_RESULT, "covariance", rp_matmul(across, inverse));
    return RP_OK;
}

static rp_status build(const fit *f, rp_graph *g, const rp_run *run, rp_tensor x, rp_tensor y, rp_error *err)
{
    rp_tensor carried[CARRIED], shared[SHARED] = {x, y}, out[1 + CARRIED], t;
    newton last = {0};
    rp_status status;

    shared[MASK] = estimated(f, g, err);
    if (!shared[MASK].graph)
        return RP_ENOMEM;
    shared[PENALTY] = penalties(f, g, f->model->recipe->train.l2);
    shared[LIMIT] = limit(f, g, y);
    if (is_lasso(f))
        shared[LASSO] = penalties(f, g, f->model->recipe->train.l1);
    carried[BETA] = start(f, g, y);
    carried[STEP] = filled(g, f->outputs, f->width, 0);
    carried[OBJECTIVE] = number(g, __builtin_inf());
    carried[DECREMENT] = number(g, __builtin_inf());
    if (is_lasso(f))
        carried[SWEEPS] = rp_fill(g, RP_I64, 0, NULL, 0);
    for (size_t i = 0; i < carried_of(f); i++)
        if (!rp_tensor_ok(carried[i]))
            return RP_OK; /* the graph tells */
    for (size_t i = 0; i < shared_of(f); i++)
        if (!rp_tensor_ok(shared[i]))
            return RP_OK;
    status = loop(f, g, carried, shared, out, err);
    if (status == RP_OK)
        status = iterate(f, g, shared, out[1 + BETA], &last, err);
    if (status != RP_OK)
        return status;
    set_states(f, g, run, out[1 + BETA]);
    t = rp_div(last.losses, number(g, (double)f->rows));
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", rp_cast(t, RP_F32));
    rp_graph_set(g, RP_OUTPUT_RESULT, "coefficients", out[1 + BETA]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "deviation", last.losses);
    rp_graph_set(g, RP_OUTPUT_RESULT, "iterations", out[0]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "decrement", out[1 + DECREMENT]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "limit", shared[LIMIT]);
    if (is_lasso(f))
        rp_graph_set(g, RP_OUTPUT_RESULT, "sweeps", out[1 + SWEEPS]);
    else
        rp_graph_set(g, RP_OUTPUT_RESULT, "factor", last.factor);
    if (last.pearson.graph)
        rp_graph_set(g, RP_OUTPUT_RESULT, "pearson", last.pearson);
    if (is_penalised(f))
        return RP_OK;
    return set_inference(f, g, x, shared[MASK], last.factor, err);
}

rp_status rp_exact_fit(const rp_model *model, const rp_schema *schema, const rp_run *run, rp_graph *g, size_t rows,
                       rp_error *err)
{
    fit f = {.model = model,
             .schema = schema,
             .rows = rows,
             .width = 1 + model->features,
             .outputs = model->outputs,
             .unknowns = model->outputs * (1 + model->features)};
    rp_tensor x, y;

    if (f.unknowns > RP_EXACT_UNKNOWNS)
        return rp_fail(
            err, RP_EDATA,
            "train.solver: an exact fit takes at most %d coefficients, but %zu features and %zu outputs make "
            "%zu; set train.solver: gradient, or columns to ignore",
            RP_EXACT_UNKNOWNS, model->features, model->outputs, f.unknowns);
    x = rp_graph_data(g, run, "train_x");
    y = rp_graph_data(g, run, "train_y");
    if (!rp_tensor_ok(x) || !rp_tensor_ok(y))
        return RP_OK;
    f.x = *rp_tensor_type(x);
    f.y = *rp_tensor_type(y);
    return build(&f, g, run, x, y, err);
}
