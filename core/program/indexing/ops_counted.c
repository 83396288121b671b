/* SPDX-License-Identifier: Apache-2.0
 * What is as long as there are elements of a kind. A program is static, so the number is its own, and each step holds
 * it against what it finds: a table of one element is asked for the element that the two are apart. */
#include "core/program/indexing/calls.h"

rp_tensor rp_count_true(rp_tensor mask)
{
    return rp_sum(rp_cast(mask, RP_I64), NULL, 0, false);
}

/* An error of the step where count, of rank 0, is not n. */
static void expect(rp_tensor count, size_t n)
{
    const size_t one = 1;
    rp_tensor apart = rp_add_scalar(count, 0 - (double)n);

    if (rp_tensor_ok(apart)) {
        rp_tensor table = rp_fill(apart.graph, RP_I64, 1, &one, 0);

        (void)rp_gather(table, apart, 0);
    }
}

static bool is_mask(const char *call, rp_tensor mask)
{
    if (!rp_tensor_ok(mask))
        return false;
    if (rp_tensor_type(mask)->dtype == RP_BOOL)
        return true;
    rp_graph_fail(mask.graph, RP_ESHAPE, "%s: found a mask of %s, expected bool", call,
                  rp_dtype_name(rp_tensor_type(mask)->dtype));
    return false;
}

/* The last of running sums, rank 0. */
static rp_tensor total_of(rp_tensor sums)
{
    const size_t n = rp_tensor_ok(sums) ? rp_tensor_type(sums)->shape[0] : 0, last = n - 1;

    return rp_reshape(rp_slice(sums, &last, &n), 0, NULL);
}

/* Row-major positions of the n true elements of a mask: each puts its position where the running sum says, and the
 * others theirs behind the end. */
static rp_tensor positions(rp_tensor mask, size_t n)
{
    const size_t count = rp_type_count(rp_tensor_type(mask)), room = n + 1, first = 0;
    rp_graph *g = mask.graph;
    rp_tensor m, sums, end, to, none, number, found;

    if (count == 0 || n > count) {
        expect(rp_count_true(mask), n);
        return rp_fill(g, RP_I64, 1, &n, 0);
    }
    m = flat(mask);
    sums = rp_cumsum(rp_cast(m, RP_I64), 0, false);
    expect(total_of(sums), n);
    end = rp_fill(g, RP_I64, 0, NULL, (double)n);
    to = rp_add_scalar(sums, -1);
    to = rp_where(m, to, end);
    none = constant_as(g, RP_I64, 1, &room, 0);
    number = rp_iota(g, RP_I64, count);
    found = rp_scatter_along(none, to, number, 0, RP_SCATTER_SET);
    return rp_slice(found, &first, &n);
}

/* A position's places are looked up, an axis after the other. */
rp_tensor rp_nonzero(rp_tensor mask, size_t n)
{
    rp_tensor at, column[RP_MAX_RANK];
    rp_type type;

    if (!is_mask("nonzero", mask))
        return rp_no_tensor();
    type = *rp_tensor_type(mask);
    at = positions(mask, n);
    if (type.rank == 0 || !rp_tensor_ok(at))
        return rp_reshape(at, 2, (size_t[]){n, 0});
    for (int d = 0; d < type.rank; d++) {
        rp_tensor place = at;

        if (type.rank > 1) {
            rp_tensor table = flat(numbers_along(at.graph, d, type.rank, type.shape));

            place = rp_gather(table, at, 0);
        }
        column[d] = rp_reshape(place, 2, (size_t[]){n, 1});
    }
    return rp_concat(column, (size_t)type.rank, 1);
}

rp_tensor rp_masked_select(rp_tensor x, rp_tensor mask, size_t n)
{
    rp_tensor at;

    if (!rp_tensor_ok(x) || !is_mask("masked_select", mask))
        return rp_no_tensor();
    mask = rp_broadcast_to(mask, rp_tensor_type(x)->rank, rp_tensor_type(x)->shape);
    if (!rp_tensor_ok(mask))
        return rp_no_tensor();
    at = positions(mask, n);
    return rp_gather(flat(x), at, 0);
}

/* Whether each element in order is another one than the one before it; the first is. */
static rp_tensor is_new(rp_tensor sorted)
{
    const size_t n = rp_tensor_type(sorted)->shape[0], zero = 0, one = 1, last = n - 1;
    rp_tensor part[2], before;

    part[0] = rp_fill(sorted.graph, RP_BOOL, 1, &one, 1);
    part[1] = rp_slice(sorted, &one, &n);
    before = rp_slice(sorted, &zero, &last);
    part[1] = rp_ne(part[1], before);
    return rp_concat(part, 2, 0);
}

rp_tensor rp_count_unique(rp_tensor x)
{
    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    if (rp_type_count(rp_tensor_type(x)) == 0)
        return rp_fill(x.graph, RP_I64, 0, NULL, 0);
    x = rp_sort(flat(x), 0, false, NULL);
    return rp_tensor_ok(x) ? rp_count_true(is_new(x)) : rp_no_tensor();
}

static rp_tensor nothing_unique(rp_tensor x, size_t n, rp_tensor *inverse, rp_tensor *counts)
{
    const rp_type type = *rp_tensor_type(x);

    expect(rp_fill(x.graph, RP_I64, 0, NULL, 0), n);
    if (inverse)
        *inverse = rp_fill(x.graph, RP_I64, type.rank, type.shape, 0);
    if (counts)
        *counts = rp_fill(x.graph, RP_I64, 1, &n, 0);
    return rp_fill(x.graph, type.dtype, 1, &n, 0);
}

rp_tensor rp_unique(rp_tensor x, size_t n, rp_tensor *inverse, rp_tensor *counts)
{
    rp_tensor sorted, index, sums, place, none, y;
    rp_type type;
    size_t count;

    if (inverse)
        *inverse = rp_no_tensor();
    if (counts)
        *counts = rp_no_tensor();
    if (!rp_tensor_ok(x))
        return rp_no_tensor();
    type = *rp_tensor_type(x);
    count = rp_type_count(&type);
    if (count == 0)
        return nothing_unique(x, n, inverse, counts);
    sorted = rp_sort(flat(x), 0, false, &index);
    if (!rp_tensor_ok(sorted))
        return rp_no_tensor();
    sums = rp_cumsum(rp_cast(is_new(sorted), RP_I64), 0, false);
    expect(total_of(sums), n);
    place = rp_add_scalar(sums, -1);
    none = constant_as(x.graph, type.dtype, 1, &n, 0);
    y = rp_scatter_along(none, place, sorted, 0, RP_SCATTER_SET);
    if (inverse) {
        none = constant_as(x.graph, RP_I64, 1, &count, 0);
        *inverse = reshape_as(rp_scatter_along(none, index, place, 0, RP_SCATTER_SET), &type);
    }
    if (counts)
        *counts = rp_bincount(place, rp_no_tensor(), n);
    return y;
}
