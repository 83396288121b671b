/* SPDX-License-Identifier: Apache-2.0
 * Order: the operations work along the last axis, and another one is exchanged with it before and after. */
#include "core/program/indexing/calls.h"

/* Exchanges axis with the last one; that is its own inverse. */
static rp_tensor exchange(rp_tensor x, int axis)
{
    int permutation[RP_MAX_RANK], last;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    last = rp_tensor_type(x)->rank - 1;
    if (axis == last)
        return x;
    for (int i = 0; i <= last; i++)
        permutation[i] = i == axis ? last : i == last ? axis : i;
    return rp_transpose(x, permutation);
}

static rp_tensor ordered(rp_op_id id, const rp_attr *attr, rp_tensor x, int axis, bool values, rp_tensor *index)
{
    const int at = axis_in(rp_op_get(id)->name, x, axis);
    rp_tensor out[RP_MAX_OUT] = {rp_no_tensor(), rp_no_tensor()};

    if (at >= 0) {
        rp_tensor lines = exchange(x, at);

        rp_emit(x.graph, id, attr, &lines, 1, out);
    }
    if (index)
        *index = at >= 0 ? exchange(out[1], at) : out[1];
    return values && at >= 0 ? exchange(out[0], at) : out[0];
}

rp_tensor rp_sort(rp_tensor x, int axis, bool descending, rp_tensor *index)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = descending}};

    return ordered(RP_OP_sort, attr, x, axis, true, index);
}

rp_tensor rp_argsort(rp_tensor x, int axis, bool descending)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = descending}};
    rp_tensor index;

    (void)ordered(RP_OP_sort, attr, x, axis, false, &index);
    return index;
}

rp_tensor rp_topk(rp_tensor x, size_t k, int axis, bool largest, rp_tensor *index)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = attribute(k)}, {.i = largest}};

    return ordered(RP_OP_topk, attr, x, axis, true, index);
}

rp_tensor rp_non_max_suppression(rp_tensor boxes, rp_tensor scores, size_t k, double overlap, double least,
                                 bool centred)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = attribute(k)}, {.r = overlap}, {.r = least}, {.i = centred}};
    rp_tensor order = rp_no_tensor(), sorted = rp_sort(scores, -1, true, &order), kept[RP_MAX_OUT];
    const rp_tensor in[3] = {boxes, sorted, order};

    if (!rp_tensor_ok(boxes) || !rp_tensor_ok(sorted))
        return rp_no_tensor();
    rp_emit(boxes.graph, RP_OP_non_max, attr, in, 3, kept);
    return kept[0];
}

rp_tensor rp_searchsorted(rp_tensor sorted, rp_tensor x, bool right)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = right}};
    rp_tensor in[] = {sorted, x}, out[RP_MAX_OUT];

    rp_emit(rp_graph_of(in, 2), RP_OP_searchsorted, attr, in, 2, out);
    return out[0];
}
