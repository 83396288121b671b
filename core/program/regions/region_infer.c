/* SPDX-License-Identifier: Apache-2.0
 * Types of regions (CONTRACT 11.6): operands must have exactly the types of the functions' parameters, nothing is
 * broadcast; what a region gives follows from its functions' outputs. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/program/function.h"
#include "core/program/infer_check.h"

static const rp_type scalar_index = {.dtype = RP_I64};
static const rp_type scalar_bool = {.dtype = RP_BOOL};

static const char *name_of(const rp_region *r)
{
    return rp_region_op(r->kind)->name;
}

static rp_status expect_type(const rp_region *r, const char *what, size_t i, const rp_type *found,
                             const rp_type *wanted, rp_error *err)
{
    char f[192], w[192];

    if (rp_type_equal(found, wanted))
        return RP_OK;
    rp_type_text(found, f, sizeof f);
    rp_type_text(wanted, w, sizeof w);
    return rp_fail(err, RP_ESHAPE, "%s: %s %zu: found %s, expected %s", name_of(r), what, i, f, w);
}

static rp_status expect_count(const rp_region *r, const char *what, size_t found, size_t wanted, rp_error *err)
{
    return found == wanted ? RP_OK
                           : rp_fail(err, RP_ESHAPE, "%s: found %zu %s, expected %zu", name_of(r), found, what, wanted);
}

/* t with axis 0 as long as given, or with a new axis 0 in front. */
static rp_type with_rows(rp_type t, uint64_t rows)
{
    t.shape[0] = rows;
    return t;
}

static rp_status stacked(const rp_region *r, const rp_type *row, uint64_t rows, rp_type *out, rp_error *err)
{
    if (row->rank == RP_MAX_RANK)
        return rp_fail(err, RP_ESHAPE, "%s: a value of rank %d cannot be stacked: ranks end there", name_of(r),
                       RP_MAX_RANK);
    *out = (rp_type){.dtype = row->dtype, .rank = row->rank + 1};
    out->shape[0] = rows;
    memcpy(out->shape + 1, row->shape, (size_t)row->rank * sizeof *row->shape);
    return bounded(rp_region_op(r->kind), out, err);
}

/* A function's first parameter in scan, map and while. */
static rp_status expect_index(const rp_region *r, const rp_function *f, rp_error *err)
{
    if (rp_function_params(f) == 0)
        return rp_fail(err, RP_ESHAPE, "%s: the function has no parameters, expected i64[] for the index first",
                       name_of(r));
    return expect_type(r, "the index, parameter", 0, rp_function_param(f, 0), &scalar_index, err);
}

/* Operands from `from` on are the parameters from `first` on. */
static rp_status expect_operands(const rp_region *r, const rp_function *f, size_t first, const rp_type *in, size_t from,
                                 size_t n_in, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = from; i < n_in && status == RP_OK; i++)
        status = expect_type(r, "operand", i, &in[i], rp_function_param(f, first + i - from), err);
    return status;
}

static rp_status infer_call(const rp_region *r, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const rp_function *f = r->function[0];
    rp_status status = expect_count(r, "operands", n_in, rp_function_params(f), err);

    if (status == RP_OK)
        status = expect_operands(r, f, 0, in, 0, n_in, err);
    for (size_t i = 0; i < rp_function_outs(f) && status == RP_OK; i++)
        out[i] = *rp_function_out(f, i);
    return status;
}

/* Carried values come out of the function as they go in. */
static rp_status expect_carried(const rp_region *r, const rp_function *f, rp_error *err)
{
    rp_status status = expect_index(r, f, err);

    if (status == RP_OK && (r->carried > rp_function_outs(f) || 1 + r->carried + r->sliced > rp_function_params(f)))
        return rp_fail(err, RP_ESHAPE,
                       "%s: carries %zu and slices %zu, but its function has %zu parameters, %zu outputs", name_of(r),
                       r->carried, r->sliced, rp_function_params(f), rp_function_outs(f));
    for (size_t i = 0; i < r->carried && status == RP_OK; i++)
        status = expect_type(r, "carried output", i, rp_function_out(f, i), rp_function_param(f, 1 + i), err);
    return status;
}

static rp_status expect_times(const rp_region *r, rp_error *err)
{
    return r->times <= rp_times_max
               ? RP_OK
               : rp_fail(err, RP_ESHAPE, "%s: %s is above 2^40", name_of(r), r->kind == RP_SCAN ? "times" : "limit");
}

static rp_status infer_scan(const rp_region *r, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const rp_function *f = r->function[0];
    const size_t outs = rp_function_outs(f), shared = r->carried + r->sliced;
    rp_status status = expect_times(r, err);

    if (status == RP_OK)
        status = expect_carried(r, f, err);
    if (status == RP_OK)
        status = expect_count(r, "operands", n_in, rp_function_params(f) - 1, err);
    if (status == RP_OK)
        status = expect_operands(r, f, 1, in, 0, r->carried, err);
    for (size_t i = r->carried; i < shared && status == RP_OK; i++) {
        rp_type rows;

        status = stacked(r, rp_function_param(f, 1 + i), r->times, &rows, err);
        if (status == RP_OK)
            status = expect_type(r, "operand", i, &in[i], &rows, err);
    }
    if (status == RP_OK)
        status = expect_operands(r, f, 1 + shared, in, shared, n_in, err);
    for (size_t i = 0; i < outs && status == RP_OK; i++) {
        if (i < r->carried)
            out[i] = *rp_function_out(f, i);
        else
            status = stacked(r, rp_function_out(f, i), r->times, &out[i], err);
    }
    for (size_t i = 0; r->history && i < r->carried && status == RP_OK; i++)
        status = stacked(r, rp_function_out(f, i), r->times, &out[outs + i], err);
    return status;
}

/* ---- map ---- */

/* Never descending; without sliced operands 0, 1, .. S; one shard is not empty; a function for each length. */
static rp_status check_cuts(const rp_region *r, rp_error *err)
{
    if (r->n_cuts < 2 || r->n_cuts > RP_REGION_OPERANDS_MAX + 1)
        return rp_fail(err, RP_ESHAPE, "map: %zu cuts, expected 2 to %d", r->n_cuts, RP_REGION_OPERANDS_MAX + 1);
    for (size_t s = 0; s < r->n_cuts; s++) {
        if (r->cuts[s] > rp_times_max || (s && r->cuts[s] < r->cuts[s - 1]))
            return rp_fail(err, RP_ESHAPE, "map: cut %zu descends or is above 2^40", s);
        if (r->sliced == 0 && r->cuts[s] != s)
            return rp_fail(err, RP_ESHAPE, "map: cut %zu is %llu, expected %zu: nothing is sliced", s,
                           (unsigned long long)r->cuts[s], s);
    }
    if (r->first > rp_times_max)
        return rp_fail(err, RP_ESHAPE, "map: first is above 2^40");
    return rp_region_shards(r) ? RP_OK : rp_fail(err, RP_ESHAPE, "map: all shards are empty");
}

/* The length that function k is for: what its first sliced parameter has, 1 when nothing is sliced. */
static uint64_t length_of(const rp_region *r, size_t k)
{
    return r->sliced ? rp_function_param(r->function[k], 1)->shape[0] : 1;
}

size_t rp_region_function_of(const rp_region *r, uint64_t rows)
{
    size_t low = 0, high = r->n_functions;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (length_of(r, middle) < rows)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n_functions && length_of(r, low) == rows ? low : SIZE_MAX;
}

/* Function k slices what the operands are and shares the rest, and gives what the first one gives. */
static rp_status check_shard(const rp_region *r, size_t k, const rp_type *in, size_t n_in, rp_error *err)
{
    const rp_function *f = r->function[k];
    rp_status status = expect_index(r, f, err);

    if (status == RP_OK)
        status = expect_count(r, "operands", n_in, rp_function_params(f) - 1, err);
    if (status == RP_OK)
        status = expect_count(r, "outputs of a function", rp_function_outs(f), r->n_combine, err);
    for (size_t i = 0; i < r->sliced && status == RP_OK; i++) {
        rp_type shard;

        if (in[i].rank == 0 || in[i].shape[0] < r->cuts[r->n_cuts - 1])
            return rp_fail(err, RP_ESHAPE, "map: operand %zu has fewer rows than the last cut, %llu", i,
                           (unsigned long long)r->cuts[r->n_cuts - 1]);
        if (rp_function_param(f, 1 + i)->rank == 0)
            return rp_fail(err, RP_ESHAPE, "map: parameter %zu is a scalar, expected a slice of rows", 1 + i);
        shard = with_rows(in[i], length_of(r, k));
        status = expect_type(r, "parameter", 1 + i, rp_function_param(f, 1 + i), &shard, err);
    }
    return status == RP_OK ? expect_operands(r, f, 1 + r->sliced, in, r->sliced, n_in, err) : status;
}

/* Ascending lengths, each of which a shard has, and a function for each shard. */
static rp_status check_lengths(const rp_region *r, rp_error *err)
{
    unsigned char *used = rp_calloc(r->n_functions, 1);
    rp_status status = used ? RP_OK : rp_no_memory(err);
    uint64_t last = 0;

    for (size_t k = 0; k < r->n_functions && status == RP_OK; k++)
        if (length_of(r, k) == 0 || (k && length_of(r, k) <= length_of(r, k - 1)))
            status = rp_fail(err, RP_ESHAPE, "map: the functions are not for ascending lengths of shards");
    for (size_t s = 0; s + 1 < r->n_cuts && status == RP_OK; s++) {
        size_t k;

        if (rp_shard_rows(r, s) == 0 || rp_shard_rows(r, s) == last)
            continue;
        last = rp_shard_rows(r, s);
        k = rp_region_function_of(r, last);
        if (k == SIZE_MAX)
            status =
                rp_fail(err, RP_ESHAPE, "map: no function for the %llu rows of shard %zu", (unsigned long long)last, s);
        else
            used[k] = 1;
    }
    for (size_t k = 0; k < r->n_functions && status == RP_OK; k++)
        if (!used[k])
            status = rp_fail(err, RP_ESHAPE, "map: a function is for %llu rows, which no shard has",
                             (unsigned long long)length_of(r, k));
    rp_free(used);
    return status;
}

/* What an output of the shards becomes. */
static rp_status combine(const rp_region *r, size_t i, rp_type *out, rp_error *err)
{
    const rp_type *type = rp_function_out(r->function[0], i);
    const bool concat = r->combine[i] == RP_COMBINE_CONCAT;

    if (concat && type->rank == 0)
        return rp_fail(err, RP_ESHAPE, "map: output %zu is a scalar, expected rows to join", i);
    if (r->combine[i] == RP_COMBINE_TREE && !(RP_D_NUMBER & 1u << type->dtype))
        return rp_fail(err, RP_ESHAPE, "map: output %zu is %s, expected a type that can be added", i,
                       rp_dtype_name(type->dtype));
    for (size_t k = 0; k < r->n_functions; k++) {
        rp_type wanted = concat ? with_rows(*type, length_of(r, k)) : *type;
        rp_status status = expect_type(r, "output", i, rp_function_out(r->function[k], i), &wanted, err);

        if (status != RP_OK)
            return status;
    }
    if (r->combine[i] == RP_COMBINE_STACK)
        return stacked(r, type, rp_region_shards(r), out, err);
    *out = concat ? with_rows(*type, r->cuts[r->n_cuts - 1] - r->cuts[0]) : *type;
    return bounded(rp_region_op(RP_MAP), out, err);
}

static rp_status infer_map_region(const rp_region *r, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    rp_status status = check_cuts(r, err);

    if (status == RP_OK && r->sliced > n_in)
        return rp_fail(err, RP_ESHAPE, "map: slices %zu operands, found %zu", r->sliced, n_in);
    for (size_t k = 0; k < r->n_functions && status == RP_OK && r->sliced; k++)
        if (rp_function_params(r->function[k]) < 2 || rp_function_param(r->function[k], 1)->rank == 0)
            return rp_fail(err, RP_ESHAPE, "map: function %zu of the region has no slice as parameter 1", k);
    if (status == RP_OK)
        status = check_lengths(r, err);
    for (size_t k = 0; k < r->n_functions && status == RP_OK; k++)
        status = check_shard(r, k, in, n_in, err);
    for (size_t i = 0; i < r->n_combine && status == RP_OK; i++)
        status = combine(r, i, &out[i], err);
    return status;
}

/* ---- cond, while ---- */

static rp_status check_branch(const rp_region *r, const rp_function *f, const rp_type *in, size_t n_in, rp_error *err)
{
    rp_status status = expect_count(r, "operands", n_in, rp_function_params(f) + 1, err);

    if (status == RP_OK)
        status = expect_operands(r, f, 0, in, 1, n_in, err);
    if (status == RP_OK)
        status = expect_count(r, "outputs of a branch", rp_function_outs(f), rp_function_outs(r->function[0]), err);
    for (size_t i = 0; status == RP_OK && i < rp_function_outs(f); i++)
        status = expect_type(r, "output", i, rp_function_out(f, i), rp_function_out(r->function[0], i), err);
    return status;
}

/* In the order of the list, so that the branch that is told is the first wrong one; a text that names functions often
 * is bounded by RP_COMPARED_MAX. */
static rp_status check_branches(const rp_region *r, const rp_type *in, size_t n_in, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t k = 0; k < r->n_functions && status == RP_OK; k++)
        if (k == 0 || r->function[k] != r->function[k - 1])
            status = check_branch(r, r->function[k], in, n_in, err);
    return status;
}

static rp_status infer_cond(const rp_region *r, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    rp_status status = RP_OK;

    if (n_in == 0 || in[0].rank != 0 || (in[0].dtype != RP_BOOL && in[0].dtype != RP_I64))
        return rp_fail(err, RP_ESHAPE, "cond: operand 0 is no selector, expected bool[] or i64[]");
    if (in[0].dtype == RP_BOOL)
        status = expect_count(r, "functions for a selector of bool", r->n_functions, 2, err);
    if (status == RP_OK)
        status = check_branches(r, in, n_in, err);
    for (size_t i = 0; status == RP_OK && i < rp_function_outs(r->function[0]); i++)
        out[i] = *rp_function_out(r->function[0], i);
    return status;
}

static rp_status infer_while(const rp_region *r, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const rp_function *body = r->function[0], *predicate = r->function[1];
    rp_status status = expect_times(r, err);

    if (status == RP_OK)
        status = expect_carried(r, body, err);
    if (status == RP_OK)
        status = expect_index(r, predicate, err);
    if (status == RP_OK)
        status = expect_count(r, "outputs of the body", rp_function_outs(body), r->carried, err);
    if (status == RP_OK)
        status = expect_count(r, "outputs of the predicate", rp_function_outs(predicate), 1, err);
    if (status == RP_OK)
        status = expect_type(r, "output of the predicate", 0, rp_function_out(predicate, 0), &scalar_bool, err);
    for (int i = 0; i < 2 && status == RP_OK; i++) {
        status = expect_count(r, "operands", n_in, rp_function_params(r->function[i]) - 1, err);
        if (status == RP_OK)
            status = expect_operands(r, r->function[i], 1, in, 0, n_in, err);
    }
    out[0] = scalar_index;
    for (size_t i = 0; i < r->carried && status == RP_OK; i++)
        out[1 + i] = *rp_function_out(body, i);
    return status;
}

size_t rp_region_values(const rp_region *r)
{
    if (r->n_functions < (r->kind == RP_WHILE ? 2 : 1))
        return 0;
    switch (r->kind) {
    case RP_SCAN:
        return rp_function_outs(r->function[0]) + (r->history ? r->carried : 0);
    case RP_MAP:
        return r->n_combine;
    case RP_WHILE:
        return 1 + r->carried;
    default:
        return rp_function_outs(r->function[0]);
    }
}

rp_status rp_region_infer(const rp_region *r, const rp_type *in, size_t n_in, rp_type *out, rp_error *err)
{
    const size_t most = RP_REGION_OPERANDS_MAX, values = rp_region_values(r);

    if (values == 0)
        return rp_fail(err, RP_ESHAPE, "%s: found %zu functions, expected %s", name_of(r), r->n_functions,
                       r->kind == RP_WHILE ? "a body and a predicate" : "one");
    if (n_in > most || values > most || r->carried > most || r->sliced > most || r->n_functions > RP_FUNCTIONS_MAX)
        return rp_fail(err, RP_ESHAPE, "%s: more than %zu operands or values, or than %d functions", name_of(r), most,
                       RP_FUNCTIONS_MAX);
    switch (r->kind) {
    case RP_CALL:
        return infer_call(r, in, n_in, out, err);
    case RP_SCAN:
        return infer_scan(r, in, n_in, out, err);
    case RP_MAP:
        return infer_map_region(r, in, n_in, out, err);
    case RP_COND:
        return infer_cond(r, in, n_in, out, err);
    default:
        return infer_while(r, in, n_in, out, err);
    }
}
