/* SPDX-License-Identifier: Apache-2.0
 * Builds the program of an exact fit (CONTRACT 12.8): what is estimated, the loop, its beginning and its end. The
 * unknowns are the rows of a matrix [outputs, 1 + features], one output after another, intercepts first. */
#include "core/train/exact.h"

#include "base/memory.h"
#include "core/data/schema.h"
#include "core/train/exact_build.h"

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
        if (column->offset != RP_OFFSET_NONE)
            add_run(r, 1, 0);
        else if (groups && reference && column->width > 0) {
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

/* [1, width]: first, then `each` for every feature but the offset, which has its own. */
static rp_tensor for_each(const fit *f, rp_graph *g, rp_tensor first, double each, double own)
{
    rp_tensor part[4] = {first};
    size_t n = 1;

    if (f->offset == SIZE_MAX) {
        part[n++] = filled(g, 1, f->width - 1, each);
        return rp_concat(part, n, 1);
    }
    if (f->offset > 0)
        part[n++] = filled(g, 1, f->offset, each);
    part[n++] = filled(g, 1, 1, own);
    if (f->offset + 2 < f->width)
        part[n++] = filled(g, 1, f->width - 2 - f->offset, each);
    return rp_concat(part, n, 1);
}

/* [1, unknowns]: the strength for each coefficient but the intercepts. */
static rp_tensor penalties(const fit *f, rp_graph *g, double strength)
{
    rp_tensor row = for_each(f, g, filled(g, 1, 1, 0), strength, 0), rows;

    if (f->outputs == 1)
        return row;
    rows = rp_broadcast_to(row, 2, (size_t[]){f->outputs, f->width});
    return shaped(rows, 1, f->unknowns);
}

/* ---- the loop ---- */

/* The last with l1 only: how many sweeps there were. */
enum { BETA, STEP, OBJECTIVE, DECREMENT, SWEEPS, CARRIED };

static bool is_penalised(const fit *f)
{
    return f->model->recipe->train.l1 > 0 || f->model->recipe->train.l2 > 0;
}

static size_t carried_of(const fit *f)
{
    return is_lasso(f) ? CARRIED : SWEEPS;
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

static rp_status iterate(const fit *f, rp_graph *g, const rp_tensor *shared, rp_tensor beta, newton *out, rp_error *err)
{
    rp_tensor value[PASSED], penalised, slope, system, t;
    rp_status status = rp_exact_pass(f, g, shared, beta, value, err);

    if (status != RP_OK)
        return status;
    beta = shaped(beta, 1, f->unknowns);
    penalised = rp_mul(shared[PENALTY], beta);
    t = rp_mul(penalised, beta);
    t = all(t);
    t = rp_scale(t, 0.5);
    out->losses = value[LOSS];
    out->pearson = has_pearson(f) ? value[PEARSON] : rp_no_tensor();
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
    system = rp_exact_curvature(f, g, value);
    system = system_of(g, system, shared[MASK], shared[PENALTY], f->unknowns);
    if (is_lasso(f)) {
        rp_exact_descend(f, g, shared, beta, system, slope, out);
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
    for (size_t i = 0; i < SHARED; i++)
        s[i] = is_there(f, i) ? rp_function_parameter(g, rp_tensor_type(shared[i])) : rp_no_tensor();
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
    rp_tensor given[SHARED];
    size_t n = 0;
    rp_status status = loop_function(f, true, carried, shared, &body, err);

    for (size_t i = 0; i < SHARED; i++)
        if (is_there(f, i))
            given[n++] = shared[i];

    if (status == RP_OK)
        status = loop_function(f, false, carried, shared, &predicate, err);
    if (status == RP_OK)
        rp_while(g,
                 &(rp_while_options){.body = body,
                                     .predicate = predicate,
                                     .carried = carried,
                                     .n_carried = carried_of(f),
                                     .shared = given,
                                     .n_shared = n,
                                     .limit = is_penalised(f) ? RP_EXACT_PENALISED : RP_EXACT_ITERATIONS},
                 out);
    rp_function_free(body);
    rp_function_free(predicate);
    return status;
}

/* ---- beginning and end ---- */

/* Of a value of each row. */
static rp_tensor mean_of(const fit *f, const rp_tensor *row, rp_tensor value)
{
    rp_tensor sum, weights;

    if (!f->model->weighted)
        return rp_mean(value, NULL, 0, false);
    sum = rp_mul(value, row[W]);
    sum = all(sum);
    weights = all(row[W]);
    return rp_div(sum, weights);
}

/* The intercept beside an offset: of the families with a log link and of a linear regression that of the model without
 * other columns. */
static rp_tensor start_beside(const fit *f, rp_graph *g, const rp_tensor *data)
{
    rp_tensor offset = rp_slice(data[X], (size_t[]){0, f->offset}, (size_t[]){f->rows, f->offset + 1}), mean, rest;

    if (f->model->loss == RP_LOSS_POISSON) {
        mean = mean_of(f, data, data[Y]);
        rest = rp_exp(offset);
        rest = mean_of(f, data, rest);
        mean = rp_log(rp_div(mean, rest));
    } else if (f->model->loss == RP_LOSS_GAMMA) {
        rest = rp_neg(offset);
        rest = rp_exp(rest);
        rest = rp_mul(data[Y], rest);
        mean = rp_log(mean_of(f, data, rest));
    } else if (f->model->loss == RP_LOSS_MSE) {
        rest = rp_sub(data[Y], offset);
        mean = mean_of(f, data, rest);
    } else {
        mean = mean_of(f, data, data[Y]);
        rest = rp_neg(mean);
        rest = rp_add_scalar(rest, 1);
        mean = rp_log(rp_div(mean, rest));
        rest = mean_of(f, data, offset);
        mean = rp_sub(mean, rest);
    }
    return for_each(f, g, shaped(mean, 1, 1), 0, 1);
}

/* Intercepts that fit the mean of the targets; zeros of several outputs. */
static rp_tensor start(const fit *f, rp_graph *g, const rp_tensor *data)
{
    rp_tensor row[2], rest;

    if (f->outputs > 1)
        return filled(g, f->outputs, f->width, 0);
    if (f->offset != SIZE_MAX)
        return start_beside(f, g, data);
    row[0] = mean_of(f, data, data[Y]);
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
 * regression, of the target. Weights that are all multiplied by a number change nothing. */
static rp_tensor limit(const fit *f, rp_graph *g, const rp_tensor *row)
{
    rp_tensor mean, spread, size;

    if (f->model->loss != RP_LOSS_MSE && !f->model->weighted)
        return number(g, 1e-18);
    if (f->model->loss != RP_LOSS_MSE) {
        size = all(row[W]);
        size = rp_scale(size, 1e-18);
        return rp_div(size, number(g, (double)f->rows));
    }
    mean = mean_of(f, row, row[Y]);
    spread = rp_sub(row[Y], mean);
    spread = rp_mul(spread, spread);
    spread = weigh(f, spread, row);
    spread = all(spread);
    spread = rp_scale(spread, 1e-18);
    size = rp_mul(row[Y], row[Y]);
    size = weigh(f, size, row);
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

/* Of the gamma family the expected second derivatives are the gram itself. */
static rp_status set_inference(const fit *f, rp_graph *g, const rp_tensor *row, rp_tensor mask, rp_tensor factor,
                               rp_error *err)
{
    const size_t w = f->width, last = f->unknowns - w;
    rp_tensor gram, nothing, inverse, across, squares;
    rp_status status = rp_exact_gram(f, g, row, &gram, err);

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

static rp_status build(const fit *f, rp_graph *g, const rp_run *run, const rp_tensor *row, rp_error *err)
{
    rp_tensor carried[CARRIED], shared[SHARED] = {row[X], row[Y], row[W]}, out[1 + CARRIED], t;
    newton last = {0};
    rp_status status;

    shared[MASK] = estimated(f, g, err);
    if (!shared[MASK].graph)
        return RP_ENOMEM;
    shared[PENALTY] = penalties(f, g, f->model->recipe->train.l2);
    shared[LIMIT] = limit(f, g, row);
    if (is_lasso(f))
        shared[LASSO] = penalties(f, g, f->model->recipe->train.l1);
    carried[BETA] = start(f, g, row);
    carried[STEP] = filled(g, f->outputs, f->width, 0);
    carried[OBJECTIVE] = number(g, __builtin_inf());
    carried[DECREMENT] = number(g, __builtin_inf());
    if (is_lasso(f))
        carried[SWEEPS] = rp_fill(g, RP_I64, 0, NULL, 0);
    for (size_t i = 0; i < carried_of(f); i++)
        if (!rp_tensor_ok(carried[i]))
            return RP_OK; /* the graph tells */
    for (size_t i = 0; i < SHARED; i++)
        if (is_there(f, i) && !rp_tensor_ok(shared[i]))
            return RP_OK;
    status = loop(f, g, carried, shared, out, err);
    if (status == RP_OK)
        status = iterate(f, g, shared, out[1 + BETA], &last, err);
    if (status != RP_OK)
        return status;
    set_states(f, g, run, out[1 + BETA]);
    t = rp_div(last.losses, number(g, f->total));
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
    return set_inference(f, g, row, shared[MASK], last.factor, err);
}

rp_status rp_exact_fit(const rp_model *model, const rp_dataset *data, const rp_run *run, rp_graph *g, rp_error *err)
{
    static const char *const name[ROW] = {"train_x", "train_y", "train_w"};
    fit f = {.model = model,
             .schema = data->schema,
             .rows = data->train_rows,
             .offset = rp_schema_offset(data->schema),
             .total = data->train_total,
             .width = 1 + model->features,
             .outputs = model->outputs,
             .unknowns = model->outputs * (1 + model->features)};
    rp_tensor row[ROW];

    if (f.unknowns > RP_EXACT_UNKNOWNS)
        return rp_fail(
            err, RP_EDATA,
            "train.solver: an exact fit takes at most %d coefficients, but %zu features and %zu outputs make "
            "%zu; set train.solver: gradient, or columns to ignore",
            RP_EXACT_UNKNOWNS, model->features, model->outputs, f.unknowns);
    for (size_t i = 0; i < ROW; i++) {
        row[i] = is_there(&f, i) ? rp_graph_data(g, run, name[i]) : rp_no_tensor();
        if (is_there(&f, i) && !rp_tensor_ok(row[i]))
            return RP_OK; /* the graph tells */
        if (is_there(&f, i))
            f.row[i] = *rp_tensor_type(row[i]);
    }
    return build(&f, g, run, row, err);
}
