# SPDX-License-Identifier: Apache-2.0
"""ONNX's operators whose products are of 8-bit integers, and onnxruntime's LSTM of them. Sums are made in binary64, where
they are exact; what is scaled is rounded to nearest, ties to even, before the zero point is added, as the standard's text has it."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arithmetic import centred, exact_in_f32, product
from .graph import CARRIERS, Graph, Node, Value, handles
from .layers import LIMITS, Layer, an_image, convolve_bytes, from_image, recurrent_layers
from .shapes import cut

MICROSOFT = "com.microsoft"  # onnxruntime's own domain, which its tool for dynamic quantisation writes


def beside(n: Node, i: int, rank: int, axis: int) -> Any:
    """A scale: one number, or one for each along an axis that is counted from the end."""
    g, t = n.g, n.tensor(i)
    if t.shape and len(t.shape) == 1 and rank > 1:
        return g.reshape(t, [t.shape[0] if k == rank + axis else 1 for k in range(rank)])
    return t


def scaled(n: Node, sums: Any, places: tuple[int, int, int], axes: tuple[int, int], rank: int) -> Value:
    """Exact sums by the scales of both factors over the result's, in the type of the result's zero point."""
    g, zero = n.g, n.value(places[2] + 1)
    dtype = n.value(places[0]).dtype
    if zero.dtype not in ("u8", "i8") or dtype not in ("f32", "f16") or any(n.value(p).dtype != dtype for p in places):
        raise n.refuse(f"scales of {dtype} and a result of {zero.dtype}")
    if n.value(places[2]).size != 1 or zero.size != 1:
        raise n.refuse("a result of several scales or zero points")
    first, second = (beside(n, p, rank, a) for p, a in zip(places, axes))
    share = g.narrow(g.op("mul", first, second), dtype)
    share = g.narrow(g.op("div", share, g.reshape(n.tensor(places[2]), [])), dtype)
    low, high = LIMITS[zero.dtype]
    y = g.op("round", g.op("mul", sums, g.cast(share, "f64")))
    y = g.op("add", y, g.cast(g.reshape(n.tensor(places[2] + 1), []), "f64"))
    y = g.op("minimum", g.op("maximum", y, g.fill(low, "f64")), g.fill(high, "f64"))
    return g.made(g.cast(y, CARRIERS[zero.dtype]), zero.dtype, *[v for v in n.inputs if v is not None])


def bytes_of(n: Node, *places: int) -> None:
    for i in places:
        if n.value(i).dtype not in ("u8", "i8"):
            raise n.refuse(f"elements of type {n.value(i).dtype}")


@handles("QLinearMatMul")
def qlinear_matmul(n: Node) -> Value:
    bytes_of(n, 0, 2, 3, 5)
    a, b = centred(n, 0, 2, -2), centred(n, 3, 5, -1)
    sums = product(n.g, a, b)
    if min(len(a.shape), len(b.shape)) < 2 and any(n.value(i).size > 1 for i in (1, 4)):
        raise n.refuse("scales of a vector's rows")
    return scaled(n, sums, (1, 4, 6), (-2, -1), len(sums.shape))


@handles("QLinearConv")
def qlinear_conv(n: Node) -> Value:
    g, v = n.g, n.value(0)
    bytes_of(n, 0, 2, 3, 5)
    if v.rank not in (3, 4) or n.value(1).size != 1 or n.value(2).size != 1:
        raise n.refuse(f"{v.rank} axes, or an image of several scales")
    y = g.cast(convolve_bytes(n, (0, 3), (2, 5)), "f64")
    if n.has(8):
        y = g.op("add", y, g.cast(n.tensor(8), "f64"))
    return an_image(scaled(n, from_image(g, y, v.rank), (1, 4, 6), (0, 1 - v.rank), v.rank))


# ---- onnxruntime's LSTM, whose operands are quantised as they come ----

def quantised(g: Graph, x: Any) -> tuple[Any, Any]:
    """DynamicQuantizeLinear of binary32: what is left of the zero point, in binary32, and the scale []."""
    op, none = g.op, g.fill(0, "f32")
    axes = list(range(len(x.shape)))
    low = op("minimum", g.reshape(op("min", x, axes=axes), []), none)
    high = op("maximum", g.reshape(op("max", x, axes=axes), []), none)
    scale = op("div", op("sub", high, low), g.fill(255, "f32"))
    scale = op("where", op("eq", high, low), g.fill(1, "f32"), scale)
    zero = op("round", op("minimum", op("maximum", op("div", op("neg", low), scale), none), g.fill(255, "f32")))
    q = op("add", op("round", op("div", x, scale)), zero)
    q = op("minimum", op("maximum", q, none), g.fill(255, "f32"))
    return op("sub", q, zero), scale


class QuantisedLayer(Layer):
    """One direction. The whole sequence is quantised at once for the product with W, and h at each step for that with R."""

    def matrices(self, side: int) -> tuple[Any, Any]:
        self.scales: list[Any] = []
        return self.matrix(side, 1, 8), self.matrix(side, 2, 10)

    def matrix(self, side: int, i: int, scale: int) -> Any:
        n, g = self.n, self.g
        w, rows = n.value(i), 4 * self.hidden
        bytes_of(n, i, scale + 1)
        if n.value(scale).dtype != "f32" or w.rank != 3 or w.shape[2] != rows or i == 2 and w.shape[1] != self.hidden:
            raise n.refuse(f"weights {list(w.shape)} of {self.hidden} units, or a scale of {n.value(scale).dtype}")
        for k in (scale, scale + 1):
            if n.value(k).shape not in ((w.shape[0],), (w.shape[0], rows)):
                raise n.refuse(f"scales or zero points {list(n.value(k).shape)} of weights {list(w.shape)}")
        self.scales.append(self.pick(n.tensor(scale), side))
        zero = n.value(scale + 1)
        if w.known is not None and zero.known is not None and not (w.trained or zero.trained):
            known = np.asarray(w.known[side], np.float64) - np.asarray(zero.known[side], np.float64)
            if not exact_in_f32(known, 0):
                return g.tensor(g.constant(known))
            t = g.tensor(g.constant(known.astype(np.float32)))
            return g.cast(t, "bf16") if i == 2 else t  # which has all of a byte's bits: each step reads half as much for one row
        return g.op("sub", g.cast(self.pick(n.tensor(i), side), "f64"), g.cast(self.pick(n.tensor(scale + 1), side), "f64"))

    def times(self, x: Any, which: int) -> Any:
        g, (q, scale) = self.g, quantised(self.g, x)
        flat, matrix = g.reshape(q, [math.prod(q.shape[:-1]), q.shape[-1]]), (self.w, self.r)[which]
        sums = g.cast(g.op("matmul", g.cast(flat, "f64" if matrix.dtype == "f64" else "f32"), matrix), "f32")
        y = g.op("mul", sums, g.op("mul", self.scales[which], scale))
        return g.reshape(y, [*q.shape[:-1], y.shape[-1]])

    def multiplied(self, x: Any) -> Any:
        return self.times(x, 0)

    def recurred(self) -> Any:
        return self.times(self.h, 1)


@handles(f"{MICROSOFT}.DynamicQuantizeLSTM")
def dynamic_quantize_lstm(n: Node) -> Sequence[Value | None]:
    """Of one row in a batch: of more, onnxruntime quantises together what one of its threads has."""
    v = n.value(0)
    if v.rank != 3 or v.dtype != "f32" or v.shape[1] != 1:
        raise n.refuse(f"an input {v.dtype}{list(v.shape)}, expected a batch of 1: of more, values depend on onnxruntime's threads")
    if n.get("layout", 0):
        raise n.refuse("layout")
    return recurrent_layers(n, "LSTM", n.value(2).shape[1], QuantisedLayer)
