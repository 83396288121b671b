# SPDX-License-Identifier: Apache-2.0
"""Rules for what factors a matrix: QR, LU, eigenvalues of symmetric matrices, singular values, pseudoinverses.

As in systems.py a value computed at rest is joined with what is 0 and has its derivative, which is PyTorch's. Vectors have the
signs that come of it here: a loss that depends on them is not PyTorch's, and the comparison of first gradients says so."""
from __future__ import annotations

import math
from typing import Any

from .systems import EPSILON, fail_if, real, together, triangular
from ..graph import Node
from ..lower import LIMITS, RULES, Lowering, Value, lowers
from ...jacobi import MOST_COLUMNS, decomposed, eigen, reflections
from ...solvers import Factors, Region, identity, joined, moved, product, solved, still, triangle, turned, unit

Tensor = Any


def stacked(g: Lowering, x: Tensor) -> Tensor:
    return g.reshape(x, [math.prod(x.shape[:-2]), *x.shape[-2:]])


def narrow(g: Lowering, x: Tensor, axis: int, n: int) -> Tensor:
    return g.slice(x, axis % len(x.shape), 0, n)


def upper(g: Lowering, x: Tensor, below: float = 0.0, on: float = 1.0, above: float = 1.0) -> Tensor:
    """A matrix of any shape by what its triangles and its diagonal count."""
    rows, cols = (g.reshape(g.op("iota", n=n, dtype="i64"), s) for n, s in zip(x.shape[-2:], ([x.shape[-2], 1], [1, x.shape[-1]])))
    whole = g.op("where", g.op("gt", rows, cols), g.fill(below, x.dtype),
                 g.op("where", g.op("eq", rows, cols), g.fill(on, x.dtype), g.fill(above, x.dtype)))
    return g.op("mul", x, whole)


def refuse_gradient(g: Lowering, what: str, remedy: str) -> None:
    if g.later or g.twice:
        raise g.refuse(f"{what}, which has no gradient in PyTorch", remedy)


@lowers("aten.linalg_qr.default")
def qr(g: Lowering, node: Node, a: Value, mode: str = "reduced") -> list[Any]:
    """With p the upper triangle of x + x^T with half of the diagonal, x = q^T da r^-1: d q = da r^-1 - q p, and d r = q^T (da - dq r)."""
    dtype = real(g, a)
    (m, n), k = a.shape[-2:], min(a.shape[-2:])
    if mode == "r" or mode == "complete" and m > n:
        refuse_gradient(g, f"of mode={mode!r}", "Take mode='reduced'")
    x = a.tensor
    rest = still(g, x)
    q, r = (g.reshape(t, [*a.shape[:-2], *t.shape[1:]]) for t in reflections(g, stacked(g, rest)))
    r = upper(g, r)
    if mode == "complete" and m > n:
        return [q, r]
    q, r = narrow(g, q, -1, k), narrow(g, r, -2, k)
    if mode == "r":
        return [g.fill(0, dtype, [0]), r]
    inverse = solved(g, g.refuse, narrow(g, r, -1, k), g.broadcast(unit(g, k, dtype), [*a.shape[:-2], k, k]), False, False)
    moves = moved(g, x, rest)
    along = product(g, narrow(g, moves, -1, k), inverse)
    inner = product(g, turned(g, q), along)
    change = g.op("sub", along, product(g, q, upper(g, g.op("add", inner, turned(g, inner)), 0.0, 0.5, 1.0)))
    other = product(g, turned(g, q), g.op("sub", moves, product(g, change, r)))
    return [joined(g, q, change), joined(g, r, upper(g, other))]


def finite(g: Lowering, x: Tensor) -> None:
    """PyTorch raises of a matrix with what is no number."""
    fail_if(g, g.op("logical_not", g.op("lt", g.op("abs", x), g.fill(math.inf, x.dtype))))


def columns(g: Lowering, n: int) -> None:
    if n > MOST_COLUMNS:
        raise g.refuse(f"of {n} columns, at most {MOST_COLUMNS}", "Compute it before the step")


def apart(g: Lowering, values: Tensor) -> Tensor:
    """1 / (v_j - v_i), [.., i, j], and 0 on the diagonal; infinite where two are the same."""
    n = values.shape[-1]
    row, column = (g.reshape(values, [*values.shape[:-1], *s]) for s in ([1, n], [n, 1]))
    on = g.op("gt", unit(g, n, values.dtype), g.fill(0, values.dtype))
    far = g.op("where", on, g.fill(math.inf, values.dtype), g.op("sub", row, column))
    return g.op("div", g.fill(1, values.dtype), far)


def diagonal(g: Lowering, x: Tensor) -> Tensor:
    on = g.op("gt", unit(g, x.shape[-1], x.dtype), g.fill(0, x.dtype))
    return g.reduce("sum", g.op("where", on, x, g.fill(0, x.dtype)), [len(x.shape) - 1], False)


@lowers("aten._linalg_eigh.default", "aten.linalg_eigh.default", "aten.linalg_eigvalsh.default")
def eigh(g: Lowering, node: Node, a: Value, UPLO: str = "L", compute_v: bool = True) -> Any:
    """With w = v^T da v: d values = diag w, d v = v (w / (l_j - l_i)), w made symmetric. One triangle is read, and both have PyTorch's
    gradient."""
    real(g, a)
    n = a.shape[-1]
    columns(g, n)
    x = a.tensor
    rest = still(g, x)
    finite(g, triangle(g, rest, UPLO.upper() == "L", False))
    half = triangle(g, rest, UPLO.upper() == "L", False)
    whole = g.op("add", half, turned(g, triangle(g, rest, UPLO.upper() == "L", True)))
    values, v, open_ = eigen(g, stacked(g, whole))
    fail_if(g, open_)
    values, v = g.reshape(values, a.shape[:-1]), g.reshape(v, a.shape)
    inner = product(g, turned(g, v), product(g, moved(g, x, rest), v))
    found = joined(g, values, diagonal(g, inner))
    if node.op == "aten.linalg_eigvalsh.default":
        return found
    inner = g.op("mul", g.op("add", inner, turned(g, inner)), g.fill(0.5, a.dtype))
    change = product(g, v, g.op("mul", inner, apart(g, values)))
    return [found, joined(g, v, change) if compute_v else g.fill(0, a.dtype, [0])]


def singular_parts(g: Lowering, x: Tensor, vectors: bool = True, full: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """u, s and v of x = u s v^T with their derivatives; of u and v the columns behind the last singular value have none, as in PyTorch."""
    m, n = x.shape[-2:]
    if m < n:
        v, s, u = singular_parts(g, turned(g, x), vectors, full)
        return u, s, v
    rest, head = still(g, x), tuple(x.shape[:-2])
    columns(g, n)
    finite(g, rest)
    u, s, v, open_ = decomposed(g, stacked(g, rest))
    fail_if(g, open_)
    s, u, v = g.reshape(s, [*head, n]), g.reshape(u, [*head, m, m]), g.reshape(v, [*head, n, n])
    more, u = g.slice(u, len(head) + 1, n, m) if m > n else None, narrow(g, u, -1, n)
    moves = moved(g, x, rest)
    inner = product(g, turned(g, u), product(g, moves, v))
    found = joined(g, s, diagonal(g, inner))
    if not vectors:
        return u, found, v
    row = g.reshape(s, [*head, 1, n])
    column = g.reshape(s, [*head, n, 1])
    far = apart(g, g.op("mul", s, s))
    left = g.op("add", g.op("mul", inner, row), g.op("mul", column, turned(g, inner)))
    right = g.op("add", g.op("mul", column, inner), g.op("mul", turned(g, inner), row))
    du, dv = product(g, u, g.op("mul", left, far)), product(g, v, g.op("mul", right, far))
    if m > n:
        out = g.op("sub", product(g, moves, v), product(g, u, inner))
        du = g.op("add", du, g.op("div", out, row))
    u, v = joined(g, u, du), joined(g, v, dv)
    return g.op("concat", u, more, axis=len(head) + 1) if full and more is not None else u, found, v


@lowers("aten.linalg_svdvals.default")
def svdvals(g: Lowering, node: Node, a: Value, *, driver: Any = None) -> Tensor:
    real(g, a)
    return singular_parts(g, a.tensor, False)[1]


@lowers("aten._linalg_svd.default", "aten.linalg_svd.default")
def svd(g: Lowering, node: Node, a: Value, full_matrices: bool | None = None, compute_uv: bool = True, *, driver: Any = None) -> list[Tensor]:
    real(g, a)
    full_matrices = node.op == "aten.linalg_svd.default" if full_matrices is None else full_matrices
    u, s, v = singular_parts(g, a.tensor, compute_uv, full_matrices)
    none = g.fill(0, a.dtype, [0])
    return [u, s, turned(g, v)] if compute_uv else [none, s, none]


@lowers("aten.linalg_pinv.atol_rtol_tensor", "aten.linalg_pinv.atol_rtol_float", "aten.linalg_pinv.default")
def pinv(g: Lowering, node: Node, a: Value, rcond: Any = None, *more: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """p with d p = -p da p + p p^T da^T (1 - a p) + (1 - p a) da^T p^T p. What counts for 0 is no larger than atol, or rtol times the
    largest singular value."""
    dtype = real(g, a)
    x, (m, n) = a.tensor, a.shape[-2:]
    rest, k = still(g, x), min(a.shape[-2:])
    u, s, v = singular_parts(g, rest, False)
    largest = g.slice(s, len(s.shape) - 1, 0, 1)
    rtol = rcond if rcond is not None else rtol
    if rtol is None:
        small = g.fill(EPSILON[dtype] * max(m, n), dtype)
        if atol is not None:  # then what is above it counts
            above = g.op("gt", bound(g, atol, dtype, largest), g.fill(0, dtype))
            small = g.op("where", above, g.fill(0, dtype), small)
    else:
        small = bound(g, rtol, dtype, largest)
    small = g.op("mul", small, largest)
    if atol is not None:
        small = g.op("maximum", bound(g, atol, dtype, largest), small)
    counts = g.op("gt", s, small)
    scale = g.op("where", counts, g.op("div", g.fill(1, dtype), g.op("where", counts, s, g.fill(1, dtype))), g.fill(0, dtype))
    p = product(g, g.op("mul", v, g.reshape(scale, [*s.shape[:-1], 1, k])), turned(g, u))
    moves = moved(g, x, rest)
    back, by = turned(g, moves), turned(g, p)
    off = g.op("sub", back, product(g, back, product(g, rest, p)))
    left = g.op("sub", back, product(g, p, product(g, rest, back)))
    change = g.op("sub", g.op("add", product(g, product(g, p, by), off), product(g, product(g, left, by), p)),
                  product(g, p, product(g, moves, p)))
    return joined(g, p, change)


def bound(g: Lowering, x: Any, dtype: str, largest: Tensor) -> Tensor:
    """A tolerance, which is a number or has one of each matrix, beside the largest singular values [.., 1]."""
    if not isinstance(x, Value):
        return g.fill(float(x), dtype)
    t = g.cast(x.tensor, dtype)
    return g.reshape(t, [*x.shape, 1]) if x.rank else t


# ---- LU ----

def square(g: Lowering, a: Value, pivot: bool) -> None:
    real(g, a)
    if a.shape[-1] != a.shape[-2]:
        raise g.refuse(f"of a matrix of {a.shape[-2]} rows and {a.shape[-1]} columns", "Of square matrices it is taken")
    if not pivot:
        raise g.refuse("with pivot=False", "Take pivot=True")


def split_moves(g: Lowering, f: Factors, moves: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """l and u, and how they move: l tril(w), triu(w) u with w = l^-1 p^T da u^-1."""
    one = identity(g, f.lu)
    low, up = g.op("add", triangle(g, f.lu, True, True), one), triangle(g, f.lu, False, False)
    rows = g.op("take_along", moves, g.broadcast(f.order, moves.shape), axis=len(moves.shape) - 2)
    inner = product(g, product(g, solved(g, g.refuse, low, one, True, False), rows), solved(g, g.refuse, up, one, False, False))
    return low, up, product(g, low, upper(g, inner, 1.0, 0.0, 0.0)), product(g, upper(g, inner), up)


@lowers("aten.linalg_lu.default")
def lu(g: Lowering, node: Node, a: Value, *, pivot: bool = True) -> list[Tensor]:
    square(g, a, pivot)
    rest = still(g, a.tensor)
    f = Factors(g, g.refuse, rest)
    low, up, dlow, dup = split_moves(g, f, moved(g, a.tensor, rest))
    columns_ = g.reshape(g.op("iota", n=a.shape[-1], dtype="i64"), [1, a.shape[-1]])
    exchange = g.op("where", g.op("eq", f.order, columns_), g.fill(1, a.dtype), g.fill(0, a.dtype))
    return [turned(g, exchange), joined(g, low, dlow), joined(g, up, dup)]


@lowers("aten.linalg_lu_factor_ex.default", "aten.linalg_lu_factor.default")
def lu_factor(g: Lowering, node: Node, a: Value, *, pivot: bool = True, check_errors: bool = False) -> list[Any]:
    square(g, a, pivot)
    rest = still(g, a.tensor)
    f = Factors(g, g.refuse, rest)
    if check_errors or node.op == "aten.linalg_lu_factor.default":
        fail_if(g, f.singular)
    _, _, dlow, dup = split_moves(g, f, moved(g, a.tensor, rest))
    k = a.shape[-1]
    pivots = g.op("add", g.transpose(g.reshape(f.pivots, [k, f.b]), [1, 0]), g.fill(1, "i64"))
    found = [joined(g, f.lu, g.op("add", dlow, dup)), g.cast(g.reshape(pivots, a.shape[:-1]), "i32")]
    return found if node.op == "aten.linalg_lu_factor.default" else [*found, f.info]


def row_order(g: Lowering, pivots: Value) -> Tensor:
    """From which row each comes, [.., k, 1], by the rows that were exchanged one after another."""
    b, k = math.prod(pivots.shape[:-1]), pivots.shape[-1]
    inner = Region([("i64", ()), ("i64", (b, k)), ("i64", (b, 1))])
    at, order, with_ = inner.parameters
    places, zero = inner.reshape(inner.op("iota", n=k, dtype="i64"), [1, k]), inner.fill(0, "i64")
    here, there = inner.op("eq", places, at), inner.op("eq", places, with_)
    low, high = (inner.op("sum", inner.op("where", w, order, zero), axes=[1]) for w in (here, there))
    order = inner.op("where", here, high, inner.op("where", there, low, order))
    rows = g.op("sub", g.cast(g.reshape(pivots.tensor, [b, k]), "i64"), g.fill(1, "i64"))
    rows = g.reshape(g.transpose(rows, [1, 0]), [k, b, 1])
    begun = g.broadcast(g.reshape(g.op("iota", n=k, dtype="i64"), [1, k]), [b, k])
    found = g.builder.scan(inner.finished([order]), k, carried=[begun], sliced=[rows])[0]
    return g.reshape(found, [*pivots.shape, 1])


@lowers("aten.linalg_lu_solve.default", "aten.lu_solve.default")
def lu_solve(g: Lowering, node: Node, a: Value, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Tensor:
    if node.op == "aten.lu_solve.default":  # lu_solve(b, lu, pivots)
        a, pivots, b = pivots, b, a
    real(g, a), real(g, b)
    x, y = together(g, a.tensor, b.tensor if left else turned(g, b.tensor))
    order = row_order(g, pivots)
    order = g.broadcast(order, [*y.shape[:-2], *order.shape[-2:]])
    if adjoint == left:  # a^T x = b
        y = triangular(g, turned(g, x), triangular(g, turned(g, x), y, False, True, False), True, True, True)
        k = order.shape[-2]
        back = g.op("sort", g.reshape(order, [math.prod(order.shape[:-2]), k]), descending=False)[1]
        order = g.reshape(g.cast(back, "i64"), order.shape)
    else:
        y = g.op("take_along", y, g.broadcast(order, y.shape), axis=len(y.shape) - 2)
    if adjoint == left:
        found = g.op("take_along", y, g.broadcast(order, y.shape), axis=len(y.shape) - 2)
    else:
        found = triangular(g, x, triangular(g, x, y, False, True, True), True, True, False)
    return found if left else turned(g, found)


LIMITS.update({name: 0 for name, rule in RULES.items() if rule.__module__ == __name__})


# ---- reflections that are given ----

@lowers("aten.linalg_householder_product.default", "aten.orgqr.default")
def householder_product(g: Lowering, node: Node, a: Value, taus: Value) -> Tensor:
    """The first columns of (1 - t1 v1 v1^T) (1 - t2 v2 v2^T) .., v the columns below the diagonal with 1 on it; from the last on."""
    dtype = real(g, a)
    head, (m, n), k = tuple(a.shape[:-2]), a.shape[-2:], taus.shape[-1]
    b = math.prod(head)
    v = g.op("add", upper(g, stacked(g, a.tensor), 1.0, 0.0, 0.0), upper(g, g.fill(1, dtype, [b, m, n]), 0.0, 1.0, 0.0))
    v = g.reshape(g.transpose(g.slice(v, 2, 0, k), [2, 0, 1]), [k, b, m, 1])
    t = g.reshape(g.transpose(g.reshape(taus.tensor, [b, k]), [1, 0]), [k, b, 1, 1])
    inner = Region([("i64", ()), (dtype, (b, m, n)), (dtype, (b, m, 1)), (dtype, (b, 1, 1))])
    _, now, one, tau = inner.parameters
    along = inner.op("sum", inner.op("mul", one, now), axes=[1])
    now = inner.op("sub", now, inner.op("mul", inner.op("mul", tau, one), along))
    begun = upper(g, g.fill(1, dtype, [b, m, n]), 0.0, 1.0, 0.0)
    found = g.builder.scan(inner.finished([now]), k, carried=[begun], sliced=[v, t], reverse=True)[0]
    return g.reshape(found, [*head, m, n])
