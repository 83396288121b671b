# SPDX-License-Identifier: Apache-2.0
"""Rules for systems of linear equations: solve, inverses, determinants, Cholesky's factor, triangular systems, least squares.

The operations that factor and solve have no gradient: a value computed at rest is joined with what is 0 and has its derivative. Where
PyTorch raises of a matrix, as of a singular one, that is an error of the step."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .linear import product as matmul
from ..graph import Node
from ..lower import LIMITS, REMEDIES, RULES, Lowering, Value, lowers
from ...solvers import (Factors, Region, determined, each, factor_moves, factored, identity, joined, moved, places, product, solved, still, triangle,
                        turned, unit)

Tensor = Any
EPSILON = {"f32": 2.0 ** -23, "f64": 2.0 ** -52}
REMEDIES.update({f"aten.{p}linalg_{n}.default": "Of torch.linalg systems, inverses, determinants, cholesky, qr, lu, eigh and svd are taken; "
                 "compute it before the step" for n in ("ldl_factor", "ldl_factor_ex", "ldl_solve", "eig", "eigvals")
                 for p in ("", "_")})


def real(g: Lowering, x: Value) -> str:
    if x.dtype not in EPSILON:
        raise g.refuse(f"of elements of {x.dtype}", "Convert them to float32")
    return x.dtype


def fail_if(g: Lowering, bad: Tensor) -> None:
    """An error of the step where an element of bad holds: there is one element to gather, and it asks for the third."""
    some = g.reduce("max", g.cast(bad, "i64"), [], False) if len(bad.shape) else g.cast(bad, "i64")
    g.op("gather", g.op("iota", n=1, dtype="i64"), g.op("mul", some, g.fill(2, "i64")), axis=0)


def together(g: Lowering, *tensors: Tensor) -> list[Tensor]:
    """Stacks of matrices with as many in each."""
    head = np.broadcast_shapes(*(tuple(t.shape[:-2]) for t in tensors))
    return [g.broadcast(t, [*head, *t.shape[-2:]]) for t in tensors]


# ---- by elimination ----

def systems(g: Lowering, a: Tensor, b: Tensor | None, checked: bool) -> tuple[Tensor, Tensor]:
    """a^-1 b, without b a^-1, and LAPACK's info; d x = a^-1 (d b - d a x)."""
    if 0 in (a if b is None else b).shape or 0 in a.shape:
        return g.fill(0.0, a.dtype, (a if b is None else b).shape), g.fill(0, "i32", a.shape[:-2])
    rest = still(g, a)
    factors = Factors(g, g.refuse, rest)
    if checked:
        fail_if(g, factors.singular)
    inverse = factors.solve(identity(g, rest))
    x = inverse if b is None else factors.solve(still(g, b))
    change = product(g, moved(g, a, rest), x)
    change = g.op("neg", change) if b is None else g.op("sub", moved(g, b, still(g, b)), change)
    return joined(g, x, product(g, inverse, change)), g.value(factors.info) if not checked else None


@lowers("aten.linalg_solve.default", "aten.linalg_solve_ex.default", "aten._linalg_solve_ex.default")
def solve(g: Lowering, node: Node, a: Value, b: Value, left: bool = True, check_errors: bool = False) -> Any:
    real(g, a), real(g, b)
    several = node.op != "aten.linalg_solve.default"
    vector = b.rank == 1 or (a.rank - 1 == b.rank and b.shape == a.shape[:-1])
    x, y = a.tensor, g.reshape(b.tensor, [*b.shape, 1]) if vector else b.tensor
    x, y = together(g, x if left else turned(g, x), y if left else turned(g, y))
    found, info = systems(g, x, y, not several or check_errors)
    found = found if left else turned(g, found)
    found = g.reshape(found, found.shape[:-1]) if vector else found
    return [found, *[None] * (len(node.meta) - 2), info] if several else found  # type: ignore[arg-type]


@lowers("aten.linalg_inv.default", "aten.inverse.default", "aten.linalg_inv_ex.default")
def inverse(g: Lowering, node: Node, a: Value, check_errors: bool = False) -> Any:
    real(g, a)
    several = node.op == "aten.linalg_inv_ex.default"
    found, info = systems(g, a.tensor, None, not several or check_errors)
    return [found, info] if several else found


@lowers("aten.linalg_det.default", "aten.det.default", "aten._linalg_det.default")
def det(g: Lowering, node: Node, a: Value) -> Any:
    real(g, a)
    if a.shape[-1] == 0:
        found = g.fill(1.0, a.dtype, a.shape[:-2])
    else:
        _, _, value, change = determined(g, g.refuse, a.tensor)
        found = joined(g, value, g.op("mul", value, change))
    return [found, *[None] * (len(node.meta) - 1)] if isinstance(node.meta, list) else found


@lowers("aten.linalg_slogdet.default", "aten.slogdet.default", "aten._linalg_slogdet.default")
def slogdet(g: Lowering, node: Node, a: Value) -> Any:
    real(g, a)
    more = [None] * (len(node.meta) - 2) if isinstance(node.meta, list) else []
    if a.shape[-1] == 0:
        return [g.fill(1.0, a.dtype, a.shape[:-2]), g.fill(0.0, a.dtype, a.shape[:-2]), *more]
    sign, log, _, change = determined(g, g.refuse, a.tensor)
    return [sign, joined(g, log, change), *more]


@lowers("aten.logdet.default")
def logdet(g: Lowering, node: Node, a: Value) -> Any:
    """NaN of a negative determinant."""
    real(g, a)
    if a.shape[-1] == 0:
        return g.fill(0.0, a.dtype, a.shape[:-2])
    sign, log, _, change = determined(g, g.refuse, a.tensor)
    return g.op("where", g.op("lt", sign, g.fill(0.0, a.dtype)), g.fill(math.nan, a.dtype), joined(g, log, change))


@lowers("aten.linalg_matrix_power.default", "aten.matrix_power.default")
def matrix_power(g: Lowering, node: Node, a: Value, n: int) -> Any:
    real(g, a)
    if n == 0:
        return identity(g, a.tensor)
    square = systems(g, a.tensor, None, True)[0] if n < 0 else a.tensor
    found, n = None, abs(n)
    while n:
        if n & 1:
            found = square if found is None else product(g, found, square)
        n >>= 1
        square = product(g, square, square) if n else square
    return found


@lowers("aten.linalg_multi_dot.default")
def multi_dot(g: Lowering, node: Node, tensors: list[Value]) -> Any:
    found = tensors[0].tensor
    for t in tensors[1:]:
        found = matmul(g, found, t.tensor)
    return found


# ---- by Cholesky's factor, and triangular ones ----

@lowers("aten.linalg_cholesky.default", "aten.cholesky.default", "aten.linalg_cholesky_ex.default")
def cholesky(g: Lowering, node: Node, a: Value, upper: bool = False, check_errors: bool = False) -> Any:
    """PyTorch reads one triangle, and gives both of them the gradient of a symmetric matrix."""
    dtype = real(g, a)
    if not a.size:
        found = g.fill(0.0, dtype, a.shape)
        return [found, g.fill(0, "i32", a.shape[:-2])] if node.op == "aten.linalg_cholesky_ex.default" else found
    x = turned(g, a.tensor) if upper else a.tensor
    factor = each(g, g.refuse, [still(g, x)], lambda t: factored(g, t))
    on = places(g, a.shape[-1])
    several = node.op == "aten.linalg_cholesky_ex.default"
    if not several or check_errors:
        fail_if(g, g.op("ne", factor, factor))
    both = g.op("mul", g.op("add", x, turned(g, x)), g.fill(0.5, dtype))
    found = joined(g, factor, factor_moves(g, g.refuse, on, factor, both, still(g, both)))
    found = turned(g, found) if upper else found
    return [found, None] if several else found


def by_factor(g: Lowering, b: Tensor | None, factor: Tensor, upper: bool) -> Tensor:
    """(l l^T)^-1 b, or with u (u^T u)^-1 b. Of the factor one triangle is read, but all of it has PyTorch's gradient."""
    low = turned(g, factor) if upper else factor
    rest = still(g, low)
    matrix = triangle(g, rest, True, False)

    def by(y: Tensor) -> Tensor:
        return solved(g, g.refuse, matrix, solved(g, g.refuse, matrix, y, True, False), True, True)
    inverse = by(identity(g, rest))
    x = inverse if b is None else by(still(g, b))
    half = product(g, moved(g, low, rest), turned(g, rest))
    change = product(g, g.op("add", half, turned(g, half)), x)
    change = g.op("neg", change) if b is None else g.op("sub", moved(g, b, still(g, b)), change)
    return joined(g, x, product(g, inverse, change))


@lowers("aten.cholesky_solve.default")
def cholesky_solve(g: Lowering, node: Node, b: Value, factor: Value, upper: bool = False) -> Any:
    real(g, b), real(g, factor)
    y, x = together(g, b.tensor, factor.tensor)
    return by_factor(g, y, x, upper)


@lowers("aten.cholesky_inverse.default")
def cholesky_inverse(g: Lowering, node: Node, factor: Value, upper: bool = False) -> Any:
    real(g, factor)
    return by_factor(g, None, factor.tensor, upper)


def triangular(g: Lowering, a: Tensor, b: Tensor, upper: bool, left: bool, ones: bool, transposed: bool = False) -> Tensor:
    """x of a x = b, or of x a = b; d x = a^-1 (d b - d a x), of a's triangle."""
    a, b = together(g, a, b)

    def read(x: Tensor) -> Tensor:
        x = triangle(g, x, not upper, ones)
        return g.op("add", x, unit(g, x.shape[-1], x.dtype)) if ones else x
    flip = transposed != (not left)  # x a = b is a^T x^T = b^T
    b = b if left else turned(g, b)
    matrix = read(still(g, a))
    x = solved(g, g.refuse, matrix, still(g, b), not upper, flip)
    inner = triangle(g, moved(g, a, still(g, a)), not upper, ones)
    change = g.op("sub", moved(g, b, still(g, b)), product(g, turned(g, inner) if flip else inner, x))
    found = joined(g, x, product(g, solved(g, g.refuse, matrix, identity(g, matrix), not upper, flip), change))
    return found if left else turned(g, found)


@lowers("aten.linalg_solve_triangular.default")
def solve_triangular(g: Lowering, node: Node, a: Value, b: Value, upper: bool = False, left: bool = True,
                     unitriangular: bool = False) -> Any:
    real(g, a), real(g, b)
    return triangular(g, a.tensor, b.tensor, upper, left, unitriangular)


@lowers("aten.triangular_solve.default")
def triangular_solve(g: Lowering, node: Node, b: Value, a: Value, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False) -> Any:
    real(g, a), real(g, b)
    empty = g.meta(node, 0).size == 0
    found = g.fill(0.0, b.dtype, g.meta(node, 0).shape) if empty else \
        triangular(g, a.tensor, b.tensor, upper, True, unitriangular, transpose)
    return [found, a if a.shape == g.meta(node, 1).shape else None]


# ---- least squares ----

def reflected(g: Lowering, a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """By Householder's reflections, a column a step, matrices [b, m, n] become triangular, and c [b, m, p] goes along."""
    b, m, n = a.shape
    dtype = a.dtype
    inner = Region([("i64", ()), (dtype, a.shape), (dtype, c.shape)])
    at, x, y = inner.parameters
    rows, zero = inner.reshape(inner.op("iota", n=m, dtype="i64"), [1, m, 1]), inner.fill(0, dtype)
    here = inner.op("eq", rows, at)

    def dot(u: Tensor, v: Tensor) -> Tensor:
        return inner.op("sum", inner.op("mul", u, v), axes=[1])
    column = inner.op("gather", x, inner.reshape(at, [1]), axis=2)
    v = inner.op("where", inner.op("ge", rows, at), column, zero)
    head = inner.op("sum", inner.op("where", here, column, zero), axes=[1])
    norm = inner.op("sqrt", dot(v, v))
    v = inner.op("add", v, inner.op("where", here, inner.op("where", inner.op("lt", head, zero), inner.op("neg", norm), norm), zero))
    length = dot(v, v)
    none = inner.op("eq", length, zero)
    twice = inner.op("where", none, zero, inner.op("div", inner.fill(2, dtype), inner.op("where", none, inner.fill(1, dtype), length)))
    x, y = (inner.op("sub", t, inner.op("mul", inner.op("mul", twice, v), dot(v, t))) for t in (x, y))
    made = g.builder.scan(inner.finished([x, y]), n, carried=[a, c])
    return made[0], made[1]


def condition(g: Lowering, a: Tensor, pseudo: Tensor) -> Tensor:
    """No more than the quotient of the largest and the smallest singular value: the longest column by the pseudoinverse's longest row.
    A triangle's diagonal alone does not show each loss of rank."""
    found = None
    for t, axis in ((a, -2), (pseudo, -1)):
        at = len(t.shape) + axis
        long = g.op("sqrt", g.op("sum", g.op("mul", t, t), axes=[at]))
        long = g.reduce("max", long, [len(t.shape) - 2, len(t.shape) - 1], False)
        found = long if found is None else g.op("mul", found, long)
    return found


@lowers("reprise.lstsq.default")
def lstsq(g: Lowering, node: Node, a: Value, b: Value) -> Any:
    """x of the least |a x - b|, a of full rank with as many rows as columns or more; with p its pseudoinverse
    d x = p (d b - d a x) + p p^T d a^T (b - a x)."""
    dtype = real(g, a)
    real(g, b)
    (m, n), k = a.shape[-2:], b.shape[-1]
    x, y = together(g, a.tensor, b.tensor)
    rest, right = still(g, x), still(g, y)
    head, every = tuple(rest.shape[:-2]), math.prod(rest.shape[:-2])
    whole = g.op("concat", right, g.broadcast(unit(g, m, dtype), [*head, m, m]), axis=len(head) + 1)
    r, q = reflected(g, g.reshape(rest, [every, m, n]), g.reshape(whole, [every, m, k + m]))
    r, q = (g.slice(t, 1, 0, n) for t in (r, q))
    on = g.op("where", g.op("eq", *places(g, n)), g.op("abs", r), g.fill(0.0, dtype))
    size = g.op("sum", on, axes=[2])  # [every, n, 1]
    least = g.op("mul", g.op("max", size, axes=[1]), g.fill(EPSILON[dtype] * m, dtype))
    fail_if(g, g.op("logical_not", g.op("gt", size, least)))
    both = g.reshape(solved(g, g.refuse, triangle(g, r, False, False), q, False, False), [*head, n, k + m])
    fail_if(g, g.op("logical_not", g.op("lt", condition(g, rest, g.slice(both, len(head) + 1, k, k + m)), g.fill(1 / (EPSILON[dtype] * m), dtype))))
    found, pseudo = g.slice(both, len(head) + 1, 0, k), g.slice(both, len(head) + 1, k, k + m)
    moves = moved(g, x, rest)
    off = g.op("sub", right, product(g, rest, found))
    change = product(g, pseudo, g.op("sub", moved(g, y, right), product(g, moves, found)))
    bent = product(g, product(g, pseudo, turned(g, pseudo)), product(g, turned(g, moves), off))
    return joined(g, found, g.op("add", change, bent))


LIMITS.update({name: 0 for name, rule in RULES.items() if rule.__module__ == __name__ and rule is not multi_dot})
