# SPDX-License-Identifier: Apache-2.0
"""Eigenvectors of symmetric matrices and singular vectors, by Jacobi's rotations in the order of a tournament: of n columns n / 2 pairs are
turned at once, and after n - 1 rounds each has met each. Then the columns go on to their next pairs, by one permutation that is the
same in each round. It ends when for n - 1 rounds nothing was to be turned. Nothing here has a gradient."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .solvers import Region, product, unit

Tensor = Any
MOST_COLUMNS = 1024
SWEEPS = 60  # of which a matrix of 1,000 columns takes some 12
EPSILON = {"f32": 2.0 ** -23, "f64": 2.0 ** -52}
NOTHING = {"f32": 2.0 ** -100, "f64": 2.0 ** -960}  # a sum of squares: below it, it has not all its digits


def tournament(g: Region, n: int) -> Tensor:
    """Who comes to each place: the pairs are k and k + n / 2, and all but the first go on by one in a ring, [0, h, 1, .., h - 2, h + 1, ..,
    n - 1, h - 1] with h = n / 2."""
    at, one, last = g.op("iota", n=n, dtype="i64"), g.fill(1, "i64"), g.fill(n // 2 - 1, "i64")
    behind = g.op("where", g.op("lt", at, g.fill(n - 1, "i64")), g.op("add", at, one), last)
    inside = g.op("where", g.op("le", at, last), g.op("sub", at, one), behind)
    return g.op("where", g.op("le", at, one), g.op("mul", at, g.fill(n // 2, "i64")), inside)


def rotation(g: Region, first: Tensor, second: Tensor, both: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Cosine, sine and tangent that make `both` 0, of pairs with these on their diagonals."""
    dtype = both.dtype
    none, one, zero = g.op("eq", both, g.fill(0, dtype)), g.fill(1, dtype), g.fill(0, dtype)
    ratio = g.op("div", g.op("sub", second, first), g.op("mul", g.fill(2, dtype), g.op("where", none, one, both)))
    long = g.op("add", g.op("abs", ratio), g.op("sqrt", g.op("add", g.op("mul", ratio, ratio), one)))
    size = g.op("div", one, long)
    tangent = g.op("where", none, zero, g.op("where", g.op("lt", ratio, zero), g.op("neg", size), size))
    cosine = g.op("div", one, g.op("sqrt", g.op("add", g.op("mul", tangent, tangent), one)))
    return cosine, g.op("mul", tangent, cosine), tangent


def halves(g: Region, x: Tensor, axis: int) -> list[Tensor]:
    n, rank = x.shape[axis], len(x.shape)
    cuts = ((0, n // 2), (n // 2, n))
    return [g.op("slice", x, begin=[a if i == axis else 0 for i in range(rank)],
                 end=[b if i == axis else x.shape[i] for i in range(rank)]) for a, b in cuts]


def turn(g: Region, x: Tensor, axis: int, cosine: Tensor, sine: Tensor) -> Tensor:
    """Pairs of rows or columns, turned."""
    low, high = halves(g, x, axis)
    n = [x.shape[0], 1, 1]
    n[axis] = x.shape[axis] // 2
    c, s = g.reshape(cosine, n), g.reshape(sine, n)
    return g.op("concat", g.op("sub", g.op("mul", c, low), g.op("mul", s, high)),
                g.op("add", g.op("mul", s, low), g.op("mul", c, high)), axis=axis)


def rounds(g: Any, x: Tensor, least: Tensor, rows: bool,
           body: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x [b, m, n] and the rotations [b, n, n] that were made, which column each is now, and whether it did not come to an end. rows: its
    rows move too. body(region, x, turns, least) gives x, turns and whether something was to be turned."""
    b, n, dtype = x.shape[0], x.shape[-1], x.dtype
    kinds = [("i64", ()), (dtype, tuple(x.shape)), (dtype, (b, n, n)), ("i64", (n,)), ("i64", ()), (dtype, tuple(least.shape))]
    inner, asks = Region(kinds), Region(kinds)
    _, now, turns, order, quiet, small = inner.parameters
    to = tournament(inner, n)
    now, turns, some = body(inner, now, turns, small)
    one = inner.fill(1, "i64")
    quiet = inner.op("where", some, inner.fill(0, "i64"), inner.op("add", quiet, one))
    turns, order = inner.op("gather", turns, to, axis=2), inner.op("gather", order, to, axis=0)
    now = inner.op("gather", now, to, axis=2)
    if rows:
        now = inner.op("gather", now, to, axis=1)
    more = asks.op("lt", asks.parameters[4], asks.fill(n - 1, "i64"))
    f, predicate = inner.finished([now, turns, order, quiet]), asks.finished([more])
    begun = g.broadcast(unit(g, n, dtype), [b, n, n])
    found = g.builder.while_(f, predicate, SWEEPS * n, carried=[x, begun, g.op("iota", n=n, dtype="i64"), g.fill(0, "i64")],
                             shared=[least])
    return found[1], found[2], found[3], g.op("lt", found[4], g.fill(n - 1, "i64"))


def alone(g: Region, block: Tensor, h: int) -> tuple[Tensor, Tensor]:
    """A block's diagonal [b, h, 1], and where it is."""
    on = g.op("eq", *(g.reshape(g.op("iota", n=h, dtype="i64"), s) for s in ([1, h, 1], [1, 1, h])))
    return g.op("sum", g.op("where", on, block, g.fill(0, block.dtype)), axes=[2]), on


def any_of(g: Region, flags: Tensor) -> Tensor:
    return g.op("gt", g.reshape(g.op("max", g.cast(flags, "i64"), axes=list(range(len(flags.shape)))), []), g.fill(0, "i64"))


def symmetric_round(g: Region, x: Tensor, turns: Tensor, least: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    h = x.shape[1] // 2
    (a, ab), (_, b) = (halves(g, t, 2) for t in halves(g, x, 1))
    (first, on), (second, _), (both, _) = alone(g, a, h), alone(g, b, h), alone(g, ab, h)
    c, s, t = rotation(g, first, second, both)
    step = g.op("mul", t, both)
    (a, ab), (ba, b) = (halves(g, v, 2) for v in halves(g, turn(g, turn(g, x, 1, c, s), 2, c, s), 1))
    zero = g.fill(0, x.dtype)
    a, b = g.op("where", on, g.op("sub", first, step), a), g.op("where", on, g.op("add", second, step), b)
    ab, ba = g.op("where", on, zero, ab), g.op("where", on, zero, ba)
    made = g.op("concat", g.op("concat", a, ab, axis=2), g.op("concat", ba, b, axis=2), axis=1)
    return made, turn(g, turns, 2, c, s), any_of(g, g.op("gt", g.op("abs", both), least))


def columns_round(g: Region, x: Tensor, turns: Tensor, least: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Two columns become orthogonal. A column that is as good as 0 beside the largest element, which is 1, has nothing to be turned: where rows
    are equal it becomes less each time, and stays at the least number there is."""
    low, high = halves(g, x, 2)
    first, second, both = (g.op("sum", g.op("mul", u, v), axes=[1]) for u, v in ((low, low), (high, high), (low, high)))
    c, s, _ = rotation(g, first, second, both)
    bound = g.op("mul", least, g.op("mul", g.op("sqrt", first), g.op("sqrt", second)))
    some = g.op("logical_and", g.op("gt", g.op("abs", both), bound), g.op("gt", g.op("minimum", first, second), g.fill(NOTHING[x.dtype], x.dtype)))
    return turn(g, x, 2, c, s), turn(g, turns, 2, c, s), any_of(g, some)


def ordered(g: Any, values: Tensor, vectors: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    """Values [b, n] in order, and the columns of vectors [b, k, n] in the same."""
    values, index = g.op("sort", values, descending=descending)
    b, k, n = vectors.shape
    at = g.broadcast(g.reshape(g.cast(index, "i64"), [b, 1, n]), [b, k, n])
    return values, g.op("take_along", vectors, at, axis=2)


def padded(g: Any, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Of an odd number of columns one more, of zeros."""
    if x.shape[-1] % 2 == 0:
        return x
    for axis in axes:
        shape = [*x.shape]
        shape[axis] = 1
        x = g.op("concat", x, g.broadcast(g.fill(0, x.dtype), shape), axis=axis)
    return x


def eigen(g: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of symmetric matrices [b, n, n]: eigenvalues [b, n] from the least, eigenvectors as columns, and whether it did not end."""
    b, n, dtype = x.shape[0], x.shape[-1], x.dtype
    if n == 1:
        return g.reshape(x, [b, 1]), g.fill(1, dtype, [b, 1, 1]), g.op("lt", g.fill(0, "i64"), g.fill(0, "i64"))
    wide = padded(g, x, (1, 2))
    size = g.reduce("max", g.op("abs", wide), [1, 2], True)
    least = g.op("mul", size, g.fill(EPSILON[dtype] / 64, dtype))
    made, turns, order, open_ = rounds(g, wide, least, True, symmetric_round)
    w = wide.shape[-1]
    on = unit(g, w, dtype)
    values = g.reshape(g.op("sum", g.op("where", g.op("gt", on, g.fill(0, dtype)), made, g.fill(0, dtype)), axes=[2]), [b, w])
    if w != n:  # the one more is the last in order
        values = g.op("where", g.op("eq", g.reshape(order, [1, w]), g.fill(n, "i64")), g.fill(math.inf, dtype), values)
    values, vectors = ordered(g, values, g.slice(turns, 1, 0, n), False)
    return g.slice(values, 1, 0, n), g.slice(vectors, 2, 0, n), open_


def singular(g: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of matrices [b, m, n], m >= n: singular values [b, n] from the largest, right singular vectors as columns, and whether it did not
    end."""
    b, m, n = x.shape
    dtype = x.dtype
    zero, one = g.fill(0, dtype), g.fill(1, dtype)
    size = g.reduce("max", g.op("abs", x), [1, 2], True)
    size = g.op("where", g.op("gt", size, zero), size, one)
    wide = padded(g, g.op("div", x, size), (2,))
    w = wide.shape[-1]
    if n == 1:
        made, turns, order = wide, g.broadcast(unit(g, w, dtype), [b, w, w]), g.op("iota", n=w, dtype="i64")
        open_ = g.op("lt", g.fill(0, "i64"), g.fill(0, "i64"))
    else:
        made, turns, order, open_ = rounds(g, wide, g.fill(2 * EPSILON[dtype] * math.sqrt(m), dtype, [1, 1, 1]), False, columns_round)
    long = g.reshape(g.op("sqrt", g.op("sum", g.op("mul", made, made), axes=[1])), [b, w])
    if w != n:
        long = g.op("where", g.op("eq", g.reshape(order, [1, w]), g.fill(n, "i64")), g.fill(-1, dtype), long)
    values, vectors = ordered(g, long, g.slice(turns, 1, 0, n), True)
    return g.op("mul", g.slice(values, 1, 0, n), g.reshape(size, [b, 1])), g.slice(vectors, 2, 0, n), open_


def reflections(g: Any, a: Tensor) -> tuple[Tensor, Tensor]:
    """q [b, m, m] and r [b, m, n] of matrices [b, m, n], by Householder's reflections with LAPACK's signs: a column that is 0 below its
    place is left as it is."""
    b, m, n = a.shape
    dtype = a.dtype
    size = g.reduce("max", g.op("abs", a), [1, 2], True)
    fine = g.op("logical_and", g.op("gt", size, g.fill(2.0 ** -40, dtype)), g.op("lt", size, g.fill(2.0 ** 40, dtype)))
    fine = g.op("logical_or", fine, g.op("eq", size, g.fill(0, dtype)))
    scale = g.op("where", fine, g.fill(1, dtype), size)  # squares would have no size of theirs
    inner = Region([("i64", ()), (dtype, (b, m, n)), (dtype, (b, m, m))])
    at, x, y = inner.parameters
    rows, zero, one = inner.reshape(inner.op("iota", n=m, dtype="i64"), [1, m, 1]), inner.fill(0, dtype), inner.fill(1, dtype)
    here = inner.op("eq", rows, at)

    def dot(u: Tensor, v: Tensor) -> Tensor:
        return inner.op("sum", inner.op("mul", u, v), axes=[1])
    column = inner.op("gather", x, inner.reshape(at, [1]), axis=2)
    v = inner.op("where", inner.op("ge", rows, at), column, zero)
    head = inner.op("sum", inner.op("where", here, column, zero), axes=[1])
    norm = inner.op("sqrt", dot(v, v))
    below = inner.op("where", here, zero, v)
    none = inner.op("eq", dot(below, below), zero)
    v = inner.op("add", v, inner.op("where", here, inner.op("where", inner.op("lt", head, zero), inner.op("neg", norm), norm), zero))
    twice = inner.op("where", none, zero, inner.op("div", inner.fill(2, dtype), inner.op("where", none, one, dot(v, v))))
    x, y = (inner.op("sub", t, inner.op("mul", inner.op("mul", twice, v), dot(v, t))) for t in (x, y))
    begun = [g.op("div", a, scale), g.broadcast(unit(g, m, dtype), [b, m, m])]
    r, q = g.builder.scan(inner.finished([x, y]), min(m, n), carried=begun)
    return g.transpose(q, [0, 2, 1]), g.op("mul", r, scale)


def decomposed(g: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x [b, m, n] = u s v^T, m >= n: u [b, m, m], s [b, n], v [b, n, n], and whether it did not end. The columns x v are made
    orthonormal by reflections, which gives those of singular values that are 0 too."""
    b, m, n = x.shape
    values, v, open_ = singular(g, x)
    u, r = reflections(g, product(g, x, v))
    on = g.op("gt", unit(g, n, x.dtype), g.fill(0, x.dtype))
    head = g.op("sum", g.op("where", on, g.slice(r, 1, 0, n), g.fill(0, x.dtype)), axes=[1])  # [b, 1, n]
    sign = g.op("where", g.op("lt", head, g.fill(0, x.dtype)), g.fill(-1, x.dtype), g.fill(1, x.dtype))
    if m > n:
        sign = g.op("concat", sign, g.fill(1, x.dtype, [b, 1, m - n]), axis=2)
    return g.op("mul", u, sign), values, v, open_
