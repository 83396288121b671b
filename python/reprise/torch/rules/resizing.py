# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's resizing and sampling of images. Where the operation `resize` has the same places it is used; other
scales, and smoothing, are a product with the weights of each axis, which are known."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import computable
from .forms import elementwise, op, room, taken
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any
MODES = {"linear": 1, "bilinear": 1, "trilinear": 1, "bicubic": 2}
NAMES = [f"aten.upsample_{k}{d}d" for k, d in (("nearest", 1), ("nearest", 2), ("nearest", 3), ("linear", 1), ("bilinear", 2),
                                                ("trilinear", 3), ("bicubic", 2))]
NAMES += [f"aten._upsample_nearest_exact{d}d" for d in (1, 2, 3)] + ["aten._upsample_bilinear2d_aa", "aten._upsample_bicubic2d_aa"]


@lowers(*(f"{n}.{o}" for n in NAMES for o in ("vec", "default")))
def upsample(g: Lowering, node: Node, x: Any, size: Any, *args: Any, **named: Any) -> Any:
    """x [n, c, ..] to [n, c, *size]. A scale that is given is the one by which places are computed."""
    computable(g, x.dtype)
    name = node.op.split(".")[1].removeprefix("_").removeprefix("upsample_")
    kind = next(k for k in ("nearest_exact", "nearest", "bilinear", "trilinear", "linear", "bicubic") if name.startswith(k))
    corners = False
    if not kind.startswith("nearest"):
        corners, args = bool(args[0]), args[1:]
    vec = node.op.endswith(".vec")
    scales = args[0] if vec and args else named.get("scale_factors") if vec else list(args) or None
    target = g.meta(node).shape[2:]
    t = x.last
    for i, n in enumerate(target):
        scale = None if not scales or i >= len(scales) or scales[i] is None else float(scales[i])
        t = along(g, t, 1 + i, n, kind, corners, scale, name.endswith("_aa"))
    return g.value_last(t)


def along(g: Lowering, t: Tensor, axis: int, size: int, kind: str, corners: bool, scale: float | None, smooth: bool) -> Tensor:
    n = t.shape[axis]
    exact = scale is None or n * scale == size
    if kind.startswith("nearest"):
        return nearest(g, t, axis, size, kind, scale)
    if n == size and exact:
        return t
    if exact and not smooth or corners and not smooth:
        return g.op("resize", t, axis=axis, size=size, mode=MODES[kind], coordinates=1 if corners else 0, rounding=0)
    ratio = (n - 1) / (size - 1) if corners and size > 1 else 0.0 if corners else n / size if scale is None else 1 / scale
    room(g, n, size)
    w = smoothed(n, size, ratio, kind, corners) if smooth else weighted(n, size, ratio, kind, corners)
    return multiplied(g, t, axis, w)


def nearest(g: Lowering, t: Tensor, axis: int, size: int, kind: str, scale: float | None) -> Tensor:
    """PyTorch computes the places in binary32, so they are here."""
    n = t.shape[axis]
    ratio = np.float32(1 / scale) if scale is not None and scale > 0 else np.float32(n) / np.float32(size)
    at: Any = np.arange(size, dtype=np.float32)
    at = (at + np.float32(0.5)) * ratio if kind == "nearest_exact" else at * ratio
    if kind == "nearest" and size == n:
        return t
    if kind == "nearest" and size == 2 * n:
        at = np.arange(size) // 2
    places = np.minimum(np.floor(at).astype(np.int64), n - 1)
    times = size // n if n else 1
    if times * n == size and times > 1 and np.array_equal(places, np.arange(size) // times):
        s = list(t.shape)
        lead, behind = math.prod(s[:axis + 1]), math.prod(s[axis + 1:])
        return g.reshape(g.broadcast(g.reshape(t, [lead, 1, behind]), [lead, times, behind]), [*s[:axis], size, *s[axis + 1:]])
    return taken(g, t, [int(p) for p in places], axis)


def kernel(d: Any, kind: str, a: float) -> Any:
    d = np.abs(d)
    if kind != "bicubic":
        return np.maximum(0.0, 1 - d)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def weighted(n: int, size: int, ratio: float, kind: str, corners: bool) -> Any:
    """[size, n]: what each element weighs; beyond the ends the last ones again."""
    at = np.arange(size) * ratio if corners else (np.arange(size) + 0.5) * ratio - 0.5
    if kind != "bicubic":
        at = np.maximum(at, 0)
    w, first = np.zeros((size, n)), np.floor(at).astype(np.int64)
    for k in range(-1, 3) if kind == "bicubic" else range(2):
        np.add.at(w, (np.arange(size), np.clip(first + k, 0, n - 1)), kernel(at - (first + k), kind, -0.75))
    return w


def smoothed(n: int, size: int, ratio: float, kind: str, corners: bool) -> Any:
    """[size, n] of a kernel that is as wide as what becomes one element."""
    reach = (2.0 if kind == "bicubic" else 1.0) * max(ratio, 1.0)
    w = np.zeros((size, n))
    for i in range(size):
        centre = ratio * (i + 0.5)
        low, high = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), n)
        taps = kernel((np.arange(low, high) - centre + 0.5) / max(ratio, 1.0), kind, -0.5)
        w[i, low:high] = taps / taps.sum()
    return w


def multiplied(g: Lowering, t: Tensor, axis: int, w: Any) -> Tensor:
    """An axis times known weights [size, n]."""
    order = [i for i in range(len(t.shape)) if i != axis] + [axis]
    turned = g.transpose(t, order)
    flat = g.reshape(turned, [math.prod(turned.shape[:-1]), turned.shape[-1]])
    known = g.constant(np.ascontiguousarray(w.T).astype(np.float32 if t.dtype == "f32" else np.float64))
    y = g.reshape(g.op("matmul", flat, known), [*turned.shape[:-1], w.shape[0]])
    return g.transpose(y, [order.index(i) for i in range(len(order))])


# ---- sampling by a grid ----

@lowers("aten.grid_sampler_2d.default", "aten.grid_sampler.default")
def grid_sample(g: Lowering, node: Node, x: Any, grid: Any, mode: int, padding: int, corners: bool) -> Any:
    """x [n, c, h, w] at places grid [n, oh, ow, 2] of -1 .. 1: the four neighbours, each from the flat image. mode 0 is
    bilinear, 1 nearest; padding 0 zeros, 1 the border, 2 reflection."""
    if x.rank != 4 or mode == 2:
        raise g.refuse("a grid of volumes, or bicubic sampling", "Use bilinear sampling of images")
    n, c, h, w = x.shape
    oh, ow = grid.shape[1:3]
    if 0 in (*x.shape, *grid.shape):
        return g.fill(0, x.dtype, [n, c, oh, ow])
    px, py = (place(g, g.value(g.reshape(g.slice(grid.tensor, 3, k, k + 1), [n, oh * ow])), length, padding, corners)
              for k, length in ((0, w), (1, h)))
    flat = g.reshape(x.last, [n * h * w, c])
    if mode == 1:
        y = neighbour(g, flat, x, elementwise(g, "round", px), elementwise(g, "round", py))
        return g.value_last(g.reshape(y.tensor, [n, oh, ow, c]))
    left, top = (elementwise(g, "stop_gradient", elementwise(g, "floor", p)) for p in (px, py))
    total: Any = None
    for dy in (0, 1):
        for dx in (0, 1):
            ex, ey = op(g, "add", left, dx), op(g, "add", top, dy)
            wx = elementwise(g, "sub", px, left) if dx else elementwise(g, "sub", op(g, "add", left, 1), px)
            wy = elementwise(g, "sub", py, top) if dy else elementwise(g, "sub", op(g, "add", top, 1), py)
            weight = g.reshape(elementwise(g, "mul", wx, wy).tensor, [n * oh * ow, 1])
            part = elementwise(g, "mul", neighbour(g, flat, x, ex, ey), g.value(weight))
            total = part if total is None else elementwise(g, "add", total, part)
    return g.value_last(g.reshape(total.tensor, [n, oh, ow, c]))


def place(g: Lowering, p: Value, length: int, padding: int, corners: bool) -> Value:
    """-1 .. 1 as places along an axis, brought inside where the padding says so."""
    scaled = op(g, "mul", op(g, "add", p, 1), (length - 1) / 2) if corners else \
        op(g, "div", op(g, "sub", op(g, "mul", op(g, "add", p, 1), float(length)), 1), 2)
    if padding == 2:
        low, span = (0.0, float(length - 1)) if corners else (-0.5, float(length))
        if not span:
            return op(g, "mul", scaled, 0)
        d = elementwise(g, "abs", op(g, "sub", scaled, low))
        turns = elementwise(g, "stop_gradient", elementwise(g, "floor", op(g, "div", d, span)))
        rest = elementwise(g, "sub", d, op(g, "mul", turns, span))
        odd = op(g, "eq", op(g, "remainder", turns, 2), 1)
        scaled = elementwise(g, "where", odd, op(g, "sub", g.fill(span + low, p.dtype), rest), op(g, "add", rest, low))
    return scaled if padding == 0 else elementwise(g, "hardtanh", scaled, min_val=0.0, max_val=float(length - 1))


def neighbour(g: Lowering, flat: Tensor, x: Value, ex: Value, ey: Value) -> Value:
    """[n oh ow, c]: the pixels at whole places, 0 for those outside."""
    n, c, h, w = x.shape
    inside: Any = None
    index: Any = None
    for e, length in ((ey, h), (ex, w)):
        good = elementwise(g, "logical_and", op(g, "ge", e, 0), op(g, "le", e, length - 1))
        inside = good if inside is None else elementwise(g, "logical_and", inside, good)
        safe = g.value(g.cast(elementwise(g, "where", good, e, g.fill(0, e.dtype)).tensor, "i64"))
        index = safe if index is None else elementwise(g, "add", op(g, "mul", index, length), safe)
    count = ex.shape[1]
    first = g.reshape(g.op("mul", g.op("iota", n=n, dtype="i64"), g.fill(h * w, "i64")), [n, 1])
    index = g.reshape(g.op("add", index.tensor, first), [n * count])
    rows = g.op("gather", flat, index, axis=0)
    return elementwise(g, "where", g.value(g.reshape(inside.tensor, [n * count, 1])), g.value(rows), g.fill(0, x.dtype))


@lowers("aten.affine_grid_generator.default")
def affine_grid(g: Lowering, node: Node, theta: Any, size: Any, corners: bool) -> Any:
    """theta [n, 2, 3] to a grid [n, h, w, 2]."""
    if len(size) != 4:
        raise g.refuse("a grid of volumes")
    n, _, h, w = size
    room(g, h, w, 3)

    def line(k: int) -> Any:
        ends = np.linspace(-1, 1, k) if k > 1 else np.zeros(k)
        return ends if corners else ends * (k - 1) / k

    base = np.stack([*np.meshgrid(line(w), line(h)), np.ones((h, w))], axis=-1).reshape(1, h * w, 3)
    known = g.constant(base.astype(np.float32 if theta.dtype == "f32" else np.float64))
    y = g.op("matmul", g.broadcast(known, [n, h * w, 3]), g.swap(theta.tensor))
    return g.reshape(y, [n, h, w, 2])
