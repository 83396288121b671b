# SPDX-License-Identifier: Apache-2.0
"""Factors and triangular systems of matrices in operations of a program: what the linear algebra of the doors has in common. `g` is
a door's lowering, `refuse` makes the exception of what is not taken. Nothing here has a gradient: a door joins a value with what
has its derivative, by `moved`."""
from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

MOST_MATRICES = 256

Tensor = Any
Refuse = Callable[[str], Exception]


class Region:
    """Appends to a function of a region, which sees nothing but its parameters."""

    def __init__(self, parameters: Sequence[tuple[str, Sequence[int]]]) -> None:
        self.builder = importlib.import_module("reprise").Builder()
        self.parameters = [self.builder.parameter(tuple(shape), dtype) for dtype, shape in parameters]

    def op(self, name: str, *tensors: Tensor, **attributes: Any) -> Tensor:
        return self.builder.append(name, attributes, list(tensors))

    def fill(self, value: float, dtype: str, shape: Sequence[int] = ()) -> Tensor:
        return self.op("fill", value=float(value), shape=list(shape), dtype=dtype)

    def reshape(self, t: Tensor, shape: Sequence[int]) -> Tensor:
        return t if tuple(t.shape) == tuple(shape) else self.op("reshape", t, shape=list(shape))

    def cast(self, t: Tensor, dtype: str) -> Tensor:
        return t if t.dtype == dtype else self.op("cast", t, dtype=dtype)

    def finished(self, values: Sequence[Tensor]) -> Any:
        for v in values:
            self.builder.returns(v)
        return self.builder.finish_function()


def each(g: Any, refuse: Refuse, tensors: Sequence[Tensor], f: Callable[..., Tensor]) -> Tensor:
    """f of each matrix of stacks of them, [.., rows, cols]: one result, stacked again."""
    head = tuple(tensors[0].shape[:-2])
    n = math.prod(head)
    if not head:
        return f(*tensors)
    if n > MOST_MATRICES:
        raise refuse(f"of {n} matrices, at most {MOST_MATRICES} at once: take x[:{MOST_MATRICES}] and the parts behind it, each with an operation "
                     "of its own, and join what comes of them (torch.cat, jnp.concatenate)")
    flat = [g.reshape(t, [n, *t.shape[-2:]]) for t in tensors]
    made = [f(*(g.reshape(g.slice(t, 0, i, i + 1), t.shape[1:]) for t in flat)) for i in range(n)]
    if not made:
        raise refuse("of no matrices")
    whole = g.op("concat", *(g.reshape(t, [1, *t.shape]) for t in made), axis=0) if len(made) > 1 else made[0]
    return g.reshape(whole, [*head, *made[0].shape])


def turned(g: Any, x: Tensor) -> Tensor:
    rank = len(x.shape)
    return g.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def places(g: Any, k: int) -> tuple[Tensor, Tensor]:
    """Row and column of each element of a matrix."""
    return tuple(g.reshape(g.op("iota", n=k, dtype="i64"), s) for s in ([k, 1], [1, k]))


def unit(g: Any, k: int, dtype: str) -> Tensor:
    rows, cols = places(g, k)
    return g.op("where", g.op("eq", rows, cols), g.fill(1, dtype), g.broadcast(g.fill(0, dtype), [k, k]))


def product(g: Any, a: Tensor, b: Tensor) -> Tensor:
    """Of matrices, or of stacks of them."""
    head, (m, k), c = tuple(a.shape[:-2]), a.shape[-2:], b.shape[-1]
    if len(head) == 1 or not head:
        return g.op("matmul", a, b)
    n = math.prod(head)
    found = g.op("matmul", g.reshape(a, [n, m, k]), g.reshape(b, [n, k, c]))
    return g.reshape(found, [*head, m, c])


def moved(g: Any, x: Tensor, rest: Tensor) -> Tensor:
    """x - rest, which are equal: 0, with the gradient of x where that is a finite number."""
    zero = g.fill(0, x.dtype)
    finite = g.op("lt", g.op("abs", rest), g.fill(float("inf"), x.dtype))
    return g.op("sub", g.op("where", finite, x, zero), g.op("where", finite, rest, zero))


def solved(g: Any, refuse: Refuse, a: Tensor, b: Tensor, lower: bool, transposed: bool) -> Tensor:
    """a^-1 b, or a^-T b, of a triangular."""
    return each(g, refuse, [a, b], lambda a, b: g.op("triangular_solve", a, b, upper=not lower, transposed=transposed))


def triangle(g: Any, x: Tensor, lower: bool, open_: bool) -> Tensor:
    """The elements of a triangle, with the diagonal unless it is open; 0 elsewhere."""
    rows, cols = places(g, x.shape[-1])
    kept = g.op(("gt" if open_ else "ge") if lower else ("lt" if open_ else "le"), rows, cols)
    return g.op("where", g.broadcast(kept, x.shape), x, g.fill(0, x.dtype))


def factored(g: Any, x: Tensor) -> Tensor:
    """Cholesky's factor of one matrix, of which the lower triangle is read; where it is not positive definite the lower triangle is
    NaN."""
    k = x.shape[-1]
    rows, cols = places(g, k)
    factor = g.op("cholesky", g.op("where", g.op("ge", rows, cols), x, g.transpose(x, [1, 0])), tolerance=0.0)
    on = g.op("eq", rows, cols)
    largest = g.reshape(g.op("max", g.op("where", on, factor, g.fill(0, x.dtype)), axes=[0, 1]), [])
    fine = g.op("lt", largest, g.fill(float("inf"), x.dtype))
    return g.op("where", g.op("logical_or", fine, g.op("lt", rows, cols)), factor, g.fill(float("nan"), x.dtype))


def factor_moves(g: Any, refuse: Refuse, at: tuple[Tensor, Tensor], factor: Tensor, x: Tensor, rest: Tensor) -> Tensor:
    """How the factor l moves with its matrix, which is x and has been `rest`: l f(l^-1 d a l^-T), f the lower triangle with half of the
    diagonal (Murray, 2016). `at`: the places of their elements."""
    k, dtype, (rows, cols) = factor.shape[-1], factor.dtype, at
    inverse = solved(g, refuse, factor, g.broadcast(unit(g, k, dtype), factor.shape), True, False)
    inner = product(g, product(g, inverse, moved(g, x, rest)), turned(g, inverse))
    weight = g.op("where", g.op("eq", rows, cols), g.fill(0.5, dtype),
                  g.op("where", g.op("gt", rows, cols), g.fill(1, dtype), g.fill(0, dtype)))
    return product(g, factor, g.op("mul", inner, weight))


def eliminated(g: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gaussian elimination of matrices [.., k, k], b in all, a column a step; the pivot is the first of the largest. The factors in one
    matrix, from which row each came [b, k, 1], and the row that was exchanged at each step [k, b, 1, 1]."""
    b, k, dtype = math.prod(x.shape[:-2]), x.shape[-1], x.dtype
    inner = Region([("i64", ()), (dtype, (b, k, k)), ("i64", (b, k, 1))])
    at, a, order = inner.parameters
    rows, cols = (inner.reshape(inner.op("iota", n=k, dtype="i64"), s) for s in ([1, k, 1], [1, 1, k]))
    zero = inner.fill(0, dtype)

    def where(c: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return inner.op("where", c, a, b)

    def row(which: Tensor, of: Tensor) -> Tensor:
        """One row of each matrix, [b, 1, columns]."""
        kept = where(inner.op("eq", rows, which), of, inner.fill(0, of.dtype))
        return inner.op("sum", kept, axes=[1])
    column = inner.op("gather", a, inner.reshape(at, [1]), axis=2)  # [b, k, 1]
    size_ = where(inner.op("ge", rows, at), inner.op("abs", column), inner.fill(-1, dtype))
    pivot = inner.reshape(inner.cast(inner.op("argmax", inner.reshape(size_, [b, k]), axis=1), "i64"), [b, 1, 1])

    def exchanged(of: Tensor) -> Tensor:
        low, high = row(at, of), row(pivot, of)
        moved_ = where(inner.op("eq", rows, pivot), low, of)
        return where(inner.op("eq", rows, at), high, moved_)
    a, order = exchanged(a), exchanged(order)
    top = row(at, a)
    head = inner.op("gather", top, inner.reshape(at, [1]), axis=2)
    column = inner.op("gather", a, inner.reshape(at, [1]), axis=2)
    none = inner.op("eq", head, zero)
    factor = inner.op("div", column, where(none, inner.fill(1, dtype), head))
    below = inner.op("gt", rows, at)
    later = inner.op("sub", a, inner.op("mul", factor, top))
    a = where(inner.op("logical_and", below, inner.op("gt", cols, at)), later,
              where(inner.op("logical_and", below, inner.op("eq", cols, at)), factor, a))
    function = inner.finished([a, order, pivot])
    begun = g.broadcast(g.reshape(g.op("iota", n=k, dtype="i64"), [1, k, 1]), [b, k, 1])
    return tuple(g.builder.scan(function, k, carried=[g.reshape(x, [b, k, k]), begun]))


# ---- a value, and what has its derivative ----

def still(g: Any, x: Tensor) -> Tensor:
    return g.op("stop_gradient", x)


def joined(g: Any, value: Tensor, dot: Tensor) -> Tensor:
    """value + dot, where dot is 0 and has the gradient; as a difference a value of -0 stays one. Where there is no derivative dot is NaN,
    which the value is not then, and the gradient is."""
    zero = g.fill(0.0, dot.dtype)
    return g.op("sub", value, g.op("sub", zero, g.op("where", g.op("eq", dot, dot), dot, zero)))


def identity(g: Any, like: Tensor) -> Tensor:
    return g.broadcast(unit(g, like.shape[-1], like.dtype), like.shape)


def without(g: Any, name: str, x: Tensor, axes: int) -> Tensor:
    """A reduction over the last axes."""
    rank = len(x.shape)
    return g.reshape(g.op(name, x, axes=list(range(rank - axes, rank))), x.shape[:rank - axes])


class Factors:
    """Of matrices at rest, [.., k, k], by elimination."""

    def __init__(self, g: Any, refuse: Refuse, x: Tensor) -> None:
        self.g, self.shape, k = g, tuple(x.shape), x.shape[-1]
        self.refuse, self.b = refuse, math.prod(x.shape[:-2])
        made, order, pivots = eliminated(g, x)
        self.pivots, self.lu, self.order = pivots, g.reshape(made, self.shape), g.reshape(order, [*self.shape[:-2], k, 1])
        on = g.op("eq", *places(g, k))
        alone = g.op("where", on, self.lu, g.fill(0.0, x.dtype))
        self.diagonal = without(g, "sum", alone, 1)
        steps = g.reshape(g.op("iota", n=k, dtype="i64"), [k, 1])
        stays = g.op("eq", g.reshape(pivots, [k, self.b]), steps)
        signs = g.op("where", stays, g.fill(1.0, x.dtype), g.fill(-1.0, x.dtype))
        self.sign = g.reshape(g.op("prod", signs, axes=[0]), self.shape[:-2])

    @property
    def singular(self) -> Tensor:
        return self.g.op("eq", self.diagonal, self.g.fill(0.0, self.lu.dtype))

    @property
    def info(self) -> Tensor:
        """As LAPACK has it: which pivot is the first that is 0, from 1 on; 0 without."""
        g, k = self.g, self.shape[-1]
        which = g.op("where", self.singular, g.op("iota", n=k, dtype="i64"), g.fill(k, "i64"))
        first = without(g, "min", which, 1)
        return g.cast(g.op("where", g.op("lt", first, g.fill(k, "i64")), g.op("add", first, g.fill(1, "i64")), g.fill(0, "i64")), "i32")

    def solve(self, b: Tensor) -> Tensor:
        g = self.g
        first = g.op("take_along", b, g.broadcast(self.order, b.shape), axis=len(b.shape) - 2)
        lower = g.op("add", triangle(g, self.lu, True, True), unit(g, self.shape[-1], b.dtype))
        return solved(g, self.refuse, triangle(g, self.lu, False, False), solved(g, self.refuse, lower, first, True, False), False, False)


def determined(g: Any, refuse: Refuse, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sign and logarithm of the size of the determinants, themselves, and the change of the logarithm."""
    rest = still(g, x)
    f = Factors(g, refuse, rest)
    sign = g.op("mul", without(g, "prod", g.op("sign", f.diagonal), 1), f.sign)
    log = without(g, "sum", g.op("log", g.op("abs", f.diagonal)), 1)
    det = g.op("mul", without(g, "prod", f.diagonal, 1), f.sign)
    change = g.op("mul", turned(g, f.solve(identity(g, rest))), moved(g, x, rest))
    return sign, log, det, without(g, "sum", change, 2)
