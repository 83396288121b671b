# SPDX-License-Identifier: Apache-2.0
"""QR, eigenvalues of symmetric matrices, singular values, with jax's derivatives. Eigenvectors and singular vectors have their own signs,
and their own basis where values are equal. Of a matrix with what is no finite number all is NaN, as in jax."""
from __future__ import annotations

import math
from typing import Any

from ..jacobi import MOST_COLUMNS, decomposed, eigen, reflections
from ..solvers import moved, product, solved, triangle, turned, unit
from .lowering import Lowering, Node, Value, handles, size
from .regions import at_rest, joined

Tensor = Any


def matrices(n: Node, most: int = MOST_COLUMNS) -> tuple[Tensor, Tensor]:
    """The operand, and without its gradient as [matrices, rows, columns]."""
    v = n.inputs[0]
    if v.dtype not in ("f32", "f64"):
        raise n.refuse(f"of {v.dtype}, expected binary32 or binary64")
    if not size(v.shape):
        raise n.refuse("of no elements")
    if min(v.shape[-2:]) > most:
        raise n.refuse(f"of {min(v.shape[-2:])} columns, at most {most}")
    x = n.tensor(0)
    return x, n.g.reshape(at_rest(n.g, x, v), [math.prod(v.shape[:-2]), *v.shape[-2:]])


def spoilt(g: Lowering, x: Tensor, open_: Tensor | None = None) -> Tensor:
    """Of each matrix [b, 1] whether there is NaN or an infinity, or its rotations did not come to an end."""
    finite = g.op("lt", g.op("abs", x), g.fill(math.inf, x.dtype))
    bad = g.op("lt", g.reduce("min", g.cast(finite, "i64"), [1, 2]), g.fill(1, "i64"))
    return g.reshape(bad if open_ is None else g.op("logical_or", bad, open_), [x.shape[0], 1])


def told(g: Lowering, bad: Tensor, t: Tensor, head: tuple[int, ...]) -> Tensor:
    """In the shape of the operand's stack, NaN where it is bad."""
    bad = g.reshape(bad, [t.shape[0], *[1] * (len(t.shape) - 1)])
    return g.reshape(g.where(bad, g.fill(math.nan, t.dtype), t), [*head, *t.shape[1:]])


def weighed(g: Lowering, x: Tensor, below: float, on: float, above: float) -> Tensor:
    """A matrix of any shape by what its triangles and its diagonal count."""
    rows, cols = (g.reshape(g.op("iota", n=n, dtype="i64"), s) for n, s in zip(x.shape[-2:], ([x.shape[-2], 1], [1, x.shape[-1]])))
    by = g.where(g.op("gt", rows, cols), g.fill(below, x.dtype),
                 g.where(g.op("eq", rows, cols), g.fill(on, x.dtype), g.fill(above, x.dtype)))
    return g.op("mul", x, by)


def diagonal(g: Lowering, x: Tensor) -> Tensor:
    on = g.op("gt", unit(g, x.shape[-1], x.dtype), g.fill(0, x.dtype))
    return g.reduce("sum", g.where(on, x, g.fill(0, x.dtype)), [len(x.shape) - 1])


def apart(g: Lowering, values: Tensor) -> Tensor:
    """1 / (v_j - v_i), [.., i, j], and 0 on the diagonal; infinite where two are the same."""
    n = values.shape[-1]
    row, column = (g.reshape(values, [*values.shape[:-1], *s]) for s in ([1, n], [n, 1]))
    on = g.op("gt", unit(g, n, values.dtype), g.fill(0, values.dtype))
    return g.op("div", g.fill(1, values.dtype), g.where(on, g.fill(math.inf, values.dtype), g.op("sub", row, column)))


@handles("qr")
def qr(n: Node) -> list[Value]:
    """With w = q^T da r^-1 and o = tril(w) - tril(w)^T, both without the diagonal: d q = da r^-1 + q (o - w), d r = (w - o) r."""
    g, shape = n.g, n.inputs[0].shape
    (rows, cols), k, head = shape[-2:], min(shape[-2:]), tuple(shape[:-2])
    full = bool(n.get("full_matrices", False))
    if n.get("pivoting", False):
        raise n.refuse("with pivoting")
    if n.active and (rows < cols or full and rows != cols):
        raise n.refuse(f"a gradient of {rows} x {cols} elements{' with all columns' if full else ''}, which jax has not either")
    x, rest = matrices(n)
    bad = spoilt(g, rest)
    q, r = (told(g, bad, t, head) for t in reflections(g, rest))
    r = weighed(g, r, 0.0, 1.0, 1.0)
    if not full:
        q, r = g.slice(q, len(head) + 1, 0, k), g.slice(r, len(head), 0, k)
    if not n.active:
        return [n.made(q, 0), n.made(r, 1)]
    inverse = solved(g, n.refuse, r, g.broadcast(unit(g, k, r.dtype), [*head, k, k]), False, False)
    along = product(g, moved(g, x, g.reshape(rest, shape)), inverse)
    inner = product(g, turned(g, q), along)
    low = weighed(g, inner, 1.0, 0.0, 0.0)
    odd = g.op("sub", low, turned(g, low))
    dq = g.op("add", along, product(g, q, g.op("sub", odd, inner)))
    return [n.made(joined(n, q, dq), 0), n.made(joined(n, r, product(g, g.op("sub", inner, odd), r)), 1)]


@handles("eigh")
def eigh(n: Node) -> list[Value]:
    """With w = v^T da v: d values = diag w, d v = v (w / (l_j - l_i))."""
    g, shape = n.g, n.inputs[0].shape
    head, lower = tuple(shape[:-2]), bool(n.get("lower", True))
    if n.get("subset_by_index"):
        raise n.refuse("of some of the eigenvalues: take all, and slice")
    x, rest = matrices(n)
    if n.active:  # where jax differentiates it takes the mean of both triangles, whichever it reads else
        half = whole = g.op("mul", g.op("add", rest, turned(g, rest)), g.fill(0.5, rest.dtype))
    else:
        half = triangle(g, rest, lower, False)
        whole = g.op("add", half, turned(g, triangle(g, rest, lower, True)))
    values, v, open_ = eigen(g, whole)
    bad = spoilt(g, half, open_)
    values, v = told(g, bad, values, head), told(g, bad, v, head)
    if not n.active:
        return [n.made(v, 0), n.made(values, 1)]
    inner = product(g, turned(g, v), product(g, moved(g, x, g.reshape(rest, shape)), v))
    change = product(g, v, g.op("mul", inner, apart(g, values))) if n.used[0] else None
    return [n.made(v if change is None else joined(n, v, change), 0), n.made(joined(n, values, diagonal(g, inner)), 1)]


@handles("svd")
def svd(n: Node) -> list[Value]:
    g, shape = n.g, n.inputs[0].shape
    vectors, full = bool(n.get("compute_uv", True)), bool(n.get("full_matrices", True))
    if n.get("subset_by_index"):
        raise n.refuse("of some of the singular values: take all, and slice")
    if n.active and vectors and full and shape[-2] != shape[-1]:
        raise n.refuse("a gradient of all vectors, which jax has not either: full_matrices=False")
    x, rest = matrices(n)
    wide = shape[-2] < shape[-1]
    if wide:
        x, rest = turned(g, x), turned(g, rest)
    u, s, v = singular_parts(n, x, rest, vectors and any(n.used[1:]), full)
    u, v = (v, u) if wide else (u, v)
    return [n.made(s, 0), n.made(u, 1), n.made(turned(g, v), 2)] if vectors else [n.made(s, 0)]


def singular_parts(n: Node, x: Tensor, rest: Tensor, vectors: bool, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """u, s and v of x = u s v^T, of as many rows as columns at least."""
    g, head = n.g, tuple(x.shape[:-2])
    rows, k = x.shape[-2:]
    u, s, v, open_ = decomposed(g, rest)
    bad = spoilt(g, rest, open_)
    u, s, v = (told(g, bad, t, head) for t in (u, s, v))
    if not full:
        u = g.slice(u, len(head) + 1, 0, k)
    if not n.active:
        return u, s, v
    u = g.slice(u, len(head) + 1, 0, k)
    moves = moved(g, x, g.reshape(rest, x.shape))
    inner = product(g, turned(g, u), product(g, moves, v))
    found = joined(n, s, diagonal(g, inner))
    if not vectors:
        return u, found, v
    row, column = g.reshape(s, [*head, 1, k]), g.reshape(s, [*head, k, 1])
    far = apart(g, g.op("mul", s, s))
    left = g.op("add", g.op("mul", inner, row), g.op("mul", column, turned(g, inner)))
    right = g.op("add", g.op("mul", column, inner), g.op("mul", turned(g, inner), row))
    du, dv = product(g, u, g.op("mul", left, far)), product(g, v, g.op("mul", right, far))
    if rows > k:
        du = g.op("add", du, g.op("div", g.op("sub", product(g, moves, v), product(g, u, inner)), row))
    return joined(n, u, du), found, joined(n, v, dv)
