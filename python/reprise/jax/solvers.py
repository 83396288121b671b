# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: factors, triangular systems, and systems that are solved with derivatives of their own.

Gradients are those of the linear maps that jax has as derivatives, with a triangular factor's inverse as a constant matrix:
the operations that factor and solve have none."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..solvers import each, eliminated, factor_moves, factored, moved, places, product, solved, triangle, turned, unit
from .lowering import Node, Value, handles, size
from .regions import at_rest, joined


@handles("triangular_solve")
def triangular_solve(n: Node) -> Value:
    """x of a x = b, or of x a = b; d x = a^-1 (d b - d a x)."""
    g, left = n.g, bool(n.get("left_side", False))
    lower, transposed, ones = bool(n.get("lower", False)), bool(n.get("transpose_a", False)), bool(n.get("unit_diagonal", False))
    k = n.inputs[0].shape[-1]
    if not size(n.shape):
        return n.made(g.broadcast(g.fill(0, n.dtype), n.shape))

    def read(x: Any) -> Any:
        x = triangle(g, x, lower, ones)
        return g.op("add", x, unit(g, k, x.dtype)) if ones else x
    a, b = n.computed(0), n.computed(1)
    a_rest, b_rest = at_rest(g, a, n.inputs[0]), at_rest(g, b, n.inputs[1])
    flip = transposed != (not left)  # x a = b is a^T x^T = b^T
    matrix = read(a_rest)
    x = solved(g, n.refuse, matrix, b_rest if left else turned(g, b_rest), lower, flip)
    found = x if left else turned(g, x)
    if not n.active:
        return n.made(found)
    inverse = solved(g, n.refuse, matrix, g.broadcast(unit(g, k, matrix.dtype), matrix.shape), lower, flip)
    change = None
    if n.inputs[1].active:
        change = moved(g, b, b_rest)
        change = change if left else turned(g, change)
    if n.inputs[0].active:
        inner = triangle(g, moved(g, a, a_rest), lower, ones)
        part = product(g, turned(g, inner) if flip else inner, x)
        change = g.op("neg", part) if change is None else g.op("sub", change, part)
    dot = product(g, inverse, change)
    return n.made(joined(n, found, dot if left else turned(g, dot)))


@handles("cholesky")
def cholesky(n: Node) -> Value:
    """l of l l^T = a, of which the lower triangle alone is read, as jax does; d l = l f(l^-1 d a l^-T), f the lower triangle
    with half of the diagonal (Murray, 2016)."""
    g, x = n.g, n.computed(0)
    rest = at_rest(g, x, n.inputs[0])
    if not size(n.shape):
        return n.made(rest)
    at = places(g, n.shape[-1])
    factor = each(g, n.refuse, [rest], lambda a: factored(g, a))
    if not n.active:
        return n.made(factor)
    return n.made(joined(n, factor, factor_moves(g, n.refuse, at, factor, x, rest)))


# ---- general systems ----

@handles("lu")
def lu(n: Node) -> list[Value]:
    """Gaussian elimination of square matrices, a column a step; the pivot is the first of the largest. The factors, the row that
    was exchanged at each step, and where rows came from."""
    if n.active:
        raise n.refuse("a gradient through the factors; of jnp.linalg.solve, inv, det and slogdet there is one")
    g, x = n.g, n.computed(0)
    (m, k), head = x.shape[-2:], tuple(x.shape[:-2])
    if m != k or not size(n.shape):
        raise n.refuse(f"of {m} x {k} elements")
    a, order, pivots = eliminated(g, x)
    pivots = g.transpose(g.reshape(pivots, [k, size(head)]), [1, 0])
    return [n.made(g.reshape(a, n.shape), 0), n.made(g.reshape(pivots, [*head, k]), 1), n.made(g.reshape(order, [*head, k]), 2)]


@handles("custom_linear_solve")
def custom_linear_solve(n: Node) -> list[Value]:
    """x of A x = b by a solver that need have no derivative: d x = A^-1 (d b - d A x), by the solver once more."""
    g = n.g
    lengths = list(n.need("const_lengths"))
    matvec, solve = n.need("matvec"), n.need("solve")
    begins = [sum(lengths[:i]) for i in range(5)]
    own, of_solver, b = n.inputs[:lengths[0]], n.inputs[begins[2]:begins[3]], n.inputs[begins[4]:]
    if not n.active:
        return g.run(solve, [*of_solver, *b])

    def still(values: Sequence[Value]) -> list[Value]:
        return [Value(v.dtype, v.shape, g.op("stop_gradient", g.tensor(v))) if v.active else v for v in values]
    x = g.run(solve, [*still(of_solver), *still(b)])
    residual = []
    for v, w in zip(b, g.run(matvec, [*own, *x])):
        r = g.op("sub", g.tensor(v), g.tensor(w))
        residual.append(Value(v.dtype, v.shape, moved(g, r, g.op("stop_gradient", r)), active=True))
    dots = g.run(solve, [*still(of_solver), *residual])
    return [n.made(joined(n, g.tensor(v), g.tensor(d)), i) for i, (v, d) in enumerate(zip(x, dots))]

