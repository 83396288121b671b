# SPDX-License-Identifier: Apache-2.0
"""Rules for Fourier transforms, which shared/fourier.py writes out, and for those of a signal's frames."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .forms import axis_of, number, room
from ..graph import NUMPY, PARTS, Node
from ..lower import Complex, Lowering, Value, lowers, lowers_complex
from ...shared.fourier import along, divides, first, frames, returned, transformed, waves

Tensor = Any
Pair = tuple[Tensor, Tensor]


def spectrum(g: Lowering, re: Tensor, im: Tensor, axes: list[int], forward: bool) -> Pair:
    """Along several axes, not divided by anything."""
    for axis in axes:
        if forward:
            re, im = along(g, [re, im], axis, lambda a, b: transformed(g, a, b))
        else:
            im, re = along(g, [im, re], axis, lambda a, b: transformed(g, a, b))
    return re, im


def scaled(g: Lowering, t: Tensor, normalization: int, count: int) -> Tensor:
    """PyTorch's: 0 as it is, 1 over the root of the number of elements, 2 over it."""
    factor = (1.0, 1 / math.sqrt(count), 1 / count)[normalization]
    return t if factor == 1 else g.op("mul", t, g.fill(factor, t.dtype))


@lowers_complex("aten._fft_r2c.default")
def r2c(g: Lowering, node: Node, x: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """The last of the axes is that of which one side is enough."""
    axes = [axis_of(int(d), x.rank) for d in dim]
    x = number(g, x, PARTS[g.meta(node).dtype])
    t = scaled(g, x.tensor, normalization, math.prod(x.shape[a] for a in axes))
    re, im = along(g, [t], axes[-1], lambda a: transformed(g, a, None), x.shape[axes[-1]] // 2 + 1 if onesided else None)
    return Complex(g, *map(g.value, spectrum(g, re, im, axes[:-1], True)))


@lowers_complex("aten._fft_c2c.default")
def c2c(g: Lowering, node: Node, x: Any, dim: Any, normalization: int, forward: bool) -> Any:
    axes = [axis_of(int(d), x.rank) for d in dim]
    count = math.prod(x.shape[a] for a in axes)
    if not forward and normalization == 2 and all(divides(x.shape[a]) for a in axes):
        re, im = x.re.tensor, x.im.tensor
        for axis in axes:
            re, im = along(g, [re, im], axis, lambda a, b: g.op("fft", a, b, inverse=True, transposed=False))
        return Complex(g, g.value(re), g.value(im))
    re, im = (scaled(g, v.tensor, normalization, count) for v in (x.re, x.im))
    return Complex(g, *map(g.value, spectrum(g, re, im, axes, forward)))


@lowers_complex("aten._fft_c2r.default")
def c2r(g: Lowering, node: Node, x: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    axes = [axis_of(int(d), x.rank) for d in dim]
    n = int(last_dim_size)
    count = n * math.prod(x.shape[a] for a in axes[:-1])
    if normalization == 2 and len(axes) == 1 and divides(n):
        re, im = (g.slice(v.tensor, axes[0], 0, n // 2 + 1) for v in (x.re, x.im))
        return along(g, [re, im], axes[0], lambda a, b: [returned(g, a, b, n, divided=True)])[0]
    re, im = (g.slice(scaled(g, v.tensor, normalization, count), axes[-1], 0, n // 2 + 1) for v in (x.re, x.im))
    re, im = spectrum(g, re, im, axes[:-1], False)
    return along(g, [re, im], axes[-1], lambda a, b: [returned(g, a, b, n)])[0]


# ---- short transforms of a signal ----

COSINES = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08)}


@lowers(*(f"aten.{n}_window.{o}" for n in (*COSINES, "bartlett") for o in ("default", "periodic")),
        "aten.hamming_window.periodic_alpha", "aten.hamming_window.periodic_alpha_beta")
def window(g: Lowering, node: Node, n: int, periodic: bool = True, *given: float, **_: Any) -> Any:
    """A constant, computed in binary64. A periodic one is that of one element more, without the last."""
    m, name = g.meta(node), node.op.split(".")[1].removesuffix("_window")
    room(g, n)
    whole = n if periodic else n - 1
    if n == 1:
        found: Any = np.ones(1)
    elif name == "bartlett":
        found = 1 - np.abs(2 * np.arange(n) / whole - 1)
    else:
        weights = (*given, *COSINES[name][len(given):])
        table = waves(n, len(weights), whole)[0]
        found = sum(w * (-1) ** k * table[:, k] for k, w in enumerate(weights))
    return g.constant(found.astype(NUMPY[m.dtype]))


def window_of(g: Lowering, window: Any, size: int, length: int, dtype: str) -> Tensor:
    """In the middle of a frame."""
    t = number(g, window, dtype).tensor if isinstance(window, Value) else g.fill(1, dtype, [size])
    before = (length - size) // 2
    return g.op("pad", t, before=[before], after=[length - size - before]) if size < length else t


@lowers("aten.stft.default")
@lowers_complex("aten.stft.default", "aten.stft.center")
def stft(g: Lowering, node: Node, x: Any, n_fft: int, hop: Any = None, size: Any = None, window: Any = None, *more: Any, **named: Any) -> Any:
    """Frames of a signal [.., samples] times a window, and the frequencies of each: [.., frequencies, frames]."""
    if "center" in node.op or isinstance(x, Complex) or isinstance(window, Complex):
        raise g.refuse("of complex elements, or centered here", "torch.stft of a real signal is taken")
    given = dict(zip(("normalized", "onesided", "return_complex", "align_to_window"), more), **named)
    hop, size = hop if hop is not None else n_fft // 4, size if size is not None else n_fft
    lead = x.shape[:-1]
    width = size if given.get("align_to_window") else n_fft
    count = (x.shape[-1] - width) // hop + 1
    t = frames(g, g.reshape(x.tensor, [math.prod(lead), x.shape[-1]]), n_fft, hop, count)
    t = g.op("mul", t, window_of(g, window, size, n_fft, x.dtype))
    t = scaled(g, t, 1 if given.get("normalized") else 0, n_fft)
    onesided = given.get("onesided")
    bins = n_fft // 2 + 1 if onesided or onesided is None else n_fft
    parts = [g.reshape(p, [math.prod(lead), count, n_fft]) for p in transformed(g, g.reshape(t, [math.prod(lead) * count, n_fft]), None)]
    found = [g.transpose(first(g, p, bins), [0, 2, 1]) for p in parts]
    y = Complex(g, *(g.value(g.reshape(p, [*lead, *p.shape[1:]])) for p in found))
    return y if g.meta(node).dtype in PARTS else g.in_memory(y)


@lowers_complex("aten.istft.default")
def istft(g: Lowering, node: Node, x: Any, n_fft: int, hop: Any = None, size: Any = None, window: Any = None, center: bool = True,
          normalized: bool = False, onesided: Any = None, length: Any = None, return_complex: bool = False) -> Any:
    """Frames go back to where they were and are added, over the sum of the windows' squares."""
    if return_complex:
        raise g.refuse("return_complex", "A real signal is taken")
    hop, size = hop if hop is not None else n_fft // 4, size if size is not None else n_fft
    *lead, bins, count = x.shape
    lines = math.prod(lead)
    parts = [g.slice(g.transpose(g.reshape(v.tensor, [lines, bins, count]), [0, 2, 1]), 2, 0, n_fft // 2 + 1) for v in (x.re, x.im)]
    re, im = (g.reshape(p, [lines * count, n_fft // 2 + 1]) for p in parts)
    t = returned(g, re, im, n_fft)
    t = scaled(g, t, 1 if normalized else 2, n_fft)
    w = window_of(g, window, size, n_fft, x.re.dtype)
    whole = n_fft + hop * (count - 1)
    places = g.constant((np.arange(count, dtype=np.int64)[:, None] * hop + np.arange(n_fft, dtype=np.int64)).reshape(-1))
    y = g.op("scatter_add", g.reshape(g.op("mul", t, w), [lines, count * n_fft]), places, axis=1, size=whole)
    squares = g.reshape(g.broadcast(g.op("mul", w, w), [count, n_fft]), [1, count * n_fft])
    below = g.op("scatter_add", squares, places, axis=1, size=whole)
    begin = n_fft // 2 if center else 0
    end = begin + int(length) if length is not None else whole - n_fft // 2 if center else whole
    y, below = (g.slice(v, 1, begin, min(end, whole)) for v in (y, below))
    y = g.op("div", y, below)
    if end > whole:
        y = g.op("pad", y, before=[0, 0], after=[0, end - whole])
    return g.reshape(y, [*lead, y.shape[1]])
