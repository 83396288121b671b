# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's reductions, running totals, norms of vectors, sorting and extremes with their places."""
from __future__ import annotations

import math
from typing import Any

from .arithmetic import computable, dtype_of
from .forms import axes_of, axis_of, cut, elementwise, move, number, op, promoted
from ..graph import Node
from ..lower import Lowering, Value, lowers
from ...solvers import moved

Tensor = Any


def squeezed(g: Lowering, t: Tensor, axes: list[int], keep: bool) -> Tensor:
    return t if keep else g.reshape(t, [n for i, n in enumerate(t.shape) if i not in axes])


def reduced(g: Lowering, name: str, x: Value, axes: list[int], keep: bool, **attributes: Any) -> Any:
    """A reduction over axes. Of images that are channels last, when the channels are not among the axes or all are, in that
    form."""
    if x.rank == 0:
        return x.tensor if name not in ("var", "logsumexp") else g.reshape(g.op(name, g.reshape(x.tensor, [1]), axes=[0], **attributes), [])
    if x.channels_last and set(range(2, x.rank)) <= set(axes) and 1 not in axes:
        over = [0] * (0 in axes) + list(range(1, x.rank - 1))
        y = g.op(name, x.last, axes=over, **attributes)
        if keep:
            return g.value_last(y)
        return g.reshape(y, [n for i, n in enumerate(y.shape) if i not in over])
    t = x.tensor
    return squeezed(g, g.op(name, t, axes=axes, **attributes) if axes else t, axes, keep)


@lowers("aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim", "aten.nansum.default", "aten.nanmean.default")
def total(g: Lowering, node: Node, x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    x = number(g, x, computable(g, dtype_of(g, node)))
    axes, keep = axes_of(dim, x.rank), bool(keepdim)
    name = node.op.split(".")[1]
    if name.startswith("nan"):
        there = elementwise(g, "eq", x, x)
        y = g.value(reduced(g, "sum", elementwise(g, "where", there, x, g.fill(0, x.dtype)), axes, keep))
        if name == "nansum":
            return y
        return elementwise(g, "div", y, g.value(reduced(g, "sum", number(g, there, x.dtype), axes, keep)))
    if name == "mean" and not math.prod(x.shape[a] for a in axes):
        return g.value(g.fill(math.nan, x.dtype, g.meta(node).shape))
    return reduced(g, name, x, axes, keep)


@lowers("aten.amax.default", "aten.amin.default", "aten.max.default", "aten.min.default")
def extreme(g: Lowering, node: Node, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    name = "max" if "max" in node.op else "min"
    if x.dtype == "bool":
        return g.cast(reduced(g, name, number(g, x, "i32"), axes_of(dim, x.rank), bool(keepdim)), "bool")
    computable(g, x.dtype)
    return reduced(g, name, x, axes_of(dim, x.rank), bool(keepdim))


@lowers("aten.aminmax.default")
def aminmax(g: Lowering, node: Node, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    axes = axes_of(dim, x.rank)
    return [reduced(g, name, x, axes, bool(keepdim)) for name in ("min", "max")]


@lowers("aten.max.dim", "aten.min.dim")
def extreme_with_place(g: Lowering, node: Node, x: Any, dim: int, keepdim: bool = False) -> Any:
    """The value is that at its place, so that its gradient goes there alone, as in PyTorch."""
    index = placed(g, "argmax" if "max" in node.op else "argmin", x, dim, True)
    if x.rank == 0:
        return [x, g.reshape(index, [])]
    axis = axis_of(dim, x.rank)
    value = g.op("take_along", x.tensor, index, axis=axis)
    return [squeezed(g, value, [axis], keepdim), squeezed(g, index, [axis], keepdim)]


def placed(g: Lowering, name: str, x: Value, dim: int, keep: bool) -> Tensor:
    t = x.tensor if x.dtype != "bool" else g.cast(x.tensor, "i32")
    computable(g, t.dtype)
    if x.rank == 0:
        return g.fill(0, "i64", [1] if keep else [])
    axis = axis_of(dim, x.rank)
    return squeezed(g, g.cast(g.op(name, t, axis=axis), "i64"), [axis], keep)


@lowers("aten.argmax.default", "aten.argmin.default")
def arg(g: Lowering, node: Node, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    name = node.op.split(".")[1]
    if dim is None:
        flat = placed(g, name, g.value(g.reshape(x.tensor, [x.size])), 0, False)
        return g.reshape(flat, g.meta(node).shape)
    if x.rank == 0:
        return g.fill(0, "i64")
    return placed(g, name, x, dim, bool(keepdim))


@lowers("aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim", "aten.all.dims")
def any_all(g: Lowering, node: Node, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """By counts of those that are true, so that none of an empty axis is, and all are. An empty list of axes of any.dims are
    all, as with none."""
    axes = axes_of(dim, x.rank)
    if x.rank == 0:
        return truth(g, x)
    t = g.cast(truth(g, x), "i64")
    if node.op.startswith("aten.any"):
        return g.cast(squeezed(g, g.op("sum", t, axes=axes), axes, keepdim), "bool")
    count = math.prod(x.shape[a] for a in axes)
    return g.op("eq", squeezed(g, g.op("sum", t, axes=axes), axes, keepdim), g.fill(count, "i64"))


def truth(g: Lowering, x: Value) -> Tensor:
    return g.cast(x.tensor, "bool")


@lowers("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(g: Lowering, node: Node, x: Any, dim: Any = None) -> Any:
    return reduced(g, "sum", g.value(g.cast(truth(g, x), "i64")), axes_of(dim, x.rank), False)


@lowers("aten.prod.default", "aten.prod.dim_int")
def prod(g: Lowering, node: Node, x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return reduced(g, "prod", number(g, x, computable(g, dtype_of(g, node))), axes_of(dim, x.rank), bool(keepdim))


@lowers("aten.var.default", "aten.var.dim", "aten.var.correction", "aten.std.default", "aten.std.dim", "aten.std.correction",
        "aten.var_mean.correction", "aten.var_mean.default", "aten.var_mean.dim", "aten.std_mean.correction", "aten.std_mean.default",
        "aten.std_mean.dim")
def var(g: Lowering, node: Node, x: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = None, *, correction: Any = 1,
        **named: Any) -> Any:
    if node.op.endswith((".default",)):
        dim, unbiased = None, dim if isinstance(dim, bool) else unbiased
    keep = bool(keepdim if keepdim is not None else named.get("keepdim", False))
    correction = 1 if correction is None else correction
    correction = correction if unbiased is None else int(unbiased)
    x = number(g, x, computable(g, x.dtype))
    axes = axes_of(dim, x.rank)
    count = math.prod(x.shape[a] for a in axes)
    mean = reduced(g, "mean", x, axes, keep) if "_mean" in node.op else None
    if correction == int(correction) and 0 <= correction < count:
        y = reduced(g, "var", x, axes, keep, correction=int(correction))
    else:  # other divisors; not one above 0 makes infinities and NaN
        y = g.value(reduced(g, "var", x, axes, keep, correction=0)) if count else g.value(g.fill(math.nan, x.dtype, g.meta(node, 0).shape))
        rest = max(0.0, count - correction)
        y = op(g, "mul", y, count / rest) if rest else op(g, "div", op(g, "mul", y, float(max(count, 1))), 0.0)
    if "std" in node.op:
        y = root(g, y if isinstance(y, Value) else g.value(y))
    return [y, mean] if "_mean" in node.op else y


def root(g: Lowering, y: Value) -> Value:
    """A deviation of 0 passes a gradient of 0, as in PyTorch; a NaN stays."""
    return rooted(g, y, lambda t: elementwise(g, "sqrt", t))


@lowers("aten.logsumexp.default", "aten.special_logsumexp.default")
def logsumexp(g: Lowering, node: Node, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    x = number(g, x, computable(g, dtype_of(g, node)))
    axes = axes_of(dim, x.rank)
    if x.size == 0:
        return g.fill(-math.inf, x.dtype, g.meta(node).shape)
    return reduced(g, "logsumexp", x, axes, bool(keepdim))


@lowers("aten.cumsum.default", "aten.cumprod.default")
def running(g: Lowering, node: Node, x: Any, dim: int, *, dtype: Any = None) -> Any:
    x = number(g, x, computable(g, dtype_of(g, node)))
    if x.rank == 0:
        return x
    return g.op(node.op.split(".")[1], x.tensor, axis=axis_of(dim, x.rank), reverse=False)


@lowers("aten.logcumsumexp.default")
def logcumsumexp(g: Lowering, node: Node, x: Any, dim: int) -> Any:
    """Step by step, each from the greater of both."""
    if x.rank == 0:
        return x
    axis = axis_of(dim, x.rank)
    parts = [g.value(cut(g, x.tensor, axis, i, 1)) for i in range(x.shape[axis])]
    for i in range(1, len(parts)):
        parts[i] = sum_of_logs(g, parts[i - 1], parts[i])
    return g.op("concat", *[p.tensor for p in parts], axis=axis) if len(parts) > 1 else x


@lowers("aten.cummax.default", "aten.cummin.default")
def running_extreme(g: Lowering, node: Node, x: Any, dim: int) -> Any:
    """Of each place and those before it, 1, 2, 4 .. together: where the extreme is, the last of equal ones, or the last NaN. The value
    is that at its place, so that its gradient goes there alone, as in PyTorch."""
    computable(g, x.dtype)
    if x.rank == 0 or x.size == 0:
        return [x, g.fill(0, "i64", x.shape)]
    axis = axis_of(dim, x.rank)
    n = x.shape[axis]
    shape = [n if k == axis else 1 for k in range(x.rank)]
    value, place = x.tensor, g.broadcast(g.reshape(g.op("iota", n=n, dtype="i64"), shape), x.shape)
    step = 1
    while step < n:
        before = [g.op("concat", g.slice(t, axis, 0, step), g.slice(t, axis, 0, n - step), axis=axis) for t in (value, place)]
        earlier = g.op("gt" if "max" in node.op else "lt", before[0], value)
        if x.real:
            earlier = g.op("logical_and", g.op("logical_or", earlier, g.op("ne", before[0], before[0])), g.op("eq", value, value))
        value, place = g.op("where", earlier, before[0], value), g.op("where", earlier, before[1], place)
        step *= 2
    return [g.op("take_along", x.tensor, place, axis=axis), place]


def sum_of_logs(g: Lowering, a: Value, b: Value) -> Value:
    both = g.op("concat", g.reshape(a.tensor, [1, *a.shape]), g.reshape(b.tensor, [1, *b.shape]), axis=0)
    return g.value(g.reshape(g.op("logsumexp", both, axes=[0]), a.shape))


@lowers("aten.linalg_vector_norm.default", "aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype",
        "aten.norm.ScalarOpt_dtype")
def norm(g: Lowering, node: Node, x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """(sum |x|^p)^(1/p). A norm of 0 passes a gradient of 0, as in PyTorch."""
    x = number(g, x, computable(g, dtype_of(g, node)))
    axes, keep, p = axes_of(dim, x.rank), bool(keepdim), 2.0 if ord is None else float(ord)
    if x.rank == 0:
        x, axes, keep = g.value(g.reshape(x.tensor, [1])), [0], False
    return norm_of(g, x, p, axes, keep)


def norm_of(g: Lowering, x: Value, p: float, axes: list[int], keep: bool) -> Value:
    size = elementwise(g, "abs", x)

    def over(name: str, v: Value) -> Value:
        y = reduced(g, name, v, axes, keep)
        return y if isinstance(y, Value) else g.value(y)

    if math.isinf(p):
        return over("max" if p > 0 else "min", size)
    if p == 0:
        return over("sum", number(g, op(g, "ne", x, 0), x.dtype))
    if p == 1:
        return over("sum", size)
    if p == 2:
        return rooted(g, over("sum", elementwise(g, "mul", x, x)), lambda t: elementwise(g, "sqrt", t))
    zero = op(g, "eq", size, 0)
    powers = elementwise(g, "pow", elementwise(g, "where", zero, g.fill(1, x.dtype), size), g.fill(p, x.dtype))
    powers = elementwise(g, "where", zero, g.fill(0 if p > 0 else math.inf, x.dtype), powers)
    return rooted(g, over("sum", powers), lambda t: elementwise(g, "pow", t, g.fill(1 / p, x.dtype)))


def rooted(g: Lowering, y: Value, f: Any) -> Value:
    zero = op(g, "eq", y, 0)
    return elementwise(g, "where", zero, g.fill(0, y.dtype), f(elementwise(g, "where", zero, g.fill(1, y.dtype), y)))


# ---- order ----

@lowers("aten.sort.default", "aten.sort.stable", "aten.argsort.default", "aten.argsort.stable", "aten.msort.default")
def sort(g: Lowering, node: Node, x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None, **named: Any) -> Any:
    """Always stable, which PyTorch's is where it is asked for."""
    dim, descending = named.get("dim", dim), named.get("descending", descending)
    if node.op == "aten.msort.default":
        dim = 0
    if node.op.endswith(".stable") and isinstance(dim, bool):
        raise g.refuse("operands in another order than its schema's")
    if x.rank == 0:
        y, index = x.tensor, g.fill(0, "i64")
    else:
        axis = axis_of(dim, x.rank)
        t = g.cast(x.tensor, "i32") if x.dtype in ("bool", "u8", "i8", "i16") else x.tensor
        y, index = g.op("sort", move(g, t, axis, x.rank - 1), descending=bool(descending))
        y, index = move(g, y, x.rank - 1, axis), g.cast(move(g, index, x.rank - 1, axis), "i64")
        y = g.cast(y, x.dtype) if y.dtype != x.dtype else y
    return index if "argsort" in node.op else y if "msort" in node.op else [y, index]


@lowers("aten.topk.default")
def topk(g: Lowering, node: Node, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if x.rank == 0:
        return [x, g.fill(0, "i64")] if k else [g.fill(0, x.dtype, [0]), g.fill(0, "i64", [0])]
    axis = axis_of(dim, x.rank)
    computable(g, x.dtype)
    y, index = g.op("topk", move(g, x.tensor, axis, x.rank - 1), k=int(k), largest=bool(largest))
    return [move(g, y, x.rank - 1, axis), g.cast(move(g, index, x.rank - 1, axis), "i64")]


@lowers("aten.kthvalue.default")
def kthvalue(g: Lowering, node: Node, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if x.rank == 0:
        return [x, g.fill(0, "i64")]
    axis = axis_of(dim, x.rank)
    y, index = g.op("sort", move(g, x.tensor, axis, x.rank - 1), descending=False)
    found = [cut(g, t, x.rank - 1, k - 1, 1) for t in (y, g.cast(index, "i64"))]
    return [squeezed(g, move(g, t, x.rank - 1, axis), [axis], keepdim) for t in found]


@lowers("aten.median.default")
def median(g: Lowering, node: Node, x: Any) -> Tensor:
    """The lower one of the two in the middle; all that are equal to it share its gradient. NaN where there is one."""
    flat = g.reshape(x.tensor, [x.size])
    rest = g.op("stop_gradient", flat)
    y = g.op("sort", rest, descending=False)[0]
    k = (x.size - 1) // 2
    found, last = (g.reshape(g.slice(y, 0, i, i + 1), []) for i in (k, x.size - 1))
    if not x.real:
        return found
    found = g.op("where", g.op("ne", last, last), last, found)
    one, zero = g.fill(1, x.dtype), g.fill(0, x.dtype)
    same = g.op("where", g.op("eq", rest, found), one, zero)
    share = g.op("div", same, g.op("maximum", g.reduce("sum", same, [], True), one))
    change = g.reduce("sum", g.op("mul", share, moved(g, flat, rest)), [], False)
    return g.op("sub", found, g.op("neg", change))


@lowers("aten.median.dim")
def median_of(g: Lowering, node: Node, x: Any, dim: int, keepdim: bool = False) -> list[Tensor]:
    """The lower one of the two in the middle, and where it is: of equal ones the first in order; NaN where there is one."""
    if x.rank == 0:
        return [x, g.fill(0, "i64")]
    axis, n = axis_of(dim, x.rank), x.shape[dim]
    y, index = g.op("sort", move(g, x.tensor, axis, x.rank - 1), descending=False)
    index = g.cast(index, "i64")
    (value, last), (at, end) = ([cut(g, t, x.rank - 1, i, 1) for i in ((n - 1) // 2, n - 1)] for t in (y, index))
    if x.real:
        none = g.op("ne", last, last)
        value, at = g.op("where", none, last, value), g.op("where", none, end, at)
    return [squeezed(g, move(g, t, x.rank - 1, axis), [axis], keepdim) for t in (value, at)]


@lowers("aten.searchsorted.Tensor", "aten.bucketize.Tensor")
def searchsorted(g: Lowering, node: Node, a: Any, b: Any, *, out_int32: bool = False, right: bool = False, side: Any = None,
                 sorter: Any = None) -> Any:
    if sorter is not None:
        raise g.refuse("sorter")
    ordered, x = (a, b) if "searchsorted" in node.op else (b, a)
    if ordered.rank != 1:
        raise g.refuse(f"sorted numbers of {ordered.rank} axes", "Call it row by row")
    dtype = promoted(ordered, x)  # a float among integers is not cut: both are of the type that holds it
    places = g.reshape(number(g, x, dtype).tensor, [x.size])
    flat = g.op("searchsorted", number(g, ordered, dtype).tensor, places, right=bool(right or side == "right"))
    return g.cast(g.reshape(flat, x.shape), dtype_of(g, node))
