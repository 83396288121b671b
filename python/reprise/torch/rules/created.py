# SPDX-License-Identifier: Apache-2.0
"""Rules for tensors that are made of numbers: filled ones, ranges, grids, identities, indices of triangles."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import number, room
from .shapes import corner
from ..graph import NUMPY, Node
from ..lower import Lowering, Value, lowers

Tensor = Any


@lowers("aten.full.default", "aten.full_like.default", "aten.fill.Scalar", "aten.fill.Tensor")
def full(g: Lowering, node: Node, _: Any, value: Any, *__: Any, **___: Any) -> Any:
    m = g.meta(node)
    if isinstance(value, Value):
        return g.broadcast(number(g, value, m.dtype).tensor, m.shape)
    return filled(g, node, value)


@lowers("aten.new_full.default")
def new_full(g: Lowering, node: Node, _: Any, size: Any, value: Any, **__: Any) -> Any:
    return full(g, node, None, value)


def filled(g: Lowering, node: Node, value: Any) -> Tensor:
    m = g.meta(node)
    if m.dtype == "bool":
        value = bool(value)
    elif m.dtype[0] in "iu":
        value = int(value)
    return g.fill(value, m.dtype, m.shape)


@lowers("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.empty.memory_format", "aten.empty_like.default",
        "aten.new_empty.default", "aten.empty_strided.default", "aten.empty_permuted.default", "aten.new_empty_strided.default",
        "aten.zero.default", "aten._new_zeros_with_same_feature_meta.default")
def zeros(g: Lowering, node: Node, *_: Any, **__: Any) -> Any:
    """What PyTorch leaves uninitialised is 0."""
    return filled(g, node, 0)


@lowers("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(g: Lowering, node: Node, *_: Any, **__: Any) -> Any:
    return filled(g, node, 1)


@lowers("aten.scalar_tensor.default")
def scalar_tensor(g: Lowering, node: Node, value: Any, **_: Any) -> Any:
    return filled(g, node, value)


@lowers("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(g: Lowering, node: Node, *ends: Any, **_: Any) -> Any:
    m = g.meta(node)
    start, step = (ends[0] if len(ends) > 1 else 0), (ends[2] if len(ends) > 2 else 1)
    if start == 0 and step == 1 and m.dtype in ("i32", "i64", "f32", "f64"):
        return g.op("iota", n=m.shape[0], dtype=m.dtype)
    room(g, *m.shape)
    wide: Any = np.int64 if isinstance(start, int) and isinstance(step, int) else np.float64
    return g.constant((np.asarray(start, wide) + np.arange(m.shape[0], dtype=wide) * np.asarray(step, wide)).astype(NUMPY[m.dtype]))


@lowers("aten.fft_fftfreq.default", "aten.fft_rfftfreq.default")
def frequencies(g: Lowering, node: Node, n: int, d: float = 1.0, **_: Any) -> Any:
    """0, 1, .. and, but for real input, the negative ones behind them, times 1 / (n d)."""
    m = g.meta(node)
    room(g, *m.shape)
    k: Any = np.arange(m.shape[0])
    kind: Any = NUMPY[m.dtype]
    return g.constant((k if "rfft" in node.op else np.where(k > (n - 1) // 2, k - n, k)).astype(kind) * kind(1 / (n * d)))


@lowers("aten.linspace.default")
def linspace(g: Lowering, node: Node, start: Any, end: Any, steps: int, **_: Any) -> Any:
    """From the nearer end, as PyTorch computes it."""
    m = g.meta(node)
    room(g, steps)
    kind: Any = NUMPY[m.dtype]
    step = (kind(end) - kind(start)) / kind(max(steps - 1, 1))
    at: Any = np.arange(steps).astype(kind)
    low, high = kind(start) + step * at, kind(end) - step * (kind(steps - 1) - at)
    return g.constant(np.where(np.arange(steps) < steps // 2, low, high).astype(kind) if steps > 1 else np.full(steps, start, kind))


@lowers("aten.eye.default", "aten.eye.m")
def eye(g: Lowering, node: Node, *_: Any, **__: Any) -> Any:
    m = g.meta(node)
    room(g, *m.shape)
    return g.constant(np.eye(*m.shape, dtype=NUMPY[m.dtype]))


@lowers("aten.tril_indices.default", "aten.triu_indices.default")
def triangle_indices(g: Lowering, node: Node, row: int, col: int, offset: int = 0, **_: Any) -> Any:
    places: Any = np.nonzero(corner(g, row, col, offset, "triu" in node.op))
    return g.constant(np.stack(places).astype(np.int64))


@lowers("aten.meshgrid.default", "aten.meshgrid.indexing")
def meshgrid(g: Lowering, node: Node, xs: Any, *, indexing: str = "ij") -> Any:
    found = []
    for i, x in enumerate(xs):
        at = {0: 1, 1: 0}.get(i, i) if indexing == "xy" else i
        shape = g.meta(node, i).shape
        found.append(g.broadcast(g.reshape(x.tensor, [x.size if k == at else 1 for k in range(len(shape))]), shape))
    return found
