# SPDX-License-Identifier: Apache-2.0
"""ONNX's Resize and Upsample. Where the operation `resize` has the same places it is used; other forms (crops, weights
without what is outside, antialiasing) are a product with the weights of each axis, which follow from lengths and scales by
additions, products and quotients alone, so they are the same on every host."""
from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .graph import Graph, Node, Value, handles

MODES = {"nearest": 0, "linear": 1, "cubic": 2}
PLACES = {"half_pixel": 0, "align_corners": 1, "asymmetric": 2}


@handles("Resize", "Upsample")
def resize(n: Node) -> Value:
    g, v = n.g, n.value(0)
    mode = str(n.get("mode", "nearest")).replace("bilinear", "linear")
    if mode not in MODES or not v.real:
        raise n.refuse(f"mode {mode}, or elements of {v.dtype}")
    form = Form(n, v, mode)
    t = n.tensor(0)
    moved = [axis for axis in range(v.rank) if form.size[axis] != v.shape[axis] or form.scale[axis] != 1 or
             form.where == "tf_crop_and_resize"]
    if v.image and not form.crop and set(moved) <= {2, 3}:  # its places are moved with all their channels
        t = g.transpose(t, [0, 2, 3, 1])
        for axis in moved:
            t = form.axis(g, t, axis, axis - 1)
        return g.result(g.transpose(t, [0, 3, 1, 2]), v.dtype, v)
    for axis in moved:
        t = form.axis(g, t, axis, axis)
    return g.result(t, v.dtype, v)


class Form:
    """Lengths, scales and places of a Resize."""

    def __init__(self, n: Node, v: Value, mode: str) -> None:
        self.n, self.mode, self.length, rank = n, mode, v.shape, v.rank
        old = n.kind == "Upsample" or n.version < 11
        self.where = "asymmetric" if old else str(n.get("coordinate_transformation_mode", "half_pixel"))
        self.rounding = "simple" if old else str(n.get("nearest_mode", "round_prefer_floor"))
        axes = [int(a) % rank for a in n.get("axes", range(rank))]
        at = 1 if old else 2
        self.size, self.scale = list(v.shape), [1.0] * rank
        if n.has(at) and n.value(at).size or "scales" in n.attributes:
            scales: Any = n.attributes["scales"] if "scales" in n.attributes else n.g.known(n.value(at)).reshape(-1)
            for a, s in zip(axes, scales):
                self.scale[a] = float(s)
                self.size[a] = int(math.floor(v.shape[a] * float(s)))
        else:
            sizes = n.g.integers(n.value(3))
            policy = str(n.get("keep_aspect_ratio_policy", "stretch"))
            ratios = [s / v.shape[a] for a, s in zip(axes, sizes)]
            if policy != "stretch":
                one = min(ratios) if policy == "not_larger" else max(ratios)
                ratios = [one] * len(axes)
                sizes = [math.floor(one * v.shape[a] + 0.5) for a in axes]
            for a, s, r in zip(axes, sizes, ratios):
                self.size[a], self.scale[a] = s, r
        crop = [float(x) for x in n.g.known(n.value(1)).reshape(-1)] if self.where == "tf_crop_and_resize" else []
        self.crop = {a: (crop[i], crop[i + len(axes)]) for i, a in enumerate(axes)} if crop else {}
        self.antialias = bool(n.get("antialias", 0))
        self.outside = not n.get("exclude_outside", 0)
        self.a = float(n.get("cubic_coeff_a", -0.75))

    def axis(self, g: Graph, t: Any, axis: int, at: int) -> Any:
        """An axis, which is axis `at` of t."""
        length, size = self.length[axis], self.size[axis]
        exact = Fraction(self.scale[axis]) == Fraction(size, length) or self.scale[axis] == size / length
        plain = self.where in PLACES and self.outside and not self.antialias and exact and self.a == -0.75
        if self.mode != "nearest" and plain:
            return g.op("resize", t, axis=at, size=size, mode=MODES[self.mode], coordinates=PLACES[self.where], rounding=0)
        g.room(size, 1 if self.mode == "nearest" else length)
        places = [self.place(axis, i) for i in range(size)]
        if self.mode == "nearest":
            index = np.array([min(max(self.nearest(p, self.scale[axis]), 0), length - 1) for p in places], np.int64)
            t = g.op("gather", t, g.tensor(g.constant(index)), axis=at)
            inside = np.array([0 <= p <= length - 1 for p in places])
            return self.extrapolated(g, t, axis, inside) if self.crop else t
        w = np.array([self.weights(p, axis) for p in places], np.float64)
        order = [i for i in range(len(t.shape)) if i != at] + [at]
        turned = g.transpose(t, order)
        flat = g.reshape(turned, [math.prod(turned.shape[:-1]), length])
        data = g.cast(g.tensor(g.constant(np.ascontiguousarray(w.T).astype(np.float32 if t.dtype == "f32" else np.float64))),
                      t.dtype)
        y = g.reshape(g.op("matmul", flat, data), [*turned.shape[:-1], size])
        y = g.transpose(y, [order.index(i) for i in range(len(order))])
        inside = np.array([0 <= p <= length - 1 for p in places])
        return self.extrapolated(g, y, axis, inside) if self.crop else y

    def extrapolated(self, g: Graph, t: Any, axis: int, inside: Any) -> Any:
        if inside.all():
            return t
        mask = g.tensor(g.constant(inside.reshape([-1 if i == axis else 1 for i in range(len(t.shape))])))
        return g.op("where", mask, t, g.fill(float(self.n.get("extrapolation_value", 0.0)), t.dtype))

    def place(self, axis: int, i: int) -> float:
        length, size, scale = self.length[axis], self.size[axis], self.scale[axis]
        if self.where == "align_corners":
            resized = size if scale == size / length else length * scale  # the length before it was made whole
            return 0.0 if resized == 1 else i * (length - 1) / (resized - 1)
        if self.where == "asymmetric":
            return i / scale
        if self.where == "tf_crop_and_resize":
            start, end = self.crop.get(axis, (0.0, 1.0))
            if size == 1:
                return 0.5 * (start + end) * (length - 1)
            return start * (length - 1) + i * (end - start) * (length - 1) / (size - 1)
        if self.where == "pytorch_half_pixel" and size == 1:
            return -0.5
        if self.where == "half_pixel_symmetric":
            centre, adjusted = length / 2, size / (length * scale)
            return centre * (1 - adjusted) + (i + 0.5) / scale - 0.5
        if self.where == "tf_half_pixel_for_nn":  # of opsets 11 and 12, still written by the converter from TensorFlow
            return (i + 0.5) / scale
        if self.where not in ("half_pixel", "pytorch_half_pixel"):
            raise self.n.refuse(f"coordinate_transformation_mode {self.where}")
        return (i + 0.5) / scale - 0.5

    def nearest(self, p: float, scale: float) -> int:
        low = math.floor(p)
        if self.rounding == "simple":  # of opset 10 and before: up where the image is made smaller
            return math.ceil(p) if scale < 1 else low
        if self.rounding == "floor":
            return low
        if self.rounding == "ceil":
            return math.ceil(p)
        tie = self.rounding == "round_prefer_ceil"
        return low + (p - low > 0.5 or (p - low == 0.5 and tie))

    def kernel(self, d: float) -> float:
        d = abs(d)
        if self.mode == "linear":
            return max(0.0, 1 - d)
        a = self.a
        if d <= 1:
            return ((a + 2) * d - (a + 3)) * d * d + 1
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0

    def weights(self, p: float, axis: int) -> Sequence[float]:
        """What each element along the axis weighs at a place."""
        length, scale = self.length[axis], self.scale[axis]
        shrink = min(scale, 1.0) if self.antialias else 1.0
        reach = (1 if self.mode == "linear" else 2) / shrink
        found = [0.0] * length
        first, last = math.floor(p - reach) + 1, math.ceil(p + reach) - 1
        taps = {k: self.kernel((k - p) * shrink) for k in range(first, last + 1)}
        if not self.outside:
            taps = {k: w for k, w in taps.items() if 0 <= k < length}
        total = 0.0
        for w in taps.values():  # Python's own sum has other bits from 3.12 on
            total += w
        for k, w in taps.items():
            found[min(max(k, 0), length - 1)] += w / total
        return found
