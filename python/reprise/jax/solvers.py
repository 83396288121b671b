# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: factors, triangular systems, and systems that are solved with derivatives of their own.

Gradients are those of the linear maps that jax has as derivatives, with a triangular factor's inverse as a constant matrix:
the operations that factor and solve have none."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .lowering import Lowering, Node, Value, handles, size
from .regions import at_rest, joined, moved

MOST_MATRICES = 256


def each(n: Node, tensors: Sequence[Any], f: Callable[..., Any]) -> Any:
    """f of each matrix of stacks of them, [.., rows, cols]: one result, stacked again."""
    g, head = n.g, tuple(tensors[0].shape[:-2])
    if not head:
        return f(*tensors)
    if size(head) > MOST_MATRICES:
        raise n.refuse(f"of {size(head)} matrices, at most {MOST_MATRICES}")
    flat = [g.reshape(t, [size(head), *t.shape[-2:]]) for t in tensors]
    made = [f(*(g.reshape(g.slice(t, 0, i, i + 1), t.shape[1:]) for t in flat)) for i in range(size(head))]
    if not made:
        raise n.refuse("of no matrices")
    whole = g.op("concat", *(g.reshape(t, [1, *t.shape]) for t in made), axis=0) if len(made) > 1 else made[0]
    return g.reshape(whole, [*head, *made[0].shape])


def turned(g: Lowering, x: Any) -> Any:
    rank = len(x.shape)
    return g.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def places(g: Lowering, k: int) -> tuple[Any, Any]:
    """Row and column of each element of a matrix."""
    return g.iota(k, "i64", 0, 2), g.iota(k, "i64", 1, 2)


def unit(g: Lowering, k: int, dtype: str) -> Any:
    rows, cols = places(g, k)
    return g.where(g.op("eq", rows, cols), g.fill(1, dtype), g.broadcast(g.fill(0, dtype), [k, k]))


def product(g: Lowering, a: Any, b: Any) -> Any:
    """Of matrices, or of stacks of them."""
    head, (m, k), c = tuple(a.shape[:-2]), a.shape[-2:], b.shape[-1]
    if len(head) == 1 or not head:
        return g.op("matmul", a, b)
    found = g.op("matmul", g.reshape(a, [size(head), m, k]), g.reshape(b, [size(head), k, c]))
    return g.reshape(found, [*head, m, c])


# ---- triangular systems ----

def solved(n: Node, a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    """a^-1 b, or a^-T b, of a triangular."""
    return each(n, [a, b], lambda a, b: n.g.op("triangular_solve", a, b, upper=not lower, transposed=transposed))


def triangle(g: Lowering, x: Any, lower: bool, open_: bool) -> Any:
    """The elements of a triangle, with the diagonal unless it is open; 0 elsewhere."""
    rows, cols = places(g, x.shape[-1])
    kept = g.op(("gt" if open_ else "ge") if lower else ("lt" if open_ else "le"), rows, cols)
    return g.where(g.broadcast(kept, x.shape), x, g.fill(0, x.dtype))


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
    x = solved(n, matrix, b_rest if left else turned(g, b_rest), lower, flip)
    found = x if left else turned(g, x)
    if not n.active:
        return n.made(found)
    inverse = solved(n, matrix, g.broadcast(unit(g, k, matrix.dtype), matrix.shape), lower, flip)
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
    g, k = n.g, n.shape[-1]
    x = n.computed(0)
    rest = at_rest(g, x, n.inputs[0])
    if not size(n.shape):
        return n.made(rest)
    rows, cols = places(g, k)
    factor = each(n, [rest], lambda a: factored(n, a))
    if not n.active:
        return n.made(factor)
    inverse = solved(n, factor, g.broadcast(unit(g, k, x.dtype), factor.shape), True, False)
    inner = product(g, product(g, inverse, moved(g, x, rest)), turned(g, inverse))
    weight = g.where(g.op("eq", rows, cols), g.fill(0.5, x.dtype),
                     g.where(g.op("gt", rows, cols), g.fill(1, x.dtype), g.fill(0, x.dtype)))
    return n.made(joined(n, factor, product(g, factor, g.op("mul", inner, weight))))


def factored(n: Node, x: Any) -> Any:
    """Of one matrix; where it is not positive definite the lower triangle is NaN."""
    g, k = n.g, x.shape[-1]
    rows, cols = places(g, k)
    factor = g.op("cholesky", g.where(g.op("ge", rows, cols), x, g.transpose(x, [1, 0])), tolerance=0.0)
    on = g.op("eq", rows, cols)
    fine = g.op("lt", g.reduce("max", g.where(on, factor, g.fill(0, x.dtype)), [0, 1]), g.fill(float("inf"), x.dtype))
    return g.where(g.op("logical_or", fine, g.op("lt", rows, cols)), factor, g.fill(float("nan"), x.dtype))


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
    b = size(head)
    dtype = x.dtype

    def step(inner: Lowering, values: list[Value]) -> list[Value]:
        at, a, order = (v.tensor for v in values)
        rows, cols = (inner.reshape(inner.op("iota", n=k, dtype="i64"), s) for s in ([1, k, 1], [1, 1, k]))
        zero = inner.fill(0, dtype)

        def row(which: Any, of: Any) -> Any:
            """One row of each matrix, [b, 1, columns]."""
            kept = inner.where(inner.op("eq", rows, which), of, inner.fill(0, of.dtype))
            return inner.op("sum", kept, axes=[1])
        column = inner.op("gather", a, inner.reshape(at, [1]), axis=2)  # [b, k, 1]
        size_ = inner.where(inner.op("ge", rows, at), inner.op("abs", column), inner.fill(-1, dtype))
        pivot = inner.reshape(inner.cast(inner.op("argmax", inner.reshape(size_, [b, k]), axis=1), "i64"), [b, 1, 1])

        def exchanged(of: Any) -> Any:
            low, high = row(at, of), row(pivot, of)
            moved_ = inner.where(inner.op("eq", rows, pivot), low, of)
            return inner.where(inner.op("eq", rows, at), high, moved_)
        a, order = exchanged(a), exchanged(order)
        top = row(at, a)
        head_ = inner.op("gather", top, inner.reshape(at, [1]), axis=2)
        column = inner.op("gather", a, inner.reshape(at, [1]), axis=2)
        none = inner.op("eq", head_, zero)
        factor = inner.op("div", column, inner.where(none, inner.fill(1, dtype), head_))
        below = inner.op("gt", rows, at)
        later = inner.op("sub", a, inner.op("mul", factor, top))
        a = inner.where(inner.op("logical_and", below, inner.op("gt", cols, at)), later,
                        inner.where(inner.op("logical_and", below, inner.op("eq", cols, at)), factor, a))
        return [Value(dtype, (b, k, k), a), Value("i64", (b, k, 1), order), Value("i64", (b, 1, 1), pivot)]
    carried = [(dtype, (b, k, k)), ("i64", (b, k, 1))]
    builder_function = g.function([("i64", ()), *carried], [], False, False, step)
    order = g.broadcast(g.reshape(g.op("iota", n=k, dtype="i64"), [1, k, 1]), [b, k, 1])
    a, order, pivots = g.builder.scan(builder_function, k, carried=[g.reshape(x, [b, k, k]), order])
    pivots = g.transpose(g.reshape(pivots, [k, b]), [1, 0])
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

