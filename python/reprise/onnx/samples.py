# SPDX-License-Identifier: Apache-2.0
"""ONNX's RoiAlign and DeformConv: an image looked at between its elements, where boxes or offsets say. The image is a table
of its places' channels, as in grids.py, from which the four neighbours of each place are gathered; weights follow from the
places, so both have gradients."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph, Handler, Node, Value, handles
from .layers import Window
from .ragged import along, holds, mask, rules, some_of


def table_of(g: Graph, image: Any, parts: int = 1) -> Any:
    """[n, c, h, w] as rows [n parts h w, c / parts]: parts of the channels one after the other."""
    n, c, h, w = image.shape
    t = g.transpose(g.reshape(image, [n, parts, c // parts, h * w]), [0, 1, 3, 2])
    return g.reshape(t, [n * parts * h * w, c // parts])


def neighbour(g: Graph, place: Any, length: int) -> Any:
    """A place's number as an index within the axis, whatever it is."""
    return g.op("minimum", g.op("maximum", g.cast(place, "i64"), g.fill(0, "i64")), g.fill(length - 1, "i64"))


def weighed(g: Graph, table: Any, index: Any, weight: Any) -> Any:
    """Rows of the table by their weights: [places, channels]."""
    rows = g.op("gather", table, g.reshape(index, [math.prod(index.shape)]), axis=0)
    return g.op("mul", rows, g.reshape(weight, [rows.shape[0], 1]))


# ---- boxes of an image, each as an image of one size ----

@handles("RoiAlign")
def roi_align(n: Node) -> Value:
    g, v, boxes, image = n.g, n.value(0), n.value(1), n.value(2)
    size, ratio = [int(n.get("output_height", 1)), int(n.get("output_width", 1))], int(n.get("sampling_ratio", 0))
    mode, half = str(n.get("mode", "avg")), str(n.get("coordinate_transformation_mode", "half_pixel" if n.version >= 16 else "output_half_pixel"))
    if v.rank != 4 or boxes.rank != 2 or boxes.shape[1] != 4 or image.shape != boxes.shape[:1] or {v.dtype, boxes.dtype} - {"f32", "f64"} \
            or v.dtype != boxes.dtype or image.dtype != "i64" or not v.size:
        raise n.refuse(f"an input {v.dtype}{list(v.shape)}, boxes {boxes.dtype}{list(boxes.shape)}, their images {list(image.shape)}")
    if mode not in ("avg", "max") or half not in ("half_pixel", "output_half_pixel") or min(size) < 1:
        raise n.refuse(f"mode {mode}, coordinate_transformation_mode {half}, an output {size}")
    if ratio < 1:
        raise n.refuse("sampling_ratio 0: as many samples as a box is large, which is known when the program runs")
    count, (height, width) = boxes.shape[0], v.shape[2:]
    g.room(count, v.shape[1], *size, ratio, ratio)
    lengths, taps = (height, width), []
    for axis in range(2):
        y, outside = sampled(n, 1 - axis, size[axis], ratio, lengths[axis], half == "half_pixel")
        low = g.op("floor", y)
        share = g.op("sub", y, low)
        high = g.op("minimum", g.op("add", low, g.fill(1, v.dtype)), g.fill(lengths[axis] - 1, v.dtype))
        inside = g.op("where", outside, g.fill(0, v.dtype), g.fill(1, v.dtype))
        shape = [count, y.shape[1], 1] if axis == 0 else [count, 1, y.shape[1]]
        taps.append([(g.reshape(neighbour(g, place, lengths[axis]), shape), g.reshape(g.op("mul", w, inside), shape))
                     for place, w in ((low, g.op("sub", g.fill(1, v.dtype), share)), (high, share))])
    table, total = table_of(g, n.tensor(0)), None
    first = g.op("mul", g.reshape(n.tensor(2), [count, 1, 1]), g.fill(height * width, "i64"))
    for rows, wy in taps[0]:
        for columns, wx in taps[1]:
            index = g.op("add", g.op("add", g.op("mul", rows, g.fill(width, "i64")), columns), first)
            part = weighed(g, table, index, g.op("mul", wy, wx))
            total = part if total is None else g.op("add" if mode == "avg" else "maximum", total, part)
    t = g.reshape(total, [count, size[0], ratio, size[1], ratio, v.shape[1]])
    t = g.op("sum" if mode == "avg" else "max", t, axes=[2, 4])
    t = g.transpose(g.reshape(t, [count, *size, v.shape[1]]), [0, 3, 1, 2])
    return g.result(g.op("div", t, g.fill(ratio * ratio, v.dtype)) if mode == "avg" else t, v.dtype, v, boxes, image)


def sampled(n: Node, column: int, size: int, ratio: int, length: int, half: bool) -> tuple[Any, Any]:
    """Along an axis the places of all samples of each box, [boxes, size ratio], from 0 to the last element; and which are further
    than one outside, where nothing is."""
    g, dtype, count = n.g, n.value(0).dtype, n.value(1).shape[0]

    def edge(k: int) -> Any:
        t = g.reshape(g.op("slice", n.tensor(1), begin=[0, k], end=[count, k + 1]), [count, 1, 1])
        t = g.op("mul", t, g.fill(float(n.get("spatial_scale", 1.0)), dtype))
        return g.op("sub", t, g.fill(0.5, dtype)) if half else t

    start = edge(column)
    extent = g.op("sub", edge(column + 2), start)
    extent = extent if half else g.op("maximum", extent, g.fill(1, dtype))
    part = g.op("div", extent, g.fill(size, dtype))
    kind = np.float64 if dtype == "f64" else np.float32
    cell, inner = (g.tensor(g.constant(a.astype(kind))) for a in (np.arange(size).reshape(1, size, 1), np.arange(ratio).reshape(1, 1, ratio) + 0.5))
    y = g.op("add", g.op("add", start, g.op("mul", cell, part)), g.op("div", g.op("mul", inner, part), g.fill(ratio, dtype)))
    y = g.reshape(y, [count, size * ratio])
    outside = g.op("logical_or", g.op("lt", y, g.fill(-1, dtype)), g.op("gt", y, g.fill(length, dtype)))
    return g.op("minimum", g.op("maximum", y, g.fill(0, dtype)), g.fill(length - 1, dtype)), outside


@rules("RoiAlign")
def some_boxes(n: Node, handler: Handler) -> Sequence[Value | None]:
    """Boxes that are there, each with its image."""
    boxes, image = n.value(1), n.value(2)
    if holds(n.value(0)) or not (holds(boxes) and holds(image)) or some_of(boxes)[0] or some_of(boxes)[1] is not some_of(image)[1]:
        raise n.refuse("boxes and their images whose numbers their elements decide apart")
    mask(n, 2, 0)
    return along(handler(n), *some_of(boxes))


# ---- a convolution whose taps lie where offsets say ----

@handles("DeformConv")
def deform_conv(n: Node) -> Value:
    g, v, w, offset = n.g, n.value(0), n.value(1), n.value(2)
    if v.rank != 4 or w.rank != 4 or {x.dtype for x in n.inputs if x is not None} - {"f32", "f64"} or len({x.dtype for x in n.inputs if x}) > 1:
        raise n.refuse(f"an input {v.dtype}{list(v.shape)} and weights {w.dtype}{list(w.shape)}")
    window, groups, parts = Window(n, v.shape[2:], w.shape[2:]), int(n.get("group", 1)), int(n.get("offset_group", 1))
    (images, channels, *lengths), (features, own, *kernel) = v.shape, w.shape
    size = [(length + b + a - s) // t + 1 for length, b, a, s, t in zip(lengths, window.before, window.after, window.span, window.stride)]
    taps = math.prod(kernel)
    if groups < 1 or parts < 1 or own * groups != channels or features % groups or channels % parts or list(window.kernel) != kernel \
            or min([taps, *size, *v.shape]) < 1 or offset.shape != (images, parts * taps * 2, *size) \
            or n.has(4) and n.value(4).shape != (images, parts * taps, *size):
        raise n.refuse(f"weights {list(w.shape)}, offsets {list(offset.shape)}, group {groups}, offset_group {parts} of {list(v.shape)}")
    g.room(images, channels * taps, *size)
    moves = g.reshape(n.tensor(2), [images, parts, taps, 2, *size])
    at = []
    for axis in range(2):
        place = (np.arange(size[axis]) * window.stride[axis] - window.before[axis]).reshape([1, 1, 1, *([-1, 1] if axis == 0 else [1, -1])])
        tap = (np.arange(kernel[axis]) * window.dilation[axis]).reshape([-1, 1] if axis == 0 else [1, -1])
        fixed: Any = place + np.broadcast_to(tap, kernel).reshape(1, 1, taps, 1, 1)
        begin, end = [0] * 6, [*moves.shape]
        begin[3], end[3] = axis, axis + 1
        move = g.reshape(g.op("slice", moves, begin=begin, end=end), [images, parts, taps, *size])
        y = g.op("add", move, g.tensor(g.constant(fixed.astype(np.float64 if v.dtype == "f64" else np.float32))))
        at.append(g.op("minimum", g.op("maximum", y, g.fill(-4, v.dtype)), g.fill(lengths[axis] + 3, v.dtype)))
    rows = looked(g, table_of(g, n.tensor(0), parts), at, lengths)
    if n.has(4):
        rows = g.op("mul", rows, g.reshape(n.tensor(4), [rows.shape[0], 1]))
    area = math.prod(size)
    t = g.reshape(rows, [images, parts, taps, area, channels // parts])
    t = g.reshape(g.transpose(t, [0, 3, 1, 4, 2]), [images * area, groups, own * taps])
    kept = g.reshape(n.tensor(1), [groups, features // groups, own * taps])
    t = g.op("matmul", g.transpose(t, [1, 0, 2]), g.transpose(kept, [0, 2, 1]))  # [groups, places, features of a group]
    t = g.reshape(g.transpose(t, [1, 0, 2]), [images, area, features])
    t = g.op("add", t, n.tensor(3)) if n.has(3) else t
    t = g.reshape(g.transpose(t, [0, 2, 1]), [images, features, *size])
    return g.result(t, v.dtype, *[x for x in n.inputs if x is not None])


def looked(g: Graph, table: Any, at: Sequence[Any], lengths: Sequence[int]) -> Any:
    """Rows between the elements around each place [images, parts, ..]; outside of the image there is 0."""
    images, parts, *_ = at[0].shape
    first: Any = np.arange(g.room(images * parts)[0], dtype=np.int64).reshape(images, parts, 1, 1, 1) * math.prod(lengths)
    begin, dtype, total, taps = g.tensor(g.constant(first)), at[0].dtype, None, []
    for y, length in zip(at, lengths):
        low = g.op("floor", y)
        share = g.op("sub", y, low)
        found = []
        for place, w in ((low, g.op("sub", g.fill(1, dtype), share)), (g.op("add", low, g.fill(1, dtype)), share)):
            there = g.op("logical_and", g.op("ge", place, g.fill(0, dtype)), g.op("le", place, g.fill(length - 1, dtype)))
            found.append((neighbour(g, place, length), g.op("where", there, w, g.fill(0, dtype))))
        taps.append(found)
    for row, wy in taps[0]:
        for column, wx in taps[1]:
            index = g.op("add", g.op("add", g.op("mul", row, g.fill(lengths[1], "i64")), column), begin)
            part = weighed(g, table, index, g.op("mul", wy, wx))
            total = part if total is None else g.op("add", total, part)
    return total
