/* SPDX-License-Identifier: Apache-2.0
 * Places along an axis and along several, and sums by places, made of take_along and scatter_along. Places along
 * several axes become one number each, through a table an axis: so every one of them is held against its own axis. */
#include "core/program/indexing/calls.h"

rp_tensor rp_take_along(rp_tensor x, rp_tensor index, int axis)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = axis_from(x, axis)}};
    rp_tensor in[] = {x, index}, out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, 2), RP_OP_take_along, attr, in, 2, out);
    return out[0];
}

rp_tensor rp_scatter_along(rp_tensor x, rp_tensor index, rp_tensor source, int axis, rp_scatter how)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = axis_from(x, axis)}, {.i = how}};
    rp_tensor in[] = {x, index, source}, out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, 3), RP_OP_scatter_along, attr, in, 3, out);
    return out[0];
}

static bool all_ok(const rp_tensor *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!rp_tensor_ok(x[i])) {
            rp_graph *g = rp_graph_of(x, n);

            if (g)
                rp_graph_fail(g, RP_EARG, "operand %zu is no tensor of this step", i);
            return false;
        }
    return true;
}

/* x, index and source as [outer, n, inner], [outer, k, inner] and that, index the same for all lines. */
rp_tensor rp_index_put(rp_tensor x, rp_tensor index, rp_tensor source, int axis, rp_scatter how)
{
    const rp_tensor operands[] = {x, index, source};
    const int at = all_ok(operands, 3) ? axis_in("index_put", x, axis) : -1;
    three_axes whole, part;
    rp_type type;
    size_t n;

    if (at < 0)
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    whole = part = around(&type, at);
    n = part.length[1] = rp_type_count(rp_tensor_type(index));
    x = rp_reshape(x, 3, whole.length);
    index = rp_reshape(index, 3, (size_t[]){1, n, 1});
    index = rp_broadcast_to(index, 3, part.length);
    source = rp_reshape(source, 3, part.length);
    x = rp_scatter_along(x, index, source, 1, how);
    return reshape_as(x, &type);
}

/* Places [.., r] as one number each, [..], and in r how many axes they go along; no tensor with the graph in error. */
static rp_tensor numbered(const char *call, rp_tensor x, rp_tensor index, int *axes)
{
    const rp_type type = *rp_tensor_type(x), places = *rp_tensor_type(index); /* the graph's move as it grows */
    const int rank = places.rank,
              r = rank > 0 && places.shape[rank - 1] <= RP_MAX_RANK ? (int)places.shape[rank - 1] : -1;
    size_t begin[RP_MAX_RANK] = {0}, end[RP_MAX_RANK], step = 1;
    rp_tensor sum = rp_no_tensor();

    *axes = r;
    if (r < 1 || r > type.rank) {
        char a[192], b[192];

        rp_type_text(&type, a, sizeof a);
        rp_type_text(&places, b, sizeof b);
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "%s: found %s and places %s, expected [.., r] with r from 1 to the first's rank", call, a, b);
        return rp_no_tensor();
    }
    for (int i = 0; i < rank; i++)
        end[i] = places.shape[i];
    for (int d = r - 1; d >= 0; d--) {
        rp_tensor table = rp_iota(x.graph, RP_I64, type.shape[d]), at, one;

        if (step > 1)
            table = rp_scale(table, (double)step);
        begin[rank - 1] = (size_t)d;
        end[rank - 1] = (size_t)d + 1;
        at = rp_slice(index, begin, end);
        at = rp_reshape(at, rank - 1, places.shape);
        one = rp_gather(table, at, 0);
        sum = sum.graph ? rp_add(sum, one) : one;
        step *= type.shape[d];
    }
    return sum;
}

/* x with its first r axes as one. */
static rp_tensor joined(rp_tensor x, int r, size_t *length)
{
    const rp_type type = *rp_tensor_type(x);
    size_t shape[RP_MAX_RANK] = {1};

    for (int i = 0; i < type.rank; i++)
        if (i < r)
            shape[0] *= type.shape[i];
        else
            shape[i - r + 1] = type.shape[i];
    *length = shape[0];
    return rp_reshape(x, type.rank - r + 1, shape);
}

rp_tensor rp_gather_nd(rp_tensor x, rp_tensor index)
{
    const rp_tensor operands[] = {x, index};
    rp_tensor at;
    size_t length;
    int r;

    if (!all_ok(operands, 2))
        return rp_no_tensor();
    at = numbered("gather_nd", x, index, &r);
    return rp_tensor_ok(at) ? rp_gather(joined(x, r, &length), at, 0) : rp_no_tensor();
}

rp_tensor rp_scatter_nd(rp_tensor x, rp_tensor index, rp_tensor source, rp_scatter how)
{
    const rp_tensor operands[] = {x, index, source};
    rp_type type;
    rp_tensor at;
    size_t length;
    int r;

    if (!all_ok(operands, 3))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    at = numbered("scatter_nd", x, index, &r);
    if (!rp_tensor_ok(at))
        return rp_no_tensor();
    x = joined(x, r, &length);
    return reshape_as(rp_index_put(x, at, source, 0, how), &type);
}

rp_tensor rp_bincount(rp_tensor index, rp_tensor weights, size_t n)
{
    rp_dtype dtype = RP_I64;
    rp_tensor none;

    if (!rp_tensor_ok(index))
        return rp_no_tensor();
    index = flat(index);
    if (weights.graph) {
        weights = flat(weights);
        dtype = rp_tensor_ok(weights) ? rp_tensor_type(weights)->dtype : dtype;
    } else if (rp_tensor_ok(index)) {
        const size_t length = rp_tensor_type(index)->shape[0]; /* the graph's types move when it grows */

        weights = constant_as(index.graph, RP_I64, 1, &length, 1);
    }
    none = constant_as(index.graph, dtype, 1, &n, 0);
    return rp_scatter_along(none, index, weights, 0, RP_SCATTER_ADD);
}

/* The part of an element is the last edge that is not above it; what has none counts in a part of its own. */
rp_tensor rp_histogram(rp_tensor x, size_t n, double low, double high)
{
    rp_tensor edge, at, inside, over, zero, last, outside, count, top;
    rp_dtype dtype;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    dtype = rp_tensor_type(x)->dtype;
    if (dtype != RP_F32 && dtype != RP_F64) {
        rp_graph_fail(x.graph, RP_ESHAPE, "histogram: found %s, expected f32 or f64: rp_cast before",
                      rp_dtype_name(dtype));
        return rp_no_tensor();
    }
    if (n < 1 || !(low < high) || !(high - low - (high - low) == 0)) {
        rp_graph_fail(x.graph, RP_ESHAPE,
                      "histogram: found %zu parts of %g to %g, expected at least one, and finite low < high", n, low,
                      high);
        return rp_no_tensor();
    }
    x = flat(x);
    edge = rp_iota(x.graph, dtype, n);
    edge = rp_scale(edge, (high - low) / (double)n);
    edge = rp_add_scalar(edge, low);
    at = rp_searchsorted(edge, x, true);
    at = rp_add_scalar(at, -1);
    top = rp_fill(x.graph, dtype, 0, NULL, high);
    over = rp_le(x, top);
    zero = rp_fill(x.graph, RP_I64, 0, NULL, 0);
    inside = rp_ge(at, zero);
    inside = rp_logical_and(inside, over);
    last = rp_fill(x.graph, RP_I64, 0, NULL, (double)n);
    outside = rp_where(inside, at, last);
    count = rp_bincount(outside, rp_no_tensor(), n + 1);
    return rp_slice(count, (size_t[]){0}, &n);
}

static rp_tensor bag_of(rp_tensor table, rp_tensor index, rp_bag how)
{
    rp_tensor taken = rp_gather(table, index, 0), bag;

    if (!rp_tensor_ok(taken))
        return rp_no_tensor();
    if (rp_tensor_type(index)->rank != 2) {
        rp_graph_fail(table.graph, RP_ESHAPE, "embedding_bag: found indices of rank %d, expected [bags, length]",
                      rp_tensor_type(index)->rank);
        return rp_no_tensor();
    }
    bag = how == RP_BAG_SUM    ? rp_sum(taken, (int[]){1}, 1, false)
          : how == RP_BAG_MEAN ? rp_mean(taken, (int[]){1}, 1, false)
                               : rp_max(taken, (int[]){1}, 1, false);
    rp_tensor_release(taken);
    return bag;
}

/* On a tape the rows are gathered piece by piece, for the reduction that follows. */
rp_tensor rp_embedding_bag(rp_tensor table, rp_tensor index, rp_bag how)
{
    rp_graph *call = rp_graph_call_begins(table);

    return rp_graph_call_ends(call, bag_of(table, index, how));
}
