/* SPDX-License-Identifier: Apache-2.0
 * The step of an exact fit with l1: sweeps of coordinate descent over the quadratic model, as a loop of its own within
 * an iteration (CONTRACT 12.8). */
#include "core/train/exact_build.h"

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

void rp_exact_descend(const fit *f, rp_graph *g, const rp_tensor *shared, rp_tensor beta, rp_tensor system,
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
