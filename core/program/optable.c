/* SPDX-License-Identifier: Apache-2.0
 * The op table, made of kernels/operations.def. */
#include <string.h>

#include "core/program/grads.h"
#include "core/program/infer.h"

#define FIELDS(name_, kernel_, n_in_, n_out_, flags_, dtypes_, infer_, vjp_) \
    [RP_OP_##name_].name = #name_, [RP_OP_##name_].kernel = RP_K_##kernel_, [RP_OP_##name_].n_in = n_in_, \
    [RP_OP_##name_].n_out = n_out_, [RP_OP_##name_].flags = flags_, [RP_OP_##name_].dtypes = dtypes_, \
    [RP_OP_##name_].infer = infer_, [RP_OP_##name_].vjp = vjp_,
#define SPEC(op, name_, kind_) [RP_OP_##op].attr[RP_AT_##op##_##name_] = {#name_, RP_ATTR_##kind_},
#define GRADIENT_RULE(name) vjp_##name
#define GRADIENT_NONE(name) NULL

/* A real attribute as kernels compute with it. */
static double rounded(double value, rp_dtype dtype)
{
    return dtype == RP_F32 ? (double)(float)value : value;
}

#define R(op, name) rounded(RP_AT(attr, op, name).r, dtype)
#define FINITE(x) ((x) - (x) == 0)
#define ALLOWED(op, condition, words) \
    static bool allows_##op(const rp_attr *attr, rp_dtype dtype) \
    { \
        return condition; \
    }
#include "kernels/operations.def"

static const rp_op table[RP_OP_COUNT] = {
#define MAP1(name, ...) FIELDS(name, name, 1, 1, RP_OP_OF_ONE, RP_D_FLOAT, infer_map, vjp_##name)
#define MAP1P(name, cost, way, domain, p, ...) \
    FIELDS(name, name, 1, 1, RP_OP_OF_ONE, RP_D_FLOAT, infer_map_with, vjp_##name) SPEC(name, p, REAL)
#define MAP1Q(name, cost, way, domain, p, p0, q, ...) \
    FIELDS(name, name, 1, 1, RP_OP_OF_ONE, RP_D_FLOAT, infer_map_with, vjp_##name) \
    SPEC(name, p, REAL) SPEC(name, q, REAL)
#define NUM1(name, ...) FIELDS(name, name, 1, 1, RP_OP_OF_ONE, RP_D_NUMBER, infer_map, vjp_##name)
#define LOGIC1(name, ...) FIELDS(name, name, 1, 1, RP_OP_OF_ONE, RP_D_BOOL, infer_map, NULL)
#define MAP2(name, ...) FIELDS(name, name, 2, 1, RP_OP_OF_TWO, RP_D_FLOAT, infer_map, vjp_##name)
#define NUM2(name, ...) FIELDS(name, name, 2, 1, RP_OP_OF_TWO, RP_D_ORDERED, infer_map, vjp_##name)
#define LOGIC2(name, ...) FIELDS(name, name, 2, 1, RP_OP_OF_TWO, RP_D_BOOL, infer_map, NULL)
#define INT2(name, ...) FIELDS(name, name, 2, 1, RP_OP_OF_TWO, RP_D_BITS, infer_map, NULL)
#define PAIR2(name, ...) FIELDS(name, name, 2, 1, RP_OP_OF_ONE, RP_D_FLOAT, infer_grad_pair, vjp_##name)
#define COMPARE(name, types, ...) FIELDS(name, name, 2, 1, RP_OP_OF_COMPARE, types, infer_compare, NULL)
#define OP(name, level, n_in, n_out, flags, types, kernel_types, specimen, infer, gradient) \
    FIELDS(name, name, n_in, n_out, flags, types, infer_##infer, GRADIENT_##gradient(name))
#define VIEW(name, infer, view, flags, gradient) \
    FIELDS(name, copy, 1, 1, flags, RP_D_STORED, infer_##infer, GRADIENT_##gradient(name)) \
    [RP_OP_##name].alias = alias_##view,
#define ATTR SPEC
#define INDEX_ATTR(op, i, name) [RP_OP_##op].indices = {i, RP_BOUND_ATTR, 0, RP_AT_##op##_##name},
#define INDEX_AXIS(op, i, k, name) [RP_OP_##op].indices = {i, RP_BOUND_AXIS, k, RP_AT_##op##_##name},
#define INDEX_LAST(op, i, k) [RP_OP_##op].indices = {i, RP_BOUND_LAST, k, 0},
#define WORK(op, kind) [RP_OP_##op].work = RP_WORK_##kind,
#define ROLE(op, role_) [RP_OP_##op].role = RP_PLAYS_##role_,
#define HALVES(op, which) [RP_OP_##op].halves = RP_HALVES_##which,
#define ALSO(op, other) [RP_OP_##op].also = &table[RP_OP_##other],
#define NAMES(op, operands_, results_) [RP_OP_##op].operands = operands_, [RP_OP_##op].results = results_,
#define ALLOWED(op, condition, words) [RP_OP_##op].allows = allows_##op, [RP_OP_##op].allowed = words,
#include "kernels/operations.def"
};

const rp_op *rp_op_get(rp_op_id id)
{
    return &table[id];
}

const rp_op *rp_op_find(const char *name)
{
    for (size_t i = 0; i < RP_OP_COUNT; i++)
        if (*table[i].name == *name && strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const char *rp_op_operands(const rp_op *op)
{
    static const char *const usual[] = {"", "x", "a, b"};

    return op->operands ? op->operands : op->n_in >= 0 && op->n_in < 3 ? usual[op->n_in] : "";
}

const char *rp_op_results(const rp_op *op)
{
    return op->results ? op->results : "y";
}

rp_op_id rp_op_index(const rp_op *op)
{
    return op->flags & RP_OP_REGION ? RP_OP_COUNT : (rp_op_id)(op - table);
}

size_t rp_op_index_bound(const rp_op *op, const rp_attr *attr, const rp_type *in)
{
    const rp_indices *indices = &op->indices;
    const rp_type *of = &in[indices->of];

    switch (indices->bound) {
    case RP_BOUND_ATTR:
        return (size_t)attr[indices->attr].i;
    case RP_BOUND_AXIS:
        return of->shape[attr[indices->attr].i];
    default:
        return of->shape[of->rank - 1];
    }
}
