# SPDX-License-Identifier: Apache-2.0
"""Forms that many rules have: PyTorch's promotion of element types, numbers beside tensors, elementwise operations that
keep images channels last, axes, cuts and pads. Operands are Values or numbers, what is passed between operations tensors."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Graph, Node, Ref, map_refs
from ..lower import Lowering, Value

Tensor = Any
ORDER = {"bool": 0, "u8": 1, "i8": 1, "i16": 2, "i32": 3, "i64": 4, "f16": 5, "bf16": 5, "f32": 6, "f64": 7}
CLASSES = {"bool": 0, "u8": 1, "i8": 1, "i16": 1, "i32": 1, "i64": 1}
REAL, INTEGER = ("f32", "f64"), ("i32", "i64")
MOST_MASK = 1 << 24  # elements of a constant that a rule makes


def kind_of(x: Any) -> tuple[int, int, str]:
    """Of an operand: 0 bool, 1 integer, 2 real; how it takes part in promotion: 0 a number, 1 without axes, 2 with axes."""
    if isinstance(x, Value):
        return CLASSES.get(x.dtype, 2), 2 if x.rank else 1, x.dtype
    if isinstance(x, bool):
        return 0, 0, "bool"
    return (1, 0, "i64") if isinstance(x, int) else (2, 0, "f32")


def promoted(*xs: Any) -> str:
    """PyTorch's result type of operands: of those of the highest class, tensors with axes decide before those without, and
    these before numbers."""
    kinds = [kind_of(x) for x in xs]
    top = max(k[0] for k in kinds)
    for rank in (2, 1, 0):
        found = [k[2] for k in kinds if k[1] == rank]
        if found and max(CLASSES.get(d, 2) for d in found) == top:
            best = max(found, key=ORDER.__getitem__)
            if {"f16", "bf16"} <= set(found) and best not in REAL:
                return "f32"
            return "i16" if {"u8", "i8"} <= set(found) and best in ("u8", "i8") else best
    raise AssertionError("no operand has the highest class")


def pair(g: Lowering, a: Any, b: Any, dtype: str) -> tuple[Any, Any]:
    """Two operands as Values of one element type."""
    return number(g, a, dtype), number(g, b, dtype)


def number(g: Lowering, x: Any, dtype: str) -> Value:
    """A number, or a Value of any element type, as a Value of this one; channels last where it was."""
    if not isinstance(x, Value):
        return g.value(g.fill(int(x) if dtype in INTEGER and math.isfinite(x) else x, dtype))
    if x.dtype == dtype:
        return x
    return g.value_last(g.cast(x.last, dtype)) if x.channels_last else g.value(g.cast(x.tensor, dtype))


def elementwise(g: Lowering, name: str, *xs: Any, **attributes: Any) -> Value:
    """One elementwise operation on Values and tensors. Channels last where an operand of the result's rank is, and each other
    one is too, or has one element or a vector along the channels."""
    values = [x if isinstance(x, Value) else g.value(x) for x in xs]
    rank = max(v.rank for v in values)
    if any(v.channels_last and v.rank == rank for v in values) and all(v.channels_last or v.size == 1 or turns(v, rank)
                                                                       for v in values):
        return g.value_last(g.op(name, *[turned(g, v, rank) for v in values], **attributes))
    return g.value(g.op(name, *[v.tensor for v in values], **attributes))


def turns(v: Value, rank: int) -> bool:
    """Whether a value that is broadcast turns channels last by a reshape: nothing but its channels has a length."""
    if v.rank != rank and v.rank != rank - 1:
        return False
    at = 1 - (rank - v.rank)
    return all(n == 1 for i, n in enumerate(v.shape) if i != at)


def turned(g: Lowering, v: Value, rank: int) -> Tensor:
    if v.channels_last and v.rank == rank:
        return v.last
    if v.size == 1:
        return g.reshape(v.tensor, [1] * v.rank)
    return g.reshape(v.tensor, [*[1] * (rank - 1), v.size])


def op(g: Lowering, name: str, *xs: Any, **attributes: Any) -> Value:
    """`elementwise` of operands that may be numbers, which take the element type of the first Value or tensor."""
    dtype = next(x.dtype for x in xs if hasattr(x, "dtype") and x.dtype != "bool" or name in LOGIC and hasattr(x, "dtype"))
    return elementwise(g, name, *[x if hasattr(x, "dtype") else g.fill(x, dtype) for x in xs], **attributes)


LOGIC = ("logical_and", "logical_or", "logical_xor", "logical_not", "eq", "ne")


def axis_of(axis: int, rank: int) -> int:
    """An axis that may count from the end."""
    most = max(rank, 1)
    if not -most <= axis < most:
        raise IndexError(f"axis {axis} of {rank} axes")
    return axis % most


def axes_of(axes: Any, rank: int) -> list[int]:
    """Axes in order; none given, or an empty list, are all."""
    if axes is None or isinstance(axes, (list, tuple)) and not axes:
        return list(range(rank))
    return sorted({axis_of(int(a), rank) for a in (axes if isinstance(axes, (list, tuple)) else [axes])} if rank else set())


def cut(g: Lowering, t: Tensor, axis: int, begin: int, size: int) -> Tensor:
    """`size` elements of an axis from `begin`."""
    return g.slice(t, axis, begin, begin + size)


def pick(g: Lowering, t: Tensor, axis: int, i: int) -> Tensor:
    """Element i of an axis, which goes."""
    return g.reshape(g.slice(t, axis, i, i + 1), [n for k, n in enumerate(t.shape) if k != axis])


def move(g: Lowering, t: Tensor, axis: int, to: int) -> Tensor:
    """An axis in another place, the others in their order."""
    order = [i for i in range(len(t.shape)) if i != axis]
    order.insert(to, axis)
    return g.transpose(t, order)


def concat(g: Lowering, parts: Sequence[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else g.op("concat", *parts, axis=axis)


def stack(g: Lowering, parts: Sequence[Tensor], axis: int) -> Tensor:
    shape = list(parts[0].shape)
    shape.insert(axis, 1)
    return concat(g, [g.reshape(p, shape) for p in parts], axis)


def filled_pad(g: Lowering, t: Tensor, before: Sequence[int], after: Sequence[int], value: float) -> Tensor:
    """A pad by a value. Negative pads cut; where the value is not 0 a pad of trues says what was inside."""
    rank = len(t.shape)
    if any(b < 0 or a < 0 for b, a in zip(before, after)):
        t = g.op("slice", t, begin=[max(0, -b) for b in before], end=[n - max(0, -a) for n, a in zip(t.shape, after)])
    before, after = [max(0, b) for b in before], [max(0, a) for a in after]
    if not any(before) and not any(after):
        return t
    y = g.op("pad", t, before=before, after=after)
    if value == 0 and not math.copysign(1, value) < 0:
        return y
    inside = g.op("pad", g.fill(1, "bool", t.shape), before=before, after=after) if rank else g.fill(1, "bool")
    return g.op("where", inside, y, g.fill(value, t.dtype))


def room(g: Lowering, *shape: int) -> None:
    """Refuses constants that are too large."""
    if math.prod(shape) > MOST_MASK:
        raise g.refuse(f"needs a constant of {math.prod(shape)} elements, {MOST_MASK} are the most")


def taken(g: Lowering, t: Tensor, places: Sequence[int], axis: int) -> Tensor:
    """Elements at places that are known along an axis; a run of them is a slice."""
    n = t.shape[axis]
    step = places[1] - places[0] if len(places) > 1 else 1
    if len(places) and step and all(b - a == step for a, b in zip(places, places[1:])):
        if step == 1:
            return cut(g, t, axis, places[0], len(places))
        begin, size, steps = [0] * len(t.shape), list(t.shape), [1] * len(t.shape)
        begin[axis], size[axis], steps[axis] = places[0], len(places), step
        return g.op("slice_step", t, begin=begin, size=size, step=steps)
    if not len(places):
        return cut(g, t, axis, 0, 0)
    room(g, n, len(places) // max(n, 1) + 1)
    return g.op("gather", t, g.constant(np.array(places, np.int64)), axis=axis)


def wrapped(g: Lowering, index: Tensor, length: int) -> Tensor:
    """Indices of which negative ones count from the end."""
    index = index if index.dtype in INTEGER else g.cast(index, "i64")
    below = g.op("lt", index, g.fill(0, index.dtype))
    return g.op("where", below, g.op("add", index, g.fill(length, index.dtype)), index)


def numbers(x: Any, n: int) -> list[int]:
    """n integers, given as one, a list of one or of n."""
    found = [int(e) for e in x] if isinstance(x, (list, tuple)) else [int(x)]
    return found * n if len(found) == 1 else found


# ---- questions of the graph ----

def wanted(g: Lowering, node: Node, i: int) -> bool:
    """Whether somebody uses the node's i-th value."""
    uses = g.__dict__.get("_uses")
    if uses is None or uses[0] is not g.graph:
        found: set[tuple[str, int | None]] = set()

        def note(e: Any) -> None:
            if isinstance(e, Ref):
                found.add((e.name, e.index))

        for n in g.graph.walk():
            map_refs(note, [n.args, list(n.kwargs.values())])
        for graph in graphs(g.graph):
            map_refs(note, [o.value for o in graph.outputs])
        uses = g.__dict__["_uses"] = (g.graph, found)
    return (node.name, i) in uses[1] or (node.name, None) in uses[1]


def graphs(graph: Graph) -> list[Graph]:
    return [graph, *(e for s in graph.graphs for e in graphs(s))]
