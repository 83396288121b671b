/* SPDX-License-Identifier: Apache-2.0
 * What the calls of rp/indexing.h share. No argument list may hold two calls that append: the program must not depend
 * on the compiler. */
#ifndef CORE_PROGRAM_INDEXING_CALLS_H
#define CORE_PROGRAM_INDEXING_CALLS_H

#include "core/program/graph.h"
#include "rp/indexing.h"

/* What no attribute can be stays refused. */
static inline int64_t attribute(size_t v)
{
    return v <= (size_t)INT64_MAX ? (int64_t)v : -1;
}

/* Counts a negative axis from the end; out of range stays as it was given, for the shape rule to refuse and name. */
static inline int64_t axis_from(rp_tensor x, int axis)
{
    const int64_t counted = rp_tensor_ok(x) ? (int64_t)axis + rp_tensor_type(x)->rank : axis;

    return axis < 0 && counted >= 0 ? counted : axis;
}

/* The axis, which x has, or -1 with the graph in error. */
static inline int axis_in(const char *call, rp_tensor x, int axis)
{
    char type[192];
    int counted;

    if (!rp_tensor_ok(x))
        return -1;
    counted = axis < 0 ? axis + rp_tensor_type(x)->rank : axis;
    if (counted >= 0 && counted < rp_tensor_type(x)->rank)
        return counted;
    rp_type_text(rp_tensor_type(x), type, sizeof type);
    rp_graph_fail(x.graph, RP_ESHAPE, "%s: axis %d is not an axis of %s, expected %d to %d", call, axis, type,
                  -rp_tensor_type(x)->rank, rp_tensor_type(x)->rank - 1);
    return -1;
}

/* The lengths in front of an axis, of it and behind it, as one each. */
typedef struct three_axes {
    size_t length[3];
} three_axes;

static inline three_axes around(const rp_type *type, int axis)
{
    three_axes t = {{1, 1, 1}};

    for (int i = 0; i < type->rank; i++)
        t.length[i < axis ? 0 : i == axis ? 1 : 2] *= type->shape[i];
    return t;
}

static inline rp_tensor reshape_as(rp_tensor x, const rp_type *type)
{
    return rp_reshape(x, type->rank, type->shape);
}

static inline rp_tensor flat(rp_tensor x)
{
    const size_t count = rp_tensor_ok(x) ? rp_type_count(rp_tensor_type(x)) : 0;

    return rp_reshape(x, 1, &count);
}

/* 0, 1, .. along `axis` of rank axes, stretched to shape. */
static inline rp_tensor numbers_along(rp_graph *g, int axis, int rank, const size_t *shape)
{
    size_t line[RP_MAX_RANK];
    rp_tensor number = rp_iota(g, RP_I64, shape[axis]);

    for (int i = 0; i < rank; i++)
        line[i] = i == axis ? shape[axis] : 1;
    number = rp_reshape(number, rank, line);
    return rp_broadcast_to(number, rank, shape);
}

/* A constant stretched to shape: a view. */
static inline rp_tensor constant_as(rp_graph *g, rp_dtype dtype, int rank, const size_t *shape, double value)
{
    rp_tensor one = rp_fill(g, dtype, 0, NULL, value);

    return rp_broadcast_to(one, rank, shape);
}

#endif
