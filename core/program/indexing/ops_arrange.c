/* SPDX-License-Identifier: Apache-2.0
 * Rearranging: views, and what is put together from them. */
#include "base/memory.h"
#include "core/program/indexing/calls.h"

rp_tensor rp_slice_step(rp_tensor x, const size_t *begin, const size_t *size, const int64_t *step)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_tensor out[RP_MAX_OUT];
    int rank;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    rank = rp_tensor_type(x)->rank;
    if (!rp_graph_given(x.graph, "begin", begin, (size_t)rank) ||
        !rp_graph_given(x.graph, "size", size, (size_t)rank) || !rp_graph_given(x.graph, "step", step, (size_t)rank))
        return rp_no_tensor();
    RP_AT(attr, slice_step, begin).n = RP_AT(attr, slice_step, size).n = RP_AT(attr, slice_step, step).n = rank;
    for (int i = 0; i < rank; i++) {
        RP_AT(attr, slice_step, begin).list[i] = attribute(begin[i]);
        RP_AT(attr, slice_step, size).list[i] = attribute(size[i]);
        RP_AT(attr, slice_step, step).list[i] = step[i];
    }
    rp_emit(x.graph, RP_OP_slice_step, attr, &x, 1, out);
    return out[0];
}

/* Elements of one axis: the others whole. */
static rp_tensor stepped(rp_tensor x, int axis, size_t first, size_t size, int64_t step)
{
    size_t begin[RP_MAX_RANK] = {0}, sizes[RP_MAX_RANK];
    int64_t steps[RP_MAX_RANK];
    rp_type type;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    for (int i = 0; i < type.rank; i++) {
        sizes[i] = i == axis ? size : type.shape[i];
        steps[i] = i == axis ? step : 1;
    }
    begin[axis] = first;
    return rp_slice_step(x, begin, sizes, steps);
}

static rp_tensor part_of(rp_tensor x, int axis, size_t first, size_t size)
{
    size_t begin[RP_MAX_RANK] = {0}, end[RP_MAX_RANK];
    rp_type type;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    for (int i = 0; i < type.rank; i++)
        end[i] = type.shape[i];
    begin[axis] = first;
    end[axis] = first + size;
    return rp_slice(x, begin, end);
}

rp_tensor rp_flip(rp_tensor x, const int *axes, int n)
{
    size_t begin[RP_MAX_RANK] = {0};
    int64_t step[RP_MAX_RANK];
    rp_type type;

    if (!rp_tensor_ok(x) || !rp_graph_given(x.graph, "axes", axes, n > 0 ? (size_t)n : 0))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    for (int i = 0; i < type.rank; i++)
        step[i] = 1;
    for (int i = 0; i < n; i++) {
        const int axis = axis_in("flip", x, axes[i]);

        if (axis < 0)
            return rp_no_tensor();
        step[axis] = -1;
        begin[axis] = type.shape[axis] > 0 ? type.shape[axis] - 1 : 0;
    }
    return rp_slice_step(x, begin, type.shape, step);
}

rp_tensor rp_roll(rp_tensor x, int64_t shift, int axis)
{
    const int at = axis_in("roll", x, axis);
    rp_tensor part[2];
    int64_t n;

    if (at < 0)
        return rp_no_tensor();
    n = (int64_t)rp_tensor_type(x)->shape[at];
    shift = n > 0 ? (shift % n + n) % n : 0;
    if (shift == 0)
        return x;
    part[0] = part_of(x, at, (size_t)(n - shift), (size_t)shift);
    part[1] = part_of(x, at, 0, (size_t)(n - shift));
    return rp_concat(part, 2, at);
}

/* ---- apart and together ---- */

static rp_tensor with_axis(rp_tensor x, int axis)
{
    rp_type type;

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    if (type.rank == RP_MAX_RANK) {
        rp_graph_fail(x.graph, RP_ESHAPE, "stack: found operands of rank %d, expected less", type.rank);
        return rp_no_tensor();
    }
    for (int i = type.rank++; i > axis; i--)
        type.shape[i] = type.shape[i - 1];
    type.shape[axis] = 1;
    return reshape_as(x, &type);
}

rp_tensor rp_stack(const rp_tensor *x, size_t n, int axis)
{
    rp_tensor joined = rp_no_tensor(), *part;
    int rank, at;

    if (n == 0 || !x || !rp_tensor_ok(x[0]))
        return rp_no_tensor();
    rank = rp_tensor_type(x[0])->rank;
    at = axis < 0 ? axis + rank + 1 : axis;
    if (at < 0 || at > rank) {
        rp_graph_fail(x[0].graph, RP_ESHAPE, "stack: found axis %d for operands of rank %d, expected %d to %d", axis,
                      rank, -rank - 1, rank);
        return rp_no_tensor();
    }
    part = rp_reallocarray(NULL, n, sizeof *part);
    if (!part) {
        rp_graph_fail(x[0].graph, RP_ENOMEM, "stack: out of memory");
        return rp_no_tensor();
    }
    for (size_t i = 0; i < n; i++)
        part[i] = with_axis(x[i], at);
    joined = rp_concat(part, n, at);
    rp_free(part);
    return joined;
}

static void none_of(rp_tensor *out, size_t n)
{
    for (size_t i = 0; i < n && out; i++)
        out[i] = rp_no_tensor();
}

void rp_split(rp_tensor x, const size_t *size, size_t n, int axis, rp_tensor *out)
{
    const int at = axis_in("split", x, axis);
    size_t first = 0, length, left;

    none_of(out, n);
    if (at < 0 || !rp_graph_given(x.graph, "size", size, n) || !rp_graph_given(x.graph, "out", out, n))
        return;
    left = length = rp_tensor_type(x)->shape[at];
    for (size_t i = 0; i < n && left <= length; i++)
        left = size[i] <= left ? left - size[i] : SIZE_MAX;
    if (left != 0) {
        rp_graph_fail(x.graph, RP_ESHAPE, "split: the sizes do not add up to %zu, the length of axis %d", length, axis);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = part_of(x, at, first, size[i]);
        first += size[i];
    }
}

void rp_chunk(rp_tensor x, size_t n, int axis, rp_tensor *out)
{
    const int at = axis_in("chunk", x, axis);
    size_t first = 0, length;

    none_of(out, n);
    if (at < 0 || !rp_graph_given(x.graph, "out", out, n))
        return;
    length = rp_tensor_type(x)->shape[at];
    for (size_t i = 0; i < n; i++) {
        const size_t size = length / n + (i < length % n);

        out[i] = part_of(x, at, first, size);
        first += size;
    }
}

void rp_unstack(rp_tensor x, int axis, rp_tensor *out, size_t n)
{
    const int at = axis_in("unstack", x, axis);
    rp_type type;

    none_of(out, n);
    if (at < 0 || !rp_graph_given(x.graph, "out", out, n))
        return;
    type = *rp_tensor_type(x);
    if (type.shape[at] != n) {
        rp_graph_fail(x.graph, RP_ESHAPE, "unstack: found room for %zu, expected %zu, the length of axis %d", n,
                      type.shape[at], axis);
        return;
    }
    type.rank--;
    for (int i = at; i < type.rank; i++)
        type.shape[i] = type.shape[i + 1];
    for (size_t i = 0; i < n; i++)
        out[i] = reshape_as(part_of(x, at, i, 1), &type);
}

/* ---- again and again ---- */

/* The axis so many times, each element so often or the whole: [outer, n, times, inner] or [outer, times, n, inner]. */
static rp_tensor repeated(rp_tensor x, int axis, size_t times, bool each)
{
    rp_type type;
    three_axes a;
    size_t shape[4], wide[4];

    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    a = around(&type, axis);
    shape[0] = wide[0] = a.length[0];
    shape[3] = wide[3] = a.length[2];
    shape[1] = each ? a.length[1] : 1;
    shape[2] = each ? 1 : a.length[1];
    wide[1] = each ? a.length[1] : times;
    wide[2] = each ? times : a.length[1];
    if (times > 0 && type.shape[axis] > rp_elements_max / times)
        type.shape[axis] = rp_elements_max + 1; /* for the shape rule to refuse */
    else
        type.shape[axis] *= times;
    x = rp_reshape(x, 4, shape);
    x = rp_broadcast_to(x, 4, wide);
    return reshape_as(x, &type);
}

rp_tensor rp_tile(rp_tensor x, const size_t *times)
{
    const int rank = rp_tensor_ok(x) ? rp_tensor_type(x)->rank : 0;

    if (!rp_graph_given(x.graph, "times", times, (size_t)rank))
        return rp_no_tensor();
    for (int i = rank - 1; i >= 0; i--)
        if (times[i] != 1)
            x = repeated(x, i, times[i], false);
    return x;
}

rp_tensor rp_repeat_interleave(rp_tensor x, size_t times, int axis)
{
    const int at = axis_in("repeat_interleave", x, axis);

    return at < 0 ? rp_no_tensor() : times == 1 ? x : repeated(x, at, times, true);
}

void rp_meshgrid(const rp_tensor *x, size_t n, rp_tensor *out)
{
    size_t shape[RP_MAX_RANK], line[RP_MAX_RANK];
    rp_graph *g = x ? rp_graph_of(x, n) : NULL;

    none_of(out, n);
    if (!x || !rp_graph_given(g, "out", out, n))
        return;
    if (n > RP_MAX_RANK && g) {
        rp_graph_fail(g, RP_ESHAPE, "meshgrid: found %zu operands, expected at most %d", n, RP_MAX_RANK);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!rp_tensor_ok(x[i]))
            return;
        if (rp_tensor_type(x[i])->rank != 1) {
            rp_graph_fail(g, RP_ESHAPE, "meshgrid: operand %zu has rank %d, expected 1", i, rp_tensor_type(x[i])->rank);
            return;
        }
        shape[i] = rp_tensor_type(x[i])->shape[0];
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            line[k] = k == i ? shape[i] : 1;
        out[i] = rp_broadcast_to(rp_reshape(x[i], (int)n, line), (int)n, shape);
    }
}

/* ---- matrices ---- */

static bool is_matrix(const char *call, rp_tensor x)
{
    char type[192];

    if (!rp_tensor_ok(x))
        return false;
    if (rp_tensor_type(x)->rank >= 2)
        return true;
    rp_type_text(rp_tensor_type(x), type, sizeof type);
    rp_graph_fail(x.graph, RP_ESHAPE, "%s: found %s, expected rank 2 or more", call, type);
    return false;
}

/* x where column - row is at most (or at least) the diagonal, else zero. */
static rp_tensor triangle(rp_tensor x, int64_t diagonal, bool lower)
{
    const rp_type type = *rp_tensor_type(x);
    const size_t rows = type.shape[type.rank - 2], columns = type.shape[type.rank - 1];
    rp_tensor row = rp_reshape(rp_iota(x.graph, RP_I64, rows), 2, (size_t[]){rows, 1});
    rp_tensor column = rp_iota(x.graph, RP_I64, columns), apart = rp_sub(column, row);
    rp_tensor at = rp_fill(x.graph, RP_I64, 0, NULL, (double)diagonal), zero;
    rp_tensor kept = lower ? rp_le(apart, at) : rp_ge(apart, at);

    zero = rp_fill(x.graph, type.dtype, 0, NULL, 0);
    return rp_where(kept, x, zero);
}

rp_tensor rp_tril(rp_tensor x, int64_t diagonal)
{
    return is_matrix("tril", x) ? triangle(x, diagonal, true) : rp_no_tensor();
}

rp_tensor rp_triu(rp_tensor x, int64_t diagonal)
{
    return is_matrix("triu", x) ? triangle(x, diagonal, false) : rp_no_tensor();
}

/* Along rows put one after the other an element of the diagonal comes every columns + 1 elements. */
rp_tensor rp_diagonal(rp_tensor x, int64_t diagonal)
{
    rp_type type;
    int64_t rows, columns, down, right, length;

    if (!is_matrix("diagonal", x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    rows = (int64_t)type.shape[type.rank - 2];
    columns = (int64_t)type.shape[type.rank - 1];
    down = diagonal < 0 ? diagonal < -rows ? rows : -diagonal : 0;
    right = diagonal > 0 ? diagonal > columns ? columns : diagonal : 0;
    length = rows - down < columns - right ? rows - down : columns - right;
    type.shape[--type.rank - 1] = (size_t)(rows * columns);
    x = reshape_as(x, &type);
    return stepped(x, type.rank - 1, length > 0 ? (size_t)(down * columns + right) : 0, (size_t)length, columns + 1);
}

/* ---- padding ---- */

/* What comes before (or after) the axis of x, `count` elements. */
static rp_tensor edge(rp_tensor x, int axis, size_t count, bool front, rp_pad_mode how, double value)
{
    rp_type type = *rp_tensor_type(x);
    const size_t n = type.shape[axis];
    rp_tensor part;

    type.shape[axis] = count;
    switch (how) {
    case RP_PAD_CONSTANT:
        return constant_as(x.graph, type.dtype, type.rank, type.shape, value);
    case RP_PAD_REFLECT:
        return stepped(x, axis, front ? count : n - 2, count, -1);
    case RP_PAD_EDGE:
        part = part_of(x, axis, front ? 0 : n - 1, 1);
        return rp_broadcast_to(part, type.rank, type.shape);
    default:
        return part_of(x, axis, front ? n - count : 0, count);
    }
}

static bool padding_fits(rp_tensor x, int axis, size_t count, rp_pad_mode how)
{
    static const char *const expected[] = {"", "below the length", "any of a length of 1 or more", "up to the length"};
    const size_t n = rp_tensor_type(x)->shape[axis];
    const size_t most = how == RP_PAD_REFLECT    ? n > 0 ? n - 1 : 0
                        : how == RP_PAD_CIRCULAR ? n
                        : how == RP_PAD_EDGE     ? n > 0 ? rp_elements_max : 0
                                                 : rp_elements_max;

    if (count <= most)
        return true;
    rp_graph_fail(x.graph, RP_ESHAPE, "pad_with: found %zu elements at axis %d of length %zu, expected %s", count, axis,
                  n, how == RP_PAD_CONSTANT ? "up to 2^40" : expected[how]);
    return false;
}

static rp_tensor pad_with_written(rp_tensor x, const size_t *before, const size_t *after, rp_pad_mode how, double value)
{
    const int rank = rp_tensor_ok(x) ? rp_tensor_type(x)->rank : 0;

    if (rp_tensor_ok(x) && (how < RP_PAD_CONSTANT || how > RP_PAD_CIRCULAR)) {
        rp_graph_fail(x.graph, RP_EARG, "pad_with: found way %d, expected one of rp_pad_mode", (int)how);
        return rp_no_tensor();
    }
    if (!rp_graph_given(x.graph, "before", before, (size_t)rank) ||
        !rp_graph_given(x.graph, "after", after, (size_t)rank))
        return rp_no_tensor();
    for (int i = rank - 1; i >= 0 && rp_tensor_ok(x); i--) {
        rp_tensor part[3];
        size_t n = 0;

        if (!padding_fits(x, i, before[i], how) || !padding_fits(x, i, after[i], how))
            return rp_no_tensor();
        if (before[i])
            part[n++] = edge(x, i, before[i], true, how, value);
        part[n++] = x;
        if (after[i])
            part[n++] = edge(x, i, after[i], false, how, value);
        if (n > 1)
            x = rp_concat(part, n, i);
    }
    return x;
}

rp_tensor rp_pad_with(rp_tensor x, const size_t *before, const size_t *after, rp_pad_mode how, double value)
{
    rp_graph *call = rp_graph_call_begins(x);

    return rp_graph_call_ends(call, pad_with_written(x, before, after, how, value));
}
