# SPDX-License-Identifier: Apache-2.0
"""ONNX's operators whose results are as long as there are elements of a kind: NonZero, Compress, Unique, NonMaxSuppression.
Their results have room for the most there can be, and a count (ragged.py)."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .graph import Graph, Node, Value, handles
from .ragged import RULES, compacted, holds, listed, some_of, there

MOST_COLUMNS = 256  # of rows that are ordered by one after the other
RULES.update({kind: lambda n, handler: listed(handler(n)) for kind in ("NonZero", "Compress", "NonMaxSuppression")})


def places(g: Graph, at: Any, shape: Sequence[int]) -> list[Any]:
    """Row-major places as one index for each axis."""
    found = []
    for i, d in enumerate(shape):
        rest = math.prod(shape[i + 1:])
        t = at if rest == 1 else g.op("div_trunc", at, g.fill(rest, "i64"))
        found.append(t if i == 0 else g.op("remainder", t, g.fill(max(d, 1), "i64")))
    return found


def columns(g: Graph, parts: Sequence[Any], axis: int) -> Any:
    parts = [g.reshape(p, [1, *p.shape] if axis == 0 else [*p.shape, 1]) for p in parts]
    return g.op("concat", *parts, axis=axis) if len(parts) > 1 else parts[0]


def counted(g: Graph, tensor: Any, dtype: str, axis: int, count: Any, *operands: Value) -> Value:
    return replace(g.made(tensor, dtype, *operands), some=(axis, count))


@handles("NonZero")
def nonzero(n: Node) -> Value:
    g, v = n.g, n.value(0)
    if not v.rank:
        raise n.refuse("a number without axes")
    t = n.tensor(0)
    for before, count, found in g.places:  # exporters ask again for each tensor that a mask chooses from, and these have one length
        if before is t and count is (v.some and v.some[1]):
            return found
    flags = t if v.dtype == "bool" else g.op("ne", t, g.fill(0, v.dtype))
    flags = g.op("logical_and", flags, there(g, v)) if holds(v) else flags
    at, count = compacted(g, g.reshape(flags, [v.size]))
    found = counted(g, columns(g, places(g, at, v.shape), 0), "i64", 1, count, v)
    g.places = [*g.places[-15:], (t, v.some and v.some[1], found)]
    return found


def chosen(n: Node) -> Value:
    """Compress by a condition that the program computes."""
    g, v, c = n.g, n.value(0), n.value(1)
    flat = "axis" not in n.attributes
    axis = 0 if flat else n.axis(0, v.rank)
    t = g.reshape(n.tensor(0), [v.size]) if flat else n.tensor(0)
    flags = n.tensor(1)
    flags = g.op("logical_and", flags, there(g, c)) if holds(c) else flags
    if c.rank != 1 or c.shape[0] > t.shape[axis] or holds(v) and (some_of(v)[0] != axis or flat and v.rank > 1):
        raise n.refuse(f"a condition {list(c.shape)} of {list(v.shape)}")
    if holds(v):
        flags = g.op("logical_and", flags, g.op("lt", g.op("iota", n=c.shape[0], dtype="i64"), some_of(v)[1]))
    at, count = compacted(g, flags)
    if not t.shape[axis]:
        return counted(g, t, v.dtype, axis, count, v, c)
    return counted(g, g.op("gather", t, at, axis=axis), v.dtype, axis, count, v, c)


# ---- different elements ----

@handles("Unique")
def unique(n: Node) -> Sequence[Value | None]:
    """Elements, or slices along an axis, in order, equal ones side by side: each that is another than the one before it begins a
    group. -0 is 0, and all NaNs are one, as the standard's reference has them."""
    g, v = n.g, n.value(0)
    if v.dtype in ("u64", "bool") or not v.size or n.get("sorted", 1) not in (0, 1):
        raise n.refuse(f"elements of type {v.dtype}, none, or sorted {n.get('sorted')}")
    axis = n.axis(0, v.rank) if "axis" in n.attributes else None
    t = n.tensor(0)
    turned = [axis, *(i for i in range(v.rank) if i != axis)] if axis is not None else []
    rows = g.transpose(t, turned) if axis is not None else g.reshape(t, [v.size])
    length = rows.shape[0]
    keys = g.reshape(rows, [length, math.prod(rows.shape[1:])])
    if keys.shape[1] > MOST_COLUMNS:
        raise n.refuse(f"slices of {keys.shape[1]} elements, {MOST_COLUMNS} are the most")
    keys = g.op("add", keys, g.fill(0, v.dtype)) if v.real else keys
    order, new = grouped(g, keys)
    groups, count = compacted(g, new)  # where each group begins
    number = g.op("sub", g.op("cumsum", g.cast(new, "i64"), axis=0, reverse=False), g.fill(1, "i64"))  # of the group, in order
    first = g.op("gather", order, groups, axis=0)  # a stable order: the group's first one
    if not n.get("sorted", 1):  # groups in the order of their first ones
        begins = scattered(g, g.fill(0, "i64", [length]), order, g.cast(new, "i64"))
        first, _ = compacted(g, g.op("ne", begins, g.fill(0, "i64")))
        rank = g.op("sub", g.op("cumsum", begins, axis=0, reverse=False), g.fill(1, "i64"))
        heads = g.op("gather", order, g.op("gather", groups, number, axis=0), axis=0)
        number = g.op("gather", rank, heads, axis=0)
    inverse = scattered(g, g.fill(0, "i64", [length]), order, number)
    counts = g.op("scatter_along", g.fill(0, "i64", [length]), number, g.fill(1, "i64", [length]), axis=0, mode=1)
    y = g.op("gather", rows, first, axis=0)
    if axis is not None:
        y = g.transpose(y, [turned.index(i) for i in range(v.rank)])
    return [counted(g, y, v.dtype, axis or 0, count, v), counted(g, first, "i64", 0, count, v), g.made(inverse, "i64", v),
            counted(g, counts, "i64", 0, count, v)]


def scattered(g: Graph, into: Any, at: Any, what: Any) -> Any:
    return g.op("scatter_along", into, at, what, axis=0, mode=0)


def grouped(g: Graph, keys: Any) -> tuple[Any, Any]:
    """The order of rows [n, columns] by their elements from the first on, and whether each is another than the one before it."""
    length, order = keys.shape[0], None
    for k in range(keys.shape[1] - 1, -1, -1):  # stable, so the first column decides last
        column = g.reshape(g.op("slice", keys, begin=[0, k], end=[length, k + 1]), [length])
        column = column if order is None else g.op("gather", column, order, axis=0)
        _, index = g.op("sort", column, descending=False)
        index = g.cast(index, "i64")
        order = index if order is None else g.op("gather", order, index, axis=0)
    ordered = g.op("gather", keys, order, axis=0)
    one = g.fill(1, "bool", [1])
    if length == 1:
        return order, one
    a, b = (g.op("slice", ordered, begin=[i, 0], end=[i + length - 1, keys.shape[1]]) for i in (1, 0))
    differ = g.op("ne", a, b)
    if keys.dtype in ("f32", "f64"):
        both = g.op("logical_and", g.op("ne", a, a), g.op("ne", b, b))
        differ = g.op("logical_and", differ, g.op("logical_not", both))
    some = g.op("gt", g.op("sum", g.cast(differ, "i64"), axes=[1]), g.fill(0, "i64"))
    return order, g.op("concat", one, g.reshape(some, [length - 1]), axis=0)


# ---- boxes ----

@handles("NonMaxSuppression")
def non_max(n: Node) -> Value:
    """Of each class of each image the best boxes, best first, that no kept one covers: rows of image, class, box."""
    g, boxes, scores = n.g, n.value(0), n.value(1)
    if boxes.rank != 3 or scores.rank != 3 or boxes.shape[2] != 4 or boxes.shape[:2] != (scores.shape[0], scores.shape[2]) \
            or {boxes.dtype, scores.dtype} != {"f32"} or n.get("center_point_box", 0) not in (0, 1):
        raise n.refuse(f"boxes {boxes.dtype}{list(boxes.shape)}, scores {scores.dtype}{list(scores.shape)}, center_point_box "
                       f"{n.get('center_point_box')}")
    (images, classes, room), b = scores.shape, n.tensor(0)
    most = min(max(alone(n, 2, 0, "max_output_boxes_per_class"), 0), room)
    overlap = alone(n, 3, 0.0, "iou_threshold")
    if not 0 <= overlap <= 1:
        raise n.refuse(f"iou_threshold {overlap}")
    total = images * classes * int(most)
    g.room(total, 3)
    if not total:
        return g.constant(np.zeros((0, 3), np.int64))
    flags = candidates(n)
    if n.get("center_point_box", 0):  # a width below 0 is one of 0: such a box covers nothing
        middle, size = (g.op("slice", b, begin=[0, 0, k], end=[images, room, k + 2]) for k in (0, 2))
        b = g.op("concat", middle, g.op("maximum", size, g.fill(0, "f32")), axis=2)
    s = g.op("where", flags, g.op("add", n.tensor(1), g.fill(0, "f32")), g.fill(-math.inf, "f32"))  # no -0, which has a place of its own
    _, order = g.op("sort", s, descending=True)
    mine = g.op("take_along", g.cast(g.broadcast(flags, scores.shape), "f32"), order, axis=2)
    kept = g.op("non_max", b, mine, order, k=int(most), overlap=float(overlap), least=0.0, centred=bool(n.get("center_point_box", 0)))
    flat = g.reshape(kept, [total])
    at, count = compacted(g, g.op("ge", flat, g.fill(0, "i64")))
    image, kind, _ = places(g, at, [images, classes, int(most)])
    found = columns(g, [image, kind, g.op("gather", flat, at, axis=0)], 1)
    return counted(g, found, "i64", 0, count, boxes, scores)


def candidates(n: Node) -> Any:
    """Whether a score counts: above the threshold, and there."""
    g, scores, boxes = n.g, n.value(1), n.value(0)
    s = n.tensor(1)
    if n.has(4):
        if n.value(4).size != 1 or n.value(4).dtype != "f32":
            raise n.refuse(f"score_threshold {n.value(4).dtype}{list(n.value(4).shape)}")
        flags = g.op("gt", s, g.reshape(n.tensor(4), []))
    else:
        flags = g.fill(1, "bool", scores.shape)
    if holds(boxes) != holds(scores) or holds(boxes) and (some_of(boxes)[0] != 1 or some_of(scores)[0] != 2 or some_of(
            boxes)[1] is not some_of(scores)[1]) or any(holds(v) for v in n.inputs[2:]):
        raise n.refuse("boxes and scores whose numbers their elements decide apart")
    return g.op("logical_and", flags, there(g, scores)) if holds(scores) else flags


def alone(n: Node, i: int, otherwise: float, name: str) -> Any:
    """An operand of one number, that has to be known."""
    if not n.has(i):
        return otherwise
    found = np.asarray(n.g.known(n.value(i))).reshape(-1)
    if found.size != 1:
        raise n.refuse(f"{name} of {found.size} numbers")
    return found[0].item()
