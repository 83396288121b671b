# SPDX-License-Identifier: Apache-2.0
"""ONNX's GridSample: an image, or a volume, looked at where a grid says. The image is a table of its places' channels, from
which each neighbour of a looked-at place is gathered; weights follow from the grid, so both have gradients."""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph, Node, Value, handles

MODES = {"bilinear": "linear", "linear": "linear", "bicubic": "cubic", "cubic": "cubic", "nearest": "nearest"}
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75


@handles("GridSample")
def grid_sample(n: Node) -> Value:
    g, v, w = n.g, n.value(0), n.value(1)
    axes, mode, padding = v.rank - 2, MODES.get(str(n.get("mode", "bilinear"))), str(n.get("padding_mode", "zeros"))
    aligned = n.get("align_corners", 0)
    if axes not in (2, 3) or w.rank != v.rank or w.shape[-1] != axes or w.shape[0] != v.shape[0]:
        raise n.refuse(f"an input {list(v.shape)} and a grid {list(w.shape)}")
    if mode is None or padding not in PADDINGS or aligned not in (0, 1) or mode == "cubic" and axes == 3:
        raise n.refuse(f"mode {n.get('mode')}, padding_mode {padding}, align_corners {aligned} of {axes} axes")
    if mode == "cubic" and padding == "border":
        raise n.refuse("mode cubic with padding_mode border: readers of the standard differ on what is outside")
    if {v.dtype, w.dtype} - {"f32", "f64"} or not v.size or not w.size:
        raise n.refuse(f"elements of {v.dtype} and {w.dtype}, or none")
    found = Grid(g, v, n.tensor(1), padding, bool(aligned)).looked(n.tensor(0), mode)
    return g.result(found, v.dtype, v, w)


class Grid:
    def __init__(self, g: Graph, v: Value, grid: Any, padding: str, aligned: bool) -> None:
        self.g, self.padding, self.aligned, self.dtype = g, padding, aligned, grid.dtype
        self.batch, self.channels, self.lengths = v.shape[0], v.shape[1], v.shape[2:]
        self.out = tuple(grid.shape[1:-1])
        flat = g.reshape(grid, [self.batch, math.prod(self.out), len(self.lengths)])
        count = len(self.lengths)  # the grid names the last axis first
        self.at = [self.place(g.reshape(g.op("slice", flat, begin=[0, 0, count - 1 - k], end=[*flat.shape[:2], count - k]),
                                        flat.shape[:2]), length) for k, length in enumerate(self.lengths)]

    def c(self, value: float) -> Any:
        return self.g.fill(value, self.dtype)

    def place(self, x: Any, length: int) -> Any:
        """The grid's -1 to 1 as a place among the axis' elements."""
        op, ahead = self.g.op, self.g.op("add", x, self.c(1))
        if self.aligned:
            return op("mul", op("div", ahead, self.c(2)), self.c(length - 1))
        return op("div", op("sub", op("mul", ahead, self.c(length)), self.c(1)), self.c(2))

    def clamped(self, x: Any, low: float, high: float) -> Any:
        return self.g.op("minimum", self.g.op("maximum", x, self.c(low)), self.c(high))

    def inside(self, x: Any, length: int) -> Any:
        """A place outside of the axis as its padding has it; places are not far from it after that."""
        op, least, most = self.g.op, (0.0 if self.aligned else -0.5), length - (1.0 if self.aligned else 0.5)
        if self.padding == "zeros":
            return self.clamped(x, -4, length + 3)  # beyond no mode reaches what is there
        if self.padding == "border":
            return self.clamped(x, 0, length - 1)
        if most == least:  # one element between its own edges
            return op("mul", x, self.c(0))
        beyond = op("logical_or", op("lt", x, self.c(least)), op("gt", x, self.c(most)))
        away = op("abs", op("sub", x, self.c(least)))
        turns = op("floor", op("div", away, self.c(most - least)))
        rest = op("sub", away, op("mul", turns, self.c(most - least)))
        even = op("eq", op("remainder", turns, self.c(2)), self.c(0))
        back = op("where", even, op("add", rest, self.c(least)), op("sub", self.c(most), rest))
        return self.clamped(op("where", beyond, back, x), least, most)

    def looked(self, image: Any, mode: str) -> Any:
        g, op = self.g, self.g.op
        space = math.prod(self.lengths)
        table = g.transpose(g.reshape(image, [self.batch, self.channels, space]), [0, 2, 1])
        table = g.reshape(table, [self.batch * space, self.channels])
        lines: Any = np.arange(g.room(self.batch)[0], dtype=np.int64)[:, None] * space
        first = g.tensor(g.constant(lines))
        at = [op("round", x) if mode == "nearest" else x for x in self.at]
        at = [self.inside(x, length) for x, length in zip(at, self.lengths)]
        taps = [self.taps(x, mode) for x in at]
        total: Any = None
        for chosen in itertools.product(*taps):
            index: Any = None
            weight: Any = None
            there: Any = None
            for (place, share), length in zip(chosen, self.lengths):
                own, within = self.element(place, length)
                index = own if index is None else op("add", op("mul", index, g.fill(length, "i64")), own)
                weight = share if weight is None or share is None else op("mul", weight, share)
                there = within if there is None or within is None else op("logical_and", there, within)
            taken = op("gather", table, g.reshape(op("add", index, first), [math.prod(index.shape)]), axis=0)
            shape = [*index.shape, 1]
            if there is not None:
                taken = op("where", g.broadcast(g.reshape(there, [math.prod(shape), 1]), taken.shape), taken, g.fill(0, image.dtype))
            if weight is not None:
                taken = op("mul", taken, g.cast(g.reshape(weight, [math.prod(shape), 1]), image.dtype))
            total = taken if total is None else op("add", total, taken)
        total = g.reshape(total, [self.batch, *self.out, self.channels])
        return g.transpose(total, [0, len(self.out) + 1, *range(1, len(self.out) + 1)])

    def taps(self, x: Any, mode: str) -> Sequence[tuple[Any, Any]]:
        """Neighbours of a place along an axis, as floats, and what each weighs; None is 1."""
        op, c = self.g.op, self.c
        if mode == "nearest":
            return [(op("round", x), None)]
        low = op("floor", x)
        t = op("sub", x, low)
        rest = op("sub", c(1), t)
        if mode == "linear":
            return [(low, rest), (op("add", low, c(1)), t)]

        def far(d: Any) -> Any:
            return op("sub", op("mul", op("add", op("mul", op("sub", op("mul", c(CUBIC), d), c(5 * CUBIC)), d), c(8 * CUBIC)), d),
                      c(4 * CUBIC))

        def near(d: Any) -> Any:
            return op("add", op("mul", op("mul", op("sub", op("mul", c(CUBIC + 2), d), c(CUBIC + 3)), d), d), c(1))

        weights = [far(op("add", t, c(1))), near(t), near(rest), far(op("add", rest, c(1)))]
        return [(op("add", low, c(k - 1)), w) for k, w in enumerate(weights)]

    def element(self, place: Any, length: int) -> tuple[Any, Any]:
        """A neighbour's number, and whether there is one, None for always."""
        g, op, within = self.g, self.g.op, None
        if self.padding == "zeros":
            within = op("logical_and", op("ge", place, self.c(0)), op("le", place, self.c(length - 1)))
        elif self.padding == "reflection":
            place = self.inside(place, length)
        number = g.cast(place, "i64")  # of NaN any, which is then kept within the axis
        return op("minimum", op("maximum", number, g.fill(0, "i64")), g.fill(length - 1, "i64")), within
