# SPDX-License-Identifier: Apache-2.0
"""ONNX's MaxPool with the places of the greatest elements, and MaxUnpool, which puts elements there."""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph, Node, Value, handles
from .layers import Window


def windows(g: Graph, window: Window, lengths: Sequence[int], size: Sequence[int]) -> Any:
    """Row-major places of each window's elements [windows, elements]; where there is padding the window's first element again, so that
    a greatest one is never padding; -1 of a window that is all padding."""
    g.room(*size, *window.kernel)
    found: Any = np.zeros([1] * (2 * len(size)), np.int64)
    outside: Any = np.zeros([1] * (2 * len(size)), bool)
    for a, length in enumerate(lengths):
        at: Any = np.arange(size[a])[:, None] * window.stride[a] - window.before[a] + np.arange(window.kernel[a]) * window.dilation[a]
        shape = [1] * (2 * len(size))
        shape[a], shape[a + len(size)] = at.shape
        at = at.reshape(shape)
        found = found * length + at
        outside = outside | (at < 0) | (at >= length)
    found, outside = (a.reshape(math.prod(size), math.prod(window.kernel)) for a in np.broadcast_arrays(found, outside))
    first = np.take_along_axis(found, outside.argmin(1)[:, None], 1)
    return np.where(outside.all(1)[:, None], -1, np.where(outside, first, found))


def places(n: Node, window: Window, size: Sequence[int]) -> Value:
    """Of each window the place of its greatest element, the first of equal ones, among those of the whole input."""
    g, v, lengths = n.g, n.value(0), n.value(0).shape[2:]
    order = n.get("storage_order", 0)
    if order not in (0, 1) or order and len(lengths) != 2 or not v.size:
        raise n.refuse(f"Indices of storage_order {order} of {len(lengths)} axes")
    at, planes, area = windows(g, window, lengths, size), v.shape[0] * v.shape[1], math.prod(lengths)
    if (at < 0).all(1).any():
        raise n.refuse("Indices of a window that is all padding")
    t = g.reshape(n.tensor(0), [planes, area])
    t = g.op("gather", t, g.tensor(g.constant(at.reshape(-1))), axis=1)
    t = g.reshape(t, [planes, *at.shape])
    best = g.reshape(g.cast(g.op("argmax", t, axis=2), "i64"), [planes, at.shape[0], 1])
    if order:  # by columns
        at = at % lengths[1] * lengths[0] + at // lengths[1]
    listed = g.broadcast(g.reshape(g.tensor(g.constant(at)), [1, *at.shape]), [planes, *at.shape])
    found = g.reshape(g.op("take_along", listed, best, axis=2), [planes, at.shape[0]])
    first: Any = np.arange(g.room(planes)[0], dtype=np.int64)[:, None] * area
    return g.made(g.reshape(g.op("add", found, g.tensor(g.constant(first))), [*v.shape[:2], *size]), "i64", v)


@handles("MaxUnpool")
def max_unpool(n: Node) -> Value:
    g, v, index = n.g, n.value(0), n.value(1)
    kernel = [int(k) for k in n.get("kernel_shape", [])]
    axes = v.rank - 2
    stride, pads = ([int(k) for k in n.get(name, default)] for name, default in (("strides", [1] * axes), ("pads", [0] * 2 * axes)))
    if axes < 1 or index.shape != v.shape or index.dtype != "i64" or [len(kernel), len(stride), len(pads)] != [axes, axes, 2 * axes] or not v.size:
        raise n.refuse(f"indices {list(index.shape)} of {list(v.shape)}, a kernel {kernel}")
    shape = [*v.shape[:2], *((d - 1) * s - b - a + k for d, s, b, a, k in zip(v.shape[2:], stride, pads, pads[axes:], kernel))]
    if min(shape) < 1:
        raise n.refuse(f"an output {shape}")
    g.room(*shape)
    t = g.op("scatter_along", g.fill(0, v.dtype, [math.prod(shape)]), g.reshape(n.tensor(1), [v.size]), g.reshape(n.tensor(0), [v.size]),
             axis=0, mode=0)
    t = g.reshape(t, shape)
    wanted = g.integers(n.value(2)) if n.has(2) else shape
    if len(wanted) != len(shape) or any(a < b for a, b in itertools.zip_longest(wanted, shape, fillvalue=0)):
        raise n.refuse(f"an output_shape {wanted} smaller than {shape}")
    g.room(*wanted)
    if wanted != shape:
        t = g.op("pad", t, before=[0] * len(shape), after=[a - b for a, b in zip(wanted, shape)])
    return g.made(t, v.dtype, v, index)
