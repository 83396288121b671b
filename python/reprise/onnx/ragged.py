# SPDX-License-Identifier: Apache-2.0
"""Values one of whose lengths their elements decide, as the boxes that are kept. A program's shapes are fixed: such a value
has room for the most there can be along that axis, and a count of those that are there, which come first; what is behind
them means nothing. Here is, of each operator that takes such values, along which axis its result is one and what has to be
kept from what is behind. An operator that is not among them refuses such a value."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import arithmetic
from .graph import Graph, Handler, Length, Node, Unsupported, Value

Rule = Callable[[Node, Handler], Sequence[Value | None]]
RULES: dict[str, Rule] = {}
NOWHERE = -(1 << 40)  # no index, so that whoever takes it refuses it
FAR = (1 << 31) - 1  # an end that is that of the axis
UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish
Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt
Swish Tan Tanh ThresholdedRelu""".split()
SEVERAL = """Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub
Sum Where Xor""".split()
SHAPED = ("ConstantOfShape", "Expand", "Range", "Reshape")  # what may take numbers of a shape some of which are counted
BATCHES = """AveragePool Conv ConvTranspose Gemm GlobalAveragePool GlobalMaxPool InstanceNormalization LpPool MaxPool""".split()


def rules(*names: str) -> Callable[[Rule], Rule]:
    def register(f: Rule) -> Rule:
        RULES.update({n: f for n in names})
        return f
    return register


def holds(v: Value | None) -> bool:
    return v is not None and v.some is not None


def applied(n: Node, handler: Handler) -> Sequence[Value | None]:
    """What an operator makes of operands of which some are such values."""
    if n.kind not in RULES:
        raise n.refuse("a value whose length its elements decide")
    return RULES[n.kind](n, handler)


def some_of(v: Value) -> tuple[int, Any]:
    assert v.some is not None
    return v.some


def listed(found: Any) -> list[Value | None]:
    return [found] if isinstance(found, Value) else list(found)


def along(found: Any, axis: int, count: Any) -> list[Value | None]:
    """Results with that axis."""
    return [v and replace(v, known=None, some=(axis, count)) for v in listed(found)]


def there(g: Graph, v: Value) -> Any:
    """Whether an element is there, of the shape [1, .., most, .., 1]."""
    axis, count = some_of(v)
    number = g.op("iota", n=v.shape[axis], dtype="i64")
    return g.reshape(g.op("lt", number, count), [d if i == axis else 1 for i, d in enumerate(v.shape)])


def mask(n: Node, i: int, value: float) -> None:
    """Operand i with another element in the place of each that is not there."""
    v = n.value(i)
    if holds(v):
        n.inputs[i] = replace(v, tensor=n.g.op("where", there(n.g, v), n.g.tensor(v), n.g.fill(value, v.dtype)))


def only(n: Node, first: int = 0) -> tuple[int, Any]:
    """That of one operand, which alone is such a value."""
    if any(holds(v) for i, v in enumerate(n.inputs) if i != first):
        raise n.refuse("a second value whose length its elements decide")
    return some_of(n.value(first))


def without(axis: int, gone: Sequence[int]) -> int:
    return axis - sum(a < axis for a in gone)


def compacted(g: Graph, flags: Any) -> tuple[Any, Any]:
    """Places of the true ones of flags [n], ascending, then zeros: i64 [n]; and how many there are, i64 []."""
    length = g.room(*flags.shape)[0]
    if not length:
        return g.fill(0, "i64", [0]), g.fill(0, "i64")
    sums = g.op("cumsum", g.cast(flags, "i64"), axis=0, reverse=False)
    count = g.reshape(g.op("slice", sums, begin=[length - 1], end=[length]), [])
    to = g.op("where", flags, g.op("sub", sums, g.fill(1, "i64")), g.fill(length, "i64"))
    found = g.op("scatter_along", g.fill(0, "i64", [length + 1]), to, g.op("iota", n=length, dtype="i64"), axis=0, mode=0)
    return g.op("slice", found, begin=[0], end=[length]), count


def either(g: Graph, condition: Any, first: Sequence[Value], second: Sequence[Value]) -> list[Value]:
    """Of each two values the first where a condition holds, else the second. Along one axis they may have different lengths."""
    counts: dict[Any, Any] = {}
    condition, made = g.reshape(condition, []), []

    def count(v: Value, axis: int) -> tuple[Any, Any]:
        return (id(v.some[1]), v.some[1]) if v.some else (v.shape[axis], g.fill(v.shape[axis], "i64"))

    for a, b in zip(first, second):
        axes = {i for i in range(a.rank) if a.rank == b.rank and a.shape[i] != b.shape[i]} | {v.some[0] for v in (a, b) if v.some}
        if a.dtype != b.dtype or a.rank != b.rank or len(axes) > 1:
            raise Unsupported(f"branches that give {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}, by a computed condition", "If")
        if not axes:
            made.append(g.made(g.op("where", condition, g.tensor(a), g.tensor(b)), a.dtype, a, b))
            continue
        axis = axes.pop()
        most, (one, ours), (other, theirs) = max(a.shape[axis], b.shape[axis]), count(a, axis), count(b, axis)
        if (one, other) not in counts:  # several values of one length stay that
            counts[one, other] = ours if one == other else g.op("where", condition, ours, theirs)
        wide = [g.op("pad", g.tensor(v), before=[0] * v.rank, after=[most - d if i == axis else 0 for i, d in enumerate(v.shape)])
                if v.shape[axis] < most else g.tensor(v) for v in (a, b)]
        made.append(replace(g.made(g.op("where", condition, *wide), a.dtype, a, b), some=(axis, counts[one, other])))
    return made


@rules(*UNARY, *SEVERAL)
def elementwise(n: Node, handler: Handler) -> Sequence[Value | None]:
    """The axis is the same one from the end; what has none of its own is repeated along it."""
    values = [v for v in n.inputs if v is not None]
    ends = {v.rank - some_of(v)[0] for v in values if v.some}
    counts = {id(some_of(v)[1]): some_of(v)[1] for v in values if v.some}
    end = min(ends)
    if len(ends) > 1 or len(counts) > 1 or any(v.rank >= end and v.shape[-end] != 1 for v in values if not v.some):
        raise n.refuse("values whose lengths their elements decide, beside others")
    if n.kind in ("Div", "Mod") and not n.value(1).real:
        mask(n, 1, 1)
    found = listed(handler(n))
    return along(found, max(v.rank for v in values) - end, next(iter(counts.values())))


@rules(*BATCHES)
def batch(n: Node, handler: Handler) -> Sequence[Value | None]:
    """Rows along the first axis that are computed apart."""
    axis, count = only(n)
    if axis or n.kind == "Gemm" and (n.get("transA", 0) or n.has(2) and n.value(2).rank > 1 and n.value(2).shape[0] != 1):
        raise n.refuse(f"a value whose length along axis {axis} its elements decide")
    return along(handler(n), 0, count)


@rules("MatMul")
def matmul(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    v, w = n.value(0), n.value(1)
    end = v.rank - axis
    if end < 2 or end > 2 and w.rank >= end and w.shape[-end] != 1:
        raise n.refuse(f"a value whose length along axis {axis} its elements decide")
    found = listed(handler(n))
    assert found[0] is not None
    return along(found, found[0].rank - (end if w.rank > 1 else end - 1), count)


@rules("Softmax", "LogSoftmax", "Hardmax")
def softmax(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    if axis >= n.axis(1 if n.version < 13 else -1, n.value(0).rank):
        raise n.refuse(f"a value whose length along axis {axis} its elements decide")
    return along(handler(n), axis, count)


@rules(*arithmetic.REDUCE)
def reduce(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    v = n.value(0)
    axes, kept = arithmetic.axes_of(n, v.rank), bool(n.get("keepdims", 1))
    if axis not in axes or n.get("noop_with_empty_axes", 0) and not n.integers(1, "axes"):
        return along(handler(n), axis if kept else without(axis, axes), count)
    if n.kind in ("ReduceMax", "ReduceMin") and v.dtype in ("f32", "f64", "f16"):
        mask(n, 0, -math.inf if n.kind == "ReduceMax" else math.inf)
    elif n.kind in ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
        mask(n, 0, 0)
    elif n.kind == "ReduceProd":
        mask(n, 0, 1)
    else:
        raise n.refuse(f"{v.dtype} along an axis whose length its elements decide")
    return listed(handler(n))


@rules("ArgMax", "ArgMin")
def arg(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    over = n.axis(0, n.value(0).rank)
    if over == axis:
        raise n.refuse("an axis whose length its elements decide")
    return along(handler(n), axis if n.get("keepdims", 1) else without(axis, [over]), count)


@rules("Split")
def split(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    if axis == n.axis(0, n.value(0).rank):
        raise n.refuse("an axis whose length its elements decide")
    return along(handler(n), axis, count)


@rules("TopK")
def top_k(n: Node, handler: Handler) -> Sequence[Value | None]:
    """Of the axis itself as many as an operand says, which may be computed; more than there are is an error of the run."""
    g, v, (axis, count) = n.g, n.value(0), only(n)
    if axis != n.axis(-1, v.rank):
        return along(handler(n), axis, count)
    if v.dtype not in ("f32", "f64") or n.get("sorted", 1) != 1 or not n.has(1) or n.value(1).size != 1 or not v.shape[axis]:
        raise n.refuse(f"elements of {v.dtype} along an axis whose length they decide")
    mask(n, 0, -math.inf if n.get("largest", 1) else math.nan)  # which are last, behind equal ones that are there
    wanted = g.reshape(g.cast(n.tensor(1), "i64"), [])
    n.inputs[1] = g.constant(np.array([v.shape[axis]], np.int64))
    right = g.op("logical_and", g.op("ge", wanted, g.fill(0, "i64")), g.op("le", wanted, count))
    place = g.reshape(g.op("where", right, g.fill(0, "i64"), g.fill(NOWHERE, "i64")), [1])
    return along(handler(n), axis, g.reshape(g.op("gather", g.reshape(wanted, [1]), place, axis=0), []))


# ---- moving ----

@rules("Transpose")
def transpose(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    rank = n.value(0).rank
    return along(handler(n), [int(a) for a in n.get("perm", range(rank - 1, -1, -1))].index(axis), count)


@rules("Squeeze")
def squeeze(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    axes = n.integers(1, "axes")
    gone = None if axes is None else [a % n.value(0).rank for a in axes]
    if gone is None or axis in gone:
        raise n.refuse("axes that are not named, or one whose length its elements decide")
    return along(handler(n), without(axis, gone), count)


@rules("Unsqueeze")
def unsqueeze(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    axes = n.integers(1, "axes") or []
    rank = n.value(0).rank + len(axes)
    kept = [i for i in range(rank) if i not in {a % rank for a in axes}]
    return along(handler(n), kept[axis], count)


@rules("Reshape")
def reshape(n: Node, handler: Handler) -> Sequence[Value | None]:
    """[1, .., n, rest] as [1, .., -1, other rest]: the rest is as long or a part of it, so that elements that are there stay in front."""
    if not holds(n.value(0)):
        if not n.has(1) or n.value(1).lengths is None:  # numbers of a shape, in another one
            return listed(handler(n))
        raise n.refuse("a shape that elements decide, of a value that has one")
    axis, count = only(n)
    v = n.value(0)
    if n.has(1) and n.value(1).lengths is not None:
        shape, at, counted = one_of(n, 1)
        if counted is not count or math.prod(shape) != v.size or n.get("allowzero", 0):
            raise n.refuse(f"a value whose length along axis {axis} its elements decide, as {shape}")
        shape[at] = -1
    else:
        shape = n.integers(1, "shape") or []
    if not n.get("allowzero", 0):
        shape = [v.shape[i] if d == 0 and i < v.rank and i != axis else d for i, d in enumerate(shape)]
        shape = [-1 if d == 0 and i == axis and -1 not in shape else d for i, d in enumerate(shape)]
    at = shape.index(-1) if -1 in shape else -1
    rest, other = math.prod(v.shape[axis + 1:]), math.prod(shape[at + 1:])
    if at < 0 or math.prod(v.shape[:axis]) != 1 or math.prod(shape[:at]) != 1 or min(shape[:at] + shape[at + 1:], default=1) < 1 or rest % other:
        raise n.refuse(f"a value whose length along axis {axis} its elements decide, as {shape}")
    n.inputs[1:] = []
    n.attributes["shape"] = shape
    return along(handler(n), at, times(n.g, count, rest // other))


def times(g: Graph, count: Any, factor: int) -> Any:
    return count if factor == 1 else g.op("mul", count, g.fill(factor, "i64"))


@rules("Flatten")
def flatten(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    v, at = n.value(0), int(n.get("axis", 1))
    at += v.rank if at < 0 else 0
    if axis or not 1 <= at <= v.rank:
        raise n.refuse(f"a value whose length along axis {axis} its elements decide")
    return along(handler(n), 0, times(n.g, count, math.prod(v.shape[1:at])))


@rules("Concat")
def concat(n: Node, handler: Handler) -> Sequence[Value | None]:
    g, values = n.g, [n.value(i) for i in range(len(n.inputs))]
    at = n.axis(1, values[0].rank)
    counts = {id(some_of(v)[1]) for v in values if v.some}
    if any(v.some and v.some[0] != at for v in values):
        if len(counts) > 1 or len({v.some and v.some[0] for v in values}) > 1:
            raise n.refuse("values whose lengths their elements decide, beside others")
        return along(handler(n), *some_of(values[0]))
    key = tuple((v.shape[at], id(some_of(v)[1]) if v.some else 0) for v in values)
    if key not in g.joined:  # boxes, scores and labels are joined alike, and stay of one length
        flags = [g.reshape(there(g, v), [v.shape[at]]) if v.some else g.fill(1, "bool", [v.shape[at]]) for v in values]
        kept = [some_of(v)[1] for v in values if v.some]  # whose identities the key has
        g.joined[key] = *compacted(g, g.op("concat", *flags, axis=0) if len(flags) > 1 else flags[0]), kept
    place, count, _ = g.joined[key]
    whole = listed(handler(n))[0]
    assert whole is not None
    return along(replace(whole, tensor=g.op("gather", g.tensor(whole), place, axis=at)), at, count)


@rules("Slice")
def slice_(n: Node, handler: Handler) -> Sequence[Value | None]:
    axis, count = only(n)
    v, starts, ends = n.value(0), n.integers(1, "starts") or [], n.integers(2, "ends") or []
    axes, steps = n.integers(3, "axes") or list(range(len(starts))), n.integers(4, "steps") or [1] * len(starts)
    for a, s, e, k in zip(axes, starts, ends, steps):
        if a % v.rank != axis or (s, k) == (0, 1) and e >= FAR:
            continue
        if s < 0 or e < 0 or k != 1:
            raise n.refuse(f"{s} to {e} by {k} of an axis whose length its elements decide")
        g = n.g
        if e < FAR:
            count = g.op("minimum", count, g.fill(e, "i64"))
        count = g.op("maximum", g.op("sub", count, g.fill(min(s, v.shape[axis]), "i64")), g.fill(0, "i64"))
    return along(handler(n), axis, count)


@rules("Shape", "Size")
def shape(n: Node, handler: Handler) -> Sequence[Value | None]:
    """Lengths that a program computes: they are numbers, and decide no shape."""
    g, v = n.g, n.value(0)
    axis, count = only(n)
    if n.kind == "Size":
        rest = math.prod(d for i, d in enumerate(v.shape) if i != axis)
        count = times(g, count, rest)
        return [replace(g.made(count, "i64", v), lengths=as_array(Length(v.shape[axis] * rest, count)))]
    lengths: Any = np.array([Length(d, count) if i == axis else d for i, d in enumerate(v.shape)], object)
    end = n.get("end")
    lengths = lengths[slice(int(n.get("start", 0)), None if end is None else int(end))]
    if not any(isinstance(d, Length) for d in lengths):
        return [g.constant(lengths.astype(np.int64))]
    parts = [g.reshape(d.count, [1]) if isinstance(d, Length) else g.fill(d, "i64", [1]) for d in lengths]
    return [replace(g.made(g.op("concat", *parts, axis=0) if len(parts) > 1 else parts[0], "i64", v), lengths=lengths)]


def told(n: Node, found: Sequence[Value | None]) -> Sequence[Value | None]:
    """Numbers of a shape that an operator moves are still known to be such."""
    if all(v is None or v.lengths is None for v in n.inputs) or len(found) != 1 or found[0] is None or found[0].dtype != "i64" or holds(found[0]):
        return found
    try:
        moved = numbers_of(n, found[0].shape)
    except (LookupError, TypeError, ValueError):  # an index outside, at which the run ends
        return found
    if moved is None or moved.shape != found[0].shape:
        return found
    if not any(isinstance(d, Length) for d in moved.reshape(-1)):  # none of them is counted
        return [n.g.constant(moved.astype(np.int64), found[0].of)]
    return [replace(found[0], lengths=moved)]


def numbers_of(n: Node, shape: Sequence[int]) -> Any:
    arrays: list[Any] = [v if v is None else v.lengths if v.lengths is not None else v.known if v.known is None else v.known.astype(object) for v in n.inputs]
    a = arrays[0]
    if a is None or n.kind == "Concat" and any(b is None for b in arrays):
        return None
    if n.kind == "Concat":
        return np.concatenate(arrays, axis=n.axis(1, a.ndim))
    if n.kind == "Gather" and n.value(1).known is not None:
        return as_array(np.take(a, n.value(1).known, axis=n.axis(0, a.ndim)))
    if n.kind == "Unsqueeze":
        return np.expand_dims(a, tuple(n.integers(1, "axes") or ()))
    if n.kind in ("Squeeze", "Reshape"):
        return a.reshape(shape)
    if n.kind == "Slice" and a.ndim == 1:
        (s, *_), (e, *_), k = n.integers(1, "starts") or [0], n.integers(2, "ends") or [0], n.integers(4, "steps") or [1]
        return a[s:e:k[0]]
    return a if n.kind in ("Cast", "Identity") else None


def as_array(a: Any) -> Any:
    if isinstance(a, np.ndarray):
        return a
    found = np.empty((), object)
    found[()] = a
    return found


def one_of(n: Node, i: int) -> tuple[list[int], int, Any]:
    """A shape of which one length is counted: with the most there, the axis, its count."""
    listed_ = list(n.value(i).lengths.reshape(-1))
    at = [k for k, d in enumerate(listed_) if isinstance(d, Length)]
    if len(at) != 1:
        raise n.refuse("a shape of several lengths that elements decide")
    return [d.most if isinstance(d, Length) else int(d) for d in listed_], at[0], listed_[at[0]].count


@rules("ConstantOfShape")
def constant_of_shape(n: Node, handler: Handler) -> Sequence[Value | None]:
    if n.value(0).lengths is None:
        raise n.refuse("a value whose length its elements decide")
    shape, axis, count = one_of(n, 0)
    n.inputs[0] = n.g.constant(np.array(shape, np.int64))
    return along([v and replace(v, tensor=n.g.tensor(v)) for v in listed(handler(n))], axis, count)


@rules("Range")
def range_(n: Node, handler: Handler) -> Sequence[Value | None]:
    """From 0 to what is counted by 1."""
    limit, (first, step) = n.value(1), (n.value(i).known for i in (0, 2))
    if limit.lengths is None or limit.size != 1 or first is None or step is None or first.size != 1 or step.size != 1 or (first != 0).any() or (step != 1).any():
        raise n.refuse("numbers that do not begin with 0, or not by 1, to what elements decide")
    d = limit.lengths.reshape(-1)[0]
    return along([n.g.made(n.g.op("iota", n=n.g.room(d.most)[0], dtype="i64"), "i64", limit)], 0, d.count)


@rules("Expand")
def expand(n: Node, handler: Handler) -> Sequence[Value | None]:
    v, shape = n.value(0), n.value(1)
    if holds(shape):
        raise n.refuse("a shape whose length its elements decide")
    if shape.lengths is None and not holds(v):
        return listed(handler(n))
    if shape.lengths is None:
        wanted = n.g.integers(shape)
        axis, count = some_of(v)
        end = v.rank - axis
        if len(wanted) >= end and wanted[-end] != 1:
            raise n.refuse(f"a value whose length along axis {axis} its elements decide, as {wanted}")
    else:
        wanted, axis, count = one_of(n, 1)
        end = len(wanted) - axis
        if v.some and (v.rank - v.some[0] != end or v.some[1] is not count) or not v.some and v.rank >= end and v.shape[-end] != 1:
            raise n.refuse(f"{list(v.shape)} as {wanted}, of which elements decide axis {axis}")
        n.inputs[1] = n.g.constant(np.array(wanted, np.int64))
    found = [v and replace(v, tensor=n.g.tensor(v)) for v in listed(handler(n))]
    assert found[0] is not None
    return along(found, found[0].rank - end, count)


# ---- indices ----

def within(g: Graph, index: Value, count: Any) -> Any:
    """Indices along such an axis from 0; one outside of what is there is none at all."""
    t, zero = g.cast(g.tensor(index), "i64"), g.fill(0, "i64")
    t = g.op("where", g.op("lt", t, zero), g.op("add", t, count), t)
    bad = g.op("logical_or", g.op("lt", t, zero), g.op("ge", t, count))
    return g.op("where", bad, g.fill(NOWHERE, "i64"), t)


@rules("Gather")
def gather(n: Node, handler: Handler) -> Sequence[Value | None]:
    v, index = n.value(0), n.value(1)
    axis = n.axis(0, v.rank)
    if v.some and v.some[0] != axis:
        if index.some:
            raise n.refuse("a second value whose length its elements decide")
        own = v.some[0]
        return along(handler(n), own if own < axis else own + index.rank - 1, v.some[1])
    if v.some:
        n.inputs[1] = index = replace(index, dtype="i64", tensor=within(n.g, index, v.some[1]), known=None, weight=None)
    if not index.some:
        return listed(handler(n))
    if not v.shape[axis]:
        raise n.refuse("an axis without elements")
    mask(n, 1, 0)
    return along(handler(n), axis + index.some[0], index.some[1])


@rules("GatherND")
def gather_nd(n: Node, handler: Handler) -> Sequence[Value | None]:
    g, v, index = n.g, n.value(0), n.value(1)
    if n.get("batch_dims", 0) or not v.size or not index.size or v.some and v.some[0] >= index.shape[-1] or \
            index.some and index.some[0] + 1 >= index.rank:
        raise n.refuse(f"an input {list(v.shape)} and indices {list(index.shape)} whose lengths elements decide")
    if v.some:  # of each tuple that number has to be one of what is there
        parts = [g.op("slice", g.tensor(index), begin=[0] * (index.rank - 1) + [k], end=[*index.shape[:-1], k + 1]) for k in range(index.shape[-1])]
        parts[v.some[0]] = g.cast(within(g, replace(index, tensor=parts[v.some[0]], known=None, weight=None), v.some[1]), parts[0].dtype)
        t = g.op("concat", *parts, axis=index.rank - 1) if len(parts) > 1 else parts[0]
        n.inputs[1] = replace(index, tensor=t, known=None, weight=None)
    if not index.some:
        return listed(handler(n))
    mask(n, 1, 0)
    return along(handler(n), *index.some)
