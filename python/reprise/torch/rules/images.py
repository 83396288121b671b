# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's convolutions and pools of rows, images and volumes. Programs have channels last, and the values stay
so from one rule to the next."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arithmetic import computable
from .forms import concat, cut, filled_pad, numbers, room, wanted
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any


class Window:
    """How windows lie along the axes of space: kernel, stride, dilation and padding before and after."""

    def __init__(self, axes: int, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> None:
        self.kernel = numbers(kernel, axes)
        self.stride = numbers(stride if stride != [] else kernel, axes)
        self.dilation = numbers(dilation, axes)
        self.before = numbers(padding, axes)
        self.after = list(self.before)
        self.span = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]

    def grown(self, lengths: Sequence[int]) -> list[int]:
        """What ceil_mode adds behind each axis: a window more where it begins inside, or in the padding before."""
        found = []
        for n, b, a, w, s in zip(lengths, self.before, self.after, self.span, self.stride):
            room_ = n + b + a - w
            count = -(-room_ // s) + 1
            count -= (count - 1) * s >= n + b
            found.append(max(0, (count - 1) * s - room_))
        return found

    def two(self, values: Sequence[int], one: int) -> list[int]:
        return [one, *values] if len(values) == 1 else list(values)

    def place(self) -> dict[str, list[int]]:
        return {"stride": self.two(self.stride, 1), "dilation": self.two(self.dilation, 1),
                "padding": self.two(self.before, 0) + self.two(self.after, 0)}

    def part(self, axes: slice, behind: bool = False) -> Window:
        """The window along some axes; `behind`: and one of length 1 behind them."""
        more = ([1] if behind else []), ([0] if behind else [])
        w = Window(len(self.kernel[axes]) + behind, self.kernel[axes] + more[0], self.stride[axes] + more[0],
                   self.before[axes] + more[1], self.dilation[axes] + more[0])
        w.after = self.after[axes] + more[1]
        return w


def batched(g: Lowering, x: Value, axes: int) -> Value:
    """With a batch, which PyTorch lets one leave out."""
    return x if x.rank == axes + 2 else g.value(g.reshape(x.tensor, [1, *x.shape]))


def unbatched(g: Lowering, y: Value, x: Value) -> Value:
    return y if y.rank == x.rank else g.value(g.reshape(y.tensor, y.shape[1:]))


def image(g: Lowering, x: Value) -> Tensor:
    """[n, h, w, c] of [n, c, h, w], and [n, 1, w, c] of [n, c, w]."""
    t = x.last
    return t if len(t.shape) == 4 else g.reshape(t, [t.shape[0], 1, *t.shape[1:]])


def of_image(g: Lowering, t: Tensor, axes: int) -> Value:
    return g.value_last(t if axes == 2 else g.reshape(t, [t.shape[0], *t.shape[2:]]))


# ---- convolutions ----

@lowers("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default", "aten.conv1d.padding", "aten.conv2d.padding",
        "aten.conv3d.padding")
def conv(g: Lowering, node: Node, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
         groups: int = 1) -> Any:
    axes = weight.rank - 2
    w = Window(axes, list(weight.shape[2:]), stride, 0 if isinstance(padding, str) else padding, dilation)
    if padding == "same":
        w.before = [(s - 1) // 2 for s in w.span]
        w.after = [s - 1 - b for s, b in zip(w.span, w.before)]
    return convolved(g, x, weight, bias, w, groups)


def convolved(g: Lowering, x: Value, weight: Value, bias: Any, w: Window, groups: int) -> Value:
    computable(g, x.dtype)
    axes = weight.rank - 2
    v = batched(g, x, axes)
    if v.shape[0] == 0:
        raise g.refuse("a batch of no images")
    if axes == 3:
        y = volume(g, v, weight, w, groups)
    else:
        y = of_image(g, g.op("conv2d", image(g, v), taps(g, weight), groups=int(groups), **w.place()), axes)
    return unbatched(g, biased(g, y, bias), x)


def taps(g: Lowering, weight: Value) -> Tensor:
    """[k, c / groups, r, s] as [r, s, c / groups, k]; a row has r = 1."""
    t = weight.tensor
    t = t if weight.rank == 4 else g.reshape(t, [*t.shape[:2], 1, t.shape[2]])
    return g.transpose(t, [2, 3, 1, 0])


def biased(g: Lowering, y: Value, bias: Any) -> Value:
    return y if bias is None else g.value_last(g.op("add", y.last, bias.tensor))


def volume(g: Lowering, x: Value, weight: Value, w: Window, groups: int) -> Value:
    """A convolution of images for each tap of the depth, their results added."""
    t = x.last
    if w.before[0] or w.after[0]:
        t = g.op("pad", t, before=[0, w.before[0], 0, 0, 0], after=[0, w.after[0], 0, 0, 0])
    count, n = (t.shape[1] - w.span[0]) // w.stride[0] + 1, t.shape[0]
    images, total = w.part(slice(1, 3)), None
    for tap in range(w.kernel[0]):
        part = t if w.kernel[0] == 1 and w.stride[0] == 1 else \
            g.op("slice_step", t, begin=[0, tap * w.dilation[0], 0, 0, 0], size=[n, count, *t.shape[2:]], step=[1, w.stride[0], 1, 1, 1])
        k = cut(g, weight.tensor, 2, tap, 1)
        k = g.transpose(g.reshape(k, [*k.shape[:2], *k.shape[3:]]), [2, 3, 1, 0])
        y = g.op("conv2d", g.reshape(part, [n * count, *t.shape[2:]]), k, groups=int(groups), **images.place())
        total = y if total is None else g.op("add", total, y)
    assert total is not None
    return g.value_last(g.reshape(total, [n, count, *total.shape[1:]]))


@lowers("aten.convolution.default")
def convolution(g: Lowering, node: Node, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int) -> Any:
    if transposed:
        return conv_transposed(g, node, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolved(g, x, weight, bias, Window(weight.rank - 2, list(weight.shape[2:]), stride, padding, dilation), groups)


@lowers("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def conv_transposed(g: Lowering, node: Node, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
                    output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Any:
    """The gradient of the convolution with these weights by its image; what padding takes away is cut."""
    computable(g, x.dtype)
    axes = weight.rank - 2
    w, more = Window(axes, list(weight.shape[2:]), stride, padding, dilation), numbers(output_padding, axes)
    v = batched(g, x, axes)
    full = [(n - 1) * s + k for n, s, k in zip(v.shape[2:], w.stride, w.span)]
    # output_padding makes the result longer behind, where the last pads are not cut and then zeros come
    t = volume_back(g, v, weight, w, full, groups) if axes == 3 else image_back(g, image(g, v), taps(g, weight), w, full, groups)
    first = 1 if axes != 1 else 2
    for i in range(axes):
        end = full[i] - w.before[i] + more[i]
        t = g.slice(t, first + i, w.before[i], min(end, full[i]))
        if end > full[i]:
            after = [end - full[i] if k == first + i else 0 for k in range(len(t.shape))]
            t = g.op("pad", t, before=[0] * len(after), after=after)
    y = g.value_last(t) if axes == 3 else of_image(g, t, axes)
    return unbatched(g, biased(g, y, bias), x)


def image_back(g: Lowering, t: Tensor, k: Tensor, w: Window, full: Sequence[int], groups: int) -> Tensor:
    place = w.place()
    place["padding"] = [0] * 4
    return g.op("conv2d_grad_input", t, k, groups=int(groups), size=w.two(full, 1), **place)


def volume_back(g: Lowering, x: Value, weight: Value, w: Window, full: Sequence[int], groups: int) -> Tensor:
    """For each tap of the depth the images, spread by the stride and moved by the tap."""
    t, total, images = x.last, None, w.part(slice(1, 3))
    n, d = t.shape[:2]
    for tap in range(w.kernel[0]):
        k = cut(g, weight.tensor, 2, tap, 1)
        k = g.transpose(g.reshape(k, [*k.shape[:2], *k.shape[3:]]), [2, 3, 1, 0])
        y = image_back(g, g.reshape(t, [n * d, *t.shape[2:]]), k, images, full[1:], groups)
        y = g.reshape(y, [n, d, 1, *y.shape[1:]])
        if w.stride[0] > 1:
            y = g.op("pad", y, before=[0] * 6, after=[0, 0, w.stride[0] - 1, 0, 0, 0])
        y = g.slice(g.reshape(y, [n, d * w.stride[0], *y.shape[3:]]), 1, 0, (d - 1) * w.stride[0] + 1)
        before = tap * w.dilation[0]
        y = filled_pad(g, y, [0, before, 0, 0, 0], [0, full[0] - y.shape[1] - before, 0, 0, 0], 0)
        total = y if total is None else g.op("add", total, y)
    return total


# ---- pools ----

def pooled(g: Lowering, x: Value, w: Window, name: str) -> Value:
    """The operation of rows, images, or of volumes: of their images and then along the depth: largest ones and averages of what is
    there are those of their parts."""
    if x.rank != 5:
        t = g.op(name, image(g, x), window=w.two(w.kernel, 1), **w.place())
        return of_image(g, t, x.rank - 2)
    t = x.last
    n, d, h, wide, c = t.shape
    depth, images = w.part(slice(0, 1), True), w.part(slice(1, 3))
    # images first: of equal largest ones the first in the order of depth, height and width has the gradient
    t = g.op(name, g.reshape(t, [n * d, h, wide, c]), window=images.kernel, **images.place())
    h, wide = t.shape[1:3]
    t = g.op(name, g.reshape(t, [n, d, h * wide, c]), window=depth.kernel, **depth.place())
    return g.value_last(g.reshape(t, [n, t.shape[1], h, wide, c]))


@lowers("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default", "aten.max_pool2d_with_indices.default",
        "aten.max_pool3d_with_indices.default", "aten.max_pool1d_with_indices.default")
def max_pool(g: Lowering, node: Node, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False) -> Any:
    if not computable(g, x.dtype).startswith("f"):
        raise g.refuse(f"a pool of {x.dtype}", "Convert it to float32")
    axes = int(node.op.split("pool")[1][0])
    w = Window(axes, kernel, list(stride) if isinstance(stride, (list, tuple)) else stride, padding, dilation)
    v = batched(g, x, axes)
    index = None
    if "indices" in node.op and wanted(g, node, 1):
        index = unbatched(g, places(g, v, w, bool(ceil_mode)), x)
    extra = w.grown(v.shape[2:]) if ceil_mode else [0] * axes
    y = unbatched(g, pooled(g, *grown(g, v, w, extra, -math.inf), "max_pool"), x)
    return [y, index] if "indices" in node.op else y


def grown(g: Lowering, x: Value, w: Window, extra: Sequence[int], value: float) -> tuple[Value, Window]:
    """With what ceil_mode adds: as padding, which the operation leaves out, where it is smaller than the window."""
    after = [a + e for a, e in zip(w.after, extra)]
    if all(a < s for a, s in zip(after, w.span)):
        w.after = after
        return x, w
    t = filled_pad(g, x.last, [0] * x.rank, [0, *extra, 0], value)
    return g.value_last(t), w


def places(g: Lowering, x: Value, w: Window, ceil: bool) -> Value:
    """Of each window the place of its first greatest element in the image: the taps side by side, the greatest by argmax."""
    lengths = x.shape[2:]
    extra = w.grown(lengths) if ceil else [0] * len(lengths)
    t = filled_pad(g, x.tensor, [0, 0, *w.before], [0, 0, *(a + e for a, e in zip(w.after, extra))], -math.inf)
    counts = [(n - s) // st + 1 for n, s, st in zip(t.shape[2:], w.span, w.stride)]
    room(g, math.prod(w.kernel), *counts)
    shape, parts, at = [*x.shape[:2], 1, *counts], [], []
    grids = np.meshgrid(*[np.arange(c) * s - b for c, s, b in zip(counts, w.stride, w.before)], indexing="ij")
    for tap in np.ndindex(*w.kernel):
        offset = [k * d for k, d in zip(tap, w.dilation)]
        part = g.op("slice_step", t, begin=[0, 0, *offset], size=[*x.shape[:2], *counts], step=[1, 1, *w.stride])
        parts.append(g.reshape(part, shape))
        flat = np.zeros(counts, np.int64)
        for grid, o, n in zip(grids, offset, lengths):
            flat = flat * n + np.clip(grid + o, 0, n - 1)
        at.append(flat)
    best = g.op("argmax", concat(g, parts, 2), axis=2)
    table = g.constant(np.stack(at).reshape(1, 1, *np.stack(at).shape))
    found = g.op("take_along", g.broadcast(table, [*x.shape[:2], *table.shape[2:]]), g.cast(best, "i64"), axis=2)
    return g.value(g.reshape(found, [*x.shape[:2], *counts]))


@lowers("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(g: Lowering, node: Node, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: Any = None) -> Any:
    """Averages of what is there; padding that counts is written as zeros before, what ceil_mode adds never counts."""
    computable(g, x.dtype)
    axes = int(node.op.split("pool")[1][0])
    w = Window(axes, kernel, list(stride) if isinstance(stride, (list, tuple)) else stride, padding)
    v = batched(g, x, axes)
    extra = w.grown(v.shape[2:]) if ceil_mode else [0] * axes
    counts = counted(v.shape[2:], w, extra) if divisor_override is not None or not count_include_pad else None
    if (count_include_pad or divisor_override is not None) and any(w.before):
        v = g.value_last(g.op("pad", v.last, before=[0, *w.before, 0], after=[0, *w.after, 0]))
        lengths = v.shape[2:]
        w.before, w.after = [0] * axes, [0] * axes
        counts = counted(lengths, w, extra) if divisor_override is not None else None
    w.after = [a + e for a, e in zip(w.after, extra)]
    y = pooled(g, v, w, "avg_pool")
    if divisor_override is not None:
        assert counts is not None
        factor = g.cast(g.constant(counts[None, ..., None] / float(divisor_override)), x.dtype)
        y = g.value_last(g.op("mul", y.last, factor))
    return unbatched(g, y, x)


def counted(lengths: Sequence[int], w: Window, extra: Sequence[int]) -> Any:
    """How many elements of the image each window has."""
    grid: Any = np.ones(())
    for n, b, a, e, s, k in zip(lengths, w.before, w.after, extra, w.stride, w.kernel):
        count = (n + b + a + e - k) // s + 1
        starts = np.arange(count) * s - b
        grid = grid[..., None] * (np.minimum(starts + k, n) - np.maximum(starts, 0)).astype(np.float64)
    return grid


@lowers("aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default", "aten.adaptive_avg_pool3d.default",
        "aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default")
def adaptive_avg_pool(g: Lowering, node: Node, x: Any, size: Any) -> Any:
    return adaptive(g, x, size, int(node.op.split("pool")[1][0]), "mean")


@lowers("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(g: Lowering, node: Node, x: Any, size: Any) -> Any:
    if wanted(g, node, 1):
        raise g.refuse("the places of an adaptive pool", "Use return_indices=False, and its value alone")
    return [adaptive(g, x, size, int(node.op.split("pool")[1][0]), "max"), None]


def adaptive(g: Lowering, x: Value, size: Any, axes: int, name: str) -> Value:
    """Window i of n along a length is from floor(i length / n) to ceil((i + 1) length / n)."""
    computable(g, x.dtype)
    v = batched(g, x, axes)
    sizes = [n if s is None else int(s) for s, n in zip(size if isinstance(size, (list, tuple)) else [size] * axes, v.shape[2:])]
    if 0 in sizes or 0 in v.shape:
        return unbatched(g, g.value(g.fill(0, x.dtype, [*v.shape[:2], *sizes])), x)
    t = v.last
    if all(n % s == 0 for n, s in zip(v.shape[2:], sizes)) and (name == "max" or any(s > 1 for s in sizes)):
        w = Window(axes, [n // s for n, s in zip(v.shape[2:], sizes)], [n // s for n, s in zip(v.shape[2:], sizes)])
        return unbatched(g, pooled(g, v, w, "avg_pool" if name == "mean" else "max_pool"), x)
    if name == "max":
        return unbatched(g, g.value_last(adaptive_max(g, t, sizes)), x)
    whole = [1 + i for i, s in enumerate(sizes) if s == 1]
    t = g.op(name, t, axes=whole) if whole else t
    for axis, s in enumerate(sizes, 1):
        n = t.shape[axis]
        if s not in (1, n):
            t = concat(g, [g.op(name, g.slice(t, axis, i * n // s, -(-(i + 1) * n // s)), axes=[axis]) for i in range(s)], axis)
    return unbatched(g, g.value_last(t), x)


def adaptive_max(g: Lowering, t: Tensor, sizes: Sequence[int]) -> Tensor:
    """t [n, .., c]. Axis by axis from the last: each window's first greatest element, so that in the end it is the first of all and has
    the gradient alone, as in PyTorch, where the operation max shares it."""
    for axis, s in reversed(list(enumerate(sizes, 1))):
        n = t.shape[axis]
        if s == n:
            continue
        parts = [g.slice(t, axis, i * n // s, -(-(i + 1) * n // s)) for i in range(s)]
        t = concat(g, [g.op("take_along", p, g.cast(g.op("argmax", p, axis=axis), "i64"), axis=axis) for p in parts], axis)
    return t
