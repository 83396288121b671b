# SPDX-License-Identifier: Apache-2.0
"""ONNX's Fourier transforms, in binary64, as those of the other doors; weights of mels; and Col2Im."""
from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import NUMPY, ONNX, Graph, Node, Unsupported, Value, handles
from .shapes import cut
from ..shared import fourier


class Lines:
    """What the transforms of all doors ask of a lowering."""

    def __init__(self, n: Node) -> None:
        self.node, self.op, self.fill, self.reshape, self.slice = n, n.g.op, n.g.fill, n.g.reshape, n.g.slice

    def constant(self, array: Any) -> Any:
        return self.node.g.tensor(self.node.g.constant(array))

    def refuse(self, what: str, remedy: str) -> Unsupported:
        return self.node.refuse(f"{what}; {remedy}")


def fitted(g: Graph, t: Any, length: int) -> Any:
    """The last axis cut, or with zeros behind."""
    have = t.shape[-1]
    if have > length:
        return cut(g, t, len(t.shape) - 1, 0, length)
    after = [0] * (len(t.shape) - 1) + [length - have]
    return g.op("pad", t, before=[0] * len(t.shape), after=after) if have < length else t


def transformed(n: Node, re: Any, im: Any, kept: int) -> list[Any]:
    """Of [.., length] the first `kept` frequencies; im may be None."""
    g = Lines(n)
    found = fourier.transformed(g, fourier.rows_of(g, re), None if im is None else fourier.rows_of(g, im))
    return [fourier.first(g, g.reshape(t, re.shape), kept) for t in found]


def returned_real(n: Node, re: Any, im: Any, length: int) -> Any:
    """Of the frequencies [.., length / 2 + 1] of real numbers these; the others are their mirror."""
    g = Lines(n)
    found = fourier.returned(g, fourier.rows_of(g, re), fourier.rows_of(g, im), length)
    return g.op("mul", g.reshape(found, [*re.shape[:-1], length]), g.fill(1 / length, "f64"))


@handles("DFT")
def dft(n: Node) -> Value:
    g, v = n.g, n.value(0)
    back, half, rank = bool(n.get("inverse", 0)), bool(n.get("onesided", 0)), v.rank
    if rank < 3 or v.dtype not in ("f32", "f64") or v.shape[-1] not in (1, 2) or not v.size:
        raise n.refuse(f"an input {v.dtype}{list(v.shape)}")
    axis = (n.integers(2, "axis") or [-2])[0] if n.version >= 20 else int(n.get("axis", 1))
    if not -rank <= axis < rank or axis % rank == rank - 1:
        raise n.refuse(f"axis {axis} of {rank}")
    axis %= rank
    complex_, count = v.shape[-1] == 2, v.shape[axis]
    length = (n.integers(1, "dft_length") or [2 * (count - 1) if back and half else count])[0]
    if length < 1 or half and not back and complex_ or back and not complex_:
        raise n.refuse(f"dft_length {length}, or {'inverse' if back else 'onesided'} of {'complex' if complex_ else 'real'} numbers")
    if back and (not half or count != length // 2 + 1):  # where both differ: onnxruntime, and the tests' binary32, from exact sums
        raise n.refuse(f"inverse of {'both sides' if not half else f'{count} frequencies for {length} numbers'}")
    if length > count:  # zeros behind each line
        g.room(length, length)
    order = [i for i in range(rank - 1) if i != axis] + [axis, rank - 1]
    t = g.transpose(g.cast(n.tensor(0), "f64"), order)
    re, im = (fitted(g, g.reshape(cut(g, t, rank - 1, k, 1), t.shape[:-1]), count if back else length) if k < v.shape[-1] else None
              for k in (0, 1))
    parts = [returned_real(n, re, im, length)] if back else transformed(n, re, im, length // 2 + 1 if half else length)
    parts = [g.reshape(p, [*p.shape, 1]) for p in parts]
    y = g.op("concat", *parts, axis=rank - 1) if len(parts) > 1 else parts[0]
    y = g.transpose(g.cast(y, n.tensor(0).dtype), [order.index(i) for i in range(rank)])
    return g.result(y, v.dtype, v)


@handles("STFT")
def stft(n: Node) -> Value:
    g, v, step = n.g, n.value(0), (n.integers(1, "frame_step") or [0])[0]
    if v.rank not in (2, 3) or v.dtype not in ("f32", "f64") or v.rank == 3 and v.shape[2] != 1 or not v.size:
        raise n.refuse(f"a signal {v.dtype}{list(v.shape)}, expected real numbers")
    length = n.g.integers(n.value(3))[0] if n.has(3) else n.value(2).shape[0] if n.has(2) else v.shape[1]
    if not 1 <= length <= v.shape[1] or step < 1 or n.has(2) and n.value(2).shape != (length,):
        raise n.refuse(f"frames of {length} every {step} of {v.shape[1]} samples, or a window of another length")
    count = (v.shape[1] - length) // step + 1
    g.room(count, length)
    t = fourier.frames(Lines(n), g.reshape(g.cast(n.tensor(0), "f64"), [v.shape[0], v.shape[1]]), length, step, count)
    t = g.op("mul", t, g.cast(n.tensor(2), "f64")) if n.has(2) else t
    parts = transformed(n, t, None, length // 2 + 1 if n.get("onesided", 1) else length)
    y = g.op("concat", *(g.reshape(p, [*p.shape, 1]) for p in parts), axis=3)
    return g.result(g.cast(y, n.tensor(0).dtype), v.dtype, v)


@handles("MelWeightMatrix")
def mel_weight_matrix(n: Node) -> Value:
    """Triangles over the bins of a spectrum, whose corners are as far apart on the scale of mels: numbers that are known, by functions
    that have the same bits on every host."""
    g, r = n.g, importlib.import_module("reprise")
    known = [g.known(n.value(i)).reshape(-1) for i in range(5)]
    if any(a.size != 1 for a in known):
        raise n.refuse("several numbers where there is one")
    bins, length, rate = (int(a[0]) for a in known[:3])
    low, high = (float(a[0]) for a in known[3:])
    if bins < 1 or length < 1 or rate < 1 or not 0 <= low <= high <= rate / 2:
        raise n.refuse(f"{bins} bins of {length} samples at {rate} Hz, from {low} to {high}")
    table = np.zeros(g.room(length // 2 + 1, bins))
    g.room(bins + 2)
    ends = 2595 / math.log(10) * np.array(r.ops.log1p(r.Tensor(np.array([low / 700, high / 700]))).numpy())
    mels = np.arange(bins + 2) * ((ends[1] - ends[0]) / (bins + 2)) + ends[0]
    hertz = 700 * np.array(r.ops.expm1(r.Tensor(mels * (math.log(10) / 2595))).numpy())
    corners = np.floor((length + 1) * hertz / rate).astype(np.int64)
    for i, (left, middle, right) in enumerate(zip(corners, corners[1:], corners[2:])):
        table[left:middle + 1, i] = np.arange(middle + 1 - left) / (middle - left) if middle > left else 1
        if right > middle:
            table[middle:right, i] = np.arange(right - middle, 0, -1) / (right - middle)
    dtype = ONNX.get(str(n.get("output_datatype_name", "FLOAT")), "")
    if dtype not in NUMPY:
        raise n.refuse(f"elements of type {n.get('output_datatype_name')}")
    return g.constant(table.astype(NUMPY[dtype]))


@handles("Col2Im")
def col2im(n: Node) -> Value:
    """Sums of the blocks where they overlap: the gradient of a convolution that takes each element of a block apart."""
    g, v = n.g, n.value(0)
    size, block = g.integers(n.value(1)), g.integers(n.value(2))
    axes, taps = len(size), math.prod(block)
    if axes not in (1, 2) or len(block) != axes or v.rank != 3 or v.dtype not in ("f32", "f64") or taps < 1 or v.shape[1] % taps:
        raise n.refuse(f"columns {v.dtype}{list(v.shape)} of blocks {block} and an image {size}")
    channels = v.shape[1] // taps
    g.room(taps, v.shape[1])
    lists = {k: listed(n, k, m, one) for k, m, one in (("strides", axes, 1), ("dilations", axes, 1), ("pads", 2 * axes, 0))}
    stride, dilation, pads = lists["strides"], lists["dilations"], lists["pads"]
    if min(stride + dilation + size + block) < 1 or min(pads) < 0:
        raise n.refuse(f"strides {stride}, dilations {dilation}, pads {pads}")
    counts = [(s + pads[i] + pads[axes + i] - (b - 1) * d - 1) // k + 1 for i, (s, b, d, k) in enumerate(zip(size, block, dilation, stride))]
    if min(counts) < 1 or math.prod(counts) != v.shape[2]:
        raise n.refuse(f"{v.shape[2]} blocks, expected {counts}")
    one = [1] * (2 - axes)
    each = np.tile(np.eye(taps, dtype=np.float32).reshape(*one, *block, 1, taps), (1, 1, 1, channels))
    rows = g.transpose(g.reshape(n.tensor(0), [v.shape[0], v.shape[1], *one, *counts]), [0, 2, 3, 1])
    zeros = [0] * (2 - axes)
    y = g.op("conv2d_grad_input", rows, g.cast(g.tensor(g.constant(each)), n.tensor(0).dtype), groups=channels, size=one + size,
             stride=one + stride, dilation=one + dilation, padding=[*zeros, *pads[:axes], *zeros, *pads[axes:]])
    return g.result(g.reshape(g.transpose(y, [0, 3, 1, 2]), [v.shape[0], channels, *size]), v.dtype, v)


def listed(n: Node, name: str, length: int, default: int) -> list[int]:
    found: Sequence[Any] = n.get(name, [default] * length)
    if len(found) != length:
        raise n.refuse(f"{name} {list(found)[:8]}, expected {length}")
    return [int(k) for k in found]
